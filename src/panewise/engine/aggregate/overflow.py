"""Checks for sums that leave the range of their type (semantics 24.3, 24.16).

Sums of whole numbers and of decimals are sums of integers: a decimal is added as its unscaled value. Polars
adds the integers of a group modulo 2^64 or 2^128. So a total that fits is right, whatever the intermediate
sums were. A total that does not fit is wrong, and Polars does not report it.

A cheap bound, the largest absolute value times the number of rows, shows for nearly every batch that the
totals fit. If it does not, the totals are computed exactly before Polars adds anything.
"""

from decimal import Context, Decimal
from itertools import accumulate

import polars as pl

from panewise.engine.kernels.sorting import Places
from panewise.errors import AggregateOverflowError

LIMIT = 2**63
DIGITS = 38  # the precision of the widest decimal
EXACT = Context(prec=120)  # more digits than a sum or a mean of decimals needs
_HALF = pl.lit(2**64, dtype=pl.Int128)
_HIGH, _LOW = "__high", "__low"


def limit(dtype: pl.DataType) -> int:
    """Returns a bound: sums with a smaller absolute value fit the type. For decimals it is unscaled."""
    return 10 ** (dtype.precision or DIGITS) if isinstance(dtype, pl.Decimal) else LIMIT


def greatest(values: pl.Series) -> int:
    """Returns the largest absolute value of whole numbers or unscaled decimals, 0 if there are none."""
    whole = values.to_physical()
    low, high = whole.min(), whole.max()
    return max(abs(low), abs(high)) if isinstance(low, int) and isinstance(high, int) else 0


def refuse(frame: pl.DataFrame, by: list[str], column: str, total: pl.DataType, named: str) -> None:
    """Checks that the exact sum of each group fits the type of the total.

    Args:
        frame: the rows or partials.
        by: the columns of the groups.
        column: the column to sum: whole numbers, or decimals of the scale of the total.
        total: Int64, or a decimal.
        named: the input column, for the message.

    Raises:
        AggregateOverflowError: if a sum does not fit.
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
    """Checks that a sum fits its type: a whole number 64 bits, an unscaled decimal the precision.

    Raises:
        AggregateOverflowError: if it does not fit.
    """
    if isinstance(dtype, pl.Decimal):
        if abs(total) >= limit(dtype):
            raise overflow_of_decimals("sum", named, dtype)
    elif not -LIMIT <= total < LIMIT:
        raise overflow(named, total)


def sums_of_ranges(values: pl.Series, first: Places, last: Places, named: str) -> pl.Series:
    """Returns the exact sums of decimals over half-open ranges, for sums that may not fit.

    The sum of a range that contains only nulls is null.

    Raises:
        AggregateOverflowError: if a sum does not fit the type of the values.
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
    """Returns the decimals that have these unscaled values. The values must fit the type."""
    scale = dtype.scale if isinstance(dtype, pl.Decimal) else 0
    return pl.Series(
        [None if one is None else Decimal(one).scaleb(-scale, EXACT) for one in unscaled], dtype=dtype
    )


def overflow(column: str, total: int) -> AggregateOverflowError:
    """Returns the error for a sum of whole numbers that leaves 64 bits."""
    rule = "a sum of whole numbers fits in 64 bits (semantics 24.3)"
    return AggregateOverflowError(
        f"sum({column}) = {total}", rule, f"cast {column} to double or decimal before the operator"
    )


def overflow_of_decimals(fn: str, column: str, dtype: pl.Decimal) -> AggregateOverflowError:
    """Returns the error for a sum or a mean of decimals that does not fit its type."""
    given = f"{fn}({column}) beyond decimal({dtype.precision},{dtype.scale})"
    remedy = f"cast {column} to a decimal of fewer digits, or to double, before the operator"
    return AggregateOverflowError(
        given, "a sum or a mean of decimals fits its result type (semantics 24.16)", remedy
    )
