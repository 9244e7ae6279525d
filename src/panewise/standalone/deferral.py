"""Which messages may be evaluated together with later ones, although each is a batch of its own.

Evaluating a message costs a step of the engine, some milliseconds. But most messages emit nothing. If such a
message is evaluated later, in one batch with others of its kind, every output is the same, provided that:

- windows are fixed, and nothing fires before the watermark reaches their end;
- every value of the message has the plain type of its column, and its event time is not before the
  watermark. Then all its windows are incomplete;
- aggregates are counts, sums, minima and maxima of whole numbers, texts and Booleans, which do not depend on
  the order or the grouping of rows, and no sum can overflow.

Whatever could show a difference evaluates the messages that wait before it: every other event, every other
message, and whoever reads the state, the counts or the emissions.
"""

from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from panewise.engine.protocol import Schema
from panewise.families import INPUT
from panewise.spec import AfterWatermark, Hopping, Tumbling, WindowOperator, counted
from panewise.spec.column_values import is_long, is_text
from panewise.standalone.messages import Message

MOST: Final = 10_000  # messages that wait at most
_KINDS: Final[Mapping[pl.DataType, type]] = {pl.Int64(): int, pl.String(): str, pl.Boolean(): bool}
_UNREAD: Final[Mapping[pl.DataType, type]] = {**_KINDS, pl.Float64(): float, pl.Binary(): bytes}
_FUNCTIONS: Final = frozenset({"count", "sum", "min", "max"})
_LIMIT: Final = 2**62


class Deferral:
    """Decides which messages of an operator may wait.

    Invariant: `_total` bounds the absolute value of every sum in the state. It is known only while all rows
    came as messages, so :meth:`stop` ends the deferral for good.
    """

    def __init__(self, spec: Any, schema: Schema) -> None:
        self._time: str | None = spec.time_columns[0] if _possible(spec, schema) else None
        self._keys = frozenset(spec.keys) if self._time else frozenset()
        # Columns that the operator does not read can have misfits, too. The kind of other types is none.
        self._columns = [(name, _UNREAD.get(dtype, type(None))) for name, dtype in schema.items()]
        measures = spec.measures if self._time else ()
        self._summed = frozenset(name for one in measures if one.fn == "sum" for name in one.columns)
        self._total = 0

    def stop(self) -> None:
        """Ends the deferral, as rows came in another way."""
        self._time = None

    def takes(self, message: Any, clocks: Any) -> bool:
        """Returns whether a message may wait, given the clocks of the operator.

        It is called once for each message, whether it may wait or not, as all of them count for the sums.
        """
        if self._time is None:
            return False
        if type(message) is not dict:
            self.stop()
            return False
        fits, time, low = self._fits(message), message.get(self._time), clocks.instant_watermark
        known = type(time) is int and -_LIMIT < time < _LIMIT and (low is None or time >= low)
        return fits and known and not clocks.finished

    def _fits(self, message: Message) -> bool:
        """Returns whether all values have the plain type of their column, and counts them as received."""
        fits = True
        for name, kind in self._columns:
            value: Any = message.get(name)
            if type(value) is not kind:
                fits = fits and value is None and name not in self._keys
            elif kind is int:
                fits = fits and is_long(value)
            elif kind is str:
                fits = fits and is_text(value)
            if name in self._summed and is_long(value):
                self._total += abs(value)
        return fits and self._total < _LIMIT


def _possible(spec: Any, schema: Schema) -> bool:
    """Returns whether messages of this operator can wait at all."""
    if type(spec) is not WindowOperator or list(spec.ports) != [INPUT]:
        return False
    fixed = isinstance(spec.window, Tumbling) or (isinstance(spec.window, Hopping) and not spec.window.gaps)
    at_the_end = isinstance(spec.trigger, AfterWatermark) and spec.trigger.early is None
    plain = (
        spec.time == "event"
        and spec.watermark is None
        and spec.position is None
        and spec.evictor is None
        and not spec.delta
        and not counted(spec.window)
        and spec.max_future_skew is None
        and spec.evaluate == "batch"
        and spec.drop_by == "window"
    )
    known = all(schema.get(name) in _KINDS for name in spec.columns_read)
    timed = len(spec.time_columns) == 1 and schema[spec.time_columns[0]] == pl.Int64()
    return fixed and at_the_end and plain and known and timed and _combinable(spec)


def _combinable(spec: WindowOperator) -> bool:
    """Returns whether no aggregate depends on the order or the grouping of rows."""
    return not spec.order and all(one.fn in _FUNCTIONS for one in spec.measures)
