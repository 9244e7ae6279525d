"""Messages as values of a message store, by the types of their columns.

JSON has texts, whole numbers, Booleans and null. All else has the form that it has in the stores of current
results (semantics 31.15): decimals, dates and times of day are texts, instants and durations microseconds.
Bytes, which those stores refuse, are texts, too.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

import polars as pl

from panewise.chrono import instant_us
from panewise.engine.kernels.column_types import AnyDtype
from panewise.engine.protocol import Schema

_MICROSECOND = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None)


def rows_of(frame: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yields the rows as dicts. Instants are microseconds: not all of them are in a year of `datetime`."""
    zoned = [name for name, dtype in frame.schema.items() if getattr(dtype, "time_zone", None) is not None]
    return frame.with_columns(pl.col(zoned).dt.timestamp("us")).iter_rows(named=True)


def to_json(message: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Returns a message as JSON values.

    >>> to_json({"day": date(1970, 1, 2), "b": b"x"}, {"day": pl.Date(), "b": pl.Binary()})
    {'day': '1970-01-02', 'b': 'eA=='}
    """
    return {name: to_json_value(message.get(name)) for name in schema}


def from_json(stored: dict[str, Any], schema: Schema) -> dict[str, Any]:
    """Returns the message of JSON values.

    >>> from_json({'day': '1970-01-02', 'b': 'eA=='}, {"day": pl.Date(), "b": pl.Binary()})
    {'day': datetime.date(1970, 1, 2), 'b': b'x'}
    """
    return {name: from_json_value(stored.get(name), dtype) for name, dtype in schema.items()}


def to_json_value(value: Any) -> Any:
    """Returns a value of a message as a JSON value."""
    if isinstance(value, dict):
        return {name: to_json_value(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_value(item) for item in value]
    write = _WRITE.get(type(value))
    return value if write is None else write(value)


def from_json_value(value: Any, dtype: AnyDtype) -> Any:
    """Returns the value of a JSON value, for a column of this type."""
    if value is None:
        return None
    if isinstance(dtype, pl.Struct):
        return {field.name: from_json_value(value[field.name], field.dtype) for field in dtype.fields}
    if isinstance(dtype, (pl.List, pl.Array)):
        return [from_json_value(item, dtype.inner) for item in value]
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None:
        return value  # microseconds are what a column of instants takes
    read = _READ.get(type(dtype))
    return value if read is None else read(value)


def _instant(value: datetime) -> int:
    return (value - _EPOCH) // _MICROSECOND if value.tzinfo is None else instant_us(value)


_WRITE: Final[Mapping[type, Callable[[Any], Any]]] = {
    Decimal: str,
    bytes: lambda value: b64encode(value).decode(),
    datetime: _instant,
    date: date.isoformat,
    time: time.isoformat,
    timedelta: lambda value: value // _MICROSECOND,
}
_READ: Final[Mapping[type, Callable[[Any], Any]]] = {
    pl.Decimal: Decimal,
    pl.Binary: b64decode,
    pl.Date: date.fromisoformat,
    pl.Time: time.fromisoformat,
    pl.Duration: lambda value: value * _MICROSECOND,
    pl.Datetime: lambda value: _EPOCH + value * _MICROSECOND,
}
