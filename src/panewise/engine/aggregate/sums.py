"""Partials of sums, and carries, which count how often a sum has left the range of its type.

Sums of whole numbers and of decimals are sums of integers: a decimal is added as its unscaled value
(semantics 24.3, 24.16). A sum is stored in two columns: its value modulo a *unit*, and a *carry*. The exact
sum is value + carry * unit. The unit is 2^64 for whole numbers, and 10^38 for decimals. Invariant: the carry
is 0 if and only if the sum fits its column. So every sum can be merged, whatever the order, and only the
result of a pane has to fit.

Each sum has two implementations: a plain one, which Polars adds fast, and an exact one. The exact one adds
the halves of the values, whose sums fit in 128 bits. :mod:`panewise.engine.aggregate.aggregation` chooses one
for each batch. Both return the same partials.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Context
from typing import TypeAlias

import polars as pl

from panewise.engine.aggregate.partials import Fitting, Operand, PartialColumn, either, null_if_none
from panewise.engine.columns import CARRY
from panewise.engine.kernels.small_frames import greatest
from panewise.errors import AggregateOverflowError

LIMIT = 2**63
DIGITS = 38  # the precision of the widest decimal
EXACT = Context(prec=120)  # more digits than a mean or a difference of decimals needs

Carried: TypeAlias = tuple[pl.Expr, pl.Expr]  # a sum and its carry


def limit(dtype: pl.DataType) -> int:
    """Returns a bound: sums with a smaller absolute value fit the type. For decimals it is unscaled."""
    return 10 ** (dtype.precision or DIGITS) if isinstance(dtype, pl.Decimal) else LIMIT


@dataclass(frozen=True)
class Exact:
    """The exact sum of values as two expressions.

    Attributes:
        value: the sum modulo the unit, 0 if there are no values.
        carry: how many units have to be added to it.
    """

    value: pl.Expr
    carry: pl.Expr


def exact_sum(values: pl.Expr, carries: pl.Expr, dtype: pl.DataType) -> Exact:
    """Returns the exact sum of the values of a group.

    Args:
        values: whole numbers, or decimals of the scale of `dtype`.
        carries: the carry of each value, 0 for an input column.
        dtype: the type of the sum: Int64, or the widest decimal.
    """
    upper, lower = _halves(values, dtype)
    return _combined(upper.sum(), lower.sum(), carries.sum(), dtype)


def exact_sum_of_two(this: Carried, other: Carried, dtype: pl.DataType) -> Exact:
    """Returns the exact sum of two sums, row by row. A null counts as 0."""
    (upper, lower), (more, less) = _halves(this[0], dtype), _halves(other[0], dtype)
    carries = this[1].fill_null(0) + other[1].fill_null(0)
    return _combined(
        upper.fill_null(0) + more.fill_null(0), lower.fill_null(0) + less.fill_null(0), carries, dtype
    )


def _half(dtype: pl.DataType) -> int:
    """Returns the square root of the unit."""
    return 10 ** (DIGITS // 2) if isinstance(dtype, pl.Decimal) else 2**32


def _halves(values: pl.Expr, dtype: pl.DataType) -> tuple[pl.Expr, pl.Expr]:
    """Returns values as two whole numbers: ``upper * half + lower``, where 0 <= lower < half."""
    whole, half = values.to_physical().cast(pl.Int128), pl.lit(_half(dtype), dtype=pl.Int128)
    return whole // half, whole % half


def _combined(upper: pl.Expr, lower: pl.Expr, carries: pl.Expr, dtype: pl.DataType) -> Exact:
    """Returns a sum, given the sums of the halves of its values and of their carries."""
    half, unit = pl.lit(_half(dtype), dtype=pl.Int128), pl.lit(_half(dtype) ** 2, dtype=pl.Int128)
    # Move what exceeds the lower half to the upper one, and what exceeds that to the carry.
    upper = upper + carries.cast(pl.Int128) * half + lower // half
    carry, rest = upper // half, upper % half * half + lower % half  # 0 <= rest < unit
    # Here the carry of a negative sum is -1. It becomes 0 if the sum fits.
    above = (carry == -1) & (rest > 0) if isinstance(dtype, pl.Decimal) else rest >= LIMIT
    value = pl.when(above).then(rest - unit).otherwise(rest)
    typed = value.reinterpret(dtype=dtype) if isinstance(dtype, pl.Decimal) else value.cast(dtype)
    return Exact(typed, (carry + above.cast(pl.Int128)).cast(pl.Int64))


def checked_sums(dtype: pl.DataType, column: str) -> Callable[[Sequence[pl.Series]], pl.Series]:
    """Returns a function that makes results of sums and carries. It refuses those that do not fit `dtype`."""

    def checked(columns: Sequence[pl.Series]) -> pl.Series:
        sums, carries = columns
        _check_sums(sums, carries, dtype, column)
        return sums.cast(dtype)

    return checked


def _check_sums(sums: pl.Series, carries: pl.Series, dtype: pl.DataType, column: str) -> None:
    """Refuses sums that do not fit `dtype`, the type of their results. `column` is the input column."""
    if isinstance(dtype, pl.Decimal):
        if greatest(carries) or greatest(sums) >= limit(dtype):
            raise overflow_of_decimals("sum", column, dtype)
    elif greatest(carries):
        for total, carry in zip(sums, carries, strict=True):
            if carry:
                raise overflow(column, total + carry * 2**64)


def overflow(column: str, total: int) -> AggregateOverflowError:
    """Returns the error for a sum of whole numbers that leaves 64 bits."""
    rule = "a sum of whole numbers fits in 64 bits (semantics 24.3)"
    return AggregateOverflowError(
        f"sum({column}) = {total}", rule, f"cast {column} to double or decimal before the operator"
    )


def overflow_of_decimals(fn: str, column: str, dtype: pl.Decimal) -> AggregateOverflowError:
    """Returns the error for a sum or a mean of decimals that does not fit its type."""
    total = f"{fn}({column}) beyond decimal({dtype.precision},{dtype.scale})"
    remedy = f"cast {column} to a decimal of fewer digits, or to double, before the operator"
    return AggregateOverflowError(
        total, "a sum or a mean of decimals fits its result type (semantics 24.16)", remedy
    )


def sum_partials(column: str, dtype: pl.DataType) -> list[PartialColumn]:
    """Returns the partial with the sum and, except for floats, that with its carry.

    The sum of no values is null, not 0.
    """
    name, wide = f"__sum:{column}", sum_type(dtype)
    value, stored = pl.col(column).cast(wide), pl.col(name)
    lift, merge = null_if_none(value, value.sum()), null_if_none(stored, stored.sum())
    both = either(lambda this, other: (this + other).cast(wide))  # Polars widens the sum of two decimals
    plain = PartialColumn(name, wide, lift, merge, None, merge_two=both, single=value)
    if wide.is_float():
        return [plain]
    lifted = exact_sum(value, pl.lit(0), wide)
    merged = exact_sum(stored, pl.col(f"{CARRY}{column}"), wide)
    exact = replace(
        plain,
        lift=null_if_none(value, lifted.value),
        merge=null_if_none(stored, merged.value),
        sums=column,
        limit=limit(wide),
        fitting=Fitting(lift, merge),
        merge_operands=lambda this, other: pl.when(this(name).is_not_null() | other(name).is_not_null()).then(
            _of_operands(column, wide, this, other).value
        ),
    )
    return [exact, _carry_partial(column, wide, lifted, merged)]


def _carry_partial(column: str, wide: pl.DataType, lifted: Exact, merged: Exact) -> PartialColumn:
    zero = pl.lit(0, dtype=pl.Int64)
    return PartialColumn(
        f"{CARRY}{column}",
        pl.Int64(),
        lifted.carry,
        merged.carry,
        0,
        sums=column,
        fitting=Fitting(zero, zero),
        merge_operands=lambda this, other: _of_operands(column, wide, this, other).carry,
        single=pl.repeat(0, pl.len(), dtype=pl.Int64),
    )


def _of_operands(column: str, wide: pl.DataType, this: Operand, other: Operand) -> Exact:
    name, carry = f"__sum:{column}", f"{CARRY}{column}"
    return exact_sum_of_two((this(name), this(carry)), (other(name), other(carry)), wide)


def sum_type(dtype: pl.DataType) -> pl.DataType:
    """Returns the type of the partial of a sum.

    It is bigint for whole numbers and double for floats. For decimals it is the widest decimal of their
    scale, which is narrowed when the result is computed.
    """
    if isinstance(dtype, pl.Decimal):
        return pl.Decimal(38, dtype.scale)
    return pl.Float64() if dtype.is_float() else pl.Int64()
