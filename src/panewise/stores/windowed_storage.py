"""The storages of S4: accumulations by window, by window and key, and by session.

An entry has the places of :mod:`panewise.stores.timed_layout`: its time is the end of the window, its rest
the start, which precedes the key. So entries are in the order of purging, and a window is a range. Only
sessions are also in the order of keys, as only they are found by key.

Cost: at most a few searches for each read or write of an entry. Purging is linear in the deleted entries.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from panewise.calls import one_thread_at_a_time
from panewise.choices import check_flag
from panewise.chrono import MAX_INSTANT, MIN_INSTANT, InstantLike, instant_us
from panewise.errors import InputError
from panewise.stores.durable_map import DEFAULT_CACHE
from panewise.stores.entries import Entries
from panewise.stores.keys import KeyValue, decode_int64, decode_key, encode_int64, encode_key
from panewise.stores.ordered_map import Snapshot, prefix_end
from panewise.stores.store import Store
from panewise.stores.timed_layout import TimedLayout
from panewise.stores.value_codec import decode_value, encode_value

WindowLike: TypeAlias = tuple[InstantLike, InstantLike]

_BY_WINDOW = b"w"
_NO_KEY = b""  # in a plain storage, and in what the places of a window begin with
_LAYOUT = TimedLayout(8, _BY_WINDOW, rest_first=True)


class StoredWindow(NamedTuple):
    """An entry of a storage: the window [start, end), the key, which is None in a plain storage, the value.

    Source: S4.
    """

    start: int
    end: int
    key: KeyValue | None
    value: Any


class _Storage(Store):
    """What all storages do: entries in the order of end, start and key; purging; counting."""

    def __init__(self, *, directory: str | Path | None = None, cache_bytes: int = DEFAULT_CACHE) -> None:
        self._count = 0
        super().__init__({}, directory, cache_bytes=cache_bytes)

    def __len__(self) -> int:
        """Returns the number of entries."""
        return self._count

    @one_thread_at_a_time
    def contains(self, window: WindowLike) -> bool:
        """Returns whether the storage has an entry of a window."""
        self._check_open()
        place = _place(window)
        with self._map.scan(place, prefix_end(place)) as entries:
            return next(entries, None) is not None

    @one_thread_at_a_time
    def entries(self, window: WindowLike | None = None, *, backward: bool = False) -> Entries[StoredWindow]:
        """Returns the entries, or those of a window, in the order of end, start and key."""
        check_flag("backward", backward, error=InputError)
        place = _BY_WINDOW if window is None else _place(window)

        def read(opened: Snapshot) -> Iterator[StoredWindow]:
            for by_time, data in opened.scan(place, prefix_end(place), backward=backward):
                yield _entry(by_time, data)

        return self._entries(read)

    @one_thread_at_a_time
    def purge(self, horizon: InstantLike) -> int:
        """Deletes the entries of the windows that end before a time. Returns their number."""
        self._check_open()
        return self._delete(_BY_WINDOW, _BY_WINDOW + encode_int64(instant_us(horizon, "horizon")))

    def _delete(self, start: bytes, end: bytes | None) -> int:
        """Deletes a range of entries. Returns their number."""
        count = self._map.delete_range(start, end)
        self._count -= count
        return count

    def _get(self, place: bytes) -> Any:
        self._check_open()
        data = self._map.get(place)
        return None if data is None else decode_value(data)

    def _put(self, place: bytes, value: Any) -> None:
        self._check_open()
        if value is None:
            raise InputError("value=None", "a storage has no null values", "call remove(...)")
        data = encode_value(value)
        self._count += self._map.get(place) is None
        self._map.put(place, data)

    def _remove(self, place: bytes) -> bool:
        self._check_open()
        removed = self._map.delete(place)
        self._count -= removed
        return removed

    def _state(self) -> dict[str, Any]:
        return {"count": self._count}

    def _restore_state(self, state: dict[str, Any]) -> None:
        self._count = state["count"]


class WindowedStorage(_Storage):
    """A value for each window (semantics 34.18, 34.19).

    Args:
        directory: where a durable storage has its files; None for a storage in memory. A durable storage has
            the changes since the last commit in memory, and the rest in its files. A commit writes the
            changes only.
        cache_bytes: how much of the files is cached in memory.

    A window is (start, end): datetimes with a zone, or integers of microseconds.

    >>> storage = WindowedStorage()
    >>> storage.put({"sum": 3}, window=(0, 10))
    >>> storage.put({"sum": 4}, window=(5, 10))
    >>> storage.get((0, 10)), storage.contains((0, 5))
    ({'sum': 3}, False)
    >>> [(entry.start, entry.end) for entry in storage.entries()]
    [(0, 10), (5, 10)]
    >>> storage.purge(11), len(storage)
    (2, 0)

    Raises:
        InputError: for a window that ends before it starts, a null value, or a value of another type
            (semantics 34.2).
        StoreError: if the files cannot be used, or the storage is closed (semantics 34.5).

    Source: S4, the storages of plain windows.
    """

    _kind = "windowed"

    @one_thread_at_a_time
    def put(self, value: Any, *, window: WindowLike) -> None:
        """Sets the value of a window."""
        self._put(_place(window), value)

    def get(self, window: WindowLike) -> Any:
        """Returns the value of a window, or None."""
        return self._get(_place(window))

    @one_thread_at_a_time
    def remove(self, window: WindowLike) -> bool:
        """Removes a window. Returns whether it was in the storage."""
        return self._remove(_place(window))


class KeyedWindowedStorage(_Storage):
    """A value for each window and key (semantics 34.18, 34.19).

    Args:
        directory: as for `WindowedStorage`.
        cache_bytes: as for `WindowedStorage`.

    >>> storage = KeyedWindowedStorage()
    >>> storage.put("a", 1, window=(0, 10))
    >>> storage.put("b", 2, window=(0, 10))
    >>> [(entry.key, entry.value) for entry in storage.entries((0, 10))]
    [('a', 1), ('b', 2)]
    >>> storage.remove("a", window=(0, 10)), storage.remove_window((0, 10)), len(storage)
    (True, 1, 0)

    Raises:
        InputError: for a null key, a window that ends before it starts, a null value, or a key or value of
            another type (semantics 34.1, 34.2).
        StoreError: if the files cannot be used, or the storage is closed (semantics 34.5).

    Source: S4, the storages of keyed windows.
    """

    _kind = "keyed windowed"

    @one_thread_at_a_time
    def put(self, key: KeyValue, value: Any, *, window: WindowLike) -> None:
        """Sets the value of a key in a window."""
        self._put(_place(window) + encode_key(key), value)

    def get(self, key: KeyValue, *, window: WindowLike) -> Any:
        """Returns the value of a key in a window, or None."""
        return self._get(_place(window) + encode_key(key))

    @one_thread_at_a_time
    def remove(self, key: KeyValue, *, window: WindowLike) -> bool:
        """Removes a key from a window. Returns whether it was in the window."""
        return self._remove(_place(window) + encode_key(key))

    @one_thread_at_a_time
    def remove_window(self, window: WindowLike) -> int:
        """Removes all keys from a window. Returns their number."""
        self._check_open()
        place = _place(window)
        return self._delete(place, prefix_end(place))


class SessionWindowedStorage(KeyedWindowedStorage):
    """A value for each session of a key (semantics 34.18 to 34.20).

    Args:
        directory: as for `WindowedStorage`.
        cache_bytes: as for `WindowedStorage`.

    >>> storage = SessionWindowedStorage()
    >>> storage.put("a", 1, window=(0, 10))
    >>> storage.migrate("a", window=(0, 10), to=(0, 25))
    True
    >>> list(storage.sessions("a", start=20, end=30))
    [StoredWindow(start=0, end=25, key='a', value=1)]

    Raises:
        InputError: as for `KeyedWindowedStorage`, and for a session that is migrated onto another one.
        StoreError: if the files cannot be used, or the storage is closed (semantics 34.5).

    Source: S4, the storages of session windows.
    """

    _kind = "session windowed"

    @one_thread_at_a_time
    def migrate(self, key: KeyValue, *, window: WindowLike, to: WindowLike) -> bool:
        """Gives the session of a key other bounds. Returns whether it was in the storage."""
        value = self.get(key, window=window)
        if value is None:
            return False
        if _place(to) != _place(window):
            if self.get(key, window=to) is not None:
                rule = "a session is not migrated onto another one"
                raise InputError(f"key={key!r}, to={to!r}", rule, "merge both values, and remove one session")
            self._remove(_place(window) + encode_key(key))
            self._put(_place(to) + encode_key(key), value)
        return True

    @one_thread_at_a_time
    def sessions(
        self, key: KeyValue, *, start: InstantLike = MIN_INSTANT, end: InstantLike = MAX_INSTANT
    ) -> Entries[StoredWindow]:
        """Returns the sessions of a key that overlap [start, end), in the order of end and start.

        The defaults are no bounds. A range that ends before it starts is empty.
        """
        encoded = encode_key(key)
        first, last = instant_us(start, "start"), instant_us(end, "end")
        # A session that ends at the start, or starts at the end, does not overlap the range.
        times = first if first == MIN_INSTANT else first + 1, MAX_INSTANT
        latest = MAX_INSTANT if last == MAX_INSTANT else last - 1

        def read(opened: Snapshot) -> Iterator[StoredWindow]:
            if first > last or latest < MIN_INSTANT:
                return
            sessions = _LAYOUT.read_key(opened, encoded, times, False, encode_int64(latest))
            for session_end, _, rest, data in sessions:
                yield StoredWindow(decode_int64(rest), session_end, key, decode_value(data))

        return self._entries(read)

    def _put(self, place: bytes, value: Any) -> None:
        super()._put(place, value)
        self._map.put(_LAYOUT.by_key(place), b"")

    def _remove(self, place: bytes) -> bool:
        removed = super()._remove(place)
        self._map.delete(_LAYOUT.by_key(place))
        return removed

    def _delete(self, start: bytes, end: bytes | None) -> int:
        for place in [place for place, _ in self._map.scan(start, end)]:
            self._map.delete(_LAYOUT.by_key(place))
        return super()._delete(start, end)


def _place(window: WindowLike) -> bytes:
    """Returns what the keys of the entries of a window begin with."""
    if not isinstance(window, (tuple, list)) or len(window) != 2:
        raise InputError(f"window={window!r}", "a window is a pair of times", "give (start, end)")
    start, end = instant_us(window[0], "start"), instant_us(window[1], "end")
    if start > end:
        fault, rule = f"window={window!r}", "a window does not end before it starts"
        raise InputError(fault, rule, "give (start, end)")
    return _LAYOUT.places(encode_int64(end), _NO_KEY, encode_int64(start))[0]


def _entry(place: bytes, data: bytes) -> StoredWindow:
    end, key, start, value = _LAYOUT.entry(place, data)
    return StoredWindow(decode_int64(start), end, decode_key(key)[0] if key else None, decode_value(value))
