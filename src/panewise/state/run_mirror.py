"""Copies of runs in a directory of this machine, which its worker processes share.

The address of a copy is made from the content of the run, not from its name. So a reader gets exactly that
content or nothing. The durable state always has the run, too. If a copy is missing, damaged, replaced, or
deleted by another process, the run is read from there. So no error of the disk becomes an error of the query.
"""

import mmap
import os
import struct
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, cast

import polars as pl
import pyarrow as pa
import xxhash

from panewise.state.arrow_streams import StreamBytes, write_stream
from panewise.state.run_format import frame_of

DEFAULT_BYTES = 4 << 30
MAPPED_FROM = 1 << 22  # files of at least this many bytes are mapped, which costs less than reading them
_HEAD = struct.Struct("<4sHxxQ16s32x")  # magic, format, length of the stream, checksum of address and stream
_MAGIC, _FORMAT = b"PWCP", 1
_COPY, _TEMPORARY = ".run", ".tmp"
_SWEEPS = 64  # a process sweeps the directory each time it has written this fraction (1/64) of the limit
_MOST_REMEMBERED = 10_000


class Mirror:
    """The copies in one directory, which is created with the first copy.

    Args:
        directory: the directory of the copies.
        limit: the maximum number of bytes of all copies together, from all processes. A process that has
            written a 64th of the limit deletes the least recently used copies, down to seven eighths of the
            limit. With a limit of 0 there are no copies.
    """

    def __init__(self, directory: Path, limit: int = DEFAULT_BYTES) -> None:
        self._directory, self._limit = directory, limit
        self._unswept = limit  # bytes written since the last sweep of this process; the first write sweeps
        self._checked: dict[str, tuple[int, int]] = {}

    def bound(self, limit: int) -> None:
        """Sets the limit. A lower one applies at once, a higher one from the next write on."""
        lower = limit < self._limit
        if limit != self._limit:
            self._limit, self._unswept = limit, limit
        if lower:
            self._sweep()

    def read(self, address: str) -> pl.DataFrame | None:
        """Returns the copy at an address, None if there is no valid one.

        A long copy is memory-mapped, so that all processes share its pages. Each read checks its length, and
        the first read of a process its checksum. A short copy is read and checked each time.
        """
        path = self._path(address)
        try:
            with path.open("rb") as file:
                os.utime(path)  # the time of last use
                stream = self._stream(address, file.fileno())
            return None if stream is None else frame_of(stream)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, pa.ArrowException):  # empty, or damaged
            self.drop([address])
            return None

    def write(self, address: str, content: StreamBytes | pa.Table) -> None:
        """Adds a copy of a run, given as an Arrow IPC stream or as a table.

        Other processes see the whole copy or nothing. If the disk is full or read-only there is no copy.
        """
        length = _HEAD.size + (content.nbytes if isinstance(content, pa.Table) else len(content))
        if length > _target(self._limit):
            return
        self._unswept += length
        with suppress(OSError):
            self._directory.mkdir(parents=True, exist_ok=True)
            self._put(address, content)
        if self._unswept >= self._limit // _SWEEPS:
            self._sweep()

    @contextmanager
    def spool(self, size: int) -> Iterator[BinaryIO | None]:
        """Provides an empty file in the directory for at most `size` bytes, and deletes it at the end.

        The file has no name. It is None if it cannot be created, or if `size` is more than the limit.
        """
        file: BinaryIO | None = None
        with suppress(OSError):
            if size <= self._limit:
                self._directory.mkdir(parents=True, exist_ok=True)
                file = cast(BinaryIO, tempfile.TemporaryFile(dir=self._directory))  # noqa: SIM115
        try:
            yield file
        finally:
            if file is not None:
                with suppress(OSError):  # closing tries again to write what could not be written
                    file.close()

    def drop(self, addresses: Iterable[str]) -> None:
        """Deletes copies. A process that has mapped a copy can still read it."""
        for address in addresses:
            self._checked.pop(address, None)
            _delete(self._path(address))

    def _path(self, address: str) -> Path:
        return self._directory / f"{address}{_COPY}"

    def _stream(self, address: str, file: int) -> StreamBytes | None:
        """Returns the stream of an open copy, None if another release wrote it."""
        status = os.fstat(file)
        is_long = status.st_size >= MAPPED_FROM
        data = memoryview(
            mmap.mmap(file, 0, access=mmap.ACCESS_READ) if is_long else os.read(file, status.st_size)
        )
        magic, number, length, digest = (
            _HEAD.unpack_from(data) if len(data) >= _HEAD.size else (b"", 0, 0, b"")
        )
        if magic == _MAGIC and number != _FORMAT:
            return None
        if magic != _MAGIC or len(data) != _HEAD.size + length:
            raise ValueError("no whole copy")
        stream = data[_HEAD.size :]
        identity = (status.st_ino, status.st_size)
        if is_long and self._checked.get(address) == identity:
            return stream
        if _digest(address, stream) != digest:
            raise ValueError("another copy, or a damaged one")
        if is_long:
            self._remember(address, identity)
        return stream

    def _remember(self, address: str, identity: tuple[int, int]) -> None:
        if len(self._checked) >= _MOST_REMEMBERED:
            self._checked.clear()
        self._checked[address] = identity

    def _put(self, address: str, content: StreamBytes | pa.Table) -> None:
        """Writes a copy to a temporary file, and renames it. Deletes the temporary file if this fails."""
        prefix = f"{os.getpid()}-"
        with tempfile.NamedTemporaryFile(
            dir=self._directory, prefix=prefix, suffix=_TEMPORARY, delete=False
        ) as file:
            temporary = Path(file.name)
            try:
                if isinstance(content, pa.Table):
                    self._write_table(address, content, cast(BinaryIO, file))
                else:
                    file.write(_head(address, content))
                    file.write(content)
                file.close()
                temporary.replace(self._path(address))
            finally:
                _delete(temporary)

    def _write_table(self, address: str, table: pa.Table, file: BinaryIO) -> None:
        """Writes the copy of a table.

        The checksum is computed from the file, so that the stream is not in memory beside the table.
        """
        file.write(bytes(_HEAD.size))
        write_stream(table, file)
        file.flush()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data, memoryview(data) as whole:
            head = _head(address, whole[_HEAD.size :])
        file.seek(0)
        file.write(head)
        file.flush()
        status = os.fstat(file.fileno())
        if status.st_size >= MAPPED_FROM:
            self._remember(address, (status.st_ino, status.st_size))

    def _sweep(self) -> None:
        """Deletes temporary files of dead processes, and the least recently used copies beyond the target."""
        self._unswept = 0
        copies = sorted(_files(self._directory))
        excess = sum(size for _, size, _ in copies) - _target(self._limit)
        for _, size, path in copies:
            if path.suffix == _TEMPORARY:
                if not _alive(path.name.partition("-")[0]):
                    _delete(path)
                    excess -= size
            elif excess > 0:
                _delete(path)
                excess -= size


def _delete(path: Path) -> None:
    with suppress(OSError):
        path.unlink()


def _target(limit: int) -> int:
    """Returns how many bytes a sweep leaves at most. The rest is room for writes before the next sweep."""
    return limit * 7 // 8


def _files(directory: Path) -> Iterable[tuple[int, int, Path]]:
    """Yields last use, size and path of the files of mirrors. Other processes may delete some meanwhile."""
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            with suppress(OSError):
                if not entry.name.endswith((_COPY, _TEMPORARY)):
                    continue
                status = entry.stat(follow_symlinks=False)
                yield status.st_mtime_ns, status.st_size, Path(entry.path)


def _alive(process: str) -> bool:
    """Returns whether a process with this id is running."""
    if not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _head(address: str, stream: StreamBytes) -> bytes:
    return _HEAD.pack(_MAGIC, _FORMAT, len(stream), _digest(address, stream))


def _digest(address: str, stream: StreamBytes) -> bytes:
    """Returns the checksum of address and stream, so that a copy under another address is not accepted."""
    total = xxhash.xxh3_128(address.encode())
    total.update(stream)
    return total.digest()
