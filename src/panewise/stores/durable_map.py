"""An ordered map on RocksDB (docs/decisions/0037-a-durable-map-on-rocksdb.md).

Changes since the last commit are in a map in memory, over the files: a value, or a tombstone. `commit` writes
them as one batch, which RocksDB applies all or none, and begins a new map. Snapshots of the old map stay as
they are. So a snapshot is an iterator of RocksDB and a snapshot of the changes, and neither copies anything.

Nothing is written to the files between commits. After a crash the map is that of the last commit.
"""

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

import rocksdict

from panewise.errors import SpecError, StoreError
from panewise.stores.memory_map import MemoryMap, MemorySnapshot
from panewise.stores.ordered_map import after, closed_error
from panewise.stores.scans import GeneratedScan

FORMAT = 1
HEADER = "panewise-store.json"
DEFAULT_CACHE = 64 << 20
_LOCKED = ("LOCK: Resource temporarily unavailable", "LOCK: No locks available")
_DELETED = b""  # a tombstone; values are stored behind one byte, so that none is empty
_LIVE = b"\x01"


class DurableMap:
    """An ordered map in a directory, for one process at a time.

    Args:
        directory: where the files are. It is created if it is missing.
        cache_bytes: how much of the files is cached in memory. Changes since the last commit, and the
            buffers of RocksDB (at most half of it), come on top.
        sync: whether a commit waits until the disk has the changes. Without, a commit survives the end of the
            process, and not that of the machine.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     with DurableMap(directory) as entries:
    ...         entries.put(b"a", b"1")
    ...     with DurableMap(directory) as entries:
    ...         list(entries.scan())
    [(b'a', b'1')]

    At the end of a `with` block the changes are committed, except after an error.

    Raises:
        SpecError: if the cache is below 0 bytes.
        InputError: if a key is put that is no bytes.
        StoreError: if the directory cannot be written, belongs to something else, is open already, or was
            written in another format; if a file is damaged or the disk is full; if it is used after `close`.

    Source: S1, the key-value store for messages and metadata; S4, spillable storage.
    """

    def __init__(self, directory: str | Path, *, cache_bytes: int = DEFAULT_CACHE, sync: bool = True) -> None:
        if cache_bytes < 0:
            raise SpecError(f"cache_bytes={cache_bytes}", "a cache has 0 bytes or more", "give 0 or more")
        self._directory = Path(directory)
        self._changes: MemoryMap[bytes] = MemoryMap()
        self._opened: WeakSet[DurableSnapshot] = WeakSet()
        self._write_options = rocksdict.WriteOptions()
        self._write_options.sync = sync
        self._files: rocksdict.Rdict | None = None
        self._known_changes = _check_header(self._directory)
        try:
            self._files = rocksdict.Rdict(str(self._directory), _options(cache_bytes))
        except Exception as error:
            raise _store_error(self._directory, error) from error
        self._check_complete()

    @property
    def directory(self) -> Path:
        """The directory of the files."""
        return self._directory

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
        return count

    def scan(self, start: bytes = b"", end: bytes | None = None, *, backward: bool = False) -> GeneratedScan:
        """Returns the entries with start <= key < end as they are now."""
        opened = self.snapshot()
        return opened.scan(start, end, backward=backward).closing(opened.close)

    def snapshot(self) -> "DurableSnapshot":
        """Returns the map as it is now, in constant time."""
        if self._files is None:
            raise closed_error("map")
        opened = DurableSnapshot(self._directory, self._files.iter(), self._changes.snapshot())
        self._opened.add(opened)
        return opened

    def commit(self) -> None:
        """Makes all changes since the last commit durable, all or none.

        Raises:
            StoreError: if the disk is full or fails. The changes are then still pending.
        """
        if self._files is None:
            raise closed_error("map")
        if not len(self._changes):
            return
        batch = rocksdict.WriteBatch(raw_mode=True)
        for key, value in self._changes.items():
            if value:
                batch.put(key, value[1:])
            else:
                batch.delete(key)
        try:
            self._files.write(batch, self._write_options)
        except Exception as error:
            raise _store_error(self._directory, error) from error
        self._changes = MemoryMap()

    def close(self, *, commit: bool = True) -> None:
        """Commits unless `commit=False`, closes all scans and snapshots, and releases the files."""
        if self._files is None:
            return
        try:
            if commit:
                self.commit()
        finally:
            for opened in list(self._opened):
                opened.close()
            self._changes.close()
            files, self._files = self._files, None
            changes = files.latest_sequence_number()
            files.close()
            self._record(changes)

    def __enter__(self) -> "DurableMap":
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        self.close(commit=kind is None)

    def _check_complete(self) -> None:
        """Raises if the files have fewer changes than at the last close.

        RocksDB takes a damaged end of its manifest or log for what a crash left, and opens what is before it.
        """
        assert self._files is not None
        if self._files.latest_sequence_number() < self._known_changes:
            self._files.close()
            self._files = None
            given = f"directory={str(self._directory)!r}: changes of the last close are missing"
            raise StoreError(given, _INTACT, _RESTORE)

    def _record(self, changes: int) -> None:
        """Writes the number of changes of all time into the header, if it has risen."""
        if changes > self._known_changes:
            with suppress(OSError):  # the number that the header has is still a lower bound
                _write_header(self._directory / HEADER, changes)

    def _read(self, key: bytes) -> bytes | None:
        if self._files is None:
            raise closed_error("map")
        try:
            found: bytes | None = self._files.get(key)
        except Exception as error:
            raise _store_error(self._directory, error) from error
        return found


