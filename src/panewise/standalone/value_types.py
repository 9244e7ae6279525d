"""Which values of messages fit a Polars type, in nested values as in columns (semantics 31.21)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, cast

import polars as pl

from panewise.engine.kernels.column_types import NAMED, AnyDtype
from panewise.spec.column_values import MISFIT, ColumnType, is_long

_NAMES: Final[Mapping[AnyDtype, str]] = {dtype: name for name, dtype in NAMED.items()}
_UNITS: Final = {"ms": (1, 1_000), "us": (1, 1), "ns": (1_000, 1)}  # a unit is microseconds * first / second


@cache
def column_type_of(dtype: AnyDtype) -> ColumnType:
    """Returns the type that fits values to a Polars type. Its text is the name that specifications know.

    >>> numbers = column_type_of(pl.List(pl.Int32()))
    >>> numbers.fit([1, None]), numbers.fit([True]) is MISFIT
    ([1, None], True)
    """
    match dtype:
        case pl.Decimal():
            return ColumnType("decimal", dtype.precision or 38, dtype.scale)
        case pl.Datetime():
            name = "timestamp_ntz" if dtype.time_zone is None else "timestamp"
            return ColumnType(name) if dtype.time_unit == "us" else _Instant(name, unit=dtype.time_unit)
        case pl.List():
            return ColumnType("array", fields=(("element", column_type_of(dtype.inner)),))
        case pl.Array():
            return _Array("array", fields=(("element", column_type_of(dtype.inner)),), size=dtype.size)
        case pl.Struct():
            return ColumnType(
                "struct", fields=tuple((field.name, column_type_of(field.dtype)) for field in dtype.fields)
            )
    if dtype in _NAMES:
        return ColumnType(_NAMES[dtype])
    name = "interval day to second" if isinstance(dtype, pl.Duration) else str(dtype).lower()
    return _OfPolars(name, dtype=cast(pl.DataType, dtype))


def in_microseconds(leaf: pl.DataType) -> pl.DataType:
    """Returns a type of instants or durations with microseconds as its unit, any other type as it is."""
    if isinstance(leaf, pl.Datetime):
        return pl.Datetime("us", leaf.time_zone)
    return pl.Duration("us") if isinstance(leaf, pl.Duration) else leaf


@dataclass(frozen=True)
class _Instant(ColumnType):
    """Instants in milliseconds or nanoseconds. One that the unit cannot express does not fit."""

    unit: str = "us"

    def fit(self, value: Any) -> Any:
        """Returns whole microseconds."""
        fit = ColumnType(self.name).fit(value)
        if fit is None or fit is MISFIT:
            return fit
        times, divisor = _UNITS[self.unit]
        return fit if fit % divisor == 0 and is_long(fit * times) else MISFIT


@dataclass(frozen=True)
class _Array(ColumnType):
    """Lists of one length."""

    size: int = 0

    def fit(self, value: Any) -> Any:
        """Returns the list, if it has this length."""
        fit = super().fit(value)
        return MISFIT if isinstance(fit, list) and len(fit) != self.size else fit


@dataclass(frozen=True)
class _OfPolars(ColumnType):
    """A type that only Polars has: Polars decides which values fit."""

    dtype: pl.DataType = field(default_factory=pl.Null)

    def fit(self, value: Any) -> Any:
        """Returns the value if Polars takes it strictly, a time or a duration as a whole number.

        So values that fit one by one, such as a number and a timedelta, also fit together. A Boolean is no
        number.
        """
        if value is None:
            return None
        if isinstance(value, bool) and self.dtype.is_numeric():
            return MISFIT
        try:
            column = pl.Series([value], dtype=self.dtype, strict=True)
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            return MISFIT
        if column.dtype != self.dtype or column.null_count() or _is_beyond(value, column):
            return MISFIT
        return column.to_physical().item() if self.dtype.is_temporal() else value


def _is_beyond(value: Any, column: pl.Series) -> bool:
    """Returns whether a finite number became infinite."""
    return column.dtype.is_float() and not column.is_finite().all() and math.isfinite(value)
