"""Pieces of another state, as the initial state of the shards of a new query.

Each piece is an envelope. Its kind has a number and a table, its payload rows of the table. The piece with
number 0 has the header. Spark passes the pieces of a shard in any order, some at a time, so they are put into
a file.
"""

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import polars as pl

from panewise.engine.imported_shard import MANY
from panewise.engine.kernels.small_frames import vstack_frames
from panewise.engine.redistribution import Redistribution
from panewise.spark.shuffle.envelope import decode, encode, pieces

Envelope: TypeAlias = tuple[int, str, bytes]  # shard, kind, payload
_STATE: Final = "state"


def state_envelopes(
    redistribution: Redistribution, stored: Mapping[int, Mapping[str, bytes]]
) -> Iterator[Envelope]:
    """Yields the pieces of all shards: first a header for each shard, then the rows.

    Small pieces of a shard are concatenated. For that, about `MANY` rows are collected.
    """
    for shard in redistribution.shards:
        yield shard, _kind(0, ""), json.dumps(redistribution.header(shard)).encode()
    number, collected, row_count = 1, dict[tuple[int, str], list[pl.DataFrame]](), 0
    for shard, table, rows in redistribution.pieces(stored):
        collected.setdefault((shard, table), []).append(rows)
        row_count += rows.height
        if row_count >= MANY:
            yield from _envelopes(collected, number)
            number, collected, row_count = number + 1, {}, 0
    yield from _envelopes(collected, number)


def _envelopes(collected: Mapping[tuple[int, str], list[pl.DataFrame]], number: int) -> Iterator[Envelope]:
    """Yields collected rows as envelopes, with this number and their place among those of their table."""
    for (shard, table), frames in collected.items():
        for place, piece in enumerate(pieces(vstack_frames(frames))):
            yield shard, _kind(number, table, place), encode(piece)


def _kind(number: int, table: str, place: int = 0) -> str:
    return f"{_STATE}:{number}:{place}:{table}"


@dataclass
class StatePieces:
    """The pieces of one shard, in a temporary file that is deleted when it is closed."""

    _file: Any = field(default_factory=tempfile.TemporaryFile)
    _places: list[tuple[int, int, str, int, int]] = field(default_factory=list)
    header: dict[str, Any] = field(default_factory=dict)

    def add(self, envelopes: Iterable[tuple[str, bytes]]) -> None:
        """Takes pieces."""
        for kind, payload in envelopes:
            _, number, place, table = kind.split(":", 3)
            if not table:
                self.header = json.loads(payload)
                continue
            self._places.append((int(number), int(place), table, self._file.tell(), len(payload)))
            self._file.write(payload)

    def rows(self) -> Iterator[tuple[str, pl.DataFrame]]:
        """Yields the rows of each piece in order, with the name of their table."""
        for _, _, table, at, length in sorted(self._places):
            self._file.seek(at)
            yield table, decode(self._file.read(length))

    def close(self) -> None:
        """Deletes the file."""
        self._file.close()
