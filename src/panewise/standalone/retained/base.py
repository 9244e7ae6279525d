"""The state of S1's window operators, and what each of the two does in its own way."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from panewise.chrono import MIN_INSTANT, InstantLike, instant_us
from panewise.engine.protocol import Schema
from panewise.errors import InputError
from panewise.spec import WindowOperator
from panewise.spec.codec import to_dict
from panewise.standalone.callbacks import Callbacks
from panewise.standalone.life_cycle import LifeCycle, LifeCycleSteps
from panewise.standalone.retained.codec import of_json
from panewise.standalone.retained.files import WindowFiles
from panewise.standalone.retained.grids import grid_of
from panewise.standalone.retained.key_columns import KeyColumns
from panewise.standalone.retained.outbox import Outbox
from panewise.standalone.retained.outputs import Firing, WindowOutput
from panewise.standalone.retained.progress import Progress
from panewise.standalone.retained.retention import Retention
from panewise.standalone.retained.retirement import Retirements
from panewise.standalone.retained.rows import Rows
from panewise.standalone.retained.settings import AggregatorSettings
from panewise.standalone.retained.table import WindowTable
from panewise.standalone.retained.updates import Updates
from panewise.standalone.retained.window import Arrival, Message, Window, WindowMetadata
from panewise.stores.keys import KeyValue
from panewise.stores.message_codec import Message as StoredMessage


class WindowState(ABC):
    """Windows, messages and progress of an operator.

    Args:
        settings: the settings.
        spec: what is read of a message, checked against the schema.
        schema: the columns of messages.
        stores_messages: whether messages are stored.
        join_keys: the columns of equal fields.
        outbox: where outputs wait.
        store: a directory for windows and messages; None: in memory.
        callbacks: functions of the life cycle, and before each write.
    """

    def __init__(
        self,
        settings: AggregatorSettings,
        spec: WindowOperator,
        schema: Schema,
        *,
        stores_messages: bool,
        join_keys: Sequence[str],
        outbox: Outbox,
        store: str | Path | None,
        callbacks: Callbacks,
    ) -> None:
        self._settings, self._schema = settings, schema
        self._callbacks, self._outbox, self._calls = callbacks, outbox, outbox.calls
        self._keys = KeyColumns(settings.session_key, join_keys, schema)
        self._rows = Rows(spec, schema, self._keys.names)
        self._grid = grid_of(settings)
        layout = settings.layout() if stores_messages else None
        made_with = self._made_with(spec)
        self._files = WindowFiles(store, made_with, layout, settings.session_key is not None, callbacks.write)
        self._messages, self._in_memory = self._files.messages, store is None
        self._flush_due = self._closed = False
        try:
            self._begin()
            self.life_cycle = LifeCycle(self._life_cycle(), callbacks, continues=bool(self._files.header))
        except BaseException:
            self._files.close()
            raise

    def _made_with(self, spec: WindowOperator) -> dict[str, Any]:
        """Returns what a store has to be opened with again."""
        types = {name: str(dtype) for name, dtype in self._schema.items()}
        return {**self._settings.to_json(), "spec": to_dict(spec), "types": types}

    @abstractmethod
    def _life_cycle(self) -> LifeCycleSteps:
        """Returns the steps of the life cycle."""

    def _begin(self) -> None:
        """Begins with what is stored, in place of all that the operator has in memory."""
        self._windows, self._progress = WindowTable(), Progress.of_json(self._files.header)
        self._retention = Retention(self._settings, self._progress.floor)
        self._updates = Updates(self._settings, self._windows)
        self._retirements: Retirements | None = None
        if self._messages is not None:
            self._retirements = Retirements(self._messages, in_memory=self._in_memory)
        self._load()

    def _load(self) -> None:
        """Takes what is stored."""
        for window in self._files.windows():
            self._windows.put(window)
            self._updates.add(window)
            self._retention.add(window)
        self._windows.changed.clear()
        self._check_order()
        self._purge_messages()
        self._end_restore_without_windows()

    def _check_order(self) -> None:
        """Notes whether the last offsets of windows of messages are in the order of their starts."""
        if not self._settings.by_time and self._progress.mark is not None:
            self._windows.check_order(self._progress.mark)

    def _end_restore_without_windows(self) -> None:
        """Ends the restoring if no window is left that can miss messages (26.11)."""
        until = self._progress.restore_until
        if until is not None and not any(one.start_offset <= until for one in self._windows):
            self._progress.restore_until = None

    def _purge_messages(self) -> None:
        """Removes the messages of expired windows that a failure after the metadata has left (26.10)."""
        mark, messages = self._progress.mark, self._messages
        if self._retirements is not None:
            self._retirements.load(self._files.retired())
        if self._settings.session_key is None:
            self._retire_to_first()
        elif messages is not None and mark is not None:
            messages.purge(lambda one: one.offset > mark or bool(self._containing(_arrival_of(one))))

    @abstractmethod
    def _include(self, windows: Sequence[Window], arrival: Arrival) -> list[Window]:
        """Adds a message to its windows. Returns those that have something new to emit."""

    @abstractmethod
    def _try(self, arrival: Arrival, floor: int) -> None:
        """Raises the error that adding a message would raise."""

    @abstractmethod
    def _output(self, window: Window, firing: Firing) -> WindowOutput | None:
        """Returns what a window emits; None if it has nothing to emit yet."""

    @abstractmethod
    def _retraction(self, window: Window) -> WindowOutput | None:
        """Returns the retraction of a session that became a part of another one; None if none is needed."""

    @abstractmethod
    def _corrected(self, windows: Iterable[Window], arrival: Arrival) -> list[Window]:
        """Returns those windows that can correct what they emitted, after a message of them was restored."""

    @abstractmethod
    def _metadata(self, windows: Sequence[Window]) -> list[WindowMetadata]:
        """Returns the metadata of windows."""

    @abstractmethod
    def _fold(self, windows: Sequence[Window]) -> None:
        """Computes what is stored of windows."""

    # What all parts of an operator use.

    @property
    def restoring(self) -> bool:
        """Whether the message store was lost, and messages of windows in retention are still missing."""
        return self._progress.restore_until is not None

    def _window_progress(self) -> int:
        """Returns the progress that boundaries of windows are compared with."""
        if self._settings.by_time:
            mark = self._progress.watermark
            return MIN_INSTANT if mark is None else mark
        return self._progress.received - 1

    def _move_clock(self, now: InstantLike | None) -> None:
        if now is not None:
            self._progress.clock = max(self._progress.clock, instant_us(now, "now"))

    def _check_open(self) -> None:
        if self._closed:
            raise InputError("a closed operator", "a closed operator takes no calls", "make a new one")

    def _bounds(self, window: Window) -> WindowMetadata:
        """Returns the metadata of a window without a value."""
        session = self._settings.session_key is not None
        times = (window.start, window.end - session) if self._settings.by_time else (None, None)
        shown = self._keys.shown(window.session_key)
        return WindowMetadata(shown, window.start, window.start_offset, window.last_offset, *times)

    def _overlapping(self, low: int, high: int, session_key: KeyValue | None) -> list[Window]:
        """Returns the windows that share an instant or an offset with [low, high], only those of a key.

        Invariant: starts and ends are in the same order, except over the sessions of several keys. So the
        search is backward from `high`, and stops at the first window before `low`.
        """
        by_time, sessions = self._settings.by_time, self._settings.session_key is not None

        def reaches(window: Window) -> bool:
            return window.end > low if by_time else window.last_offset >= low

        found = self._windows.backward(session_key, high)
        in_order = (by_time or self._windows.in_order) and (not sessions or session_key is not None)
        return list((takewhile if in_order else filter)(reaches, found))[::-1]

    def _containing(self, arrival: Arrival) -> list[Window]:
        """Returns the windows that contain a message, which is not above the mark."""
        by_time = self._settings.by_time
        at = arrival.time if by_time else arrival.offset
        return [
            one
            for one in self._windows.latest(at, arrival.session_key, self._settings.windows_per_message)
            if (not by_time or one.end > at)
            and one.start_offset <= arrival.offset <= one.last_offset
            and arrival.time <= one.last_time
        ]

    def _stored_messages(
        self,
        low: int,
        high: int,
        session_key: KeyValue | None,
        join_keys: tuple[Any, ...] | None = None,
    ) -> Iterator[tuple[int, Message]]:
        """Returns the offsets and the messages of a range."""
        if self._messages is None:
            rule = "this operator stores results, and no messages"
            raise InputError("messages", rule, "set message_store=True, or use a JoinWindowOperator")
        with self._messages.get_messages(
            start=low, end=high, session_key=session_key, join_keys=join_keys
        ) as found:
            for one in found:
                if self._is_applied(one):
                    yield one.offset, of_json(one.value, self._schema)

    def _is_applied(self, message: StoredMessage) -> bool:
        """Returns whether a stored message is one of the state: applied, and not of an expired window.

        After a failure the store has messages above the mark. They are not applied yet.
        """
        mark, retirements = self._progress.mark, self._retirements
        assert retirements is not None  # as there is a message store
        return mark is not None and message.offset <= mark and not retirements.hides(message)

    def _is_in(self, window: Window, time: int, offset: int) -> bool:
        """Returns whether a window has an event time and an offset in its range."""
        in_time = not self._settings.by_time or window.start <= time < window.end
        return in_time and window.start_offset <= offset <= window.last_offset

    def _messages_of(self, window: Window) -> list[tuple[int, Message]]:
        """Returns the offsets and the stored messages of a window, in the order of their keys.

        Its range may have others: those of a window that was deleted, and messages that were rejected.
        """
        by_time = self._settings.by_time
        low, high = (window.start, window.end - 1) if by_time else (window.start, window.last_offset)
        stored = self._stored_messages(low, high, window.session_key)
        return [one for one in stored if window.start_offset <= one[0] <= window.last_offset]

    def _retire_to_first(self) -> None:
        """Retires the messages before the first one that a window of a fixed size can contain."""
        if self._retirements is not None and self._progress.mark is not None:
            floor = self._retention.floor_at(self._progress.watermark)
            if self._settings.by_time:  # a longer retention later opens no window whose messages are deleted
                self._retention.floor = self._progress.floor = floor
            position = self._grid.first_position(self._windows, floor, self._progress.mark)
            if position > MIN_INSTANT:
                self._retirements.add(position if self._settings.by_time else position - 1)

    def _settle(self) -> None:
        """Delivers outputs. It flushes if one was delivered, or a window was opened or removed."""
        if self._windows.removed:
            self._files.forget(self._windows.removed)
        if not self._outbox.automatic:
            self._outbox.deliver()  # rejected messages
        elif self._outbox.deliver() and self._flush_due:
            self._write()

    def _write(self) -> None:
        changed = list(self._windows.changed.values())
        self._fold(changed)
        retired = {} if self._retirements is None else self._retirements.changes()
        self._files.flush(changed, self._windows.removed, self._progress.to_json(), retired)
        if self._messages is not None and self._retirements is not None and self._retirements.apply():
            self._messages.commit()
        self._windows.changed.clear()
        self._windows.removed.clear()
        self._flush_due = False


def _arrival_of(stored: StoredMessage) -> Arrival:
    """Returns where a stored message belongs. Its values do not matter for that."""
    assert stored.time is not None  # `_store` gives each message its event time
    return Arrival({}, stored.offset, stored.time, 0, stored.session_key)
