"""S1's windowed aggregator: the results of the windows of a stream, with early, full and late outputs."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import polars as pl

from panewise.errors import InputError, SpecError
from panewise.spec import Aggregate
from panewise.standalone.callbacks import Callbacks, callbacks_of
from panewise.standalone.delivery import Delivery, Mode
from panewise.standalone.emission import RejectedMessage
from panewise.standalone.retained.content import Content
from panewise.standalone.retained.operator import RetainedWindows
from panewise.standalone.retained.outputs import Firing, WindowMetadata, WindowOutput
from panewise.standalone.retained.results import Results, row_of
from panewise.standalone.retained.settings import AggregatorSettings
from panewise.standalone.retained.state import RetainedState
from panewise.standalone.retained.validator import validating_spec
from panewise.standalone.retained.window import Arrival, Message, RetainedWindow, to_bytes


class WindowedAggregator(RetainedWindows):
    """Aggregates the messages of each window. Windows stay for a retention.

    Where a result follows from partials of bounded size, as sums do, the partials are stored with the
    metadata of the window. Other aggregates, such as a median, need the messages of the window: these are
    stored, and the result is computed from them.

    Args:
        settings: the windows, their retention and their update policies.
        aggregates: the aggregates, with names.
        schema: the columns of messages, each with a type, as for a `StandaloneOperator`.
        mode: "standalone": outputs wait until they are drained or cleared. "automatic": they are passed to
            `downstream`. Default: "standalone".
        downstream: with `mode="automatic"` a function that receives each output. If it returns False or
            raises, it has refused the output, and delivery is disabled (semantics 32).
        error_output: a function that receives each rejected message. Default: none, they wait until
            `drain_rejected` returns them.
        store: a directory for metadata and messages. Default: None, in memory.
        callbacks: functions of the life cycle. `write` is called before each write with its kind: "output",
            "messages", "metadata" or "position".

    Raises:
        SpecError: if an aggregate or a column does not fit; if the messages are needed and
            `message_store=False`.
        InputError: if an argument does not fit the mode.
        StoreError: if the store cannot be used, or was made with other settings.

    >>> from panewise import functions as F
    >>> from panewise.standalone import AggregatorSettings
    >>> settings = AggregatorSettings(
    ...     measure="time", size="1 minute", advance="1 minute", retention_size=1000, retention_time="1 hour"
    ... )
    >>> highest = WindowedAggregator(settings, [F.max("v").alias("highest")], {
    ...     "event_time": "bigint", "v": "bigint"})
    >>> [highest.add_message({"event_time": time, "v": v}) for time, v in ((0, 3), (50, 5), (60_000_000, 1))]
    ['in_time', 'in_time', 'future']
    >>> [(output.window.start, output.firing, output.window.value) for output in highest.drain()]
    [(0, 'full', {'highest': 5})]

    Source: S1 "Basic Algorithm for Windowed Aggregators"; semantics 26 to 26.11.
    """

    def __init__(
        self,
        settings: AggregatorSettings,
        aggregates: Iterable[Aggregate],
        schema: Mapping[str, Any],
        *,
        mode: Mode = "standalone",
        downstream: Callable[[WindowOutput], object] | None = None,
        error_output: Callable[[RejectedMessage], object] | None = None,
        store: str | Path | None = None,
        callbacks: Callbacks | None = None,
    ) -> None:
        if type(settings) is not AggregatorSettings:
            rule = "a windowed aggregator has AggregatorSettings"
            raise SpecError(
                f"settings of the type {type(settings).__name__}", rule, "give AggregatorSettings(...)"
            )
        callbacks = callbacks_of(callbacks)
        delivery = Delivery(mode, downstream, callbacks, error_output=error_output, kind="output")
        spec, columns = validating_spec(settings, aggregates, schema)
        results = Results(spec, columns)
        from_messages = results.need_messages(sessions=settings.session_key is not None)
        if from_messages and settings.message_store is False:
            rule = "some of the aggregates are computed from the messages of a window"
            raise SpecError("message_store=False", rule, "leave it out")
        stores = from_messages or bool(settings.message_store)
        state = RetainedState(
            settings, spec, columns, stores_messages=stores, store=store, callbacks=callbacks
        )
        super().__init__(state, _Aggregates(state, results, from_messages), delivery)


class _Aggregates(Content):
    """The results of windows, computed from partials or from stored messages."""

    def __init__(self, state: RetainedState, results: Results, from_messages: bool) -> None:
        self._state, self._results, self._from_messages = state, results, from_messages

    def loaded(self, windows: Iterable[RetainedWindow]) -> None:
        for window in windows:
            window.put_partial(self._results.completed(window.partial))

    def put(self, window: RetainedWindow, metadata: WindowMetadata) -> None:
        partial = self._results.partial_of(metadata.partial)
        if self._from_messages != (partial is None):
            rule = "a partial is needed if results are computed from it, and is refused otherwise"
            raise InputError(
                f"a partial of {len(metadata.partial)} bytes", rule, "give what get_window returned"
            )
        if partial is not None and not self._results.has_value(partial, metadata.value):
            rule = "the value of a window is the result of its partial"
            raise InputError(f"value={metadata.value!r}", rule, "give what get_window returned")
        window.put_partial(partial)

    def include(self, windows: Sequence[RetainedWindow], arrival: Arrival) -> list[RetainedWindow]:
        if not self._from_messages:
            for window in windows:
                window.add_row(arrival.message)
        return list(windows)

    def attempt(self, arrival: Arrival, floor: int) -> None:
        if self._results.is_safe:
            return
        groups = self._state.grid.present_parts(self._state.windows, arrival, floor)
        if not self._from_messages:
            self._results.check(groups, arrival.message)
            return
        for group in groups:
            stored = [message for window in group for message in self._ordered(window)]
            self._results.check_messages([*stored, arrival.message])

    def _ordered(self, window: RetainedWindow) -> list[Message]:
        """Returns the stored messages of a window in the order of their offsets."""
        return [message for _, message in sorted(self._state.messages_of(window), key=itemgetter(0))]

    def _result(self, window: RetainedWindow) -> pl.DataFrame | None:
        if not self._from_messages:
            return self._results.of_window(window)
        messages = self._ordered(window)
        return self._results.values(self._results.of_messages(messages)) if messages else None

    def output(self, window: RetainedWindow, firing: Firing) -> WindowOutput | None:
        result = self._result(window)
        if result is not None and window.session_key is not None:
            window.note_result(result)
        return self._numbered(window, result, firing)

    def retraction(self, window: RetainedWindow) -> WindowOutput | None:
        return self._numbered(window, window.emitted, "retraction")

    def _numbered(
        self, window: RetainedWindow, result: pl.DataFrame | None, firing: Firing
    ) -> WindowOutput | None:
        if result is None:
            return None
        return WindowOutput(self._described(window, result), self._state.progress.sequence + 1, firing)

    def corrected(self, windows: Iterable[RetainedWindow], arrival: Arrival) -> list[RetainedWindow]:
        if not self._from_messages:
            return []
        return [window for window in windows if window.incomplete or window.pending_since is not None]

    def metadata(self, windows: Sequence[RetainedWindow]) -> list[WindowMetadata]:
        self.fold(windows)
        return [self._described(window, self._result(window)) for window in windows]

    def fold(self, windows: Sequence[RetainedWindow]) -> None:
        self._results.fold(windows)

    def _described(self, window: RetainedWindow, result: pl.DataFrame | None) -> WindowMetadata:
        partial = to_bytes(window.partial)
        return self._state.bounds(window)._replace(value=row_of(result), partial=partial)
