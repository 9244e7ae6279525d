"""A message as the values of a row, without a frame."""

from collections.abc import Callable
from datetime import date, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

import polars as pl

from panewise.engine.protocol import Schema
from panewise.spec import Entry
from panewise.spec.column_values import is_text
from panewise.standalone.message_fit import microseconds
from panewise.standalone.messages import PLAIN, Message

_BITS: Final[dict[pl.DataType, int]] = {pl.Int8(): 8, pl.Int16(): 16, pl.Int32(): 32, pl.Int64(): 64}
_TYPES: Final[dict[pl.DataType, type]] = {**PLAIN, **dict.fromkeys(_BITS, int), pl.Date(): date}
_INSTANT: Final = pl.Datetime("us", "UTC")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=ZoneInfo("UTC"))  # with the zone that Polars gives instants
_EXACT: Final = 2**53  # up to it whole numbers are floats without a loss


def has_plain_types(schema: Schema) -> bool:
    """Returns whether Python has the values of all columns as Polars returns them."""
    return all(dtype in _TYPES or dtype == _INSTANT for dtype in schema.values())


class RowFit:
    """Makes rows of the messages of an input, whose columns have plain types.

    Args:
        entry: the specification of the input.
        schema: its columns.
    """

    def __init__(self, entry: Entry, schema: Schema) -> None:
        self._time = next(iter(entry.time_columns), None)
        self._keys = frozenset(entry.keys)
        self._columns = [
            (name, _TYPES.get(dtype), name == self._time, 2 ** (_BITS.get(dtype, 64) - 1), _conversion(dtype))
            for name, dtype in schema.items()
        ]

    def row_of(self, message: Message) -> tuple[int, tuple[Any, ...]] | None:
        """Returns the event time, 0 without one, and the values of the columns.

        Returns None for a message that may be invalid, and for values of other types than the plain ones.
        """
        time, row = 0, []
        for name, plain, is_time, limit, conversion in self._columns:
            value: Any = message.get(name)
            if is_time:
                instant = microseconds(value)
                if instant is None:
                    return None
                time = instant
                value = instant if plain is int else conversion(instant)
            elif value is None:
                if name in self._keys:
                    return None
            elif type(value) is not plain:
                value = conversion(value)
                if value is None:
                    return None
            elif (plain is int and not -limit <= value < limit) or (plain is str and not is_text(value)):
                return None
            row.append(value)
        return time, tuple(row)


def _conversion(dtype: pl.DataType) -> Callable[[Any], Any]:
    """Returns the function that converts a value of another type. It returns None if it cannot."""
    if dtype == _INSTANT:
        return _instant
    return _float if dtype == pl.Float64() else lambda value: None


def _float(value: Any) -> float | None:
    return float(value) if type(value) is int and abs(value) <= _EXACT else None


def _instant(value: Any) -> datetime | None:
    us = microseconds(value)
    try:
        return None if us is None else _EPOCH + timedelta(microseconds=us)
    except OverflowError:
        return None
