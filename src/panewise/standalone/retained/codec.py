"""Messages as values of a message store, by the types of their columns.

JSON has texts, whole numbers, Booleans and null. All else is written as a text or a number: floats that are
not finite, decimals and bytes as texts, instants as microseconds, dates and lengths of time as numbers.
"""

import math
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import polars as pl

from panewise.chrono import instant_us
from panewise.engine.protocol import Schema

_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)


def to_json(message: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Returns a message as JSON values.

    >>> to_json({"v": float("inf"), "b": b"x"}, {"v": pl.Float64(), "b": pl.Binary()})
    {'v': 'inf', 'b': 'eA=='}
    """
    return {name: _written(message.get(name)) for name in schema}


def of_json(stored: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Returns the message of JSON values.

    >>> of_json({'v': 'inf', 'b': 'eA=='}, {"v": pl.Float64(), "b": pl.Binary()})
    {'v': inf, 'b': b'x'}
    """
    return {name: _read(stored.get(name), dtype) for name, dtype in schema.items()}


def _written(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _written(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_written(one) for one in value]
    write = _WRITE.get(type(value))
    return value if write is None else write(value)


def _read(value: Any, dtype: Any) -> Any:
    if value is None:
        return None
    if isinstance(dtype, pl.Struct):
        return {field.name: _read(value[field.name], field.dtype) for field in dtype.fields}
    if isinstance(dtype, (pl.List, pl.Array)):
        return [_read(one, dtype.inner) for one in value]
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
        return value  # microseconds are what a column of instants takes
    read = _READ.get(type(dtype))
    return value if read is None else read(value)


def _instant(value: datetime) -> int:
    return (value - _EPOCH) // _MICROSECOND if value.tzinfo is None else instant_us(value)


_WRITE: Final[Mapping[type, Callable[[Any], Any]]] = {
    float: lambda value: value if math.isfinite(value) else str(value),
    Decimal: str,
    bytes: lambda value: b64encode(value).decode(),
    datetime: _instant,
    date: date.toordinal,
    timedelta: lambda value: value // _MICROSECOND,
}
_READ: Final[Mapping[type, Callable[[Any], Any]]] = {
    pl.Float64: float,
    pl.Float32: float,
    pl.Decimal: Decimal,
    pl.Binary: b64decode,
    pl.Date: date.fromordinal,
    pl.Duration: lambda value: value * _MICROSECOND,
    pl.Datetime: lambda value: _EPOCH + value * _MICROSECOND,
}
