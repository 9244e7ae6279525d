"""An ordered map in memory whose snapshots cost nothing to open.

Two ideas make it fast.

- Keys that were added since the last scan are in a list, unsorted. The next scan sorts them in. So a map that
  is only written and read by key costs no more than a dict, and n puts and a scan O(n log n).
- A snapshot copies nothing. While it is open, the first change of a key stores the old value in the snapshot
  (its before-image). The snapshot is the live map with its before-images laid over it. What a snapshot pins
  is what has changed since it was opened. Closing it, or dropping the last reference to it, releases that.

Invariant: `_sorted` and `_fresh` together contain each key of `_values` once, and no other key.
"""

from collections.abc import Iterator
from typing import Any, Generic, TypeVar, cast
from weakref import ref

from sortedcontainers import SortedDict, SortedList

from panewise.calls import Calls, one_thread_at_a_time
from panewise.stores.ordered_map import closed_error, of_bytes
from panewise.stores.scans import Closing, GeneratedScan, scan_of

V = TypeVar("V")
_ABSENT: Any = object()


class PlainMemoryMap(Generic[V]):
    """The map of a store, which checks that one thread at a time calls it."""

    calls: Calls | None = None

    def __init__(self) -> None:
        self._values: dict[bytes, V] = {}
        self._sorted: Any = SortedList()
        self._fresh: list[bytes] = []
        self._snapshots: dict[int, ref[MemorySnapshot[V]]] = {}
        self._version = 0  # changes whenever an open scan has to look for its place again
        self._closed = False

    @property
    def pending(self) -> int:
        """The number of changes that are not durable: 0, as there is nothing to commit."""
        return 0

    def __len__(self) -> int:
        return len(self._values)

    def __bool__(self) -> bool:
        """Returns True, also for an empty map."""
        return True

    def get(self, key: bytes) -> V | None:
        """Returns the value of a key, or None."""
        if self._closed:
            raise closed_error("map")
        return self._values.get(key)

    def put(self, key: bytes, value: V) -> None:
        """Sets the value of a key."""
        if self._closed:
            raise closed_error("map")
        if self._snapshots:
            self._remember(key)
        if key not in self._values:
            self._fresh.append(key)
            self._version += 1
        self._values[key] = value

    def delete(self, key: bytes) -> bool:
        """Deletes a key. Returns whether it was in the map."""
        if self._closed:
            raise closed_error("map")
        if key not in self._values:
            return False
        if self._snapshots:
            self._remember(key)
        self._settle()
        self._sorted.remove(key)
        del self._values[key]
        self._version += 1
        return True

    def delete_range(self, start: bytes = b"", end: bytes | None = None) -> int:
        """Deletes the keys with start <= key < end. Returns their number."""
        if self._closed:
            raise closed_error("map")
        self._settle()
        first = self._sorted.bisect_left(start)
        last = len(self._sorted) if end is None else max(first, self._sorted.bisect_left(end))
        for key in self._sorted.islice(first, last):
            if self._snapshots:
                self._remember(key)
            del self._values[key]
        del self._sorted[first:last]
        self._version += 1
        return int(last - first)

    def scan(self, start: bytes = b"", end: bytes | None = None, *, backward: bool = False) -> GeneratedScan:
        """Returns the entries with start <= key < end as they are now."""
        opened = self.snapshot()
        return opened.scan(start, end, backward=backward).closing(opened.close)

    def snapshot(self) -> "MemorySnapshot[V]":
        """Returns the map as it is now, in constant time."""
        if self._closed:
            raise closed_error("map")
        opened = MemorySnapshot(self)
        number = id(opened)
        # The entry is removed by whatever comes first: close(), or the end of the last reference.
        self._snapshots[number] = ref(opened, lambda _: self._snapshots.pop(number, None))
        return opened

    def items(self) -> Iterator[tuple[bytes, V]]:
        """Yields all entries in no order. The map must not change meanwhile."""
        return iter(self._values.items())

    def commit(self) -> None:
        """Does nothing: there is nothing durable."""
        if self._closed:
            raise closed_error("map")

    def close(self, *, commit: bool = True) -> None:
        """Closes all scans and snapshots, and deletes the entries."""
        for opened in list(self._snapshots.values()):
            snapshot = opened()
            if snapshot is not None:
                snapshot.close()
        self._closed = True
        self._values, self._fresh = {}, []
        self._sorted = SortedList()

    def _settle(self) -> None:
        """Sorts in the keys that were added since the last time."""
        if self._fresh:
            self._sorted.update(self._fresh)
            self._fresh = []
            self._version += 1

    def _remember(self, key: bytes) -> None:
        """Stores the value of a key that is about to change in every open snapshot that has none of it."""
        value = self._values.get(key, _ABSENT)
        for opened in list(self._snapshots.values()):
            snapshot = opened()
            if snapshot is not None and key not in snapshot.before:
                snapshot.before[key] = value
                self._version += 1


