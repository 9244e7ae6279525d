"""The store of S3: a value for each key and window.

An entry is in the map twice. Under `t`, time, key is its value: this is the order of all entries and of
expiry. Under `k`, key, time is nothing: this is how the windows of one key are found. With duplicates both
keys end with a sequence number. Entries wait in a list, and are put under `k` before a read of one key and
before a commit, so that a store whose windows are read otherwise does not pay for it.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from struct import Struct
from typing import Any, NamedTuple, overload

from panewise.chrono import (
    MAX_INSTANT,
    MIN_INSTANT,
    Duration,
    DurationLike,
    InstantLike,
    instant_us,
    saturating_add,
)
from panewise.errors import InputError, SpecError
from panewise.stores.entries import Entries
from panewise.stores.keys import KeyValue, decode_int64, decode_key, encode_int64, encode_key
from panewise.stores.ordered_map import Snapshot, prefix_end
from panewise.stores.store import Store
from panewise.stores.values import decode_value, encode_value

_BY_TIME, _BY_KEY = b"t", b"k"
_TIDY_EVERY = 1024  # puts; entries that have expired are never returned, even before they are deleted
_MOST_UNINDEXED = 1 << 16
_SIGN, _INT = 1 << 63, ord("i")  # of the encodings of times and values
_pack_place = Struct(">cQ").pack  # what encode_int64 does, and the fastest way to it
_CACHED_KEYS = 1 << 16
_CACHED_VALUES, _CACHED_VALUES_DURABLE = 1 << 18, 1 << 14  # the most in each of two generations
_PLAIN = frozenset((int, float, bool, type(None)))  # types of values that are small and never change
_MISSING, _ENCODED = object(), object()


class WindowEntry(NamedTuple):
    """An entry of a window store: the window [start, end) of a key, and its value.

    Source: S3.
    """

    key: KeyValue
    start: int
    end: int
    value: Any


class WindowStore(Store):
    """A value for each key and window, for as long as the window is retained (semantics 34.6 to 34.12).

    Args:
        retention: how long entries can be fetched. `now` is the highest start of a window that was put, or
            the time that `advance` was given. An entry can be fetched while its start > now - retention.
        window_size: the length of the windows, from 0 up to the retention.
        grace: how long entries can be put and deleted: while start > now - grace. It is at most the
            retention, which is the default.
        duplicates: whether a key may have several values in a window. A put then adds a value, and a put of
            None does nothing.
        directory: where a durable store has its files; None for a store in memory.

    Times are datetimes with a zone or integers of microseconds, and are returned as the latter. Ranges of
    times and keys include both ends. Entries are in the order of their time, then their key.

    >>> store = WindowStore(retention="1 hour", window_size="10 minutes", grace="20 minutes")
    >>> minute = 60_000_000
    >>> store.put("a", 1, 0), store.put("a", 2, 30 * minute), store.put("b", 3, 5 * minute)
    (True, True, False)
    >>> store.expired_puts
    1
    >>> store.fetch("a", 0)
    1
    >>> list(store.fetch("a", 0, 30 * minute))
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
    ) -> None:
        self._retention = Duration.of(retention, "retention").us
        self._window_size = Duration.of(window_size, "window_size").us
        self._grace = self._retention if grace is None else Duration.of(grace, "grace").us
        _check_durations(self._retention, self._window_size, self._grace)
        self._duplicates = duplicates
        self._now: int | None = None
        self._latest = MIN_INSTANT - 1  # now, or less than any time
        self._horizon = self._write_horizon = MIN_INSTANT - 1  # times above can be fetched, or put
        self._deleted = MIN_INSTANT - 1  # entries up to this time have been deleted
        self._puts = self._sequence = self._expired_puts = self._ignored_deletes = 0
        self._position: dict[str, dict[str, int]] = {}
        self._keys: dict[Any, bytes] = {}
        # The values of recent puts by key and time: None after a delete, _ENCODED if a value is not plain.
        self._recent: dict[tuple[str, int], Any] = {}
        self._earlier: dict[tuple[str, int], Any] = {}
        self._most_cached = _CACHED_VALUES if directory is None else _CACHED_VALUES_DURABLE
        self._unindexed: list[bytes] = []
        self._most_unindexed = _MOST_UNINDEXED
        self._directory = directory
        super().__init__({"window_size": self._window_size, "duplicates": duplicates}, directory)

    @property
    def now(self) -> int | None:
        """The time of the store: the highest start that was put, or that of `advance`; None at first."""
        return self._now

    @property
    def expired_puts(self) -> int:
        """How many puts, deletes and restored entries came too late."""
        return self._expired_puts

    @property
    def ignored_deletes(self) -> int:
        """How many puts of None a store with duplicates has ignored."""
        return self._ignored_deletes

    @property
    def position(self) -> dict[str, dict[int, int]]:
        """The highest offset of each topic and partition that `advance_position` was given."""
        return {topic: {int(one): last for one, last in of.items()} for topic, of in self._position.items()}

    def put(self, key: KeyValue, value: Any, time: InstantLike) -> bool:
        """Sets the value of a key in the window that starts at a time; None deletes it.

        Returns whether it was applied. If the window is out of the grace period, the put is counted in
        `expired_puts` and changes nothing else.
        """
        # Each line here is executed for each row, so common cases call no function.
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
        if time <= self._write_horizon:
            self._expired_puts += 1
            return False
        self._puts += 1
        if self._puts == _TIDY_EVERY:
            self._tidy()
        if self._duplicates:
            return self._apply(encoded, data, encode_int64(time))
        if type(key) is str:
            self._recent[key, time] = value if type(value) in _PLAIN else _ENCODED
        if data is None:
            return self._apply(encoded, data, encode_int64(time))
        place = _pack_place(_BY_TIME, time + _SIGN) + encoded
        self._map.put(place, data)
        self._unindexed.append(place)
        return True

    def advance(self, time: InstantLike) -> None:
        """Advances `now`; entries that have expired by then are deleted. An earlier time changes nothing."""
        self._check_open()
        moved = instant_us(time, "time")
        if moved > self._latest:
            self._move(moved)
        self._expire()

    def advance_position(self, topic: str, partition: int, offset: int) -> None:
        """Records that the store contains the input up to this offset of a partition.

        Raises:
            InputError: if the topic is no text, or the partition or the offset no int.
        """
        self._check_open()
        if type(topic) is not str or type(partition) is not int or type(offset) is not int:
            given = f"topic={topic!r}, partition={partition!r}, offset={offset!r}"
            raise InputError(given, "a topic is a text, a partition and an offset are ints", "convert them")
        of = self._position.setdefault(topic, {})
        of[str(partition)] = max(offset, of.get(str(partition), offset))

    @overload
    def fetch(self, key: KeyValue, first: InstantLike) -> Any: ...

    @overload
    def fetch(
        self, key: KeyValue, first: InstantLike, last: InstantLike, *, backward: bool = False
    ) -> Entries[WindowEntry]: ...

    def fetch(
        self, key: KeyValue, first: InstantLike, last: InstantLike | None = None, *, backward: bool = False
    ) -> Any:
        """Returns the value of a key in the window that starts at a time, or None.

        With `last` it returns an iterator over the entries of the key with first <= start <= last, in the
        order of time, or in the opposite order.

        Raises:
            InputError: if the store has duplicates and `last` is missing.
        """
        if last is not None:
            return self._fetch_range(key, first, last, backward)
        if self._duplicates:
            rule = "with duplicates a window of a key has several values"
            raise InputError(f"fetch({key!r}, {first!r})", rule, f"call fetch({key!r}, {first!r}, {first!r})")
        if self._closed:
            self._check_open()
        time = first if type(first) is int else instant_us(first, "first")
        encoded = None
        if type(key) is str:
            found = self._recent.get((key, time), _MISSING)
            if found is _MISSING:
                found = self._earlier.get((key, time), _MISSING)
            if type(found) in _PLAIN:
                return found if time > self._horizon else None
            encoded = self._keys.get(key)
        if encoded is None:
            encoded = self._encoded(key)
        if not self._horizon < time <= MAX_INSTANT:
            return None
        data = self._map.get(_pack_place(_BY_TIME, time + _SIGN) + encoded)
        if data is None:
            return None
        return int(data[1:]) if data[0] == _INT else decode_value(data)

    def fetch_keys(
        self,
        first_key: KeyValue | None,
        last_key: KeyValue | None,
        first: InstantLike,
        last: InstantLike,
        *,
        backward: bool = False,
    ) -> Entries[WindowEntry]:
        """Returns the entries of a range of keys with first <= start <= last; None leaves an end open."""
        low = b"" if first_key is None else self._encoded(first_key)
        high = b"\xff" if last_key is None else self._encoded(last_key)
        start, end = self._range(_BY_TIME, first, last)
        return self._entries(lambda opened: self._by_time(opened, start, end, backward, (low, high)))

    def fetch_all(
        self, first: InstantLike, last: InstantLike, *, backward: bool = False
    ) -> Entries[WindowEntry]:
        """Returns the entries of all keys with first <= start <= last."""
        return self.fetch_keys(None, None, first, last, backward=backward)

    def all(self, *, backward: bool = False) -> Entries[WindowEntry]:
        """Returns all entries that have not expired."""
        return self.fetch_keys(None, None, MIN_INSTANT, MAX_INSTANT, backward=backward)

    def restore(self, entries: Iterable[tuple[KeyValue, Any, InstantLike]]) -> int:
        """Puts entries (key, value, time) of a changelog without regard to the grace period.

        Entries that have expired by then are counted in `expired_puts`. Returns the number of the others.
        """
        self._check_open()
        before = self._expired_puts
        number = 0
        for key, value, time in entries:
            at, encoded = _entry_time(time), self._encoded(key)
            data = None if value is None else encode_value(value)
            number += 1
            if at > self._latest:
                self._move(at)
            if at <= self._horizon:
                self._expired_puts += 1
            else:
                self._recent.clear()
                self._earlier.clear()
                self._apply(encoded, data, encode_int64(at))
        self._expire()
        return number - (self._expired_puts - before)

    def __len__(self) -> int:
        """Returns the number of entries; counts them."""
        with self.all() as entries:
            return sum(1 for _ in entries)

    def commit(self) -> None:
        """Deletes what has expired, and makes all changes since the last commit durable, all or none."""
        self._check_open()
        self._expire()
        if self._directory is not None:
            self._index()
        super().commit()

    def _apply(self, key: bytes, data: bytes | None, time: bytes) -> bool:
        place = _BY_TIME + time + key
        if self._duplicates:
            if data is None:
                self._ignored_deletes += 1
                return False
            self._sequence += 1
            place += encode_int64(self._sequence)
        if data is None:
            self._map.delete(place)
            self._map.delete(_BY_KEY + key + time)
        else:
            self._map.put(place, data)
            self._unindexed.append(place)
        return True

    def _encoded(self, key: KeyValue) -> bytes:
        found = encode_key(key)
        if type(key) is str:
            if len(self._keys) >= _CACHED_KEYS:
                self._keys.clear()
            self._keys[key] = found
        return found

    def _move(self, now: int) -> None:
        self._now = self._latest = now
        self._horizon = max(now - self._retention, MIN_INSTANT - 1)
        self._write_horizon = now - self._grace

    def _tidy(self) -> None:
        """Deletes what has expired, and bounds the caches and the entries that are not under their key."""
        self._puts = 0
        self._expire()
        if len(self._recent) > self._most_cached:
            self._earlier, self._recent = self._recent, {}
        if len(self._unindexed) > self._most_unindexed:
            places = dict.fromkeys(self._unindexed)
            self._unindexed = [place for place in places if self._map.get(place) is not None]
            self._most_unindexed = max(_MOST_UNINDEXED, 2 * len(self._unindexed))

    def _index(self) -> None:
        """Puts the entries under their key that are not there yet."""
        places, self._unindexed = self._unindexed, []
        for place in places:
            if self._map.get(place) is not None:
                self._map.put(_BY_KEY + self._by_key(place), b"")

    def _expire(self) -> None:
        """Deletes the entries that have expired since the last time."""
        if self._horizon <= self._deleted:
            return
        start, end = self._times(_BY_TIME, self._deleted + 1, self._horizon)
        for entry in [key for key, _ in self._map.scan(start, end)]:  # a scan would see each deletion
            self._map.delete(_BY_KEY + self._by_key(entry))
        self._map.delete_range(start, end)
        self._deleted = self._horizon

    def _by_key(self, entry: bytes) -> bytes:
        """Returns the key of the second place of an entry: key, time, sequence number."""
        if self._duplicates:
            return entry[9:-8] + entry[1:9] + entry[-8:]
        return entry[9:] + entry[1:9]

    def _range(self, prefix: bytes, first: InstantLike, last: InstantLike) -> tuple[bytes, bytes | None]:
        """Returns the range of the map for first <= start <= last, without what has expired."""
        self._check_open()
        self._expire()
        low = max(instant_us(first, "first"), self._horizon + 1)
        return self._times(prefix, low, instant_us(last, "last"))

    @staticmethod
    def _times(prefix: bytes, first: int, last: int) -> tuple[bytes, bytes | None]:
        low = prefix + encode_int64(max(first, MIN_INSTANT)) if first <= MAX_INSTANT else None
        high = (
            prefix_end(prefix) if last >= MAX_INSTANT else prefix + encode_int64(max(last + 1, MIN_INSTANT))
        )
        return (high or b"") if low is None else low, high

    def _fetch_range(
        self, key: KeyValue, first: InstantLike, last: InstantLike, backward: bool
    ) -> Entries[WindowEntry]:
        encoded = self._encoded(key)
        prefix = _BY_KEY + encoded
        self._check_open()
        self._index()
        start, end = self._range(prefix, first, last)

        def found(opened: Snapshot) -> Iterator[WindowEntry]:
            for entry, _ in opened.scan(start, end, backward=backward):
                at = len(prefix)
                data = opened.get(_BY_TIME + entry[at : at + 8] + encoded + entry[at + 8 :])
                assert data is not None, "both places of an entry are changed together"
                yield self._entry(key, decode_int64(entry, at), data)

        return self._entries(found)

    def _by_time(
        self,
        opened: Snapshot,
        start: bytes,
        end: bytes | None,
        backward: bool,
        keys: tuple[bytes, bytes],
    ) -> Iterator[WindowEntry]:
        low, high = keys
        for entry, data in opened.scan(start, end, backward=backward):
            encoded = entry[9:-8] if self._duplicates else entry[9:]
            if low <= encoded <= high:
                yield self._entry(decode_key(encoded)[0], decode_int64(entry, 1), data)

    def _entry(self, key: KeyValue, start: int, data: bytes) -> WindowEntry:
        return WindowEntry(key, start, saturating_add(start, self._window_size), decode_value(data))

    def _state(self) -> dict[str, Any]:
        return {
            "now": self._now,
            "deleted": self._deleted,
            "sequence": self._sequence,
            "expired_puts": self._expired_puts,
            "ignored_deletes": self._ignored_deletes,
            "position": self._position,
        }

    def _restore_state(self, state: dict[str, Any]) -> None:
        self._deleted, self._sequence = state["deleted"], state["sequence"]
        self._expired_puts, self._ignored_deletes = state["expired_puts"], state["ignored_deletes"]
        self._position = state["position"]
        if state["now"] is not None:
            self._move(state["now"])
        # With a longer retention than before, times that were deleted up to now can be put again.
        self._deleted = min(self._deleted, self._horizon)


def _entry_time(time: InstantLike) -> int:
    found = instant_us(time, "time")
    if found == MIN_INSTANT:
        raise InputError(f"time={time!r}", "the time of an entry is above the least int", "give its start")
    return found


def _check_durations(retention: int, window_size: int, grace: int) -> None:
    for name, value, least in (
        ("retention", retention, 1),
        ("grace", grace, 1),
        ("window_size", window_size, 0),
    ):
        if value < least:
            rule = f"{name} is at least {least}: otherwise nothing could be stored"
            raise SpecError(f"{name}={Duration(value)}", rule, f"give a longer {name}")
    for name, value in (("grace", grace), ("window_size", window_size)):
        if value > retention:
            given = f"{name}={Duration(value)}, retention={Duration(retention)}"
            raise SpecError(
                given, f"{name} is at most the retention", f"lower {name}, or raise the retention"
            )
