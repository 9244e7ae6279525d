"""Decodes the entries of the state variable of panewise, as Spark's RocksDB state store writes them.

The variable is a MapState with the grouping key `shard INT`, the key `name STRING` and the value `data
BINARY`. Each is an UnsafeRow: a word of null bits, then a word for each field, then the data of variable
length. The word of such a field has its length (low half) and its place in the row (high half).
"""

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final

from panewise.checkpoints import UnknownFormatError

_FAMILY: Final = struct.Struct("<H")
_KEY: Final = struct.Struct("<HiBqiiqqBqiiqii")  # up to the characters of the name
_VALUE: Final = struct.Struct("<Bqii")  # up to the data
_CHECKED: Final = struct.Struct("<Ii")  # what precedes a value with a checksum: the checksum and the length
_KEY_LENGTH: Final = 33  # of the grouping key with the byte of its format
_FIELDS: Final = 16  # the place of the first data in a row of one field
CHECKSUM_OF_KEY: Final = 4  # bytes before the key of a delete, in a changelog with checksums


def family_of(number: int) -> bytes:
    """Returns the first bytes of the keys of a column family.

    >>> list(family_of(2))
    [2, 0]
    """
    return _FAMILY.pack(number)


def shard_and_name(key: bytes) -> tuple[int, str]:
    """Returns shard and name of an entry.

    Raises:
        UnknownFormatError: if the key is not encoded in the known way.
    """
    if len(key) < _KEY.size:
        raise _unknown("a key")
    (_, length, version, nulls, size, place, inner_nulls, shard, *name_row) = _KEY.unpack_from(key)
    name_version, name_nulls, name_size, name_place, name_inner_nulls, count, at = name_row
    known = (length, version, nulls, size, place, inner_nulls) == (_KEY_LENGTH, 0, 0, 16, _FIELDS, 0)
    known &= (name_version, name_nulls, name_place, name_inner_nulls, at) == (0, 0, _FIELDS, 0, _FIELDS)
    padded = -(-count // 8) * 8
    if not known or name_size != _FIELDS + padded or len(key) != _KEY.size + padded:
        raise _unknown("a key")
    return shard, key[_KEY.size : _KEY.size + count].decode(errors="replace")


def data_of(value: bytes, *, checked: bool) -> memoryview:
    """Returns the data of an entry. `checked` says whether values have checksums.

    Raises:
        UnknownFormatError: if the value is not encoded in the known way.
    """
    start = 0
    if checked:
        length = _CHECKED.unpack_from(value)[1] if len(value) >= _CHECKED.size else -1
        start = _CHECKED.size
        if length != len(value) - start:
            raise _unknown("a value with a checksum")
    if len(value) < start + _VALUE.size:
        raise _unknown("a value")
    version, nulls, count, place = _VALUE.unpack_from(value, start)
    begin = start + _VALUE.size
    if (version, nulls, place) != (0, 0, _FIELDS) or len(value) != begin + -(-count // 8) * 8:
        raise _unknown("a value")
    return memoryview(value)[begin : begin + count]


def _unknown(what: str) -> UnknownFormatError:
    return UnknownFormatError(f"the encoding of {what} in the state store")


class Spilled(Mapping[str, bytes]):
    """The entries of a shard by name. Several shards share a file, to which entries are appended."""

    def __init__(self, path: Path) -> None:
        self._path, self._places = path, dict[str, tuple[int, int]]()

    def add(self, name: str, data: bytes, into: BinaryIO) -> None:
        """Appends an entry. `into` is the file, opened for appending."""
        self._places[name] = (into.tell(), len(data))
        into.write(data)

    def __getitem__(self, name: str) -> bytes:
        at, length = self._places[name]
        with self._path.open("rb") as file:
            file.seek(at)
            return file.read(length)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
