"""The functions of instants that expressions have in process, in the time zone UTC as in Spark's default."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import polars as pl

from panewise.standalone.streaming_sql.sql_typed import Function, Typed, of_one


def _of_time(do: Callable[[Any], pl.Expr]) -> Function:
    """Returns a function of instants, in the time zone UTC, or of dates."""

    def part(at: Typed) -> pl.Expr:
        return do((at.expr.dt.convert_time_zone("UTC") if at.is_time else at.expr).dt).cast(pl.Int32)

    return of_one("it takes an instant", lambda at: at.is_time or isinstance(at.dtype, pl.Date), part)


_UNITS: Final[Mapping[str, str]] = {
    "second": "1s",
    "minute": "1m",
    "hour": "1h",
    "day": "1d",
    "dd": "1d",
    "week": "1w",
    "month": "1mo",
    "mon": "1mo",
    "mm": "1mo",
    "quarter": "1q",
    "year": "1y",
    "yyyy": "1y",
    "yy": "1y",
}


def truncated(unit: str) -> Function | None:
    """Returns the function that date_trunc is for a unit, None if there is none."""
    length = _UNITS.get(unit.lower())
    if length is None:
        return None
    rule = "it takes a unit and an instant"
    return of_one(rule, _is_time, lambda at: at.expr.dt.convert_time_zone("UTC").dt.truncate(length))


def _unix(unit: int) -> Function:
    """Returns the time since 1970 in this many microseconds, rounded down."""
    rule = "it takes an instant"
    return of_one(rule, _is_time, lambda at: at.expr.dt.cast_time_unit("us").to_physical().floordiv(unit))


def _instant(unit: int) -> Function:
    """Returns the instant that is a number of this many microseconds after 1970."""

    def instant(number: Typed) -> pl.Expr:
        us = number.expr.cast(pl.Int64) * unit
        return us.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")

    return of_one("it takes a whole number", lambda number: number.is_integer, instant)


def _is_time(value: Typed) -> bool:
    return value.is_time


_PARTS: Final[Mapping[str, Callable[[Any], pl.Expr]]] = {
    "year": lambda dt: dt.year(),
    "quarter": lambda dt: dt.quarter(),
    "month": lambda dt: dt.month(),
    "day": lambda dt: dt.day(),
    "dayofmonth": lambda dt: dt.day(),
    "dayofyear": lambda dt: dt.ordinal_day(),
    "weekofyear": lambda dt: dt.week(),
    "hour": lambda dt: dt.hour(),
    "minute": lambda dt: dt.minute(),
}

TIME_FUNCTIONS: Final[Mapping[str, Function]] = {
    "unix_micros": _unix(1),
    "unix_millis": _unix(1_000),
    "unix_seconds": _unix(1_000_000),
    "timestamp_micros": _instant(1),
    "timestamp_millis": _instant(1_000),
    "timestamp_seconds": _instant(1_000_000),
    "second": _of_time(lambda dt: dt.second()),
    **{name: _of_time(do) for name, do in _PARTS.items()},
}


def field_of_time(field: str) -> Function | None:
    """Returns the function for a field of an instant in date_part, None if there is none."""
    do = _PARTS.get(field.lower())
    return None if do is None else _of_time(do)
