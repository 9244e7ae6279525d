"""The runs of one table in a run store, with a cache of decoded runs and a mirror of their files.

Runs never change. So decoded runs are cached by their content, and copied to a directory of the machine. A
process reads from the durable store only the runs that no process of the machine has read or written.

Invariant: cache and mirror are addressed by the checksum of the content, so no entry is ever stale. New runs
are in memory until a commit has stored them. Cost: a run is encoded once. A process that reads it decodes it,
or maps the copy of the mirror into memory. It does so again only if the cache, which is bounded, removed it.
"""

from collections import OrderedDict
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

import polars as pl
import pyarrow as pa
import xxhash

from panewise.engine.columns import HASH
from panewise.engine.tables.run import RunRows, Shape
from panewise.engine.tables.stored_table import StoredTable
from panewise.state import Mirror, Run, RunStore
from panewise.state.arrow_streams import StreamBytes, frame_of_table, own_text, release_memory, shares_text
from panewise.state.run_format import checked_stream, checksum, decode_table, encode, stream_of
from panewise.state.run_store import other_windows

DEFAULT_BYTES = 1 << 30


class Cache:
    """The rows of runs by the address of their content. The least recently used run is removed first.

    An entry is never stale, because its address is made from its content.

    Args:
        limit: bytes of rows to cache, including memory-mapped rows. A run longer than that is not cached.
    """

    def __init__(self, limit: int = DEFAULT_BYTES) -> None:
        self._limit = limit
        self._runs: OrderedDict[str, tuple[RunRows, int]] = OrderedDict()
        self._bytes = 0

    def get(self, address: str) -> RunRows | None:
        """Returns the rows of a run, None if they are not cached."""
        entry = self._runs.get(address)
        if entry is None:
            return None
        self._runs.move_to_end(address)
        return entry[0]

    def put(self, address: str, rows: RunRows) -> None:
        """Adds a run, and removes others if the cache is longer than its limit."""
        self.drop(address)
        size = int(rows.frame.estimated_size())
        self._runs[address] = (rows, size)
        self._bytes += size
        self.bound(self._limit)

    def bound(self, limit: int) -> None:
        """Sets the limit, and removes the least recently used runs until the cache is within it."""
        self._limit = limit
        while self._bytes > limit:
            _, (_, freed) = self._runs.popitem(last=False)
            self._bytes -= freed

    def drop(self, address: str) -> None:
        """Removes a run, if it is cached."""
        _, freed = self._runs.pop(address, (None, 0))
        self._bytes -= freed

    @property
    def bytes(self) -> int:
        """The size of the cached rows in bytes."""
        return self._bytes


_SHORT = 1 << 22  # runs of up to this many bytes stay in memory: mapping a copy costs more than it saves


