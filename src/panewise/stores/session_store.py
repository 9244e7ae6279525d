"""The session store of S3's system: a value for each session [start, end] of a key.

An entry is in the map twice. Under `t`, end, key, start is its value: this is the order of entries of several
keys, and of expiry. Under `k`, key, end, start is nothing: this is how the sessions of a key are found.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from panewise.chrono import MAX_INSTANT, MIN_INSTANT, Duration, DurationLike, InstantLike, instant_us
from panewise.errors import InputError, SpecError
from panewise.stores.entries import Entries
from panewise.stores.keys import KeyValue, decode_int64, decode_key, encode_int64, encode_key
from panewise.stores.ordered_map import Snapshot, prefix_end
from panewise.stores.store import Store
from panewise.stores.values import decode_value, encode_value

_BY_END, _BY_KEY = b"t", b"k"
_EXPIRE_EVERY = 1024  # puts; sessions that have expired are never returned, even before they are deleted


class SessionEntry(NamedTuple):
    """An entry of a session store: a key, the times of the first and the last row of a session, a value.

    Source: S3.
    """

    key: KeyValue
    start: int
    end: int
    value: Any


class SessionStore(Store):
    """A value for each session of a key, for as long as it is retained (semantics 34.13 to 34.15).

    Args:
        retention: how long sessions can be found. `now` is the highest end of a session that was put, or the
            time that `advance` was given. A session can be put and found while its end > now - retention.
        directory: where a durable store has its files; None for a store in memory.

    A session is [start, end], with both ends. Sessions are in the order of end, key and start.

    >>> store = SessionStore(retention=1_000)
    >>> store.put("a", 0, 100, 1), store.put("a", 201, 300, 2), store.put("b", 250, 260, 3)
    (True, True, True)
    >>> [entry.value for entry in store.find("a", 100, 300)]
    [1, 2]
    >>> store.remove("a", 0, 100)
    True

    Raises:
        SpecError: if the retention is not above 0.
        InputError: for a null key, a session that ends before it starts, or a key or value of another type
            (semantics 34.1, 34.2).
        StoreError: if the files cannot be used, or the store is closed (semantics 34.5).

    Source: S3, the session store beside the window store.
    """

    _kind = "session"

    def __init__(self, retention: DurationLike, *, directory: str | Path | None = None) -> None:
        self._retention = Duration.of(retention, "retention").us
        if self._retention <= 0:
            rule = "a retention is above 0: otherwise nothing could be stored"
            raise SpecError(f"retention={Duration(self._retention)}", rule, "give a longer one")
        self._now: int | None = None
        self._horizon = self._deleted = MIN_INSTANT - 1  # sessions with a higher end can be found
        self._puts = self._expired_puts = 0
        super().__init__({}, directory)

    @property
    def now(self) -> int | None:
        """The time of the store: the highest end that was put, or what `advance` was given; None at first."""
        return self._now

    @property
    def expired_puts(self) -> int:
        """How many puts, deletes and restored sessions came too late."""
        return self._expired_puts

    def put(self, key: KeyValue, start: InstantLike, end: InstantLike, value: Any) -> bool:
        """Sets the value of a session; None removes it.

        Returns whether it was applied. If the session has expired, the put is counted in `expired_puts`.
        """
        self._check_open()
        encoded = encode_key(key)
        first, last = _times(start, end)
        data = None if value is None else encode_value(value)
        if self._now is None or last > self._now:
            self._move(last)
        self._puts += 1
        if self._puts % _EXPIRE_EVERY == 0:
            self._expire()
        if last <= self._horizon:
            self._expired_puts += 1
            return False
        by_end, by_key = _places(encoded, encode_int64(first), encode_int64(last))
        if data is None:
            self._map.delete(by_end)
            self._map.delete(by_key)
        else:
            self._map.put(by_end, data)
            self._map.put(by_key, b"")
        return True

    def remove(self, key: KeyValue, start: InstantLike, end: InstantLike) -> bool:
        """Removes a session. Returns whether it was in the store and had not expired."""
        self._check_open()
        first, last = _times(start, end)
        by_end, by_key = _places(encode_key(key), encode_int64(first), encode_int64(last))
        if last <= self._horizon:
            return False
        self._map.delete(by_key)
        return self._map.delete(by_end)

    def advance(self, time: InstantLike) -> None:
        """Advances `now`; sessions that have expired by then are deleted. An earlier time changes nothing."""
        self._check_open()
        moved = instant_us(time, "time")
        if self._now is None or moved > self._now:
            self._move(moved)
        self._expire()

    def fetch_session(self, key: KeyValue, start: InstantLike, end: InstantLike) -> Any:
        """Returns the value of a session, or None."""
        self._check_open()
        first, last = _times(start, end)
        by_end, _ = _places(encode_key(key), encode_int64(first), encode_int64(last))
        data = None if last <= self._horizon else self._map.get(by_end)
        return None if data is None else decode_value(data)

    def find(
        self,
        key: KeyValue,
        earliest_end: InstantLike,
        latest_start: InstantLike,
        *,
        backward: bool = False,
    ) -> Entries[SessionEntry]:
        """Returns the sessions of a key with end >= earliest_end and start <= latest_start."""
        prefix = _BY_KEY + encode_key(key)
        start, limit = self._from(prefix, earliest_end), instant_us(latest_start, "latest_start")

        def found(opened: Snapshot) -> Iterator[SessionEntry]:
            at = len(prefix)
            for place, _ in opened.scan(start, prefix_end(prefix), backward=backward):
                last, first = decode_int64(place, at), decode_int64(place, at + 8)
                if first <= limit:
                    data = opened.get(_BY_END + place[at : at + 8] + prefix[1:] + place[at + 8 :])
                    assert data is not None, "both places of a session are changed together"
                    yield SessionEntry(key, first, last, decode_value(data))

        return self._entries(found)

    def find_keys(
        self,
        first_key: KeyValue | None,
        last_key: KeyValue | None,
        earliest_end: InstantLike,
        latest_start: InstantLike,
        *,
        backward: bool = False,
    ) -> Entries[SessionEntry]:
        """Returns the sessions with end >= earliest_end and start <= latest_start of a range of keys.

        The range includes both ends; a key of None leaves an end open.
        """
        low = b"" if first_key is None else encode_key(first_key)
        high = b"\xff" if last_key is None else encode_key(last_key)
        start, limit = self._from(_BY_END, earliest_end), instant_us(latest_start, "latest_start")

        def found(opened: Snapshot) -> Iterator[SessionEntry]:
            for place, data in opened.scan(start, prefix_end(_BY_END), backward=backward):
                key, first = place[9:-8], decode_int64(place, len(place) - 8)
                if low <= key <= high and first <= limit:
                    yield SessionEntry(decode_key(key)[0], first, decode_int64(place, 1), decode_value(data))

        return self._entries(found)

    def fetch(self, key: KeyValue, *, backward: bool = False) -> Entries[SessionEntry]:
        """Returns all sessions of a key."""
        return self.find(key, MIN_INSTANT, MAX_INSTANT, backward=backward)

    def fetch_keys(
        self, first_key: KeyValue | None, last_key: KeyValue | None, *, backward: bool = False
    ) -> Entries[SessionEntry]:
        """Returns all sessions of a range of keys, with both ends; None leaves an end open."""
        return self.find_keys(first_key, last_key, MIN_INSTANT, MAX_INSTANT, backward=backward)

    def restore(self, entries: Iterable[tuple[KeyValue, InstantLike, InstantLike, Any]]) -> int:
        """Puts sessions (key, start, end, value) of a changelog. Returns how many had not expired then."""
        applied = [self.put(*entry) for entry in entries]
        self._check_open()
        self._expire()
        return sum(applied)

    def commit(self) -> None:
        """Deletes what has expired, and makes all changes since the last commit durable, all or none."""
        self._check_open()
        self._expire()
        super().commit()

    def _from(self, prefix: bytes, earliest_end: InstantLike) -> bytes:
        self._check_open()
        self._expire()
        earliest = max(instant_us(earliest_end, "earliest_end"), self._horizon + 1)
        return prefix + encode_int64(earliest)

    def _move(self, now: int) -> None:
        self._now, self._horizon = now, max(now - self._retention, MIN_INSTANT - 1)

    def _expire(self) -> None:
        """Deletes the sessions that have expired since the last time."""
        if self._horizon <= self._deleted:
            return
        start, end = _BY_END + encode_int64(self._deleted + 1), _BY_END + encode_int64(self._horizon + 1)
        for place in [place for place, _ in self._map.scan(start, end)]:  # a scan would see each deletion
            self._map.delete(_BY_KEY + place[9:-8] + place[1:9] + place[-8:])
        self._map.delete_range(start, end)
        self._deleted = self._horizon

    def _state(self) -> dict[str, Any]:
        return {"now": self._now, "deleted": self._deleted, "expired_puts": self._expired_puts}

    def _restore_state(self, state: dict[str, Any]) -> None:
        self._deleted, self._expired_puts = state["deleted"], state["expired_puts"]
        if state["now"] is not None:
            self._move(state["now"])
        # With a longer retention than before, times that were deleted up to now can be put again.
        self._deleted = min(self._deleted, self._horizon)


def _times(start: InstantLike, end: InstantLike) -> tuple[int, int]:
    first, last = instant_us(start, "start"), instant_us(end, "end")
    if first > last:
        given, rule = f"start={start!r}, end={end!r}", "a session does not end before it starts"
        raise InputError(given, rule, "exchange them")
    return first, last


def _places(key: bytes, start: bytes, end: bytes) -> tuple[bytes, bytes]:
    """Returns both keys of a session in the map."""
    return _BY_END + end + key + start, _BY_KEY + key + end + start