class DurableSnapshot:
    """A durable map as it was when the snapshot was opened, with the changes that were pending.

    An iterator of RocksDB is a snapshot of the files. All scans share one, so a scan that continues after
    another one has moved it seeks its place again.
    """

    def __init__(self, directory: Path, entries: rocksdict.RdictIter, changes: MemorySnapshot[bytes]) -> None:
        self._directory = directory
        self._stored: rocksdict.RdictIter | None = entries
        self._moves = 0  # how often the iterator was moved
        self._changes = changes

    def get(self, key: bytes) -> bytes | None:
        """Returns the value of a key, or None."""
        if self._stored is None:
            raise closed_error("snapshot")
        changed = self._changes.get(key)
        if changed is not None:
            return changed[1:] if changed else None
        self._moves += 1
        try:
            self._stored.seek(key)
            if self._stored.valid():
                return self._stored.value() if self._stored.key() == key else None
            self._stored.status()
        except Exception as error:
            raise _store_error(self._directory, error) from error
        return None

    def scan(self, start: bytes = b"", end: bytes | None = None, *, backward: bool = False) -> GeneratedScan:
        """Returns the entries with start <= key < end; without an end, all from start."""
        if self._is_closed():
            raise closed_error("snapshot")
        return GeneratedScan(self._entries(start, end, backward))

    def close(self) -> None:
        """Closes the snapshot; RocksDB may then delete the versions that it pins."""
        self._stored = None
        self._changes.close()

    def __enter__(self) -> "DurableSnapshot":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _is_closed(self) -> bool:
        return self._stored is None

    def _entries(self, start: bytes, end: bytes | None, backward: bool) -> Iterator[tuple[bytes, bytes]]:
        """Yields the entries of a range until the snapshot is closed."""
        if self._is_closed():
            return
        changes = self._changes.scan(start, end, backward=backward)
        for entry in _laid_over(changes, self._in_files(start, end, backward), backward):
            if self._is_closed():
                return
            yield entry

    def _in_files(self, start: bytes, end: bytes | None, backward: bool) -> Iterator[tuple[bytes, bytes]]:
        """Yields the entries of the files in a range; raises if they end at a damaged block.

        Invariant: while it waits it refers to no iterator, which would have the files open after `close`.
        """
        moves = -1
        while not self._is_closed() and (end is None or start < end):
            entry = self._step((start, end), moves == self._moves, backward)
            moves = self._moves
            if entry is None:
                return
            start, end = (start, entry[0]) if backward else (after(entry[0]), end)
            yield entry

    def _step(
        self, bounds: tuple[bytes, bytes | None], in_place: bool, backward: bool
    ) -> tuple[bytes, bytes] | None:
        """Moves the iterator to the next entry of a range, from its place or by a search; None at the end."""
        assert self._stored is not None
        stored, (start, end) = self._stored, bounds
        self._moves += 1
        try:
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
        except Exception as error:
            raise _store_error(self._directory, error) from error


