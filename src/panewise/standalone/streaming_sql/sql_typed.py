"""Expressions of Polars with the types of their values, and functions of them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import polars as pl

from panewise.errors import SqlError

INTEGERS: Final = (pl.Int8, pl.Int16, pl.Int32, pl.Int64)
_FLOATS: Final = (pl.Float32, pl.Float64)
_DIGITS: Final[Mapping[type[pl.DataType], int]] = {pl.Int8: 3, pl.Int16: 5, pl.Int32: 10, pl.Int64: 20}
MAX_DIGITS: Final = 38  # of a decimal
_REMEDY: Final = "run it on Spark, or compute the column before"


@dataclass(frozen=True)
class Typed:
    """An expression of Polars, and the type of its values."""

    expr: pl.Expr
    dtype: pl.DataType

    @property
    def is_integer(self) -> bool:
        """Whether the values are whole numbers."""
        return isinstance(self.dtype, INTEGERS)

    @property
    def is_float(self) -> bool:
        """Whether the values are floating-point numbers."""
        return isinstance(self.dtype, _FLOATS)

    @property
    def is_number(self) -> bool:
        """Whether the values are whole or floating-point numbers, or all null."""
        return self.is_integer or self.is_float or self.is_null

    @property
    def is_decimal(self) -> bool:
        """Whether the values are decimals."""
        return isinstance(self.dtype, pl.Decimal)

    @property
    def is_null(self) -> bool:
        """Whether all values are null."""
        return isinstance(self.dtype, pl.Null)

    @property
    def is_text(self) -> bool:
        """Whether the values are texts, or all null."""
        return isinstance(self.dtype, pl.String) or self.is_null

    @property
    def is_time(self) -> bool:
        """Whether the values are instants."""
        return isinstance(self.dtype, pl.Datetime) and self.dtype.time_zone is not None


Function: TypeAlias = Callable[[str, Sequence[Typed]], pl.Expr]


def digits_of(dtype: pl.DataType) -> tuple[int, int] | None:
    """Returns the precision and the scale that Spark gives to exact numbers, None for other values."""
    if isinstance(dtype, pl.Decimal):
        return dtype.precision or MAX_DIGITS, dtype.scale
    digits = _DIGITS.get(type(dtype))
    return None if digits is None else (digits, 0)


def common_decimal(first: pl.DataType, second: pl.DataType) -> pl.DataType | None:
    """Returns the decimals that have all digits of two types, None if they are too long, or no exact numbers.

    >>> common_decimal(pl.Decimal(5, 2), pl.Int32())
    Decimal(precision=12, scale=2)
    """
    sizes = [size for size in (digits_of(first), digits_of(second)) if size is not None]
    scale = max((scale for _, scale in sizes), default=0)
    precision = max((precision - scale for precision, scale in sizes), default=0) + scale
    return pl.Decimal(precision, scale) if len(sizes) == 2 and precision <= MAX_DIGITS else None


def common_type(first: pl.DataType, second: pl.DataType) -> pl.DataType | None:
    """Returns the type in which Spark has the values of both, None if there is none here.

    >>> common_type(pl.Int32(), pl.Int64()), common_type(pl.Int32(), pl.String())
    (Int64, None)
    """
    if first == second or isinstance(second, pl.Null):
        return first
    if isinstance(first, pl.Null):
        return second
    if isinstance(first, INTEGERS) and isinstance(second, INTEGERS):
        return max((first, second), key=lambda dtype: INTEGERS.index(type(dtype)))
    if any(isinstance(dtype, pl.Decimal) for dtype in (first, second)):
        return common_decimal(first, second)
    numbers = all(isinstance(dtype, (*INTEGERS, *_FLOATS)) for dtype in (first, second))
    return pl.Float64() if numbers else None


def refusal(what: str, rule: str) -> SqlError:
    """Returns the error for syntax that has another meaning in process than on Spark, or none."""
    return SqlError(what, rule, _REMEDY)


def wrong_types(name: str, arguments: Sequence[Typed], rule: str) -> SqlError:
    """Returns the error for arguments of types that a function does not have here."""
    types = ", ".join(str(argument.dtype) for argument in arguments)
    return refusal(f"{name} of {types}", f"in process {rule}")


def check_types_of(name: str, arguments: Sequence[Typed], *, accepted: bool, rule: str) -> None:
    """Refuses the types of the arguments of a function, unless they are accepted."""
    if not accepted:
        raise wrong_types(name, arguments, rule)


def of_one(rule: str, accepts: Callable[[Typed], bool], do: Callable[[Typed], pl.Expr]) -> Function:
    """Returns the function of one value that is of some types, as `rule` says."""

    def function(name: str, arguments: Sequence[Typed]) -> pl.Expr:
        check_types_of(name, arguments, accepted=len(arguments) == 1 and accepts(arguments[0]), rule=rule)
        return do(arguments[0])

    return function
