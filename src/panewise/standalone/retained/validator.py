"""Validation of messages, one by one (semantics 15).

A message whose values all have the plain types of their columns is valid, and needs no frame. Every other one
becomes a frame of one row, which the engine validates.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from panewise.chrono import MIN_INSTANT
from panewise.engine.columns import REASON, TIME
from panewise.engine.ingest.validate import validate
from panewise.engine.protocol import Schema
from panewise.families import INPUT
from panewise.spec import Aggregate, Global, WindowOperator
from panewise.standalone.messages import LIMITS, PLAIN, check_columns, fitted, no_mapping
from panewise.standalone.retained.codec import rows_of
from panewise.standalone.retained.settings import AggregatorSettings
from panewise.standalone.retained.window import Message
from panewise.standalone.schema import for_schemas, schemas_of


class ValidMessage(NamedTuple):
    """A valid message with a value for each column, and its event time."""

    message: Message
    time: int


def validating_spec(
    settings: AggregatorSettings, aggregates: Iterable[Aggregate], types: Mapping[str, Any]
) -> tuple[WindowOperator, Schema]:
    """Returns a specification that validates messages, and their columns with their types of Polars."""
    keys = () if settings.session_key is None else (settings.session_key,)
    spec = WindowOperator(
        window=Global(), aggregates=aggregates, keys=keys, event_time=settings.time, null_keys=False
    )
    schemas = schemas_of(spec, types)
    return for_schemas(spec, schemas), schemas[INPUT]


class MessageValidator:
    """Validates the messages of an operator.

    Args:
        compared: the columns that become parts of keys of stores.
    """

    def __init__(self, spec: WindowOperator, schema: Schema, compared: Sequence[str]) -> None:
        self._spec, self._schema, self._compared = spec, schema, compared
        (self._time,) = spec.time_columns
        self._columns = [
            (name, plain := PLAIN.get(dtype), LIMITS.get(plain)) for name, dtype in schema.items()
        ]
        self._names = frozenset(schema)
        self._plain_time = schema[self._time] == pl.Int64()

    def check(self, message: Any, clock: int) -> ValidMessage | str:
        """Returns a valid message with all columns, or why it is invalid."""
        if not isinstance(message, Mapping):
            raise no_mapping(message)
        if not self._names.issuperset(message):
            check_columns(message, self._names)
        quick = self._quick(message) if self._plain_time else None
        result = self._slow(message, clock) if quick is None else quick
        if isinstance(result, ValidMessage):
            for name in self._compared:
                value = result.message[name]
                if isinstance(value, float) and math.isnan(value):
                    return f"key {name} is NaN"
        return result

    def _quick(self, message: Mapping[str, Any]) -> ValidMessage | None:
        """Returns the message if each value has the plain type of its column; else `_slow` decides."""
        row = {}
        for name, plain, limit in self._columns:
            value = row[name] = message.get(name)
            if value is None:
                if name == self._time or name in self._spec.keys:
                    return None
            elif type(value) is not plain or (limit is not None and not limit(value)):
                return None
        time: Any = row[self._time]
        return ValidMessage(row, time) if time != MIN_INSTANT else None

    def _slow(self, message: Mapping[str, Any], clock: int) -> ValidMessage | str:
        frame = fitted(self._spec, self._schema, [message]).frame
        result = validate(self._spec, self._schema, frame, clock)
        if result.invalid.height:
            reason: str = result.invalid[REASON].item()
            return reason
        valid = result.valid
        try:
            (row,) = rows_of(valid.select(*self._schema))
        except (OverflowError, ValueError):
            return "a timestamp_ntz is not in the years 1 to 9999"
        return ValidMessage(row, valid[TIME].item())