def _seek(stored: rocksdict.RdictIter, start: bytes, end: bytes | None, backward: bool) -> None:
    """Moves an iterator to the first entry of a range in the direction of a scan."""
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
    """Yields the entries of the files with the changes laid over them, in order."""
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


def _options(cache_bytes: int) -> rocksdict.Options:
    """Returns options with bounded memory: the cache includes indexes, and buffers are a share of it."""
    blocks = rocksdict.BlockBasedOptions()
    blocks.set_block_cache(rocksdict.Cache(cache_bytes))
    blocks.set_cache_index_and_filter_blocks(True)
    blocks.set_bloom_filter(10, False)
    options = rocksdict.Options(raw_mode=True)
    options.set_block_based_table_factory(blocks)
    options.set_db_write_buffer_size(max(cache_bytes // 2, 1 << 20))
    options.set_max_open_files(256)
    options.set_keep_log_file_num(2)
    # A torn last record is that of a commit that did not return. Other damage is an error.
    options.set_wal_recovery_mode(rocksdict.DBRecoveryMode.tolerate_corrupted_tail_records())
    return options


def _check_header(directory: Path) -> int:
    """Writes the header of a new directory; refuses a directory of another kind or format.

    Returns how many changes the files had when the map was closed for the last time.
    """
    rule = "the directory of a store has been made by one"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        header = directory / HEADER
        if not header.exists():
            if any(path.name != f"{HEADER}.new" for path in directory.iterdir()):
                raise StoreError(f"directory={str(directory)!r}", rule, "give an empty or a new directory")
            _write_header(header, 0)
        read = json.loads(header.read_text(encoding="utf-8"))
        written, changes = read["format"], int(read.get("changes", 0))
    except OSError as error:
        raise _store_error(directory, error) from error
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{header}", "the header of a store is JSON with its format", _RESTORE) from error
    if written != FORMAT:
        rule = f"this version of panewise reads format {FORMAT}"
        raise StoreError(f"{header}: format {written}", rule, "use the version that wrote it")
    return changes


def _write_header(header: Path, changes: int) -> None:
    """Writes the header so that it exists as a whole or not at all."""
    new = header.with_name(f"{HEADER}.new")
    with new.open("w", encoding="utf-8") as file:
        json.dump({"format": FORMAT, "changes": changes}, file)
        file.flush()
        os.fsync(file.fileno())
    new.replace(header)


_INTACT = "the files of a store are as it wrote them"
_RESTORE = "restore the directory from a copy, or delete it and rebuild the store from its source"


def _store_error(directory: Path, error: Exception) -> StoreError:
    """Returns the error of panewise for one of RocksDB or of the file system."""
    given = f"directory={str(directory)!r}: {error}"
    text = str(error)
    if any(part in text for part in _LOCKED):
        return StoreError(given, "one process at a time uses a store", "close it there first")
    if "No space left" in text:
        return StoreError(given, "a store needs room on its disk", "free some, and commit again")
    if isinstance(error, (PermissionError, NotADirectoryError, FileExistsError)) or any(
        part in text for part in ("Permission denied", "Read-only file system")
    ):
        return StoreError(given, "a store writes into its directory", "give a directory that can be written")
    return StoreError(given, _INTACT, _RESTORE)
