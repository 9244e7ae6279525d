"""The state of retained windows: the windows, their messages, and how far the operator has come.

Invariant: the messages of the state are the stored ones that have offsets up to the mark and are not retired.
After a failure the store may have others, which are never returned.
Cost: all windows are in memory, and messages only in their store. To load a state takes a pass over the
windows and, with sessions, over the messages.
"""

from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from panewise.chrono import MIN_INSTANT
from panewise.engine.protocol import Schema
from panewise.errors import InputError
from panewise.spec import WindowOperator
from panewise.spec.codec import to_dict
from panewise.standalone.callbacks import Callbacks
from panewise.standalone.retained.codec import from_json, to_json
from panewise.standalone.retained.files import WindowFiles
from panewise.standalone.retained.grids import grid_of
from panewise.standalone.retained.key_columns import KeyColumns
from panewise.standalone.retained.outputs import WindowMetadata
from panewise.standalone.retained.progress import Progress
from panewise.standalone.retained.retention import WindowRetention
from panewise.standalone.retained.retirement import Retirements
from panewise.standalone.retained.settings import AggregatorSettings
from panewise.standalone.retained.table import RetainedTable
from panewise.standalone.retained.updates import Updates
from panewise.standalone.retained.validator import MessageValidator
from panewise.standalone.retained.window import Arrival, Message, RetainedWindow
from panewise.stores.keys import KeyValue
from panewise.stores.message_codec import Message as StoredMessage


