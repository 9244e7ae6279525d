"""The file of an exported state: manifests and runs of all shards, in one Arrow IPC stream.

The metadata of the stream's schema has a head, JSON. Each record batch has one row, an *entry*: the number of
the operator and of the shard, the name, and the data, as in the checkpoint it comes from. The last entry has
the number of the others and a checksum of all of them. So a file that is cut off is noticed. One entry at a
time is in memory.
"""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final
from uuid import uuid4

import pyarrow as pa
import xxhash

from panewise.errors import StateError

FORMAT: Final = 1
MANIFEST: Final = "manifest"  # the name of the entry with the manifest of a shard
_FIELD: Final = b"panewise_export"
_END: Final = "end"
_NONE: Final = -1  # operator and shard of the last entry
_REMEDY: Final = "export the state again"
_SCHEMA: Final = pa.schema(
    [("operator", pa.int32()), ("shard", pa.int32()), ("name", pa.string()), ("data", pa.large_binary())]
)


@dataclass(frozen=True)
class ExportedFrom:
    """What an exported state is.

    Attributes:
        id: distinguishes this export from all others. A copy of the file has the same one.
        checkpoint: where it comes from, in words; empty if unknown.
        batch: the micro-batch after which it was exported; None without Spark.
        watermark: the watermark of Spark's next micro-batch, in microseconds; None if there is none.
        sources: how far the sources were read: a text for each, as Spark stores it.
        rows: which of the emitted rows the query wrote, as its record has it; None if unknown.
    """

    id: str = field(default_factory=lambda: uuid4().hex)
    checkpoint: str = ""
    batch: int | None = None
    watermark: int | None = None
    sources: tuple[str | None, ...] = ()
    rows: Mapping[str, Any] | None = None


class ExportWriter:
    """Writes the entries of a file. :func:`writing` opens it."""

    def __init__(self, sink: BinaryIO, origin: ExportedFrom) -> None:
        head = json.dumps({"format": FORMAT, **vars(origin)})
        self._stream = pa.ipc.new_stream(sink, _SCHEMA.with_metadata({_FIELD: head.encode()}))
        self._checksum, self.entries = xxhash.xxh3_128(head.encode()), 0

    def add(self, operator: int, shard: int, name: str, data: bytes) -> None:
        """Adds an entry. The entries of a shard may come in any order."""
        self._write(operator, shard, name, data)
        _update(self._checksum, operator, shard, name, data)
        self.entries += 1

    def end(self) -> None:
        """Writes the last entry."""
        end = {"entries": self.entries, "checksum": self._checksum.hexdigest()}
        self._write(_NONE, _NONE, _END, json.dumps(end).encode())
        self._stream.close()

    def _write(self, operator: int, shard: int, name: str, data: bytes) -> None:
        columns = ([operator], [shard], [name], [data])
        arrays = [pa.array(column, of.type) for column, of in zip(columns, _SCHEMA, strict=True)]
        self._stream.write_batch(pa.RecordBatch.from_arrays(arrays, schema=_SCHEMA))


@contextmanager
def writing(path: Path, origin: ExportedFrom, *, replace: bool = False) -> Iterator[ExportWriter]:
    """Opens a file for writing. It gets its name when it is complete; otherwise nothing is left of it.

    Raises:
        StateError: if there is a file of this name and `replace` is false, or it cannot be written.
    """
    if path.exists() and not replace:
        remedy = "give another name, or replace it: --force of the command, replace=True in Python"
        raise StateError(f"{path} exists", "an export makes a new file", remedy)
    try:
        handle, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise _unusable(path, error, "write") from error
    try:
        with os.fdopen(handle, "wb") as file:
            writer = ExportWriter(file, origin)
            yield writer
            writer.end()
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except OSError as error:
        raise _unusable(path, error, "write") from error
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()


@dataclass(frozen=True)
class ExportedEntries(Mapping[str, bytes]):
    """The entries of a shard by name. Each is read when it is requested."""

    path: Path
    places: Mapping[str, int]

    def __getitem__(self, name: str) -> bytes:
        with pa.OSFile(str(self.path)) as file:
            file.seek(self.places[name])
            batch = pa.ipc.read_record_batch(pa.ipc.read_message(file), _SCHEMA)
        data: bytes = batch.column("data")[0].as_py()
        return data

    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    def __len__(self) -> int:
        return len(self.places)


