"""The session store of S3's system: a value for each session [start, end] of a key.

The time of an entry is the end of its session; the start is the rest of its place.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from panewise.calls import one_thread_at_a_time
from panewise.choices import check_flag
from panewise.chrono import MAX_INSTANT, MIN_INSTANT, DurationLike, InstantLike, instant_us
from panewise.errors import InputError
from panewise.stores.durable_map import DEFAULT_CACHE
from panewise.stores.entries import Entries
from panewise.stores.keys import KeyValue, decode_int64, decode_key, encode_int64, encode_key
from panewise.stores.retaining_store import (
    EXPIRE_EVERY,
    RetainingStore,
    arguments_of,
    checked_duration,
    key_range,
)
from panewise.stores.timed_layout import TimedEntry
from panewise.stores.value_codec import decode_value, encode_value


class SessionEntry(NamedTuple):
    """An entry of a session store: a key, the times of the first and the last row of a session, a value.

    Source: S3.
    """

    key: KeyValue
    start: int
    end: int
    value: Any


class SessionStore(RetainingStore):
    """A value for each session of a key, for as long as it is retained (semantics 34.13 to 34.15).

    Args:
        retention: how long sessions can be found. `now` is the highest end of a session that was put, or the
            time that `advance` was given. A session can be put and found while its end > now - retention.
            An int is in microseconds.
        directory: as for `WindowStore`.
        cache_bytes: as for `WindowStore`.

    A session is [start, end], with both ends. Sessions are in the order of end, key and start.

    >>> store = SessionStore(retention=1_000)
    >>> store.put("a", 1, start=0, end=100), store.put("a", 2, start=201, end=300)
    (True, True)
    >>> store.put("b", 3, start=250, end=260)
    True
    >>> [entry.value for entry in store.find("a", earliest_end=100, latest_start=300)]
    [1, 2]
    >>> store.remove("a", start=0, end=100)
    True

    Raises:
        SpecError: if the retention is not above 0.
        InputError: for a null key, a session that ends before it starts, or a key or value of another type
            (semantics 34.1, 34.2).
        StoreError: if the files cannot be used, or the store is closed (semantics 34.5).

    Source: S3, the session store beside the window store.
    """

    _kind = "session"

    def __init__(
        self,
        retention: DurationLike,
        *,
        directory: str | Path | None = None,
        cache_bytes: int = DEFAULT_CACHE,
    ) -> None:
        period = checked_duration("retention", retention, 1)
        super().__init__({}, period, 8, directory=directory, cache_bytes=cache_bytes)

    @one_thread_at_a_time
    def put(self, key: KeyValue, value: Any, *, start: InstantLike, end: InstantLike) -> bool:
        """Sets the value of a session; None removes it.

        Returns whether it was applied. If the session has expired, the put is counted in `expired_puts`.
        """
        self._check_open()
        last, (by_end, by_key) = self._places(key, start, end)
        data = None if value is None else encode_value(value)
        if last > self._latest:
            self._move(last)
        self._puts += 1
        if self._puts % EXPIRE_EVERY == 0:
            self._expire()
        if last <= self._horizon:
            self._expired_puts += 1
            return False
        if data is None:
            self._map.delete(by_end)
            self._map.delete(by_key)
        else:
            self._map.put(by_end, data)
            self._map.put(by_key, b"")
        return True

    @one_thread_at_a_time
    def remove(self, key: KeyValue, *, start: InstantLike, end: InstantLike) -> bool:
        """Removes a session. Returns whether it was in the store and had not expired."""
        self._check_open()
        last, (by_end, by_key) = self._places(key, start, end)
        if last <= self._horizon:
            return False
        self._map.delete(by_key)
        return self._map.delete(by_end)

    def fetch_session(self, key: KeyValue, *, start: InstantLike, end: InstantLike) -> Any:
        """Returns the value of a session, or None."""
        self._check_open()
        last, (by_end, _) = self._places(key, start, end)
        data = None if last <= self._horizon else self._map.get(by_end)
        return None if data is None else decode_value(data)

    @one_thread_at_a_time
    def find(
        self, key: KeyValue, *, earliest_end: InstantLike, latest_start: InstantLike, backward: bool = False
    ) -> Entries[SessionEntry]:
        """Returns the sessions of a key with end >= earliest_end and start <= latest_start."""
        check_flag("backward", backward, error=InputError)
        encoded, times = encode_key(key), self._ending(earliest_end)
        latest, layout = encode_int64(instant_us(latest_start, "latest_start")), self._layout
        return self._entries(
            lambda opened: map(_decoded, layout.read_key(opened, encoded, times, backward, latest))
        )

    @one_thread_at_a_time
    def find_keys(
        self,
        first_key: KeyValue | None,
        last_key: KeyValue | None,
        *,
        earliest_end: InstantLike,
        latest_start: InstantLike,
        backward: bool = False,
    ) -> Entries[SessionEntry]:
        """Returns the sessions with end >= earliest_end and start <= latest_start of a range of keys.

        The range includes both ends; a key of None leaves an end open.
        """
        check_flag("backward", backward, error=InputError)
        keys, times = key_range(first_key, last_key), self._ending(earliest_end)
        latest, layout = encode_int64(instant_us(latest_start, "latest_start")), self._layout
        return self._entries(
            lambda opened: map(_decoded, layout.read_keys(opened, keys, times, backward, latest))
        )

    @one_thread_at_a_time
    def find_all(
        self, *, earliest_end: InstantLike, latest_end: InstantLike, backward: bool = False
    ) -> Entries[SessionEntry]:
        """Returns the sessions of all keys with earliest_end <= end <= latest_end.

        These are the sessions that have become final when the time of a stream moves from one end to the
        other.

        >>> store = SessionStore(retention=1_000)
        >>> store.put("a", 1, start=0, end=100), store.put("b", 2, start=0, end=200)
        (True, True)
        >>> [entry.key for entry in store.find_all(earliest_end=101, latest_end=200)]
        ['b']

        Source: S3, findSessions by the times of ends.
        """
        check_flag("backward", backward, error=InputError)
        keys, layout = key_range(None, None), self._layout
        times = self._readable(instant_us(earliest_end, "earliest_end"), instant_us(latest_end, "latest_end"))
        return self._entries(lambda opened: map(_decoded, layout.read_keys(opened, keys, times, backward)))

    def fetch(self, key: KeyValue, *, backward: bool = False) -> Entries[SessionEntry]:
        """Returns all sessions of a key."""
        return self.find(key, earliest_end=MIN_INSTANT, latest_start=MAX_INSTANT, backward=backward)

    def fetch_keys(
        self, first_key: KeyValue | None, last_key: KeyValue | None, *, backward: bool = False
    ) -> Entries[SessionEntry]:
        """Returns all sessions of a range of keys, with both ends; None leaves an end open."""
        return self.find_keys(
            first_key, last_key, earliest_end=MIN_INSTANT, latest_start=MAX_INSTANT, backward=backward
        )

    @one_thread_at_a_time
    def restore(self, entries: Iterable[Mapping[str, Any]]) -> int:
        """Puts sessions of a changelog. Returns how many had not expired then.

        An entry is a dict of `key`, `value`, `start` and `end`, the arguments of :meth:`put`.
        """
        self._check_open()
        read = arguments_of(entries, "key", "value", "start", "end")
        applied = sum(self.put(key, value, start=start, end=end) for key, value, start, end in read)
        self._expire()
        return applied

    def _ending(self, earliest_end: InstantLike) -> tuple[int, int]:
        """Returns the range of the ends of sessions that end at a time or later, and have not expired."""
        return self._readable(instant_us(earliest_end, "earliest_end"), MAX_INSTANT)

    def _places(self, key: KeyValue, start: InstantLike, end: InstantLike) -> tuple[int, tuple[bytes, bytes]]:
        """Returns the end of a session, and both its places in the map."""
        encoded = encode_key(key)
        first, last = instant_us(start, "start"), instant_us(end, "end")
        if first > last:
            fault, rule = f"start={start!r}, end={end!r}", "a session does not end before it starts"
            raise InputError(fault, rule, "exchange them")
        return last, self._layout.places(encode_int64(last), encoded, encode_int64(first))


def _decoded(entry: TimedEntry) -> SessionEntry:
    end, key, rest, data = entry
    return SessionEntry(decode_key(key)[0], decode_int64(rest), end, decode_value(data))
