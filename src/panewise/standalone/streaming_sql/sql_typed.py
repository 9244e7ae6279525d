"""Expressions of Polars with the types of their values, and functions of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import polars as pl

from panewise.errors import SqlError

INTEGERS: Final = (pl.Int8, pl.Int16, pl.Int32, pl.Int64)
_FLOATS: Final = (pl.Float32, pl.Float64)
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


def refused(what: str, rule: str) -> SqlError:
    """Returns the error for what has another meaning here, or none."""
    return SqlError(what, rule, _REMEDY)


def check(name: str, arguments: Sequence[Typed], *, accepted: bool, rule: str) -> None:
    """Refuses the types of the arguments of a function, unless they are accepted."""
    if not accepted:
        types = ", ".join(str(argument.dtype) for argument in arguments)
        raise refused(f"{name} of {types}", f"in process {rule}")
