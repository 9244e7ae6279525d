"""The results of aggregates over the messages of windows, by the aggregates of the engine.

Messages of a window are not aggregated one by one: they wait in the window until its results or its partial
are needed, and are then aggregated together. As merging is associative, the results are the same. A message
that a user-defined aggregate reads is tried before it is added, as the aggregate could raise an error.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import polars as pl

from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.kernels.small_frames import grouped
from panewise.engine.protocol import Schema
from panewise.engine.tables.run import Shape
from panewise.errors import InputError
from panewise.spec import WindowOperator
from panewise.standalone.messages import fitted
from panewise.standalone.retained.codec import rows_of
from panewise.standalone.retained.window import Message, RetainedWindow, from_bytes

_WINDOW: Final = "__window"


class Results:
    """The aggregates of an operator.

    Attributes:
        is_safe: whether aggregating a message cannot raise an error.
    """

    def __init__(self, spec: WindowOperator, schema: Schema) -> None:
        self._aggregation = Aggregation(spec.aggregates, dict(schema))
        self._spec, self._schema = spec, schema
        self._shape = Shape(self._aggregation.schema, [], [])
        self._of_users = [aggregate.name for aggregate in spec.aggregates if aggregate.fn == "user"]
        self.is_safe = not self._of_users

    def need_messages(self, *, sessions: bool) -> bool:
        """Returns whether results are computed from messages, and not from partials.

        They are if partials would grow with the number of messages; in sessions, which merge, also if the
        results depend on the order in which messages were added.
        """
        bounded = all(part.merge_two or part.merge_operands for part in self._aggregation.partials)
        return not bounded or (sessions and self._aggregation.ordered)

    def check(self, groups: Iterable[Sequence[RetainedWindow]], message: Message) -> None:
        """Aggregates windows that would be combined with a message, without adding it.

        The errors are those of the functions of users.
        """
        for group in groups:
            self.fold(group)  # otherwise each message would be tried with all that wait
            parts = [window.partial for window in group if window.partial is not None]
            self._tried(self._merged([*parts, self.of_messages([message])]))

    def check_messages(self, messages: Sequence[Message]) -> None:
        """Aggregates messages. The errors are those of the functions of users."""
        self._tried(self.of_messages(messages))

    def fold(self, windows: Iterable[RetainedWindow]) -> None:
        """Aggregates the messages that wait in windows."""
        unfolded = [
            window
            for window in windows
            if window.rows or (window.partial is not None and window.partial.height > 1)
        ]
        if not unfolded:
            return
        frames = []
        rows = [row for window in unfolded for row in window.rows]
        if rows:
            places = [place for place, window in enumerate(unfolded) for _ in window.rows]
            frames.append(self._lifted(rows, places))
        for place, window in enumerate(unfolded):
            if window.partial is not None:
                frames.append(window.partial.with_columns(pl.lit(place, dtype=pl.Int64).alias(_WINDOW)))
        names = [_WINDOW, *self._aggregation.schema]
        partials = pl.concat([frame.select(names) for frame in reversed(frames)])
        for (number,), partial in self._grouped(partials).partition_by(_WINDOW, as_dict=True).items():
            unfolded[number].put_partial(partial.drop(_WINDOW))

    def of_messages(self, messages: Sequence[Message]) -> pl.DataFrame:
        """Returns the partial of messages, which are in the order of their offsets, in one row."""
        return self._lifted(messages, [0] * len(messages)).drop(_WINDOW)

    def of_window(self, window: RetainedWindow) -> pl.DataFrame | None:
        """Returns the results of a window in one row; None if it contains no message."""
        self.fold([window])
        return None if window.partial is None else self._values(window.partial)

    def values(self, partial: pl.DataFrame) -> pl.DataFrame:
        """Returns the results of partials in one row."""
        return self._values(self._merged([partial]))

    def partial_of(self, data: bytes) -> pl.DataFrame | None:
        """Returns the partial in the metadata of a window; None for no bytes."""
        rule = "a partial is an Arrow file with the columns of these aggregates, in one row"
        try:
            partial = self.completed(from_bytes(data))
        except (OSError, pl.exceptions.PolarsError) as error:
            raise InputError(
                f"a partial of {len(data)} bytes", rule, "give what get_window returned"
            ) from error
        if partial is not None and (dict(partial.schema), partial.height) != (self._aggregation.schema, 1):
            raise InputError(f"a partial with {partial.schema}", rule, "give what get_window returned")
        return partial

    def completed(self, partial: pl.DataFrame | None) -> pl.DataFrame | None:
        """Returns a partial that an older release may have stored, with all its columns."""
        return None if partial is None else self._shape.with_carries(partial)

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
        frame = fitted(self._spec, self._schema, messages).frame
        numbered = frame.with_columns(pl.Series(_WINDOW, places, dtype=pl.Int64))
        return self._aggregation.lift(numbered, [_WINDOW])

    def _merged(self, partials: Sequence[pl.DataFrame]) -> pl.DataFrame:
        names = list(self._aggregation.schema)
        together = pl.concat([frame.select(names) for frame in partials])
        return self._grouped(together.with_columns(pl.lit(0, dtype=pl.Int64).alias(_WINDOW))).drop(_WINDOW)

    def _grouped(self, partials: pl.DataFrame) -> pl.DataFrame:
        return grouped(partials, [_WINDOW], self._aggregation.merging(partials))

    def _tried(self, partial: pl.DataFrame) -> None:
        """Computes the results of the user-defined aggregates. A sum has to fit only when it is emitted."""
        partial.select(
            result for result in self._aggregation.results if result.meta.output_name() in self._of_users
        )

    def _values(self, partial: pl.DataFrame) -> pl.DataFrame:
        types = self._aggregation.result_types
        return partial.select(self._aggregation.results).select(*types)


def row_of(frame: pl.DataFrame | None) -> dict[str, Any] | None:
    """Returns the only row of a frame."""
    return None if frame is None else next(rows_of(frame))
