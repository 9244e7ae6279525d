"""Sums that leave the range of their type (semantics 24.3, 24.16).

Sums of whole numbers and of decimals are sums of integers: of a decimal, its unscaled value. Polars adds both modulo 2^64 or 2^128
in a group, so a total that fits is right whatever came in between, and one that does not fit is wrong without a sign of it.
A cheap bound, the greatest distance from 0 times the number of rows, clears nearly every batch. Where it does not, the totals are
computed exactly before Polars adds anything.
"""

from decimal import Context, Decimal
from itertools import accumulate

import polars as pl

from panewise.engine.kernels.sorting import Places
from panewise.errors import AggregateOverflowError

LIMIT = 2**63
DIGITS = 38  # of the widest decimal
EXACT = Context(prec=120)  # more digits than a sum of decimals, or its quotient, is asked for
_HALF = pl.lit(2**64, dtype=pl.Int128)
_HIGH, _LOW = "__high", "__low"


def limit(dtype: pl.DataType) -> int:
    """The least distance from 0 that a sum of this type cannot have; of a decimal in units of its last digit."""
    return 10 ** (dtype.precision or DIGITS) if isinstance(dtype, pl.Decimal) else LIMIT


def greatest(values: pl.Series) -> int:
    """The greatest distance of whole numbers, or of unscaled decimals, from 0; that of none is 0."""
    whole = values.to_physical()
    low, high = whole.min(), whole.max()
    return max(abs(low), abs(high)) if isinstance(low, int) and isinstance(high, int) else 0


def refuse(frame: pl.DataFrame, by: list[str], column: str, total: pl.DataType, named: str) -> None:
    """Raises if a group's exact sum does not fit the type of the total.

    Args:
        frame: the rows or partials.
        by: the columns of the groups.
        column: what is summed: whole numbers, or decimals of the scale of the total.
        total: Int64, or a decimal.
        named: the input column, for the message.
    """
    dtype, bound = frame.schema[column], limit(total)
    if isinstance(dtype, pl.Decimal) and 10 ** (dtype.precision or DIGITS) * frame.height < bound:
        return
    if greatest(frame[column]) * frame.height < bound:
        return
    whole = pl.col(column).to_physical().cast(pl.Int128)
    halves = [(whole // _HALF).sum().alias(_HIGH), (whole % _HALF).sum().alias(_LOW)]
    for high, low in frame.group_by(by).agg(halves).select(_HIGH, _LOW).iter_rows():
        check(high * 2**64 + low, total, named)


def check(total: int, dtype: pl.DataType, named: str) -> None:
    """Raises if a sum does not fit its type: whole numbers 64 bits, unscaled decimals the precision."""
    if isinstance(dtype, pl.Decimal):
        if abs(total) >= limit(dtype):
            raise overflow_of_decimals("sum", named, dtype)
    elif not -LIMIT <= total < LIMIT:
        raise overflow(named, total)


def spans(values: pl.Series, first: Places, last: Places, named: str) -> pl.Series:
    """The exact sums of decimals from `first` to before `last`, null where there are only nulls; for sums that may not fit.

    Raises:
        AggregateOverflowError: if one does not fit the type of the values.
    """
    whole = values.to_physical().to_list()
    totals = list(accumulate((value or 0 for value in whole), initial=0))
    known = list(accumulate((value is not None for value in whole), initial=0))
    made: list[int | None] = []
    for low, high in zip(first.tolist(), last.tolist(), strict=True):
        check(totals[high] - totals[low], values.dtype, named)
        made.append(totals[high] - totals[low] if known[high] > known[low] else None)
    return as_decimals(made, values.dtype).alias(values.name)


def as_decimals(unscaled: list[int | None], dtype: pl.DataType) -> pl.Series:
    """Decimals of unscaled values, which fit the type."""
    scale = dtype.scale if isinstance(dtype, pl.Decimal) else 0
    return pl.Series([None if one is None else Decimal(one).scaleb(-scale, EXACT) for one in unscaled], dtype=dtype)


def overflow(column: str, total: int) -> AggregateOverflowError:
    """What is raised for the sum of a column that leaves 64 bits."""
    rule = "a sum of whole numbers stays inside 64 bits (semantics 24.3)"
    return AggregateOverflowError(f"sum({column}) = {total}", rule, f"cast {column} to double or decimal before the operator")


def overflow_of_decimals(fn: str, column: str, dtype: pl.Decimal) -> AggregateOverflowError:
    """What is raised for a sum or a mean of decimals that does not fit its type."""
    given = f"{fn}({column}) beyond decimal({dtype.precision},{dtype.scale})"
    remedy = f"cast {column} to a decimal of fewer digits, or to double, before the operator"
    return AggregateOverflowError(given, "a sum or a mean of decimals fits its result type (semantics 24.16)", remedy)
