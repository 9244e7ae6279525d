"""Reads the changelog files of Spark's state store: the puts and deletes of one version.

A file begins with its version as text. Versions 2 and 4 are those of stores with column families. Version 4
then has the unique ids of the versions since the last snapshot. Integers are big-endian.
"""

import json
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import pyarrow as pa

from panewise.checkpoints import UnknownFormatError
from panewise.checkpoints.compressed import opened
from panewise.errors import StateError
from panewise.state.manifest import REMEDY

_END, _PUT, _DELETE = 0x00, 0x01, 0x10
_VERSIONS: Final = ("v2", "v4")


def lineage(path: Path) -> dict[int, str]:
    """Returns the unique ids of the versions from the last snapshot to the one before, by version.

    Raises:
        UnknownFormatError: if the file has another format.
        StateError: if it is damaged.
    """
    with _read(path) as stream:
        if _text(stream) != "v4":
            raise UnknownFormatError(f"the format of {path.name}")
        return {item["version"]: item["checkpointUniqueId"] for item in json.loads(_text(stream))}


def changes(path: Path, family: bytes, key_head: int) -> Iterator[tuple[bytes, bytes | None]]:
    """Yields key and value of each put of a column family, in order; of a delete the value is None.

    Args:
        path: the file.
        family: the first bytes of the keys of the family.
        key_head: how many bytes precede the key in a delete.

    Raises:
        UnknownFormatError: if the file has another format.
        StateError: if it is damaged.
    """
    with _read(path) as stream:
        version = _text(stream)
        if version not in _VERSIONS:
            raise UnknownFormatError(f"the format {version[:10]!r} of {path.name}")
        if version == "v4":
            _text(stream)
        while (kind := _exactly(stream, 1)[0]) != _END:
            if kind not in (_PUT, _DELETE):
                raise UnknownFormatError(f"a record of kind {kind} in {path.name}")
            key = _exactly(stream, _length(stream))
            size = _length(stream)
            value = _exactly(stream, size) if kind == _PUT else None
            key = key if kind == _PUT else key[key_head:]
            if key.startswith(family):
                yield key, value


@contextmanager
def _read(path: Path) -> Iterator[BinaryIO]:
    try:
        with closing(opened(path)) as stream:
            yield stream
    except (OSError, ValueError, KeyError, TypeError, struct.error, pa.ArrowException) as error:
        problem = f"changelog {path} ({str(error).splitlines()[0] if str(error) else type(error).__name__})"
        rule = "the state of a micro-batch consists of a snapshot and the changelogs after it"
        raise StateError(problem, rule, f"give a later micro-batch, or {REMEDY}") from error


def _text(stream: BinaryIO) -> str:
    (length,) = struct.unpack(">H", _exactly(stream, 2))
    return _exactly(stream, length).decode()


def _length(stream: BinaryIO) -> int:
    (length,) = struct.unpack(">i", _exactly(stream, 4))
    return int(length)


def _exactly(stream: BinaryIO, length: int) -> bytes:
    data = stream.read(length) if length >= 0 else b""
    if len(data) != length:
        raise OSError("it ends too early")
    return data