class RetainedState:
    """Windows, messages and progress of an operator."""

    def __init__(
        self,
        settings: AggregatorSettings,
        spec: WindowOperator,
        schema: Schema,
        *,
        stores_messages: bool,
        join_keys: Sequence[str] = (),
        store: str | Path | None,
        callbacks: Callbacks,
    ) -> None:
        self.settings, self.schema, self.in_memory = settings, schema, store is None
        self.keys = KeyColumns(settings.session_key, join_keys, schema)
        self.validator, self.grid = MessageValidator(spec, schema, self.keys.names), grid_of(settings)
        layout = settings.layout() if stores_messages else None
        types = {name: str(dtype) for name, dtype in schema.items()}
        made_with = {**settings.to_json(), "spec": to_dict(spec), "types": types}
        self.files = WindowFiles(store, made_with, layout, settings.session_key is not None, callbacks.write)
        self.messages = self.files.messages

    def begin(self) -> None:
        """Loads what is stored, in place of all that the operator has in memory."""
        self.windows, self.progress = RetainedTable(), Progress.from_json(self.files.header)
        self.retention = WindowRetention(self.settings, self.windows, self.progress)
        self.updates = Updates(self.settings, self.windows)
        self.retirements: Retirements | None = None
        if self.messages is not None:
            self.retirements = Retirements(self.messages, in_memory=self.in_memory)
        for window in self.files.windows():
            self.windows.put(window)
            self.enqueue(window)
        self.windows.note_flush()
        self._check_order()
        self._purge_messages()
        self._end_restore_without_windows()

    def _check_order(self) -> None:
        """Notes whether the last offsets of windows of messages are in the order of their starts."""
        if not self.settings.by_time and self.progress.mark is not None:
            self.windows.check_order(self.progress.mark)

    def _end_restore_without_windows(self) -> None:
        """Ends the restoring if no window is left that can miss messages (26.11)."""
        until = self.progress.restore_until
        if until is not None and not any(window.start_offset <= until for window in self.windows):
            self.progress.end_restore()

    def _purge_messages(self) -> None:
        """Removes the messages of expired windows that a failure after the metadata has left (26.10)."""
        mark, messages = self.progress.mark, self.messages
        if self.retirements is not None:
            self.retirements.load(self.files.retired())
        if self.settings.session_key is None:
            self.retire_unreachable()
        elif messages is not None and mark is not None:
            messages.purge(
                lambda message: message.offset > mark or bool(self.containing(_arrival_of(message)))
            )

    @property
    def restoring(self) -> bool:
        """Whether the message store was lost, and messages of windows in retention are still missing."""
        return self.progress.restore_until is not None

    def window_progress(self) -> int:
        """Returns the progress that boundaries of windows are compared with."""
        if self.settings.by_time:
            mark = self.progress.watermark
            return MIN_INSTANT if mark is None else mark
        return self.progress.received - 1

    def bounds(self, window: RetainedWindow) -> WindowMetadata:
        """Returns the metadata of a window without a value."""
        session = self.settings.session_key is not None
        times = (window.start, window.end - session) if self.settings.by_time else (None, None)
        shown = self.keys.shown(window.session_key)
        return WindowMetadata(shown, window.start, window.start_offset, window.last_offset, *times)

    def overlapping(self, low: int, high: int, session_key: KeyValue | None) -> list[RetainedWindow]:
        """Returns the windows that share an instant or an offset with [low, high], only those of a key.

        Invariant: starts and ends are in the same order, except over the sessions of several keys. So the
        search is backward from `high`, and stops at the first window before `low`.
        """
        by_time, sessions = self.settings.by_time, self.settings.session_key is not None

        def reaches(window: RetainedWindow) -> bool:
            return window.end > low if by_time else window.last_offset >= low

        earlier = self.windows.backward(session_key, high)
        in_order = (by_time or self.windows.in_order) and (not sessions or session_key is not None)
        return list((takewhile if in_order else filter)(reaches, earlier))[::-1]

    def containing(self, arrival: Arrival) -> list[RetainedWindow]:
        """Returns the windows that contain a message, which is not above the mark."""
        by_time = self.settings.by_time
        at = arrival.time if by_time else arrival.offset
        return [
            window
            for window in self.windows.latest(at, arrival.session_key, self.settings.windows_per_message)
            if (not by_time or window.end > at)
            and window.start_offset <= arrival.offset <= window.last_offset
            and arrival.time <= window.last_time
        ]

    def stored_messages(
        self, low: int, high: int, session_key: KeyValue | None, join_keys: tuple[Any, ...] | None = None
    ) -> Iterator[tuple[int, Message]]:
        """Returns the offsets and the messages of a range."""
        if self.messages is None:
            rule = "without message_store a windowed aggregator stores results, and no messages"
            raise InputError("messages", rule, "set message_store=True, or use a JoinWindowOperator")
        with self.messages.get_messages(
            start=low, end=high, session_key=session_key, join_keys=join_keys
        ) as messages:
            for message in messages:
                if self.is_applied(message):
                    yield message.offset, from_json(message.value, self.schema)

    def is_applied(self, message: StoredMessage) -> bool:
        """Returns whether a stored message is one of the state: applied, and not of an expired window.

        After a failure the store has messages above the mark. They are not applied yet.
        """
        mark, retirements = self.progress.mark, self.retirements
        assert retirements is not None  # as there is a message store
        return mark is not None and message.offset <= mark and not retirements.hides(message)

    def is_in(self, window: RetainedWindow, time: int, offset: int) -> bool:
        """Returns whether a window has an event time and an offset in its range."""
        in_time = not self.settings.by_time or window.start <= time < window.end
        return in_time and window.start_offset <= offset <= window.last_offset

    def messages_of(self, window: RetainedWindow) -> list[tuple[int, Message]]:
        """Returns the offsets and the stored messages of a window, in the order of their keys.

        Its range may have others: those of a window that was deleted, and messages that were rejected.
        """
        by_time = self.settings.by_time
        low, high = (window.start, window.end - 1) if by_time else (window.start, window.last_offset)
        stored = self.stored_messages(low, high, window.session_key)
        return [message for message in stored if window.start_offset <= message[0] <= window.last_offset]

    def retire_unreachable(self) -> None:
        """Retires the messages before the first one that a window of a fixed size can contain."""
        if self.retirements is not None and self.progress.mark is not None:
            floor = self.retention.expired_until
            if self.settings.by_time:
                # So a longer retention, set later, opens no window whose messages are deleted.
                self.progress.raise_floor([floor])
            position = self.grid.first_position(self.windows, floor, self.progress.mark)
            if position > MIN_INSTANT:
                self.retirements.add(position if self.settings.by_time else position - 1)

    def store(self, arrival: Arrival) -> None:
        """Puts a message into the message store, if there is one."""
        if self.messages is not None:
            self.messages.add(
                to_json(arrival.message, self.schema),
                offset=arrival.offset,
                time=arrival.time,
                session_key=arrival.session_key,
                join_keys=self.keys.join_keys(arrival.message),
            )

    def put(self, window: RetainedWindow) -> None:
        """Puts a window in the table. It replaces the one with the same start and session key."""
        stored = self.windows.at(window.place)
        self.windows.put(window)
        self.enqueue(window)
        if stored is None or stored.last_offset != window.last_offset:
            self._check_order()
        self._end_restore_without_windows()

    def enqueue(self, window: RetainedWindow) -> None:
        """Puts a window of the table into the queues of updates and of retention."""
        self.updates.add(window)
        self.retention.add(window)

    def remove(self, window: RetainedWindow) -> None:
        """Removes a window from the table."""
        self.windows.remove(window)
        self.retention.removed(window)
        self._end_restore_without_windows()


def _arrival_of(stored: StoredMessage) -> Arrival:
    """Returns where a stored message belongs. Its values do not matter for that."""
    assert stored.time is not None  # `store` gives each message its event time
    return Arrival({}, stored.offset, stored.time, 0, stored.session_key)
