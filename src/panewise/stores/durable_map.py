"""An ordered map on RocksDB (docs/decisions/0037-a-durable-map-on-rocksdb.md).

Changes since the last commit are in a map in memory: for each changed key a value or a tombstone. A read
looks there first, and then in the files. `commit` writes the changes as one batch, which RocksDB applies all
or none, and begins a new map in memory. Snapshots of the old one stay as they are. So a snapshot of the
durable map is an iterator of RocksDB and a snapshot of the changes, and neither copies anything.

Nothing is written to the files between commits. After a crash the map is that of the last commit.

Deleted keys remain as tombstones: in memory until a commit, and in the files until RocksDB removes them. A
caller who deletes the oldest entries again and again would read all earlier tombstones each time. So the map
remembers one range of keys, the *empty range*, and scans skip it. Invariant: no key in the empty range has a
value.
"""

from pathlib import Path
from typing import Self
from weakref import WeakSet

import rocksdict

from panewise.calls import Calls, one_thread_at_a_time
from panewise.errors import SpecError, StoreError
from panewise.stores.durable_snapshot import DurableSnapshot
from panewise.stores.memory_map import PlainMemoryMap
from panewise.stores.ordered_map import closed_error, of_bytes
from panewise.stores.rocks import StoreErrors, close_files, is_of_files, options, store_error
from panewise.stores.scans import GeneratedScan
from panewise.stores.store_directory import StoreDirectory, directory_of

DEFAULT_CACHE = 64 << 20
_DELETED = b""  # a tombstone; values are stored after one byte, so that none is empty
_LIVE = b"\x01"


