"""Arithmetic and rounding of expressions in process, with Spark's meaning (semantics 46.52).

Invariant: whole numbers are added, subtracted and multiplied in 128 bits, so a result that leaves the range
of its type is seen, and is an error, as on Spark. Cost: a few passes over the values for each function;
`round` calls Python for each value.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

import polars as pl

from panewise.errors import InputError
from panewise.standalone.streaming_sql.sql_decimals import decimal_result
from panewise.standalone.streaming_sql.sql_typed import INTEGERS, Function, Typed, check_types_of, of_one


def _arithmetic(do: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> Function:
    def function(name: str, arguments: Sequence[Typed]) -> pl.Expr:
        left, right = arguments
        if left.is_decimal or right.is_decimal:
            return decimal_result(name, do, left, right)
        numbers = left.is_number and right.is_number
        moved = name in "+-" and left.is_time and isinstance(right.dtype, pl.Duration)
        between = name == "-" and left.is_time and right.is_time
        rule = "whole and floating-point numbers, instants and lengths of time are added and subtracted"
        check_types_of(name, arguments, accepted=numbers or moved or between, rule=rule)
        if left.is_integer and right.is_integer:
            wide = do(left.expr.cast(pl.Int128), right.expr.cast(pl.Int128))
            return in_range(wide, max((left.dtype, right.dtype), key=INTEGERS.index))
        return do(left.expr, right.expr)

    return function


def in_range(wide: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Returns whole numbers in a type; one beyond its range is an error when it is computed, as on Spark."""

    def checked(values: pl.Series) -> pl.Series:
        narrow = values.cast(dtype, strict=False)
        if narrow.null_count() > values.null_count():
            rule = f"a result is in the range of {dtype}, on Spark, too"
            raise InputError("an overflow", rule, "cast a number to BIGINT or DOUBLE before")
        return narrow

    return wide.map_batches(checked, return_dtype=dtype)


def whole(value: Typed, dtype: pl.DataType) -> pl.Expr:
    """Returns floating-point numbers without their fractions; one out of range is an error, as on Spark."""

    def checked(values: pl.Series) -> pl.Series:
        numbers = values.cast(pl.Float64)
        limit = 2.0 ** (31 if dtype == pl.Int32 else 63)
        cut = pl.select(pl.when(numbers < 0).then(numbers.ceil()).otherwise(numbers.floor())).to_series()
        if not ((cut >= -limit) & (cut < limit)).all():
            rule = f"a number is cast to the range of {dtype}, on Spark, too"
            raise InputError("an overflow", rule, "cast it to BIGINT or DOUBLE")
        return cut.cast(dtype)

    return value.expr.map_batches(checked, return_dtype=dtype)


def _divide(name: str, arguments: Sequence[Typed]) -> pl.Expr:
    left, right = arguments
    check_types_of(
        name, arguments, accepted=left.is_number and right.is_number, rule="only numbers are divided"
    )
    return left.expr.cast(pl.Float64) / _not_zero(right).cast(pl.Float64)


def _remainder(name: str, arguments: Sequence[Typed]) -> pl.Expr:
    """Returns the remainder with the sign of the dividend, as Spark has it."""
    left, right = arguments
    check_types_of(
        name, arguments, accepted=left.is_integer and right.is_integer, rule="whole numbers have a remainder"
    )
    return (left.expr.abs() % _not_zero(right).abs()) * left.expr.sign()


def _whole_quotient(name: str, arguments: Sequence[Typed]) -> pl.Expr:
    """Returns the quotient without its fraction, a BIGINT."""
    left, right = arguments
    accepted = left.is_integer and right.is_integer
    check_types_of(name, arguments, accepted=accepted, rule="whole numbers have a whole quotient")
    wide, by = left.expr.cast(pl.Int128), _not_zero(right).cast(pl.Int128)
    return in_range(wide.abs().floordiv(by.abs()) * wide.sign() * by.sign(), pl.Int64())


def _not_zero(divisor: Typed) -> pl.Expr:
    """Returns a divisor; a zero in it is an error when it is computed, as on Spark."""

    def checked(values: pl.Series) -> pl.Series:
        if (values == 0).any():
            rule = "in process all branches of CASE are computed, and nothing is divided by zero"
            raise InputError("a division by zero", rule, "use nullif(x, 0)")
        return values

    return divisor.expr.map_batches(checked, return_dtype=divisor.dtype)


def _of_number(do: Callable[[pl.Expr], pl.Expr], *, whole: bool) -> Function:
    def accepts(number: Typed) -> bool:
        return number.is_float or (whole and (number.is_integer or number.is_decimal))

    return of_one("it takes one number", accepts, lambda number: do(number.expr))


def _to_whole(do: Callable[[pl.Expr], pl.Expr]) -> Function:
    """Returns a function with BIGINT results as in Spark: 0 for NaN, and the nearest one out of range."""

    def bounded(expr: pl.Expr) -> pl.Expr:
        number = do(expr).cast(pl.Float64).fill_nan(0.0)
        least, greatest = pl.lit(-(2**63), pl.Int64), pl.lit(2**63 - 1, pl.Int64)
        inside = pl.when(number <= -(2.0**63)).then(least).otherwise(number.cast(pl.Int64, strict=False))
        return pl.when(number >= 2.0**63).then(greatest).otherwise(inside)

    return _of_number(bounded, whole=False)


def _round(name: str, arguments: Sequence[Typed]) -> pl.Expr:
    """Returns a DOUBLE that is rounded as its decimal digits show it, halves away from zero, as on Spark."""
    value, *digits = arguments
    check_types_of(
        name,
        arguments,
        accepted=value.is_float and len(digits) < 2,
        rule="floating-point numbers are rounded",
    )
    places = digits[0].expr if digits else pl.lit(0)

    def rounded(row: Mapping[str, Any]) -> float | None:
        number: float | None = row["value"]
        count: int | None = row["places"]
        if number is None or count is None or not math.isfinite(number):
            return None if count is None else number
        if count > 340:
            return number
        digits = Decimal(repr(number)).quantize(Decimal(1).scaleb(-count), ROUND_HALF_UP, Context(prec=800))
        return float(digits) + 0.0  # there is no negative zero

    both = pl.struct(value.expr.cast(pl.Float64).alias("value"), places.cast(pl.Int64).alias("places"))
    return both.map_elements(rounded, return_dtype=pl.Float64, skip_nulls=False)


NUMBER_FUNCTIONS: Final[Mapping[str, Function]] = {
    "+": _arithmetic(lambda left, right: left + right),
    "-": _arithmetic(lambda left, right: left - right),
    "*": _arithmetic(lambda left, right: left * right),
    "/": _divide,
    "%": _remainder,
    "mod": _remainder,
    "div": _whole_quotient,
    "negative": _of_number(pl.Expr.neg, whole=True),
    "abs": _of_number(pl.Expr.abs, whole=True),
    "sqrt": _of_number(pl.Expr.sqrt, whole=False),
    "floor": _to_whole(pl.Expr.floor),
    "ceil": _to_whole(pl.Expr.ceil),
    "round": _round,
}