class MemoryMap(PlainMemoryMap[V]):
    """An ordered map in memory. `commit` does nothing.

    >>> entries = MemoryMap()
    >>> entries.put(b"a", b"1")
    >>> with entries.snapshot() as before:
    ...     entries.put(b"b", b"2")
    ...     list(before.scan()), list(entries.scan(b"b"))
    ([(b'a', b'1')], [(b'b', b'2')])

    Raises:
        ConcurrentCallError: if another thread is within a call of the map.
        InputError: if a key, a bound of a range or a value is no bytes.
        StoreError: if it is used after `close`.

    Source: S3, the layout of the in-memory store, with snapshots by before-images.
    """

    def __init__(self) -> None:
        self.calls = self._calls = Calls("a store")
        super().__init__()

    get = of_bytes(PlainMemoryMap.get)
    put = one_thread_at_a_time(of_bytes(PlainMemoryMap.put))
    delete = one_thread_at_a_time(of_bytes(PlainMemoryMap.delete))
    delete_range = one_thread_at_a_time(of_bytes(PlainMemoryMap.delete_range))
    scan = one_thread_at_a_time(of_bytes(PlainMemoryMap.scan))
    snapshot = one_thread_at_a_time(PlainMemoryMap.snapshot)
    commit = one_thread_at_a_time(PlainMemoryMap.commit)
    close = one_thread_at_a_time(PlainMemoryMap.close)


class MemorySnapshot(Closing, Generic[V]):
    """A map in memory as it was when the snapshot was opened."""

    def __init__(self, entries: PlainMemoryMap[V]) -> None:
        self._map: PlainMemoryMap[V] | None = entries
        self.before: Any = SortedDict()  # the values at the opening of keys that have changed since

    @of_bytes
    def get(self, key: bytes) -> V | None:
        """Returns the value of a key, or None."""
        if self._map is None:
            raise closed_error("snapshot")
        value = self.before.get(key, _ABSENT) if key in self.before else self._map._values.get(key)
        return None if value is _ABSENT else value

    def scan(self, start: bytes = b"", end: bytes | None = None, *, backward: bool = False) -> GeneratedScan:
        """Returns the entries with start <= key < end; without an end, all from start."""
        if self._map is None:
            raise closed_error("snapshot")
        return scan_of(self._entries(start, end, backward), self._map.calls)

    def close(self) -> None:
        """Closes the snapshot; its before-images are released."""
        if self._map is not None:
            self._map._snapshots.pop(id(self), None)
            self._map, self.before = None, SortedDict()

    def _entries(self, start: bytes, end: bytes | None, backward: bool) -> Iterator[tuple[bytes, V]]:
        """Yields the entries of a range. After a change of the map it looks for its place again.

        Each time it continues, the snapshot may have been closed.
        """
        seen, keys = -1, cast("Iterator[bytes]", iter(()))
        inclusive = (True, False)
        while self._map is not None and (end is None or start < end):
            if seen != self._map._version:
                self._map._settle()
                seen = self._map._version
                keys = self._keys(start, end, inclusive, backward)
            key = next(keys, None)
            if key is None:
                return
            if backward:
                end = key
            else:
                start, inclusive = key, (False, False)
            value = self.before[key] if key in self.before else self._map._values[key]
            if value is not _ABSENT:
                yield key, value

    def _keys(
        self, start: bytes, end: bytes | None, inclusive: tuple[bool, bool], backward: bool
    ) -> Iterator[bytes]:
        """Yields the keys of a range that the live map or a before-image has, each once, in order."""
        assert self._map is not None
        live = self._map._sorted.irange(start, end, inclusive, backward)
        if not self.before:
            return iter(live)
        return _merged(live, self.before.irange(start, end, inclusive, backward), backward)


def _merged(live: Iterator[bytes], changed: Iterator[bytes], backward: bool) -> Iterator[bytes]:
    """Yields the keys of two iterators in the same order, each key once.

    `heapq.merge` does the same in twice the time.
    """
    key, other = next(live, None), next(changed, None)
    while key is not None or other is not None:
        if other is None or (key is not None and key != other and (key > other) == backward):
            assert key is not None
            yield key
            key = next(live, None)
        else:
            yield other
            if key == other:
                key = next(live, None)
            other = next(changed, None)
