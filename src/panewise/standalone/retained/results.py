"""The results of aggregates over the messages of windows, by the aggregates of the engine.

Messages of a window are not aggregated one by one: they wait in the window until its results or its partial
are needed, and are then aggregated together. As merging is associative, the results are the same. A message
whose aggregation could raise an error, such as an overflow, is tried before it is added.
"""

from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import Any, Final

import polars as pl

from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.kernels.frames import grouped
from panewise.engine.protocol import Schema
from panewise.errors import InputError
from panewise.spec import Aggregate, Entry
from panewise.spec.column_values import is_long
from panewise.standalone.messages import fitted
from panewise.standalone.retained.codec import rows_of
from panewise.standalone.retained.table import WindowTable
from panewise.standalone.retained.window import Message, Window

_WINDOW: Final = "__window"
_LIMIT: Final = 2**62


class Results:
    """The aggregates of an operator.

    Args:
        aggregates: the aggregates.
        entry: what the operator reads of a message.
        schema: the columns of messages.

    Attributes:
        sums: whether one of them is a sum that may not fit its type.
    """

    def __init__(self, aggregates: Sequence[Aggregate], entry: Entry, schema: Schema) -> None:
        self._aggregation = Aggregation(tuple(aggregates), dict(schema))
        self._entry, self._schema = entry, schema
        sums = [one for one in self._aggregation.parts if one.sums is not None and not one.dtype.is_float()]
        self._summed = [one.sums for one in sums if one.sums is not None]
        self._sums = [one.name for one in sums]
        whole = all(schema[name].is_integer() for name in self._summed)
        self.sums = bool(sums)
        self._plain = whole and all(one.fn != "user" for one in aggregates)
        self._total = self._unsafe = 0

    def need_messages(self, *, sessions: bool) -> bool:
        """Returns whether results are computed from messages, and not from partials.

        They are if partials would grow with the number of messages; in sessions, which merge, also if the
        results depend on the order in which messages were added.
        """
        bounded = all(part.pair or part.merge_sides for part in self._aggregation.parts)
        return not bounded or (sessions and self._aggregation.ordered)

    def is_safe(self, message: Message) -> bool:
        """Returns whether aggregating a message cannot raise an error. It counts the message.

        Invariant: `_total` bounds the absolute value of every sum over windows, together or alone.
        """
        self.count([message])
        safe = self._plain and self._total < _LIMIT
        self._unsafe = 0 if safe else self._unsafe + 1
        return safe

    def count(self, messages: Iterable[Message]) -> None:
        """Counts messages that windows contain."""
        if not self._plain or not self._summed:
            return
        for message in messages:
            for name in self._summed:
                value: Any = message.get(name)
                self._total += abs(value) if is_long(value) else 0

    def count_partial(self, partial: pl.DataFrame | None) -> None:
        """Counts a partial that a window contains."""
        if self._plain and partial is not None:
            self._total += sum(abs(value or 0) for name in self._sums for value in partial[name])

    def recount(self, windows: WindowTable, message: Message) -> None:
        """Counts what windows contain, and a message that is about to be added, instead of all messages.

        It costs a step in each so many calls.
        """
        if self._plain and self._unsafe > len(windows):
            self._total = self._unsafe = 0
            for window in windows:
                self.count_partial(window.partial)
                self.count(window.rows)
            self.count([message])

    def check(self, groups: Iterable[Sequence[Window]], message: Message) -> None:
        """Aggregates windows that would be combined with a message, without adding it.

        Raises:
            AggregateOverflowError: if a sum does not fit its type; or the error of a user's function.
        """
        for group in groups:
            self.fold(group)  # otherwise each message would be tried with all that wait
            parts = [one.partial for one in group if one.partial is not None]
            self._values(self._merged([self.of_messages([message]), *parts]))

    def fold(self, windows: Iterable[Window]) -> None:
        """Aggregates the messages that wait in windows."""
        waiting = [one for one in windows if one.rows or (one.partial is not None and one.partial.height > 1)]
        if not waiting:
            return
        frames = []
        rows = [row for window in waiting for row in window.rows]
        if rows:
            places = [place for place, window in enumerate(waiting) for _ in window.rows]
            frames.append(self._lifted(rows, places))
        for place, window in enumerate(waiting):
            if window.partial is not None:
                frames.append(window.partial.with_columns(pl.lit(place, dtype=pl.Int64).alias(_WINDOW)))
        names = [_WINDOW, *self._aggregation.schema]
        partials = pl.concat([frame.select(names) for frame in reversed(frames)])
        for (number,), one in self._grouped(partials).partition_by(_WINDOW, as_dict=True).items():
            window = waiting[number]
            window.partial, window.rows = one.drop(_WINDOW), []

    def of_messages(self, messages: Sequence[Message]) -> pl.DataFrame:
        """Returns the partial of messages, which are in the order of their offsets, in one row."""
        return self._lifted(messages, [0] * len(messages)).drop(_WINDOW)

    def of_window(self, window: Window) -> pl.DataFrame | None:
        """Returns the results of a window in one row; None if it contains no message."""
        self.fold([window])
        return None if window.partial is None else self._values(window.partial)

    def values(self, partial: pl.DataFrame) -> pl.DataFrame:
        """Returns the results of partials in one row."""
        return self._values(self._merged([partial]))

    def partial_of(self, data: bytes) -> pl.DataFrame | None:
        """Returns the partial in the metadata of a window; None for no bytes.

        Raises:
            InputError: if it is not one of these aggregates.
        """
        rule = "a partial is an Arrow file with the columns of these aggregates, in one row"
        try:
            partial = of_bytes(data)
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(
                f"a partial of {len(data)} bytes", rule, "give what get_window returned"
            ) from error
        if partial is not None and (dict(partial.schema), partial.height) != (self._aggregation.schema, 1):
            raise InputError(f"a partial with {partial.schema}", rule, "give what get_window returned")
        return partial

    def has_value(self, partial: pl.DataFrame, value: dict[str, Any] | None) -> bool:
        """Returns whether the results of a partial have this value. NaN is equal to NaN."""
        results = self.values(partial)
        if value is None or set(value) != {*results.columns}:
            return False
        try:
            return results.equals(pl.DataFrame([value], results.schema))
        except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
            return False

    def _lifted(self, messages: Sequence[Message], places: list[int]) -> pl.DataFrame:
        frame = fitted(self._entry, self._schema, messages).frame
        numbered = frame.with_columns(pl.Series(_WINDOW, places, dtype=pl.Int64))
        return self._aggregation.lift(numbered, [_WINDOW])

    def _merged(self, partials: Sequence[pl.DataFrame]) -> pl.DataFrame:
        names = list(self._aggregation.schema)
        one = pl.concat([frame.select(names) for frame in partials])
        return self._grouped(one.with_columns(pl.lit(0, dtype=pl.Int64).alias(_WINDOW))).drop(_WINDOW)

    def _grouped(self, partials: pl.DataFrame) -> pl.DataFrame:
        self._aggregation.check_merge(partials, [_WINDOW])
        return grouped(partials, [_WINDOW], self._aggregation.merging())

    def _values(self, partial: pl.DataFrame) -> pl.DataFrame:
        types = self._aggregation.result_types
        return partial.select(self._aggregation.results).select(*types)


def joined(one: pl.DataFrame, other: pl.DataFrame | None) -> pl.DataFrame:
    """Returns the partials of two windows as rows of one frame, which the next fold merges."""
    return one if other is None else pl.concat([one, other])


def to_bytes(frame: pl.DataFrame | None) -> bytes:
    """Returns a frame as an Arrow file; no bytes for None."""
    if frame is None:
        return b""
    made = BytesIO()
    frame.write_ipc(made)
    return made.getvalue()


def of_bytes(data: bytes) -> pl.DataFrame | None:
    """Returns the frame of an Arrow file; None for no bytes."""
    return pl.read_ipc(data) if data else None


def row_of(frame: pl.DataFrame | None) -> dict[str, Any] | None:
    """Returns the only row of a frame."""
    return None if frame is None else next(rows_of(frame))
