"""Whether a message fits the columns of its input, value by value and without a frame."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

from panewise.chrono import instant_us
from panewise.engine.protocol import Schema
from panewise.errors import SpecError
from panewise.spec import Entry
from panewise.spec.column_values import MISFIT, ColumnType, is_text
from panewise.standalone.deferrable import FURTHEST
from panewise.standalone.messages import PLAIN, Message
from panewise.standalone.value_types import column_type_of

_LOW, _HIGH = -(2**63), 2**63


def microseconds(value: Any) -> int | None:
    """Returns an aware datetime, or a whole number that is not very large, in microseconds."""
    if isinstance(value, datetime):
        try:
            value = instant_us(value)
        except SpecError:
            return None
    return value if type(value) is int and -FURTHEST < value < FURTHEST else None


class MessageFit:
    """The columns of an input, and which values fit them.

    Args:
        entry: the specification of the input, which has an event time.
        schema: its columns.
        exact: the columns whose values must have the plain Python type of the column, or be null.
    """

    def __init__(self, entry: Entry, schema: Schema, exact: Collection[str] = ()) -> None:
        self._time, self._keys = entry.time_columns[0], frozenset(entry.keys)
        self._columns: list[tuple[str, type[Any] | None, ColumnType | None]] = [
            (name, PLAIN.get(dtype), None if name in exact else column_type_of(dtype))
            for name, dtype in schema.items()
            if name != self._time
        ]

    def time_of(self, message: Message) -> int | None:
        """Returns the event time in microseconds; None if it is no instant, or very far from 1970."""
        return microseconds(message.get(self._time))

    def fits(self, message: Message) -> bool:
        """Returns whether all values but the event time fit their columns, and no key is null.

        With `null_keys=False` a null key is invalid, and rare otherwise.
        """
        for name, plain, kind in self._columns:
            value: Any = message.get(name)
            if value is None:
                if name in self._keys:
                    return False
            elif type(value) is not plain:
                if kind is None or kind.fit(value) is MISFIT:
                    return False
            elif (plain is int and not _LOW <= value < _HIGH) or (plain is str and not is_text(value)):
                return False
        return True
