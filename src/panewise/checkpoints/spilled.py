"""Keeps the entries of shards in a temporary file, for readers that get them all at once."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO


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
