"""S1's join window operator: the new messages of each window, and access to windows and messages."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from panewise.calls import one_at_a_time
from panewise.errors import InputError, SpecError
from panewise.functions import count
from panewise.spec import Global, WindowOperator
from panewise.standalone.callbacks import Callbacks
from panewise.standalone.retained.codec import of_json
from panewise.standalone.retained.operator import RetainedWindows
from panewise.standalone.retained.outbox import Downstream, ErrorOutput, Mode, Outbox
from panewise.standalone.retained.outputs import Firing, WindowOutput
from panewise.standalone.retained.rows import checked
from panewise.standalone.retained.settings import JoinWindowSettings
from panewise.standalone.retained.window import Arrival, FreshMessage, RetainedMessage, Window, WindowMetadata
from panewise.stores.keys import decode_key
from panewise.stores.message_codec import MessageKey, encode_fields


class JoinWindowOperator(RetainedWindows):
    """Emits the new messages of each window of a stream, and stores them for the other side of a join.

    A message is emitted once, by the first window that contains it. The join itself is the caller's: for
    each message it reads the messages of the other stream with `get_messages`. To join two streams without
    code of your own, use a `JoinOperator` with `WindowedStreams`.

    Args:
        settings: the windows, their retention, their update policies, and the keys of messages.
        schema: the columns of messages, each with a type, as for a `StandaloneOperator`.
        mode, downstream, error_output, store, callbacks: as for a `WindowedAggregator`.

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
        downstream: Downstream | None = None,
        error_output: ErrorOutput | None = None,
        store: str | Path | None = None,
        callbacks: Callbacks | None = None,
    ) -> None:
        kind: type[object] = type(settings)
        if kind is not JoinWindowSettings:
            rule = "a join window operator has JoinWindowSettings"
            raise SpecError(f"settings of the type {kind.__name__}", rule, "give JoinWindowSettings(...)")
        spec, columns = checked(_spec(settings), schema)
        callbacks = callbacks or Callbacks()
        super().__init__(
            settings,
            spec,
            columns,
            stores_messages=True,
            join_keys=settings.equal_fields,
            outbox=Outbox(mode, downstream, error_output, callbacks.write),
            store=store,
            callbacks=callbacks,
        )

    @one_at_a_time
    def put_window(self, metadata: WindowMetadata) -> None:
        """Adds or replaces a window by metadata that `get_window` or `get_windows` returned.

        It emits nothing by itself. A window of messages can be replaced, but not added.

        Raises:
            InputError: if the metadata do not fit the windows of this operator, or have a value.
        """
        self._check_open()
        window = self._window_of(metadata)
        if metadata.value is not None or metadata.partial:
            rule = "the windows of a join window operator have no value and no partial"
            raise InputError(f"value={metadata.value!r}", rule, "give what get_window returned")
        self._put(window)

    def _include(self, windows: Sequence[Window], arrival: Arrival) -> list[Window]:
        if not windows:  # windows of messages that were deleted
            return []
        first = windows[0]
        join_keys = encode_fields(self._keys.join_keys(arrival.message)) or b""
        first.fresh.append(FreshMessage(arrival.time, arrival.offset, join_keys))
        return [first]

    def _try(self, arrival: Arrival, floor: int) -> None:
        """Adding a message raises nothing: the message store refuses it before it changes."""

    def _output(self, window: Window, firing: Firing) -> WindowOutput | None:
        found = self._fresh_messages(window)
        window.fresh = [one for one in window.fresh if one.offset not in found] if self.restoring else []
        if not found:
            return None
        described, sequence = self._metadata([window])[0], self._progress.sequence + 1
        return WindowOutput(described, sequence, firing, tuple(found.values()))

    def _fresh_messages(self, window: Window) -> dict[int, RetainedMessage]:
        """Returns the stored messages of a window that have not been emitted, in the order of keys."""
        assert self._messages is not None
        keys = [_key_of(one, window) for one in window.fresh if self._is_in(window, one.time, one.offset)]
        found = self._messages.get_many(keys)
        return {
            one.offset: RetainedMessage(of_json(one.value, self._schema), one.offset)
            for one in found
            if self._is_applied(one)
        }

    def _retraction(self, window: Window) -> WindowOutput | None:
        """Returns None: messages that were emitted stay emitted when sessions merge."""
        return None

    def _corrected(self, windows: Iterable[Window], arrival: Arrival) -> list[Window]:
        return [one for one in windows if _is_fresh(one, arrival.offset)]

    def _metadata(self, windows: Sequence[Window]) -> list[WindowMetadata]:
        return [self._bounds(window) for window in windows]

    def _fold(self, windows: Sequence[Window]) -> None:
        """Windows of this operator contain nothing that is computed."""


def _spec(settings: JoinWindowSettings) -> WindowOperator:
    """Returns what is read of a message. A specification has an aggregate, which is never computed."""
    session = settings.session_key
    unused = count().alias("count" if session == "messages" else "messages")
    keys = () if session is None else (session,)
    return WindowOperator(
        window=Global(), aggregates=[unused], keys=keys, event_time=settings.time, null_keys=False
    )


def _is_fresh(window: Window, offset: int) -> bool:
    """Returns whether a window has not emitted the message with this offset."""
    place = bisect_left(window.fresh, offset, key=lambda one: one.offset)
    return place < len(window.fresh) and window.fresh[place].offset == offset


def _key_of(fresh: FreshMessage, window: Window) -> MessageKey:
    """Returns the key of a message in the message store."""
    join_keys: Any = decode_key(fresh.join_keys)[0] if fresh.join_keys else None
    return MessageKey(fresh.offset, fresh.time, window.session_key, join_keys)
