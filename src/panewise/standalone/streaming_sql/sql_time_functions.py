"""The functions of instants that expressions have in process, in the time zone UTC as in Spark's default."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import polars as pl

from panewise.standalone.streaming_sql.sql_typed import Function, Typed, check


def _of_time(do: Callable[[Any], pl.Expr]) -> Function:
    """Returns a function of instants, in the time zone UTC, or of dates."""

    def function(name: str, arguments: Sequence[Typed]) -> pl.Expr:
        accepted = len(arguments) == 1 and (arguments[0].is_time or isinstance(arguments[0].dtype, pl.Date))
        check(name, arguments, accepted=accepted, rule="it takes an instant")
        expr = arguments[0].expr
        return do((expr.dt.convert_time_zone("UTC") if arguments[0].is_time else expr).dt).cast(pl.Int32)

    return function


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

    def function(name: str, arguments: Sequence[Typed]) -> pl.Expr:
        (instant,) = arguments
        check(name, arguments, accepted=instant.is_time, rule="it takes a unit and an instant")
        return instant.expr.dt.convert_time_zone("UTC").dt.truncate(length or "1s")

    return None if length is None else function


def _unix(unit: int) -> Function:
    """Returns the time since 1970 in this many microseconds, rounded down."""

    def function(name: str, arguments: Sequence[Typed]) -> pl.Expr:
        accepted = len(arguments) == 1 and arguments[0].is_time
        check(name, arguments, accepted=accepted, rule="it takes an instant")
        return arguments[0].expr.dt.cast_time_unit("us").to_physical().floordiv(unit)

    return function


def _instant(unit: int) -> Function:
    """Returns the instant that is a number of this many microseconds after 1970."""

    def function(name: str, arguments: Sequence[Typed]) -> pl.Expr:
        accepted = len(arguments) == 1 and arguments[0].is_integer
        check(name, arguments, accepted=accepted, rule="it takes a whole number")
        us = arguments[0].expr.cast(pl.Int64) * unit
        return us.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")

    return function


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