@dataclass
class RunLibrary:
    """The runs of one table in a run store, with a cache and a mirror of them.

    The name of a run contains the version of the manifest that it came with. So a step that is repeated
    writes the same names. This matters because Spark may combine the snapshot of one attempt with the
    changelog of another. The names of runs of other tables than table 0 also contain the number of the table.

    Cache and mirror are addressed by content, never by name: by the checksum in the manifest, and the columns
    by which rows are hashed. So any number of stores can share them.

    Attributes:
        store: the durable store.
        cache: the decoded runs of this process.
        mirror: the copies of runs on this machine, None if there are none.
        version: the version of the manifest that the next commit writes.
        table: the number of the table; 0 is the first table of the operator.
    """

    store: RunStore
    cache: Cache
    mirror: Mirror | None = None
    version: int = 0
    table: int = 0
    _fresh: dict[str, RunRows] = field(default_factory=dict)
    # Descriptions that replace those of the manifest, by the names of the runs.
    _corrected: dict[str, Run] = field(default_factory=dict)
    _named: int = 0

    def read(self, run: Run, shape: Shape) -> RunRows:
        """Returns the rows of a run, from the cache, the mirror or the store.

        Raises:
            StateError: if the run is missing in the store, is damaged, or is not the one of the manifest.
        """
        if run.name in self._fresh:
            return self._fresh[run.name]
        run = self._corrected.get(run.name, run)
        address = _address(run, shape)
        known = None if address is None else self.cache.get(address) or self._from_mirror(address, shape)
        return self._from_store(run, shape) if known is None else known

    def new_name(self) -> str:
        """Returns the name of a new run: the next version, the table unless it is 0, and a running number."""
        self._named += 1
        table = f".{self.table}" if self.table else ""
        return f"{self.version}{table}-{self._named}"

    def for_table(self, table: int) -> "RunLibrary":
        """Returns a library for the runs of another table in the same store."""
        return RunLibrary(self.store, self.cache, self.mirror, self.version, table)

    def add(self, run: Run, rows: RunRows) -> None:
        """Adds a new run, which :meth:`commit` stores."""
        self._fresh[run.name] = rows

    def keep(self, runs: Sequence[Run]) -> None:
        """Discards the new runs that are not among these."""
        self._fresh = {run.name: self._fresh[run.name] for run in runs if run.name in self._fresh}

    def commit(self, before: Sequence[Run], table: StoredTable) -> StoredTable:
        """Stores the new runs of a table, and deletes those of `before` that it no longer has.

        Returns the table with the checksums of its runs.
        """
        remaining = {run.name for run in table.runs}
        for run in before:  # before new runs are stored, which need the memory that this frees
            if run.name not in remaining:
                self.store.drop_run(run.name)
                self._forget(self._corrected.get(run.name, run), table.shape)
        return replace(table, runs=tuple(self._put(run, table.shape) for run in table.runs))

    def _put(self, run: Run, shape: Shape) -> Run:
        """Stores a run if it is new, and returns its description for the manifest.

        If an old run was found to differ from its description, a corrected description is returned.
        """
        rows = self._fresh.pop(run.name, None)
        if rows is None:
            return self._corrected.get(run.name, run)
        short = rows.frame.estimated_size() <= _SHORT
        table = None if short else own_text(rows.frame)
        if table is not None:
            rows = RunRows(frame_of_table(table))  # uses the memory of the table, so the old frame is freed
        with (
            nullcontext()
            if self.mirror is None or table is None
            else self.mirror.spool(table.nbytes) as spool
        ):
            stored = encode(rows.bare if table is None else table.drop_columns([HASH]), run.name, spool)
        self.store.put_run(run.name, stored)
        run = replace(run, checksum=checksum(stored))
        content = checked_stream(stored) if short else table
        del stored, table
        self._copied(run, shape, rows, content)
        if not short:
            del content
            release_memory()
        return run

    def _forget(self, run: Run, shape: Shape) -> None:
        """Removes a deleted run from cache and mirror.

        If another state has a run of the same content, that run is read from the store again.
        """
        address = _address(run, shape)
        if address is not None:
            self.cache.drop(address)
            if self.mirror is not None:
                self.mirror.drop([address])

    def _from_mirror(self, address: str, shape: Shape) -> RunRows | None:
        copy = None if self.mirror is None else self.mirror.read(address)
        if copy is None:
            return None
        copy = shape.with_carries(copy)
        rows = RunRows(copy) if HASH in copy.columns else RunRows.with_hashes(copy, shape)
        self.cache.put(address, rows)
        return rows

    def read_stored(self, run: Run) -> pl.DataFrame:
        """Returns the rows of a run with the columns that it has in the store."""
        return frame_of_table(decode_table(self.store.run(run.name), run.name))

    def _from_store(self, run: Run, shape: Shape) -> RunRows:
        stored = self.store.run(run.name)
        table = decode_table(stored, run.name)
        frame = shape.checked_rows(frame_of_table(table), run.name)
        rows = RunRows.with_hashes(frame, shape)
        if checksum(stored) != run.checksum:
            run = self._corrected[run.name] = _described_again(run, rows, checksum(stored))
        short = rows.frame.estimated_size() <= _SHORT
        content: StreamBytes | pa.Table | None = checked_stream(stored) if short else None
        if not short and shares_text(frame):
            content = table.append_column(HASH, rows.frame[HASH].to_arrow())
        del stored, table, frame
        return self._copied(run, shape, rows, content)

    def _copied(
        self, run: Run, shape: Shape, rows: RunRows, content: StreamBytes | pa.Table | None
    ) -> RunRows:
        """Puts the rows of a run into the cache and the mirror, and returns them.

        Long runs are returned as a memory-mapped copy, which all processes of the machine share. `content` is
        what the copy is made from, by default the rows. For a short run it is the stored stream, which only
        other processes read.
        """
        address = _address(run, shape)
        assert address is not None
        if self.mirror is not None:
            self.mirror.write(address, stream_of(rows.frame, "uncompressed") if content is None else content)
            copy = self.mirror.read(address) if rows.frame.estimated_size() > _SHORT else None
            rows = rows if copy is None else RunRows(copy)
        self.cache.put(address, rows)
        return rows


def _address(run: Run, shape: Shape) -> str | None:
    """Returns the address of a run in cache and mirror, None if its checksum is not known yet.

    The rows there include their hashes, so the address contains the columns of the hash.
    """
    columns = "\0".join(shape.by).encode()
    return None if run.checksum is None else f"{run.checksum}-{xxhash.xxh64_hexdigest(columns)}"


def _described_again(run: Run, rows: RunRows, stored_checksum: str) -> Run:
    """Returns the description of an undamaged run whose checksum differs from that of the manifest.

    Such a run comes from a release with format 1, which wrote no checksums, or from another attempt of its
    step. Attempts have the same rows, but perhaps in another arrival order. So lists and the last digits of
    sums may differ. The windows may not.

    Raises:
        StateError: if the run has other windows than the manifest says.
    """
    described = replace(rows.described(run.name, run.part), checksum=stored_checksum)
    if (described.rows, described.low, described.high) != (run.rows, run.low, run.high):
        raise other_windows(run.name)
    return described
