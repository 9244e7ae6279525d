"""The columns of session keys and equal fields: converts their values between messages, stores and calls.

The keys of stores consist of Booleans, numbers, texts and bytes. There a date is a text, an instant is a
number of microseconds, as in stored messages, and a decimal is its unscaled whole number: 1.50 is 150.
"""

from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from typing import Any, Final

import polars as pl

from panewise.engine.protocol import Schema
from panewise.errors import InputError, SpecError
from panewise.spec.column_values import MISFIT
from panewise.standalone.retained.codec import from_json_value, to_json_value
from panewise.standalone.retained.outputs import SessionKey
from panewise.standalone.retained.window import Message
from panewise.standalone.value_types import column_type_of
from panewise.stores.keys import KeyValue

_PLAIN: Final = (pl.String(), pl.Boolean(), pl.Binary())
_EXACT: Final = Context(prec=100)  # more digits than a decimal has


class KeyColumn:
    """A column whose values become parts of keys of stores.

    Attributes:
        to_key: converts a value of a message to a value of a key.
        from_key: converts it back.
    """

    def __init__(self, name: str, schema: Schema) -> None:
        if name not in schema:
            rule = "the columns of keys are in the schema"
            raise SpecError(f"column {name!r}", rule, f"use one of the columns {sorted(schema)}")
        dtype = schema[name]
        self.name, self._dtype, self._scale = name, dtype, dtype.scale if isinstance(dtype, pl.Decimal) else 0
        if dtype in _PLAIN or dtype.is_integer() or dtype.is_float():
            self.to_key: Callable[[Any], Any] = _same
            self.from_key: Callable[[Any], Any] = _same
        elif isinstance(dtype, (pl.Date, pl.Datetime)):
            self.to_key, self.from_key = to_json_value, lambda key: from_json_value(key, dtype)
        elif isinstance(dtype, pl.Decimal):
            self.to_key, self.from_key = self._digits, self._decimal
        else:
            rule = "columns of keys are numbers, texts, Booleans, bytes, dates or timestamps"
            raise SpecError(f"column {name!r} of the type {dtype}", rule, f"use one of {list(schema)}")

    def from_call(self, value: Any) -> Any:
        """Converts a value of a caller to a value of a key. A whole number fits a column of floats."""
        fit = column_type_of(self._dtype).fit(value)
        if fit is MISFIT:
            rule = f"the keys of column {self.name!r} are of the type {self._dtype}"
            raise InputError(f"{self.name}={value!r}", rule, "give a value of this type")
        return None if fit is None else self.to_key(fit)

    def _digits(self, value: Any) -> Any:
        return None if value is None else int(value.scaleb(self._scale, _EXACT))

    def _decimal(self, key: Any) -> Any:
        return None if key is None else Decimal(key).scaleb(-self._scale, _EXACT)


class KeyColumns:
    """The columns of keys of an operator.

    Attributes:
        names: the names of all these columns.
    """

    def __init__(self, session: str | None, fields: Sequence[str], schema: Schema) -> None:
        self._session = None if session is None else KeyColumn(session, schema)
        self._fields = [KeyColumn(name, schema) for name in fields]
        self.names = [*(() if session is None else (session,)), *fields]

    def session_key(self, message: Message) -> KeyValue | None:
        """Returns the session key of a valid message; None without sessions."""
        if self._session is None:
            return None
        key: KeyValue = self._session.to_key(message[self._session.name])
        return key

    def join_keys(self, message: Message) -> tuple[Any, ...] | None:
        """Returns the equal fields of a valid message; None if the operator has none."""
        return tuple(column.to_key(message[column.name]) for column in self._fields) or None

    def shown(self, session_key: KeyValue | None) -> SessionKey | None:
        """Converts a session key of a store to the value that callers see."""
        if self._session is None:
            return session_key
        key: SessionKey = self._session.from_key(session_key)
        return key

    def session_from_call(self, session_key: SessionKey | None, *, needed: bool = False) -> KeyValue | None:
        """Converts the session key that a caller gives to a value of keys."""
        if self._session is None:
            if session_key is not None:
                rule = "only windows of sessions have a session key"
                raise InputError(f"session_key={session_key!r}", rule, "leave it out")
            return None
        if needed and session_key is None:
            raise InputError(
                "session_key=None", "a message of a session has a session key", "give session_key=..."
            )
        key: KeyValue | None = self._session.from_call(session_key)
        return key

    def fields_from_call(self, values: Any) -> tuple[Any, ...] | None:
        """Converts the equal fields that a caller gives to values of keys."""
        if values is None:
            return None
        if not isinstance(values, (tuple, list)) or not 0 < len(values) == len(self._fields):
            rule = f"the equal fields of this operator are {[column.name for column in self._fields]}"
            remedy = "give a tuple with a value for each of them" if self._fields else "leave it out"
            raise InputError(f"join_keys={values!r}", rule, remedy)
        return tuple(column.from_call(value) for column, value in zip(self._fields, values, strict=True))


def _same(value: Any) -> Any:
    return value
