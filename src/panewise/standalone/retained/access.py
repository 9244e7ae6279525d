"""Reading and changing the windows and messages of S1's window operators while they run."""

from abc import abstractmethod
from typing import Any

from panewise.calls import one_at_a_time
from panewise.chrono import MIN_INSTANT, InstantLike, instant_us
from panewise.errors import InputError
from panewise.standalone.retained.put import check_types, made_of
from panewise.standalone.retained.steps import WindowSteps
from panewise.standalone.retained.window import (
    RetainedMessage,
    SessionKey,
    Window,
    WindowMetadata,
    session_bytes,
)
from panewise.stores.keys import KeyValue


class WindowAccess(WindowSteps):
    """Access to windows and messages."""

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
        self._check_open()
        key = self._keys.session_of_call(session_key)
        return self._metadata(self._overlapping(instant_us(start, "start"), instant_us(end, "end"), key))

    @one_at_a_time
    def get_window(self, start: InstantLike, session_key: SessionKey | None = None) -> WindowMetadata | None:
        """Returns the metadata of the window with this start, or None.

        The start is an offset for windows of messages.
        """
        window = self._at(start, session_key)
        return None if window is None else self._metadata([window])[0]

    @abstractmethod
    def put_window(self, metadata: WindowMetadata) -> None:
        """Adds or replaces the metadata of a window."""

    @one_at_a_time
    def del_window(self, start: InstantLike, session_key: SessionKey | None = None) -> bool:
        """Deletes a window with what it has not emitted. Returns whether there was one.

        A later message in its range opens it again, without the messages that it had (semantics 26.9).
        """
        window = self._at(start, session_key)
        if window is not None:
            self._remove(window)
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
        self._check_open()
        key, fields = self._keys.session_of_call(session_key), self._keys.fields_of_call(join_keys)
        found = self._stored_messages(instant_us(start, "start"), instant_us(end, "end"), key, fields)
        return [RetainedMessage(message, offset) for offset, message in found]

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
        self._check_open()
        self._outbox.check_enabled()
        key, fields = self._keys.session_of_call(session_key), self._keys.fields_of_call(join_keys)
        limit, by_time = instant_us(end, "end"), self._settings.by_time
        if fields is not None:
            return self._retire_fields(limit, key, fields)
        found = [
            one
            for one in self._windows.of_key(key)
            if one.full and (one.end if by_time else one.last_offset) <= limit
        ]
        if by_time and self._settings.session_key is None:
            self._retention.floor = max([self._retention.floor, *(one.end for one in found)])
        for window in found:
            self._purge(window)
        self._progress.floor = self._retention.floor
        self._settle()
        return len(found)

    def _retire_fields(self, end: int, session_key: KeyValue | None, join_keys: tuple[Any, ...]) -> int:
        """Retires the applied messages with these equal fields. Returns how many of them could be read."""
        self._check_prefix(session_key, join_keys)
        mark = self._progress.mark
        if mark is None:
            return 0

        def readable() -> int:
            return sum(1 for _ in self._stored_messages(MIN_INSTANT, end, session_key, join_keys))

        before = readable()
        assert self._retirements is not None  # as there is a message store
        self._retirements.add_fields(end, session_key, join_keys, mark)
        return before - readable()

    def _check_prefix(self, session_key: KeyValue | None, join_keys: tuple[Any, ...]) -> None:
        """Raises InputError if the keys of messages do not begin with these equal fields."""
        layout = self._settings.layout()
        if layout[0] != "equal_fields":
            rule = "messages of equal fields retire if the keys of messages begin with these fields"
            remedy = "set window_scale='large', or retire windows"
            raise InputError(f"join_keys={join_keys!r}, keys of messages {layout}", rule, remedy)
        if self._settings.session_key is not None and session_key is None:
            rule = "the keys of messages of sessions begin with the session key"
            raise InputError(f"session_key=None, join_keys={join_keys!r}", rule, "give session_key=..., too")

    def _window_of(self, metadata: WindowMetadata) -> Window:
        """Returns a new window with these metadata. It is not put in the table.

        Raises:
            InputError: if they do not fit the windows of the operator.
        """
        check_types(metadata)
        session_key = self._keys.session_of_call(metadata.session_key, needed=True)
        stored = self._windows.at((metadata.start, session_bytes(session_key)))
        window = made_of(self._settings, metadata, session_key, stored, self._progress)
        self._check_apart(window)
        if self._retention.floor_at(self._progress.watermark) >= window.end and self._settings.by_time:
            rule = "a window in retention ends after the instant up to which windows have expired"
            raise InputError(f"end_time={window.end}", rule, "put later windows")
        return window

    def _check_apart(self, window: Window) -> None:
        """Raises InputError for a session of time that is within the gap of another one of its key."""
        if self._settings.session_key is None or not self._settings.by_time:
            return
        gap = self._settings.length
        for other in self._windows.backward(window.session_key, window.last_time + gap):
            if other.last_time + gap < window.start:
                break
            if other.start != window.start:
                rule = "two messages of different sessions of a key are more than the gap apart"
                given = f"start={window.start}, end_time={window.end - 1}"
                raise InputError(given, rule, f"delete the session at {other.start} first")

    def _put(self, window: Window) -> None:
        """Puts a window in the table. It replaces the one with the same start and session key."""
        stored = self._windows.at(window.place)
        self._windows.put(window)
        self._updates.add(window)
        self._retention.add(window)
        if stored is None or stored.last_offset != window.last_offset:
            self._check_order()
        self._end_restore_without_windows()

    def _at(self, start: InstantLike, session_key: SessionKey | None) -> Window | None:
        self._check_open()
        key = self._keys.session_of_call(session_key, needed=True)
        return self._windows.at((instant_us(start, "start"), session_bytes(key)))
