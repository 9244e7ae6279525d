"""Snapshots of a durable map: an iterator of RocksDB, merged with a snapshot of the pending changes.

The changes take precedence. A key whose change is a tombstone has no entry. An entry costs a step of the
iterator, and a search if another scan of the snapshot has moved it since.
"""

from collections.abc import Iterator

import rocksdict

from panewise.calls import Calls
from panewise.stores.memory_map import MemorySnapshot
from panewise.stores.ordered_map import after, closed_error, of_bytes
from panewise.stores.rocks import StoreErrors
from panewise.stores.scans import Closing, GeneratedScan, scan_of


class DurableSnapshot(Closing):
    """A durable map as it was when the snapshot was opened, with the changes that were pending.

    An iterator of RocksDB is a snapshot of the files. All scans and reads of a snapshot share one iterator.
    So a scan seeks its place again if another scan or a read has moved the iterator in the meantime.

    Args:
        entries: the iterator.
        changes: the changes that were pending.
        errors: a context manager that turns errors of RocksDB into errors of panewise.
        empty: the start and the end of a range without entries. Scans skip it.
        calls: which thread is within a call of the map; None if a store knows it.
    """

    def __init__(
        self,
        entries: rocksdict.RdictIter,
        changes: MemorySnapshot[bytes],
        errors: StoreErrors,
        empty: tuple[bytes, bytes],
        calls: Calls | None,
    ) -> None:
        self._errors, self._calls = errors, calls
        self._empty = empty
        self._stored: rocksdict.RdictIter | None = entries
        self._moves = 0  # how often the iterator was moved
        self._changes = changes

    @of_bytes
    def get(self, key: bytes) -> bytes | None:
        """Returns the value of a key, or None."""
        if self._stored is None:
            raise closed_error("snapshot")
        changed = self._changes.get(key)
        if changed is not None:
            return changed[1:] if changed else None
        self._moves += 1
        with self._errors:
            self._stored.seek(key)
            if self._stored.valid():
                return self._stored.value() if self._stored.key() == key else None
            self._stored.status()
        return None

    def scan(self, start: bytes = b"", end: bytes | None = None, *, backward: bool = False) -> GeneratedScan:
        """Returns the entries with start <= key < end; without an end, all from start."""
        if not self.is_open():
            raise closed_error("snapshot")
        return scan_of(self._entries(start, end, backward), self._calls)

    def close(self) -> None:
        """Closes the snapshot. RocksDB may then delete the old versions that the snapshot has pinned."""
        self._stored = None
        self._changes.close()

    def is_open(self) -> bool:
        """Returns whether the snapshot has the files open."""
        return self._stored is not None

    def _entries(self, start: bytes, end: bytes | None, backward: bool) -> Iterator[tuple[bytes, bytes]]:
        """Yields the entries of a range until the snapshot is closed."""
        for first, last in self._parts(start, end, backward):
            if not self.is_open():
                return
            changes = self._changes.scan(first, last, backward=backward)
            for entry in _laid_over(changes, self._in_files(first, last, backward), backward):
                if not self.is_open():
                    return
                yield entry

    def _parts(self, start: bytes, end: bytes | None, backward: bool) -> list[tuple[bytes, bytes | None]]:
        """Returns a range without the empty range: up to two parts, in the order of a scan."""
        first, last = self._empty
        if first >= last or start >= last or (end is not None and end <= first):
            return [(start, end)]
        parts: list[tuple[bytes, bytes | None]] = [(start, first)] if start < first else []
        if end is None or last < end:
            parts.append((last, end))
        return parts[::-1] if backward else parts

    def _in_files(self, start: bytes, end: bytes | None, backward: bool) -> Iterator[tuple[bytes, bytes]]:
        """Yields the entries of the files in a range. Raises StoreError at a damaged block.

        Invariant: between two entries no local variable refers to the iterator of RocksDB. Otherwise an
        unfinished scan would keep the files open after `close`.
        """
        moves = -1
        with self._errors:
            while self.is_open() and (end is None or start < end):
                entry = self._step((start, end), moves == self._moves, backward)
                moves = self._moves
                if entry is None:
                    return
                start, end = (start, entry[0]) if backward else (after(entry[0]), end)
                yield entry

    def _step(
        self, bounds: tuple[bytes, bytes | None], in_place: bool, backward: bool
    ) -> tuple[bytes, bytes] | None:
        """Moves the iterator to the next entry of a range, and returns the entry; None at the end.

        Args:
            in_place: whether the iterator still is at the entry that this scan has returned last. Otherwise
                it seeks.
        """
        assert self._stored is not None
        stored, (start, end) = self._stored, bounds
        self._moves += 1
        if not in_place:
            _seek(stored, start, end, backward)
        elif backward:
            stored.prev()
        else:
            stored.next()
        if not stored.valid():
            stored.status()
            return None
        key = stored.key()
        if key < start if backward else end is not None and key >= end:
            return None
        return key, stored.value()


def _seek(stored: rocksdict.RdictIter, start: bytes, end: bytes | None, backward: bool) -> None:
    """Moves an iterator to the entry of a range with which a scan begins: the last one if it is backward."""
    if not backward:
        stored.seek(start)
    elif end is None:
        stored.seek_to_last()
    else:
        stored.seek_for_prev(end)
        if stored.valid() and stored.key() == end:
            stored.prev()


def _laid_over(
    changes: Iterator[tuple[bytes, bytes]], stored: Iterator[tuple[bytes, bytes]], backward: bool
) -> Iterator[tuple[bytes, bytes]]:
    """Yields the entries of the files and of the changes, in order. A change hides the entry of its key."""
    changed, entry = next(changes, None), next(stored, None)
    while changed is not None or entry is not None:
        if changed is None or (
            entry is not None and changed[0] != entry[0] and (entry[0] > changed[0]) == backward
        ):
            assert entry is not None
            yield entry
            entry = next(stored, None)
            continue
        if entry is not None and entry[0] == changed[0]:
            entry = next(stored, None)
        if changed[1]:
            yield changed[0], changed[1][1:]
        changed = next(changes, None)
