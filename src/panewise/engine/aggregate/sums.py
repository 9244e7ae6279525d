"""Partials of sums. Those of integers have a carry (:mod:`panewise.engine.aggregate.overflow`).

Each sum has two implementations: a plain one, which Polars adds fast, and an exact one, in 128 bits with the
carry. For each batch a cheap bound shows which columns need the exact one. Invariant: the plain one is used
only where no sum can leave the range of its type and all carries are 0. So both return the same partials.
"""

from collections.abc import Sequence

import polars as pl

from panewise.engine.aggregate.overflow import Exact, exact_sum, exact_sum_of_two, fits, greatest
from panewise.engine.aggregate.partials import Fitting, Pair, Part, Side
from panewise.engine.columns import CARRY


def sum_parts(column: str, dtype: pl.DataType) -> list[Part]:
    """Returns the part with the sum and, except for floats, that with its carry.

    The sum of no values is null, not 0.
    """
    name, wide = f"__sum:{column}", sum_type(dtype)
    value, stored = pl.col(column).cast(wide), pl.col(name)
    lift, merge = _null_if_none(value, value.sum()), _null_if_none(stored, stored.sum())
    both = _either(lambda one, other: (one + other).cast(wide))  # Polars widens the sum of two decimals
    if wide.is_float():
        return [Part(name, wide, lift, merge, None, pair=both, single=value)]
    carry = f"{CARRY}{column}"
    lifted = exact_sum(value, pl.lit(0), wide)
    merged = exact_sum(stored, pl.col(carry), wide)
    zero = pl.lit(0, dtype=pl.Int64)
    return [
        Part(
            name,
            wide,
            _null_if_none(value, lifted.value),
            _null_if_none(stored, merged.value),
            None,
            sums=column,
            fitting=Fitting(lift, merge),
            pair=both,
            merge_sides=lambda one, other: pl.when(one(name).is_not_null() | other(name).is_not_null()).then(
                _of_sides(column, wide, one, other).value
            ),
            single=value,
        ),
        Part(
            carry,
            pl.Int64(),
            lifted.carry,
            merged.carry,
            0,
            sums=column,
            fitting=Fitting(zero, zero),
            merge_sides=lambda one, other: _of_sides(column, wide, one, other).carry,
            single=pl.repeat(0, pl.len(), dtype=pl.Int64),
        ),
    ]


def _of_sides(column: str, wide: pl.DataType, one: Side, other: Side) -> Exact:
    """Returns the exact sum of two sums that have carries."""
    name, carry = f"__sum:{column}", f"{CARRY}{column}"
    return exact_sum_of_two((one(name), one(carry)), (other(name), other(carry)), wide)


def leaving_of_rows(parts: Sequence[Part], rows: pl.DataFrame) -> set[str]:
    """Returns the input columns whose sums, over any of the rows, may leave the range of their type."""
    return {
        part.sums
        for part in parts
        if part.sums is not None
        and not _is_carry(part)
        and not fits(rows[part.sums], rows.height, part.dtype)
    }


def leaving(parts: Sequence[Part], partials: pl.DataFrame, count: int) -> set[str]:
    """Returns the input columns whose sums need carries when up to `count` of the partials are merged.

    A sum needs a carry if it may leave the range of its type, or if a partial has left it already.
    """
    return {
        part.sums
        for part in parts
        if part.sums is not None
        and (
            greatest(partials[part.name]) > 0
            if _is_carry(part)
            else not fits(partials[part.name], count, part.dtype)
        )
    }


def _is_carry(part: Part) -> bool:
    return part.name.startswith(CARRY)


def sum_type(dtype: pl.DataType) -> pl.DataType:
    """Returns the type of the partial of a sum.

    It is bigint for whole numbers and double for floats. For decimals it is the widest decimal of their
    scale, which is narrowed when the result is computed.
    """
    if isinstance(dtype, pl.Decimal):
        return pl.Decimal(38, dtype.scale)
    return pl.Float64() if dtype.is_float() else pl.Int64()


def _null_if_none(values: pl.Expr, total: pl.Expr) -> pl.Expr:
    return pl.when(values.count() > 0).then(total)


def _either(both: Pair) -> Pair:
    """Returns a merge that returns the other partial if one is null, and otherwise merges both."""
    return lambda one, other: pl.coalesce(both(one, other), one, other)
