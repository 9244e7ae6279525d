"""S1's join window operator: the new messages of each window, and access to windows and messages."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from panewise.errors import InputError, SpecError
from panewise.functions import count
from panewise.standalone.callbacks import Callbacks, callbacks_of
from panewise.standalone.delivery import Delivery, Mode
from panewise.standalone.emission import RejectedMessage
from panewise.standalone.retained.codec import from_json
from panewise.standalone.retained.content import Content
from panewise.standalone.retained.operator import RetainedWindows
from panewise.standalone.retained.outputs import Firing, RetainedMessage, WindowMetadata, WindowOutput
from panewise.standalone.retained.settings import JoinWindowSettings
from panewise.standalone.retained.state import RetainedState
from panewise.standalone.retained.validator import validating_spec
from panewise.standalone.retained.window import Arrival, FreshMessage, RetainedWindow
from panewise.stores.keys import decode_key
from panewise.stores.message_codec import MessageKey, encode_fields


class JoinWindowOperator(RetainedWindows):
    """Emits the new messages of each window of a stream, and stores them for the other side of a join.

    A message is emitted once, by the first window that contains it. The join itself is the caller's: for
    each message it reads the messages of the other stream with `get_messages`. To join two streams without
    code of your own, use a `JoinOperator` with `WindowedStreams`.

    The keyword arguments are those of a `WindowedAggregator`.

    Args:
        settings: the windows, their retention, their update policies, and the keys of messages.
        schema: the columns of messages, each with a type, as for a `StandaloneOperator`.

    Raises:
        SpecError: if a column does not fit the settings.
        InputError: if an argument does not fit the mode.
        StoreError: if the store cannot be used, or was made with other settings.

    >>> from panewise.standalone import JoinWindowSettings
    >>> settings = JoinWindowSettings(
    ...     measure="tuple", size=3, advance=3, retention_size=100, retention_time="1 hour",
    ...     keyed_message_store=("id",),
    ... )
    >>> orders = JoinWindowOperator(settings, {"event_time": "bigint", "id": "bigint", "value": "bigint"})
    >>> for time, id in ((10, 1), (20, 3)):
    ...     kind = orders.add_message({"event_time": time, "id": id, "value": time})
    >>> [[message["id"] for message in output.messages] for output in orders.get_result()]
    [[1], [3]]
    >>> [message["value"] for message in orders.get_messages(0, 2, join_keys=(3,))]
    [20]
    >>> [message.offset for message in orders.get_messages(0, 2)]
    [0, 1]

    Source: S1 "Basic Algorithm for Join Window Operators"; semantics 26 to 26.11.
    """

    def __init__(
        self,
        settings: JoinWindowSettings,
        schema: Mapping[str, Any],
        *,
        mode: Mode = "standalone",
        downstream: Callable[[WindowOutput], object] | None = None,
        error_output: Callable[[RejectedMessage], object] | None = None,
        store: str | Path | None = None,
        callbacks: Callbacks | None = None,
    ) -> None:
        kind: type[object] = type(settings)
        if kind is not JoinWindowSettings:
            rule = "a join window operator has JoinWindowSettings"
            raise SpecError(f"settings of the type {kind.__name__}", rule, "give JoinWindowSettings(...)")
        callbacks = callbacks_of(callbacks)
        delivery = Delivery(mode, downstream, callbacks, error_output=error_output, kind="output")
        # A specification has an aggregate. This one, whose name differs from the key's, is never computed.
        unused = count().alias("count" if settings.session_key == "messages" else "messages")
        spec, columns = validating_spec(settings, [unused], schema)
        fields = settings.equal_fields
        state = RetainedState(
            settings, spec, columns, stores_messages=True, join_keys=fields, store=store, callbacks=callbacks
        )
        super().__init__(state, _NewMessages(state), delivery)


class _NewMessages(Content):
    """The messages of windows that have not been emitted. Nothing is computed from them.

    So adding a message raises nothing: the message store refuses it before it changes. Messages that were
    emitted stay emitted when sessions merge.
    """

    def __init__(self, state: RetainedState) -> None:
        self._state = state

    def put(self, window: RetainedWindow, metadata: WindowMetadata) -> None:
        if metadata.value is not None or metadata.partial:
            rule = "the windows of a join window operator have no value and no partial"
            raise InputError(f"value={metadata.value!r}", rule, "give what get_window returned")

    def include(self, windows: Sequence[RetainedWindow], arrival: Arrival) -> list[RetainedWindow]:
        if not windows:  # windows of messages that were deleted
            return []
        first = windows[0]
        join_keys = encode_fields(self._state.keys.join_keys(arrival.message)) or b""
        first.add_fresh(arrival, join_keys)
        return [first]

    def output(self, window: RetainedWindow, firing: Firing) -> WindowOutput | None:
        fresh, state = self._fresh_messages(window), self._state
        window.remove_fresh(fresh, keep_others=state.restoring)
        if not fresh:
            return None
        return WindowOutput(state.bounds(window), state.progress.sequence + 1, firing, tuple(fresh.values()))

    def _fresh_messages(self, window: RetainedWindow) -> dict[int, RetainedMessage]:
        """Returns the stored messages of a window that have not been emitted, in the order of keys."""
        state = self._state
        assert state.messages is not None
        keys = [
            _key_of(message, window)
            for message in window.fresh
            if state.is_in(window, message.time, message.offset)
        ]
        return {
            message.offset: RetainedMessage(from_json(message.value, state.schema), message.offset)
            for message in state.messages.get_many(keys)
            if state.is_applied(message)
        }

    def corrected(self, windows: Iterable[RetainedWindow], arrival: Arrival) -> list[RetainedWindow]:
        return [window for window in windows if window.is_fresh(arrival.offset)]

    def metadata(self, windows: Sequence[RetainedWindow]) -> list[WindowMetadata]:
        return [self._state.bounds(window) for window in windows]


def _key_of(fresh: FreshMessage, window: RetainedWindow) -> MessageKey:
    """Returns the key of a message in the message store."""
    join_keys: Any = decode_key(fresh.join_keys)[0] if fresh.join_keys else None
    return MessageKey(fresh.offset, fresh.time, window.session_key, join_keys)
