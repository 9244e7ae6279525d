"""Reads the tables of a stored shard in bounded memory.

Runs are read one after the other. If a shard has many rows, those of each run are divided by their keys into
parts, which are put into temporary files. Rows of one key are in one part, so each part can be inspected as
if it were a shard.

Invariant: of several rows of a window the newest is valid, and the last run is the newest. Each run is read
once for each table and choice of columns, however many parts there are.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pyarrow as pa

from panewise.engine.checkpoint import runs_of
from panewise.engine.columns import END, TOMBSTONE
from panewise.errors import StateError
from panewise.state import Run
from panewise.state.arrow_streams import frame_of_table
from panewise.state.manifest import REMEDY
from panewise.state.run_format import checked_stream, checksum, decode
from panewise.state.run_store import missing, other_windows

MANY = 1 << 20  # rows of a shard from which on it is divided; also about as many as a part has
_PART = "__part"


@dataclass
class ShardTables:
    """The tables of a shard: a :class:`panewise.engine.family_parts.TableReader` of one part of them.

    The types are those of the runs, because the input of the query is not available.

    Attributes:
        names: the names of the tables, each at the place of its number.
        runs: the runs of the manifest.
        stored: the stored runs by name.
        scratch: a directory for temporary files.
        after_run: is called after each run that was read.
        parts: the number of parts.
        part: the part that is read.
    """

    names: Sequence[str]
    runs: Sequence[Run]
    stored: Mapping[str, bytes]
    scratch: Path
    after_run: Callable[[], None]
    parts: int = 1
    part: int = 0
    _divided: dict[tuple[str, tuple[str, ...]], dict[int, list[Path]]] = field(default_factory=dict)

    def __call__(
        self, table: str, columns: list[str], identity: list[str], horizon: int | None, apart: list[str], /
    ) -> pl.DataFrame:
        """Returns columns of the live rows of the part."""
        runs = runs_of(self.runs, self.names.index(table))
        if not runs:
            return pl.DataFrame()
        to_replace = [*identity, TOMBSTONE] if identity else []
        to_expire = [] if horizon is None else [END]
        wanted = list(dict.fromkeys([*columns, *to_replace, *to_expire]))
        pieces = list(self._of_part(table, runs, wanted, apart))
        rows = pl.concat(pieces[::-1] if identity else pieces)
        if identity:
            rows = rows.unique(identity, keep="first") if len(runs) > 1 else rows
            rows = rows.filter(~pl.col(TOMBSTONE))
        return (rows if horizon is None else rows.filter(pl.col(END) > horizon))[columns]

    def _of_part(
        self, table: str, runs: Sequence[Run], columns: list[str], apart: list[str]
    ) -> Iterator[pl.DataFrame]:
        """Yields the rows of the part in each run, the oldest first."""
        if self.parts == 1:
            return self._read(runs, columns)
        name = (table, tuple(columns))
        if name not in self._divided:
            self._divided[name] = self._divide(len(self._divided), runs, columns, apart)
        files = self._divided[name].get(self.part, [])
        empty = pl.DataFrame(schema=pl.read_ipc_schema(self._divided[name][-1][0]))
        return iter([empty, *(pl.read_ipc(file) for file in files)])

    def _read(self, runs: Sequence[Run], columns: list[str]) -> Iterator[pl.DataFrame]:
        """Yields columns of runs, which have the same types in all of them."""
        types: pl.Schema | None = None
        for run in runs:
            rows = read_columns(self.stored[run.name], run, columns)
            types = types or rows.schema
            if rows.schema != types:
                raise _other_columns(run)
            self.after_run()
            yield rows

    def _divide(
        self, number: int, runs: Sequence[Run], columns: list[str], apart: list[str]
    ) -> dict[int, list[Path]]:
        """Writes the rows of each part of each run to a file. Returns the files by part.

        The file of part -1 has no rows, and the columns.
        """
        files: dict[int, list[Path]] = {}
        for place, rows in enumerate(self._read(runs, columns)):
            part = rows.select(apart).hash_rows(seed=0) % self.parts
            pieces = rows.with_columns(part.alias(_PART)).partition_by(_PART, as_dict=True)
            if not place:
                pieces = {(-1,): rows.clear(), **pieces}
            for (divided,), piece in pieces.items():
                path = self.scratch / f"{number}-{place}-{divided}.arrow"
                piece.drop(_PART, strict=False).write_ipc(path)
                files.setdefault(divided, []).append(path)
        return files


def check_sound(stored: Mapping[str, bytes], run: Run) -> int:
    """Returns the length of a run, after checking that it exists and is undamaged.

    Another attempt of its step may have written it. Its checksum may then differ, but not its number of rows.
    """
    if run.name not in stored:
        raise missing(run.name)
    data = stored[run.name]
    checked_stream(data, run.name)
    if checksum(data) != run.checksum and decode(data, run.name).height != run.rows:
        raise other_windows(run.name)
    return len(data)


def read_columns(data: bytes, run: Run, columns: list[str]) -> pl.DataFrame:
    """Returns some columns of a stored run. The others are not decompressed."""
    stream = checked_stream(data, run.name)
    try:
        schema = pa.ipc.open_stream(pa.py_buffer(stream)).schema
        if not set(columns) <= set(schema.names) or (
            TOMBSTONE in columns and schema.field(TOMBSTONE).type != pa.bool_()
        ):
            raise _other_columns(run)
        places = [schema.get_field_index(name) for name in columns]
        options = pa.ipc.IpcReadOptions(included_fields=sorted(places))
        table = pa.ipc.open_stream(pa.py_buffer(stream), options=options).read_all()
    except (pa.ArrowException, OSError):
        decode(data, run.name)  # raises the error that all readers of runs raise
        raise
    return frame_of_table(table)[columns]


def _other_columns(run: Run) -> StateError:
    return StateError(f"run {run.name} with other columns", "a run has the columns of its table", REMEDY)