@dataclass(frozen=True)
class ExportFile:
    """A complete file.

    Attributes:
        path: where it is.
        origin: where the state comes from.
        operators: by the number of the operator the entries of each shard.
    """

    path: Path
    origin: ExportedFrom
    operators: Mapping[int, Mapping[int, ExportedEntries]]

    @classmethod
    def open(cls, path: str | Path) -> "ExportFile":
        """Opens a file, and checks that it is complete and undamaged.

        Raises:
            StateError: if it is not, cannot be read, or has an unknown format.
        """
        with _reading(Path(path)) as file:
            return cls._read(Path(path), file)

    @classmethod
    def _read(cls, path: Path, file: pa.NativeFile) -> "ExportFile":
        head = _head(path, file)
        origin = _origin(json.loads(head))
        checksum, operators = xxhash.xxh3_128(head), dict[int, dict[int, dict[str, int]]]()
        for entries, (place, entry) in enumerate(_entries(path, file)):
            operator, shard, name, data = entry
            if operator == _NONE:
                if json.loads(data) != {"entries": entries, "checksum": checksum.hexdigest()}:
                    raise _not_ours(path, "its checksum does not match")
                by_shard = {
                    number: {of: ExportedEntries(path, places) for of, places in shards.items()}
                    for number, shards in operators.items()
                }
                return cls(path, origin, by_shard)
            _update(checksum, operator, shard, name, data)
            operators.setdefault(operator, {}).setdefault(shard, {})[name] = place
        raise _not_ours(path, "it is cut off")


def origin_of(path: str | Path) -> ExportedFrom:
    """Returns where the state of a file comes from. Only the head of the file is read.

    Raises:
        StateError: if it is not an exported state, or cannot be read.
    """
    with _reading(Path(path)) as file:
        return _origin(json.loads(_head(Path(path), file)))


def is_export(path: str | Path) -> bool:
    """Returns whether a path is a file, and not the directory of a checkpoint."""
    return Path(path).is_file()


@contextmanager
def _reading(path: Path) -> Iterator[pa.NativeFile]:
    """Opens a file for reading. What fails there is a StateError."""
    try:
        with pa.OSFile(str(path)) as file:
            yield file
    except (pa.ArrowException, EOFError, ValueError, KeyError, TypeError) as error:
        raise _not_ours(path, type(error).__name__) from error
    except OSError as error:
        raise _unusable(path, error, "read") from error


def _head(path: Path, file: pa.NativeFile) -> bytes:
    """Returns the head of a file that was just opened."""
    head: bytes | None = (pa.ipc.read_schema(pa.ipc.read_message(file)).metadata or {}).get(_FIELD)
    if head is None:
        raise _not_ours(path, "another file")
    return head


def _entries(path: Path, file: pa.NativeFile) -> Iterator[tuple[int, tuple[int, int, str, bytes]]]:
    """Yields the entries, each with its place in the file."""
    while True:
        place = file.tell()
        try:
            message = pa.ipc.read_message(file)
        except (EOFError, pa.ArrowInvalid) as error:
            raise _not_ours(path, "it is cut off") from error
        batch = pa.ipc.read_record_batch(message, _SCHEMA)
        batch.validate(full=True)  # damaged offsets would be read from outside of the batch
        row = batch.to_pylist()[0]
        yield place, (row["operator"], row["shard"], row["name"], row["data"])


def _origin(head: Mapping[str, Any]) -> ExportedFrom:
    known = dict(head)
    version = known.pop("format")
    if version != FORMAT:
        rule = f"this version of panewise reads format {FORMAT}"
        fault = f"an exported state of format {str(version)[:20]}"
        raise StateError(fault, rule, "use the version of panewise that wrote it")
    return ExportedFrom(**known | {"sources": tuple(known["sources"])})


def _update(checksum: xxhash.xxh3_128, operator: int, shard: int, name: str, data: bytes) -> None:
    checksum.update(f"{operator}/{shard}/{name}/{len(data)}".encode())
    checksum.update(data)


def _unusable(path: Path, error: OSError, action: str) -> StateError:
    reason = error.strerror or str(error)
    return StateError(f"cannot {action} {path}: {reason}", "an exported state is one file", "give its path")


def _not_ours(path: Path, reason: str) -> StateError:
    return StateError(f"{path} ({reason})", "an exported state is a file that panewise wrote", _REMEDY)
