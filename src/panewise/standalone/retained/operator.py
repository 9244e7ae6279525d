"""Retained windows: messages and time in, outputs out, and access to windows and messages while they run.

Invariant: a flush follows the delivery of all outputs that led to it. So an output is delivered at least
once, and a repeated one has the number and the content of the first time.
"""

from typing import Any

from panewise.calls import one_at_a_time, one_thread_at_a_time
from panewise.chrono import InstantLike, instant_us
from panewise.engine.ingest.output import Counts
from panewise.errors import InputError
from panewise.spec.column_values import is_long
from panewise.standalone.batches import Frame, frame_for
from panewise.standalone.delivery import Delivery, Mode
from panewise.standalone.emission import RejectedMessage
from panewise.standalone.front import Front
from panewise.standalone.retained.codec import rows_of
from panewise.standalone.retained.content import Content
from panewise.standalone.retained.core import WindowCore
from panewise.standalone.retained.from_metadata import window_of
from panewise.standalone.retained.outputs import (
    Classified,
    RetainedMessage,
    SessionKey,
    WindowMetadata,
    WindowOutput,
    copy_of,
)
from panewise.standalone.retained.state import RetainedState
from panewise.standalone.retained.window import RetainedWindow, session_bytes


class RetainedWindows(Front[WindowOutput, WindowCore]):
    """The windows of a stream that stay for a retention. Base of the two operators.

    One call at a time uses an operator: a call beside that of another thread raises ConcurrentCallError.
    """

    def __init__(self, state: RetainedState, content: Content, delivery: Delivery[WindowOutput]) -> None:
        self._state, self._content = state, content
        try:
            core = WindowCore(state, content, delivery)
            super().__init__(delivery, core, continues=bool(state.files.header))
        except BaseException:
            state.files.close()
            raise

    @one_at_a_time
    def add_message(
        self, message: Any, offset: int | None = None, *, now: InstantLike | None = None
    ) -> Classified:
        """Adds a message.

        Args:
            message: the values by column. A column that is missing is null. One that the schema lacks is
                refused.
            offset: its offset. Offsets increase; one that is not above the mark, the highest offset of an
                applied message, is a replay. Default: one after the mark. A rejected message does not move
                the mark, so the next message without an offset has the same one.
            now: processing time; an earlier one than before changes nothing. An int is microseconds since
                1970-01-01 UTC.

        Returns:
            What became of it. "in_time", "past" or "future": it was applied, and its event time is in the
            current window, before it, or after it. The current window is the one with the highest start.
            For windows of messages it is "future" if it opens a window, but "in_time" if it is the first
            message of all. "replay": it was applied before. "restored": it went at most to the message
            store. "out_of_retention" or "invalid": it was rejected.

        Raises:
            DeliveryDisabledError: if `downstream` or `error_output` has refused what still waits.
            InputError: if the message is no mapping or has an unknown column; if the offset is no whole
                number of 64 bits.
            SpecError: if `now` is not an instant.
            AggregateOverflowError: if a sum that a window emits does not fit its type. The message has been
                applied, and is not repeated. The output is due again in the next call, until the sum fits
                again, or `del_window` deletes the window.
            StoreError: if the store cannot be used. `counts` says whether the message was applied; what was
                due is due again in the next call.

        An error of `downstream` or `error_output` leaves this call, too. What it refused waits, and delivery
        is disabled until `timeout` returns True. The message has been applied or rejected, and is not
        repeated.
        """
        self._delivery.check_ready()
        at = self._offset(offset)
        return self._core.add(message, at, None if now is None else instant_us(now, "now"))

    @one_at_a_time
    def add_batch(
        self, rows: Frame, offset: int | None = None, *, now: InstantLike | None = None
    ) -> list[Classified]:
        """Adds the rows of a batch, one after the other. If delivery is disabled, the rest is not added.

        A row that is invalid or out of retention is rejected, as a message is. A row that raises an error
        ends the call: the rows before it have been added, those after it have not. `counts` says how many.

        Args:
            rows: a Polars DataFrame, or a table or record batch of PyArrow.
            offset: the offset of the first row; the others follow it. Default: the next offset.
            now: processing time.

        Returns:
            What became of each row that was added, see `add_message`. The list is shorter than the batch if
            the downstream refused an output.

        Raises:
            DeliveryDisabledError: if `downstream` or `error_output` had refused something before.
            InputError: if a column is missing or has another type, or the offset is no whole number.
            SpecError, AggregateOverflowError, StoreError: as `add_message`, and errors of `downstream` and
                `error_output`.
        """
        self._delivery.check_ready()
        first, kinds = self._offset(offset), list[Classified]()
        reading = None if now is None else instant_us(now, "now")
        for number, row in enumerate(rows_of(frame_for(self._state.schema, rows))):
            kinds.append(self._core.add(row, self._offset(first + number), reading))
            if self._delivery.disabled:
                break
        return kinds

    @one_at_a_time
    def drain_rejected(self) -> list[RejectedMessage]:
        """Returns the rejected messages that wait, and removes them. With an `error_output` none waits."""
        self._delivery.check_open()
        rejected = list(self._delivery.rejected)
        self._delivery.rejected.clear()
        return rejected

    @property
    @one_thread_at_a_time
    def restore_from(self) -> int | None:
        """The offset from which messages are to be repeated to restore the message store.

        It is the lowest offset of a window in retention. None if nothing is missing. Messages below it
        change nothing.
        """
        if not self._state.restoring:
            return None
        return min((window.start_offset for window in self._state.windows), default=None)

    @one_at_a_time
    def end_restore(self) -> None:
        """Ends the restoring, if the input no longer has the message with the highest offset."""
        self._delivery.check_open()
        self._state.progress.end_restore()

    @property
    def restoring(self) -> bool:
        """Whether the message store was lost, and messages of windows in retention are still missing."""
        return self._state.restoring

    @property
    def counts(self) -> Counts:
        """The counts of messages since the first one: `applied`, `replays`, `late` and `invalid`.

        Messages out of retention are counted as late, and restored ones as replays.
        """
        return self._state.progress.counts

    @property
    def position(self) -> int | None:
        """The offset of the last flush, None before it. After a restart the caller continues after it."""
        return self._state.files.position

    @property
    def mode(self) -> Mode:
        """The mode, "standalone" or "automatic"."""
        return "automatic" if self._delivery.automatic else "standalone"

    @one_at_a_time
    def get_windows(
        self, start: InstantLike, end: InstantLike, session_key: SessionKey | None = None
    ) -> list[WindowMetadata]:
        """Returns the metadata of the windows that overlap a range, in the order of their starts.

        Args:
            start: the first instant; the first offset for windows of messages.
            end: the last instant or offset, which belongs to the range.
            session_key: only sessions of this key.

        Raises:
            InputError: for a session key without sessions, or of another type than its column.
            SpecError: if a bound is not an instant.
        """
        self._delivery.check_open()
        key = self._state.keys.session_from_call(session_key)
        return self._content.metadata(
            self._state.overlapping(instant_us(start, "start"), instant_us(end, "end"), key)
        )

    @one_at_a_time
    def get_window(self, start: InstantLike, session_key: SessionKey | None = None) -> WindowMetadata | None:
        """Returns the metadata of the window with this start, or None.

        The start is an offset for windows of messages.
        """
        window = self._at(start, session_key)
        return None if window is None else self._content.metadata([window])[0]

    @one_at_a_time
    def put_window(self, metadata: WindowMetadata) -> None:
        """Adds or replaces a window by metadata that `get_window` or `get_windows` returned.

        It emits nothing by itself. A window of messages can be replaced, but not added.

        Raises:
            InputError: if the metadata do not fit the windows of this operator, or the value is not the
                result of the partial. Windows of a join window operator have no value and no partial.
        """
        self._delivery.check_open()
        window = window_of(self._state, metadata)
        self._content.put(window, metadata)
        self._state.put(window)

    @one_at_a_time
    def del_window(self, start: InstantLike, session_key: SessionKey | None = None) -> bool:
        """Deletes a window with what it has not emitted. Returns whether there was one.

        A later message in its range opens it again, without the messages that it had (semantics 26.9).
        """
        window = self._at(start, session_key)
        if window is not None:
            self._state.remove(window)
        return window is not None

    @one_at_a_time
    def get_messages(
        self,
        start: InstantLike,
        end: InstantLike,
        session_key: SessionKey | None = None,
        join_keys: tuple[Any, ...] | None = None,
    ) -> list[RetainedMessage]:
        """Returns the stored messages in a range, in the order of the keys of the message store.

        Each is a dict with an attribute `offset`.

        Args:
            start: the first event time; the first offset for windows of messages.
            end: the last event time or offset, which belongs to the range.
            session_key: only messages of this session key.
            join_keys: only messages whose equal fields have these values.

        Raises:
            InputError: if the operator stores no messages; for a session key without sessions, or join keys
                without equal fields; for a value of another type than its column.
            SpecError: if a bound is not an instant.
        """
        self._delivery.check_open()
        keys = self._state.keys
        key, fields = keys.session_from_call(session_key), keys.fields_from_call(join_keys)
        low, high = instant_us(start, "start"), instant_us(end, "end")
        messages = self._state.stored_messages(low, high, key, fields)
        return [RetainedMessage(message, offset) for offset, message in messages]

    @one_at_a_time
    def retire(
        self,
        end: InstantLike,
        session_key: SessionKey | None = None,
        join_keys: tuple[Any, ...] | None = None,
    ) -> int:
        """Removes full windows up to an end, and their messages, as if they had expired.

        What the windows have not emitted yet is emitted before.

        Args:
            end: windows that end at or before it are removed: those with `end_time <= end`, but sessions
                with `end_time < end`, because the `end_time` of a session is its last instant. For windows of
                messages: those whose last offset is at most `end`.
            session_key: only sessions of this key.
            join_keys: values of the equal fields. Then no window is removed, but only the messages with these
                values, and with the session key if there are sessions. `end` is exclusive for event times,
                and inclusive for offsets. A removed message that was not emitted is never emitted.

        Returns:
            The number of windows, or with `join_keys` of messages.

        Raises:
            DeliveryDisabledError: if `downstream` or `error_output` has refused what still waits.
            InputError: for a session key without sessions; for join keys that are not the first part of the
                keys of messages, or without the session key that is; for a value of another type than its
                column.
            SpecError: if `end` is not an instant.
            StoreError: if the store cannot be used.
        """
        self._delivery.check_ready()
        keys = self._state.keys
        key, fields = keys.session_from_call(session_key), keys.fields_from_call(join_keys)
        limit = instant_us(end, "end")
        if fields is None:
            return self._core.remove_full(limit, key)
        return self._core.retire_fields(limit, key, fields)

    def _copied(self, output: WindowOutput) -> WindowOutput:
        return copy_of(output)

    def _at(self, start: InstantLike, session_key: SessionKey | None) -> RetainedWindow | None:
        self._delivery.check_open()
        key = self._state.keys.session_from_call(session_key, needed=True)
        return self._state.windows.at((instant_us(start, "start"), session_bytes(key)))

    def _offset(self, offset: int | None) -> int:
        if offset is None:
            offset = 0 if self._state.progress.mark is None else self._state.progress.mark + 1
        if not is_long(offset):
            raise InputError(f"offset={offset!r}", "an offset is a whole number of 64 bits", "give an int")
        return int(offset)
