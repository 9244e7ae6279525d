"""The store of S3: a value for each key and window.

Its entries are in the order of time at once. They are collected in a list, and are put in the order of keys
before a read of one key and before a commit, so that a store whose windows are read otherwise does not pay
for it.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from struct import Struct
from threading import get_ident
from typing import Any, NamedTuple, overload

from panewise.calls import one_thread_at_a_time
from panewise.choices import check_flag
from panewise.chrono import MAX_INSTANT, MIN_INSTANT, DurationLike, InstantLike, instant_us, saturating_add
from panewise.errors import InputError
from panewise.stores.durable_map import DEFAULT_CACHE
from panewise.stores.entries import Entries
from panewise.stores.keys import KeyValue, decode_key, encode_int64, encode_key
from panewise.stores.recent_values import ENCODED, PLAIN, RecentValues
from panewise.stores.retaining_store import (
    EXPIRE_EVERY,
    RetainingStore,
    arguments_of,
    checked_duration,
    key_range,
)
from panewise.stores.timed_layout import BY_TIME, LateIndex, TimedEntry
from panewise.stores.value_codec import decode_value, encode_value

_SIGN, _INT = 1 << 63, ord("i")  # of the encodings of times and values
_pack_place = Struct(">cQ").pack  # what encode_int64 does, and the fastest way to it
_CACHED_KEYS = 1 << 16
_CACHED_VALUES, _CACHED_VALUES_DURABLE = 1 << 18, 1 << 14


class WindowEntry(NamedTuple):
    """An entry of a window store: the window [start, end) of a key, and its value.

    Source: S3.
    """

    key: KeyValue
    start: int
    end: int
    value: Any


class WindowStore(RetainingStore):
    """A value for each key and window, for as long as the window is retained (semantics 34.6 to 34.12).

    Args:
        retention: how long entries can be fetched. `now` is the highest start of a window that was put, or
            the time that `advance` was given. An entry can be fetched while its start > now - retention.
            An int is in microseconds.
        window_size: the length of the windows, from 0 up to the retention. An int is in microseconds.
        grace: how long entries can be put and deleted: while start > now - grace. It is at most the
            retention, which is the default. An int is in microseconds.
        duplicates: whether a key may have several values in a window. A put then adds a value, and a put of
            None does nothing.
        directory: where a durable store has its files; None for a store in memory.
        cache_bytes: how much of the files is cached in memory.

    Times are datetimes with a zone or integers of microseconds, and are returned as the latter. Ranges of
    times and keys include both ends. Entries are in the order of their time, then their key.

    >>> store = WindowStore(retention="1 hour", window_size="10 minutes", grace="20 minutes")
    >>> minute = 60_000_000
    >>> store.put("a", 1, time=0), store.put("a", 2, time=30 * minute), store.put("b", 3, time=5 * minute)
    (True, True, False)
    >>> store.expired_puts
    1
    >>> store.fetch("a", time=0)
    1
    >>> list(store.fetch("a", first=0, last=30 * minute))
    [WindowEntry(key='a', start=0, end=600000000, value=1),
     WindowEntry(key='a', start=1800000000, end=2400000000, value=2)]

    Raises:
        SpecError: if the retention or the grace is not above 0, the window size is below 0, or the window
            size or the grace is above the retention.
        InputError: for a null key, or a key or value of another type (semantics 34.1, 34.2).
        StoreError: if the files cannot be used, or the store is closed (semantics 34.5).

    Source: S3, KIP-428.
    """

    _kind = "window"

    def __init__(
        self,
        retention: DurationLike,
        window_size: DurationLike,
        *,
        grace: DurationLike | None = None,
        duplicates: bool = False,
        directory: str | Path | None = None,
        cache_bytes: int = DEFAULT_CACHE,
    ) -> None:
        period = checked_duration("retention", retention, 1)
        self._window_size = checked_duration("window_size", window_size, 0, period)
        self._grace = period if grace is None else checked_duration("grace", grace, 1, period)
        check_flag("duplicates", duplicates)
        self._duplicates = duplicates
        self._sequence = self._ignored_deletes = 0
        self._keys: dict[Any, bytes] = {}
        self._recent = RecentValues(_CACHED_VALUES if directory is None else _CACHED_VALUES_DURABLE)
        self._unindexed = LateIndex()
        settings = {"window_size": self._window_size, "duplicates": duplicates}
        super().__init__(
            settings, period, 8 if duplicates else 0, directory=directory, cache_bytes=cache_bytes
        )

    @property
    def window_size(self) -> int:
        """The length of the windows in microseconds."""
        return self._window_size

    @property
    def duplicates(self) -> bool:
        """Whether a key may have several values in a window."""
        return self._duplicates

    @property
    def ignored_deletes(self) -> int:
        """How many puts of None a store with duplicates has ignored."""
        return self._ignored_deletes

    def put(self, key: KeyValue, value: Any, *, time: InstantLike) -> bool:
        """Sets the value of a key in the window that starts at a time; None deletes it.

        Returns whether it was applied. If the window is out of the grace period, the put is counted in
        `expired_puts` and changes nothing else.
        """
        # Each line here is executed for each row, so common cases call no function.
        calls, me = self._calls, get_ident()  # as `one_thread_at_a_time` does
        before = calls.owner
        if before and before != me:
            calls.refuse_thread()
        calls.owner = me
        try:
            if self._closed:
                self._check_open()
            if type(time) is not int or not MIN_INSTANT < time <= MAX_INSTANT:
                time = _entry_time(time)
            encoded = self._keys.get(key) if type(key) is str else None
            if encoded is None:
                encoded = self._encoded(key)
            data = None if value is None else encode_value(value)
            if time > self._latest:
                self._move(time)
            if time <= self._latest - self._grace:
                self._expired_puts += 1
                return False
            self._puts += 1
            if self._puts == EXPIRE_EVERY:
                self._tidy()
            if self._duplicates:
                return self._apply(encoded, data, encode_int64(time))
            if type(key) is str:
                self._recent.new[key, time] = value if type(value) in PLAIN else ENCODED
            if data is None:
                return self._apply(encoded, data, encode_int64(time))
            place = _pack_place(BY_TIME, time + _SIGN) + encoded
            self._map.put(place, data)
            self._unindexed.add(place)
            return True
        finally:
            calls.owner = before

    @overload
    def fetch(self, key: KeyValue, *, time: InstantLike) -> Any: ...

    @overload
    def fetch(
        self, key: KeyValue, *, first: InstantLike, last: InstantLike, backward: bool = False
    ) -> Entries[WindowEntry]: ...

    def fetch(
        self,
        key: KeyValue,
        *,
        time: InstantLike | None = None,
        first: InstantLike | None = None,
        last: InstantLike | None = None,
        backward: bool = False,
    ) -> Any:
        """Returns the value of a key in the window that starts at `time`, or None.

        With `first` and `last` it returns an iterator over the entries of the key with
        first <= start <= last, in the order of time, or in the opposite order.

        Raises:
            InputError: if neither `time` nor both `first` and `last` are given; for `time` if the store has
                duplicates.
        """
        if time is None or first is not None or last is not None:
            return self._fetch_range(key, time, first, last, backward)
        if self._duplicates:
            rule = "with duplicates a window of a key has several values"
            remedy = f"call fetch({key!r}, first={time!r}, last={time!r})"
            raise InputError(f"fetch({key!r}, time={time!r})", rule, remedy)
        if self._closed:
            self._check_open()
        if type(time) is not int:
            time = instant_us(time, "time")
        encoded = None
        if type(key) is str:
            value = self._recent.get(key, time)
            if type(value) in PLAIN:
                return value if time > self._horizon else None
            encoded = self._keys.get(key)
        if encoded is None:
            encoded = self._encoded(key)
        if not self._horizon < time <= MAX_INSTANT:
            return None
        data = self._map.get(_pack_place(BY_TIME, time + _SIGN) + encoded)
        if data is None:
            return None
        return int(data[1:]) if data[0] == _INT else decode_value(data)

    @one_thread_at_a_time
    def fetch_keys(
        self,
        first_key: KeyValue | None,
        last_key: KeyValue | None,
        *,
        first: InstantLike,
        last: InstantLike,
        backward: bool = False,
    ) -> Entries[WindowEntry]:
        """Returns the entries of a range of keys with first <= start <= last; None leaves an end open."""
        check_flag("backward", backward, error=InputError)
        keys = key_range(first_key, last_key, self._encoded)
        times = self._readable(instant_us(first, "first"), instant_us(last, "last"))
        layout = self._layout
        return self._entries(
            lambda opened: map(self._decoded, layout.read_keys(opened, keys, times, backward))
        )

    def fetch_all(
        self, *, first: InstantLike, last: InstantLike, backward: bool = False
    ) -> Entries[WindowEntry]:
        """Returns the entries of all keys with first <= start <= last."""
        return self.fetch_keys(None, None, first=first, last=last, backward=backward)

    def all(self, *, backward: bool = False) -> Entries[WindowEntry]:
        """Returns all entries that have not expired."""
        return self.fetch_keys(None, None, first=MIN_INSTANT, last=MAX_INSTANT, backward=backward)

    @one_thread_at_a_time
    def restore(self, entries: Iterable[Mapping[str, Any]]) -> int:
        """Puts entries of a changelog without regard to the grace period.

        An entry is a dict of `key`, `value` and `time`, the arguments of :meth:`put`.

        Returns how many were applied. Entries that have expired by then are counted in `expired_puts`, and
        in a store with duplicates those of None in `ignored_deletes`.
        """
        self._check_open()
        applied = 0
        read = arguments_of(entries, "key", "value", "time")
        for number, (key, value, time) in enumerate(read, 1):
            at, encoded = _entry_time(time), self._encoded(key)
            data = None if value is None else encode_value(value)
            if number % EXPIRE_EVERY == 0:
                self._tidy()
            if at > self._latest:
                self._move(at)
            if at <= self._horizon:
                self._expired_puts += 1
            else:
                self._recent.clear()
                applied += self._apply(encoded, data, encode_int64(at))
        self._expire()
        return applied

    def __len__(self) -> int:
        """Returns the number of entries; counts them."""
        with self.all() as entries:
            return sum(1 for _ in entries)

    def _complete(self) -> None:
        if self._durable:
            self._unindexed.write(self._map, self._layout)

    def _apply(self, key: bytes, data: bytes | None, time: bytes) -> bool:
        rest = b""
        if self._duplicates:
            if data is None:
                self._ignored_deletes += 1
                return False
            self._sequence += 1
            rest = encode_int64(self._sequence)
        by_time, by_key = self._layout.places(time, key, rest)
        if data is None:
            self._map.delete(by_time)
            self._map.delete(by_key)
        else:
            self._map.put(by_time, data)
            self._unindexed.add(by_time)
        return True

    def _encoded(self, key: KeyValue) -> bytes:
        encoded = encode_key(key)
        if type(key) is str:
            if len(self._keys) >= _CACHED_KEYS:
                self._keys.clear()
            self._keys[key] = encoded
        return encoded

    def _tidy(self) -> None:
        """Deletes what has expired, and bounds the caches and the entries that are not under their key."""
        self._puts = 0
        self._expire()
        self._recent.tidy()
        self._unindexed.tidy(self._map)

    @one_thread_at_a_time
    def _fetch_range(
        self,
        key: KeyValue,
        time: InstantLike | None,
        first: InstantLike | None,
        last: InstantLike | None,
        backward: bool,
    ) -> Entries[WindowEntry]:
        if time is not None or first is None or last is None:
            rule = "fetch has one time, or the first and the last one of a range"
            fault = f"fetch({key!r}, time={time!r}, first={first!r}, last={last!r})"
            raise InputError(fault, rule, "give time=..., or first=... and last=...")
        check_flag("backward", backward, error=InputError)
        encoded = self._encoded(key)
        times = self._readable(instant_us(first, "first"), instant_us(last, "last"))
        self._unindexed.write(self._map, self._layout)
        layout = self._layout
        return self._entries(
            lambda opened: map(self._decoded, layout.read_key(opened, encoded, times, backward))
        )

    def _decoded(self, entry: TimedEntry) -> WindowEntry:
        start, key, _, data = entry
        end = saturating_add(start, self._window_size)
        return WindowEntry(decode_key(key)[0], start, end, decode_value(data))

    def _state(self) -> dict[str, Any]:
        return {**super()._state(), "sequence": self._sequence, "ignored_deletes": self._ignored_deletes}

    def _restore_state(self, state: dict[str, Any]) -> None:
        super()._restore_state(state)
        self._sequence, self._ignored_deletes = state["sequence"], state["ignored_deletes"]


def _entry_time(time: InstantLike) -> int:
    us = instant_us(time, "time")
    if us == MIN_INSTANT:
        raise InputError(f"time={time!r}", "the time of an entry is above the least int", "give its start")
    return us
