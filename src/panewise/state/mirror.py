"""Copies of runs in a directory of this machine, which its worker processes share.

A copy is addressed by what the run contains, not by its name: whoever asks for an address gets that content or nothing.
A copy is never the only one. One that is lost, damaged, exchanged for another or deleted by another process is read
again from the durable state, so no error of the disk is an error of the query.
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

from panewise.state.blob import frame_of
from panewise.state.streams import Buffer, write_stream

DEFAULT_BYTES = 4 << 30
MAPPED_FROM = 1 << 22  # bytes of a file from which mapping it costs less than reading it
_HEAD = struct.Struct("<4sHxxQ16s32x")  # magic, format, length of the stream, checksum of address and stream
_MAGIC, _FORMAT = b"PWCP", 1
_COPY, _TEMPORARY = ".run", ".tmp"
_SWEEPS = 64  # a process looks at the directory each time it has written this part of the limit
_MOST_REMEMBERED = 10_000


class Mirror:
    """The copies in one directory, which is made when the first is written.

    Args:
        directory: where they are.
        limit: bytes of all copies together, from all processes. The least recently used ones are deleted: a process
            that has written a 64th of the limit deletes down to seven eighths of it. A limit of 0 means no copies.
    """

    def __init__(self, directory: Path, limit: int = DEFAULT_BYTES) -> None:
        self._directory, self._limit = directory, limit
        self._unswept = limit  # bytes written since this process last looked at the directory; at first it has not
        self._checked: dict[str, tuple[int, int]] = {}

    def bound(self, limit: int) -> None:
        """Sets another limit. A lower one holds at once, a higher one from the next write on."""
        lower = limit < self._limit
        if limit != self._limit:
            self._limit, self._unswept = limit, limit
        if lower:
            self._sweep()

    def read(self, address: str) -> pl.DataFrame | None:
        """The copy at an address; None if there is none, or none that can be trusted.

        A long copy is mapped: its pages are in memory once for all processes. Its length is compared before, and its
        checksum once in a process. A short copy is read and checked each time.
        """
        path = self._path(address)
        try:
            with path.open("rb") as file:
                os.utime(path)  # used now
                stream = self._stream(address, file.fileno())
            return None if stream is None else frame_of(stream)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, pa.ArrowException):  # empty, or damaged
            self.drop([address])
            return None

    def write(self, address: str, content: Buffer | pa.Table) -> None:
        """Adds a copy, given as an Arrow IPC stream or as what one is made of; other processes see all of it or nothing.

        A full or read-only disk only means that there is no copy.
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
        """An empty file without a name in the directory, for at most `size` bytes; it is deleted at the end.

        None if there cannot be one, or if `size` is more than the limit.
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
                with suppress(OSError):  # what could not be written is tried once more
                    file.close()

    def drop(self, addresses: Iterable[str]) -> None:
        """Deletes copies; a process that has mapped one keeps it."""
        for address in addresses:
            self._checked.pop(address, None)
            with suppress(OSError):
                self._path(address).unlink()

    def _path(self, address: str) -> Path:
        return self._directory / f"{address}{_COPY}"

    def _stream(self, address: str, file: int) -> Buffer | None:
        """The stream of an open copy.

        Raises:
            ValueError: if it is not the copy of that address, or not all of it.
        """
        status = os.fstat(file)
        is_long = status.st_size >= MAPPED_FROM
        data = memoryview(mmap.mmap(file, 0, access=mmap.ACCESS_READ) if is_long else os.read(file, status.st_size))
        magic, number, length, digest = _HEAD.unpack_from(data) if len(data) >= _HEAD.size else (b"", 0, 0, b"")
        if magic == _MAGIC and number != _FORMAT:
            return None  # of another release
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

    def _put(self, address: str, content: Buffer | pa.Table) -> None:
        """Writes a file under a name of this process, then gives it its own; leaves nothing else behind."""
        prefix = f"{os.getpid()}-"
        with tempfile.NamedTemporaryFile(dir=self._directory, prefix=prefix, suffix=_TEMPORARY, delete=False) as file:
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
                with suppress(OSError):
                    temporary.unlink()

    def _write_table(self, address: str, table: pa.Table, file: BinaryIO) -> None:
        """Writes the copy of a table, of which there is no second one in memory meanwhile: its checksum is that of the file."""
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
        """Deletes what dead processes left, and the least recently used copies beyond the limit."""
        self._unswept = 0
        found = sorted(_files(self._directory))
        excess = sum(size for _, size, _ in found) - _target(self._limit)
        for _, size, path in found:
            if path.suffix == _TEMPORARY:
                if not _alive(path.name.partition("-")[0]):
                    self._delete(path)
                    excess -= size
            elif excess > 0:
                self._delete(path)
                excess -= size

    def _delete(self, path: Path) -> None:
        with suppress(OSError):
            path.unlink()


def _target(limit: int) -> int:
    """What a sweep leaves at most: the rest is for what processes write before they sweep again."""
    return limit * 7 // 8


def _files(directory: Path) -> Iterable[tuple[int, int, Path]]:
    """Last use, size and path of the files of mirrors; other processes may delete some meanwhile."""
    with suppress(OSError), os.scandir(directory) as entries:
        for entry in entries:
            with suppress(OSError):
                if not entry.name.endswith((_COPY, _TEMPORARY)):
                    continue
                status = entry.stat(follow_symlinks=False)
                yield status.st_mtime_ns, status.st_size, Path(entry.path)


def _alive(process: str) -> bool:
    """Whether a process of this number is running."""
    if not process.isdecimal():
        return False
    try:
        os.kill(int(process), 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _head(address: str, stream: Buffer) -> bytes:
    return _HEAD.pack(_MAGIC, _FORMAT, len(stream), _digest(address, stream))


def _digest(address: str, stream: Buffer) -> bytes:
    """Of the address, too: a copy under the address of another is none."""
    total = xxhash.xxh3_128(address.encode())
    total.update(stream)
    return total.digest()