class PlainDurableMap:
    """The map of a store, which checks that one thread at a time calls it."""

    calls: Calls | None = None

    def __init__(self, directory: str | Path, *, cache_bytes: int = DEFAULT_CACHE, sync: bool = True) -> None:
        if cache_bytes < 0:
            raise SpecError(f"cache_bytes={cache_bytes}", "a cache has 0 bytes or more", "give 0 or more")
        self._directory = StoreDirectory(directory_of("directory", directory))
        self._errors = StoreErrors(self._directory.path)
        self._changes: PlainMemoryMap[bytes] = PlainMemoryMap()
        self._opened: WeakSet[DurableSnapshot] = WeakSet()
        self._write_options = rocksdict.WriteOptions()
        self._write_options.sync = sync
        self._options = options(cache_bytes)
        self._failed = False  # whether the last commit has failed
        self._sync, self._recorded = sync, False  # whether the header knows of a commit since the opening
        self._empty = (b"", b"")  # start and end of the empty range
        self._files: rocksdict.Rdict | None = self._open_files()

    @property
    def directory(self) -> Path:
        """The directory of the files."""
        return self._directory.path

    @property
    def pending(self) -> int:
        """The number of changed keys since the last commit."""
        return len(self._changes)

    def get(self, key: bytes) -> bytes | None:
        """Returns the value of a key, or None."""
        changed = self._changes.get(key)
        if changed is not None:
            return changed[1:] if changed else None
        return self._read(key)

    def put(self, key: bytes, value: bytes) -> None:
        """Sets the value of a key."""
        self._changes.put(key, _LIVE + value)
        if self._empty[0] <= key < self._empty[1]:
            self._empty = (self._empty[0], key)

    def delete(self, key: bytes) -> bool:
        """Deletes a key. Returns whether it was in the map."""
        if self.get(key) is None:
            return False
        self._changes.put(key, _DELETED)
        return True

    def delete_range(self, start: bytes = b"", end: bytes | None = None) -> int:
        """Deletes the keys with start <= key < end. Returns their number."""
        count = 0
        for key, _ in self.scan(start, end):
            self._changes.put(key, _DELETED)
            count += 1
        if end is not None and start < end:
            self._know_empty(start, end, count)
        return count

    def scan(self, start: bytes = b"", end: bytes | None = None, *, backward: bool = False) -> GeneratedScan:
        """Returns the entries with start <= key < end as they are now."""
        opened = self.snapshot()
        return opened.scan(start, end, backward=backward).closing(opened.close)

    def snapshot(self) -> DurableSnapshot:
        """Returns the map as it is now, in constant time."""
        entries, changes = self._checked_files().iter(), self._changes.snapshot()
        opened = DurableSnapshot(entries, changes, self._errors, self._empty, self.calls)
        self._opened.add(opened)
        return opened

    def commit(self) -> None:
        """Makes all changes since the last commit durable, all or none.

        Raises:
            StoreError: if the disk is full or fails. The changes are then still pending. The next commit
                opens the files again, and so needs all iterators to be closed.
        """
        files = self._checked_files()
        if not len(self._changes):
            return
        batch = rocksdict.WriteBatch(raw_mode=True)
        for key, value in self._changes.items():
            if value:
                batch.put(key, value[1:])
            else:
                batch.delete(key)
        if self._failed:
            files = self._reopened(files, batch.size_in_bytes())
        self._failed = True
        with self._errors:
            files.write(batch, self._write_options)
        self._failed = False
        if self._sync and not self._recorded:  # then files that a fault has emptied are noticed
            self._directory.record(files.latest_sequence_number())
            self._recorded = True
        self._changes = PlainMemoryMap()

    def close(self, *, commit: bool = True) -> None:
        """Closes all scans and snapshots, commits unless `commit=False`, and releases the files.

        Raises:
            StoreError: if the commit fails. The map is then still open, and its changes are pending.
        """
        if self._files is None and not self._failed:
            return
        for opened in list(self._opened):
            opened.close()
        if commit:
            self.commit()
        self._changes.close()
        files, self._files, self._failed = self._files, None, False
        if files is not None:
            changes = files.latest_sequence_number()
            close_files(files)
            self._directory.record(changes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        self.close(commit=kind is None)

    def _know_empty(self, start: bytes, end: bytes, deleted: int) -> None:
        """Records that a range has no entries.

        A range that begins in the empty range, or at its end, extends it. Any other one replaces it if keys
        were deleted, as only these leave tombstones.
        """
        first, last = self._empty
        if first <= start <= last and first < last:
            self._empty = (first, max(last, end))
        elif deleted:
            self._empty = (start, end)

    def _read(self, key: bytes) -> bytes | None:
        files = self._files  # a read of one key is so fast that each call of a function here counts
        if files is None:
            files = self._checked_files()
        try:
            value: bytes | None = files.get(key)
        except Exception as error:  # `with self._errors` would take a sixth of the time of a read
            if is_of_files(error):
                raise store_error(self.directory, error) from error
            raise
        return value

    def _checked_files(self) -> rocksdict.Rdict:
        if self._files is None:
            if not self._failed:
                raise closed_error("map")
            self._files = self._open_files()  # `_reopened` closed them, and could not open them again
        return self._files

    def _open_files(self) -> rocksdict.Rdict:
        with self._errors:
            files = rocksdict.Rdict(str(self.directory), self._options)
        try:
            self._directory.check_complete(files.latest_sequence_number())
        except StoreError:
            close_files(files)
            raise
        return files

    def _reopened(self, files: rocksdict.Rdict, room: int) -> rocksdict.Rdict:
        """Returns the files, opened again: after an error RocksDB refuses all further writes.

        Raises:
            StoreError: if there is no room yet, or iterators have the files open. Reads work as before.
        """
        self._directory.check_room(room)
        if any(map(DurableSnapshot.is_open, self._opened)):
            fault = f"directory={str(self.directory)!r}: a commit after one that failed, with open iterators"
            raise StoreError(fault, "the files are opened again for it", "close them, and commit again")
        close_files(files)
        self._files = None
        return self._checked_files()


class DurableMap(PlainDurableMap):
    """An ordered map in a directory, for one process at a time.

    Args:
        directory: where the files are. It is created if it is missing.
        cache_bytes: how much of the files is cached in memory. Changes since the last commit, and the
            buffers of RocksDB (at most half of `cache_bytes`), need memory in addition.
        sync: whether a commit waits until the disk has the changes. If not, a commit survives a crash of the
            process, but not one of the machine.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with DurableMap(directory) as entries:
    ...         entries.put(b"a", b"1")
    ...     with DurableMap(directory) as entries:
    ...         list(entries.scan())
    [(b'a', b'1')]

    At the end of a `with` block the changes are committed, except after an error.

    Raises:
        ConcurrentCallError: if another thread is within a call of the map.
        SpecError: if the cache is below 0 bytes.
        InputError: if a key, a bound of a range or a value is no bytes.
        StoreError: if the directory cannot be written, contains other files, is open already, or was written
            in another format; if a file is damaged or the disk is full; if the map is used after `close`.

    Source: S1, the key-value store for messages and metadata; S4, spillable storage.
    """

    def __init__(self, directory: str | Path, *, cache_bytes: int = DEFAULT_CACHE, sync: bool = True) -> None:
        self.calls = self._calls = Calls("a store")
        super().__init__(directory, cache_bytes=cache_bytes, sync=sync)

    get = of_bytes(PlainDurableMap.get)
    put = one_thread_at_a_time(of_bytes(PlainDurableMap.put))
    delete = one_thread_at_a_time(of_bytes(PlainDurableMap.delete))
    delete_range = one_thread_at_a_time(of_bytes(PlainDurableMap.delete_range))
    scan = one_thread_at_a_time(of_bytes(PlainDurableMap.scan))
    snapshot = one_thread_at_a_time(PlainDurableMap.snapshot)
    commit = one_thread_at_a_time(PlainDurableMap.commit)
    close = one_thread_at_a_time(PlainDurableMap.close)
