"""Writes the state of an operator as runs and a manifest, and reads it.

A step adds one run to each table that it changes, with the changed rows
(:mod:`panewise.engine.store.stored_table`). So what it writes does not depend on the size of the state.

Runs never change. So decoded runs are cached by their content, and copied to a directory of the machine. A
process reads from the durable store only the runs that no process of the machine has read or written.
"""

import struct
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
import pyarrow as pa
import xxhash

from panewise.engine.columns import HASH, TOMBSTONE
from panewise.engine.ingest.arrival import Marks
from panewise.engine.operator_cache import operator_of
from panewise.engine.over.plan import OverPlan
from panewise.engine.progress.clocks import Clocks
from panewise.engine.progress.multi_input import Inputs, Told
from panewise.engine.registry import AnyOperator
from panewise.engine.state_header import checked, marks_table
from panewise.engine.store.cache import Cache
from panewise.engine.store.run import MemoryLibrary, RunRows, Shape
from panewise.engine.store.stored_table import StoredTable
from panewise.engine.windowing.plan import Plan
from panewise.engine.windows.operator import State
from panewise.errors import SpecError, StateError
from panewise.spec import Inputs as InputsSpec
from panewise.spec import Specification
from panewise.spec.codec.specification import changed_fields, to_dict
from panewise.state import Manifest, Mirror, Run, RunStore
from panewise.state.blob import check, checksum, decode, decode_table, encode, stream_of
from panewise.state.manifest import REMEDY
from panewise.state.streams import Buffer, frame_of_table, give_back, own_text, shares_text

_SHORT = 1 << 22  # runs of up to this many bytes stay in memory: mapping a copy costs more than it saves


@dataclass
class StoredLibrary:
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
        table: the number of the table; 0 is the windows, or what takes their place.
    """

    store: RunStore
    cache: Cache
    mirror: Mirror | None = None
    version: int = 0
    table: int = 0
    _fresh: dict[str, RunRows] = field(default_factory=dict)
    _found: dict[str, Run] = field(default_factory=dict)
    _named: int = 0

    def read(self, run: Run, shape: Shape) -> RunRows:
        """Returns the rows of a run, from the cache, the mirror or the store.

        Raises:
            StateError: if the run is missing in the store, is damaged, or is not the one of the manifest.
        """
        if run.name in self._fresh:
            return self._fresh[run.name]
        run = self._found.get(run.name, run)
        address = _address(run, shape)
        known = None if address is None else self.cache.get(address) or self._from_mirror(address, shape)
        return self._from_store(run, shape) if known is None else known

    def new_name(self) -> str:
        """Returns the name of a new run: the next version, the table unless it is 0, and a running number."""
        self._named += 1
        table = f".{self.table}" if self.table else ""
        return f"{self.version}{table}-{self._named}"

    def beside(self, table: int) -> "StoredLibrary":
        """Returns a library for the runs of another table in the same store."""
        return StoredLibrary(self.store, self.cache, self.mirror, self.version, table)

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
        kept = {run.name for run in table.runs}
        for run in before:  # before new runs are stored, which need the memory that this frees
            if run.name not in kept:
                self.store.drop_run(run.name)
                self._forget(self._found.get(run.name, run), table.shape)
        return replace(table, runs=tuple(self._put(run, table.shape) for run in table.runs))

    def _put(self, run: Run, shape: Shape) -> Run:
        """Stores a run if it is new, and returns its description for the manifest.

        If an old run was found to differ from its description, a corrected description is returned.
        """
        rows = self._fresh.pop(run.name, None)
        if rows is None:
            return self._found.get(run.name, run)
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
        content = check(stored) if short else table
        del stored, table
        self._copied(run, shape, rows, content)
        if not short:
            del content
            give_back()
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
        rows = RunRows(copy) if HASH in copy.columns else RunRows.again(copy, shape)
        self.cache.put(address, rows)
        return rows

    def _from_store(self, run: Run, shape: Shape) -> RunRows:
        stored = self.store.run(run.name)
        table = decode_table(stored, run.name)
        frame = frame_of_table(table)
        if list(frame.schema.items()) != [*shape.schema.items(), (TOMBSTONE, pl.Boolean())]:
            raise StateError(
                f"run {run.name} with other columns", "a run has the columns of its table", REMEDY
            )
        rows = RunRows.again(frame, shape)
        if checksum(stored) != run.checksum:
            run = self._found[run.name] = _described_again(run, rows, checksum(stored))
        short = rows.frame.estimated_size() <= _SHORT
        content: Buffer | pa.Table | None = check(stored) if short else None
        if not short and shares_text(frame):
            content = table.append_column(HASH, rows.frame[HASH].to_arrow())
        del stored, table, frame
        return self._copied(run, shape, rows, content)

    def _copied(self, run: Run, shape: Shape, rows: RunRows, content: Buffer | pa.Table | None) -> RunRows:
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


def _described_again(run: Run, rows: RunRows, found: str) -> Run:
    """Returns the description of an undamaged run whose checksum differs from that of the manifest.

    Such a run comes from a release with format 1, which wrote no checksums, or from another attempt of its
    step. Attempts have the same rows, but perhaps in another arrival order. So lists and the last digits of
    sums may differ. The windows may not.

    Raises:
        StateError: if the run has other windows than the manifest says.
    """
    described = replace(rows.described(run.name, run.part), checksum=found)
    if (described.rows, described.low, described.high) != (run.rows, run.low, run.high):
        raise StateError(
            f"another run is stored as run {run.name}",
            "a run contains the windows that the manifest lists",
            REMEDY,
        )
    return described


@dataclass
class Stored:
    """An operator whose state is in a run store.

    Attributes:
        operator: the operator.
        manifest: the manifest of the last commit.
        libraries: the libraries of the operator's tables, in the order of the tables.
    """

    operator: AnyOperator
    manifest: Manifest
    libraries: tuple[StoredLibrary, ...]

    @classmethod
    def load(
        cls, spec: Specification, schema: Mapping[str, pl.DataType], library: StoredLibrary, shards: int = 1
    ) -> "Stored":
        """Returns the operator of a run store. Runs are read only when a step needs them.

        Raises:
            StateError: if the state was made with another specification, other types, or another number of
                shards, or is corrupt.
        """
        text = library.store.manifest()
        manifest = Manifest(to_dict(spec), shards) if text is None else Manifest.decode(text)
        check_same(manifest, spec, shards)
        checked(manifest.header)
        library.version = manifest.version + 1
        operator = operator_of(spec, schema)
        _check_types(operator, manifest.header)
        clocks, marks = _read_header(operator.plan, manifest.header)
        libraries = (
            library,
            *(library.beside(table + 1) for table in range(len(_tables(operator.state)) - 1)),
        )
        tables = [
            replace(table, library=mine, runs=runs_of(manifest.runs, mine.table), horizon=horizon)
            for table, mine, horizon in zip(
                _tables(operator.state), libraries, operator.horizons(clocks), strict=True
            )
        ]
        operator.state = _told(_with_tables(operator.state, tables), clocks, marks, manifest.header)
        return cls(operator, manifest, libraries)

    @property
    def changed(self) -> bool:
        """Whether there is anything to commit.

        If only the clocks have moved there is not, as the runtime gives them again. With a watermark driven
        by rows there is, as nothing else is left of these rows, here and in other shards.
        """
        old, new = _read_header(self.operator.plan, self.manifest.header)[0], self.operator.state
        told = self.operator.plan.row_driven_inputs is not None and new.clocks != old
        return (
            told
            or self.operator.changed
            or new.clocks.finished != old.finished
            or _marks(new) != self.manifest.header.get("marks", [])
        )

    @property
    def moved(self) -> bool:
        """Whether the clocks have moved since the last commit."""
        return self.operator.state.clocks != _read_header(self.operator.plan, self.manifest.header)[0]

    def commit(self, timer: int | None = None) -> None:
        """Writes what has changed since the last commit. `timer` is stored for the runtime."""
        # The state is replaced first, so that memory contains only rows of runs that are still to be written.
        self.operator.state = _with_tables(
            self.operator.state, [table.sealed() for table in _tables(self.operator.state)]
        )
        tables = [
            library.commit(runs_of(self.manifest.runs, library.table), table)
            for table, library in zip(_tables(self.operator.state), self.libraries, strict=True)
        ]
        self.operator.state = _with_tables(self.operator.state, tables)
        runs = tuple(run for table in tables for run in table.runs)
        self.manifest = self.manifest.following(runs, {**_header(self.operator), "timer": timer})
        self.libraries[0].store.put_manifest(self.manifest.encode())


def runs_of(runs: Sequence[Run], table: int) -> tuple[Run, ...]:
    """Returns the runs of one table. The name of a run contains the number of its table."""
    return tuple(run for run in runs if int(run.name.split("-")[0].partition(".")[2] or 0) == table)


def _tables(state: State) -> list[StoredTable]:
    """Returns the tables of a state, in the order of their numbers.

    These are the windows, then the tables of stages or of an OVER operator, then the slices of sliding
    windows, and their blocks.
    """
    return [state.windows, *state.following, *([] if state.slices is None else state.slices.tables)]


def _with_tables(state: State, tables: list[StoredTable]) -> State:
    """Returns the state with these tables, in the order of :func:`_tables`."""
    count = 1 + len(state.following)
    slices = None if state.slices is None else state.slices.having(tables[count:])
    return replace(state, windows=tables[0], following=tuple(tables[1:count]), slices=slices)


def _told(state: State, clocks: Clocks, marks: Marks, header: Mapping[str, Any]) -> State:
    """Returns the state with the clocks, the marks and the other values of a header."""
    slices = state.slices and replace(state.slices, in_blocks=header.get("in_blocks", False))
    return replace(
        state,
        clocks=clocks,
        marks=marks,
        slices=slices,
        received=header.get("received", 0),
        tally=header.get("tally", 0),
    )


def unreadable_spec(error: SpecError) -> StateError:
    """Returns the error for a manifest whose specification cannot be read."""
    return StateError(
        f"a manifest without a valid specification ({error})",
        "a manifest is the JSON that panewise wrote",
        REMEDY,
    )


def check_same(manifest: Manifest, spec: Specification, shards: int) -> None:
    """Refuses the state of another specification or number of shards (semantics 35).

    Raises:
        StateError: if they differ; it names the fields that changed.
    """
    old, new = manifest.spec, to_dict(spec)
    try:
        changed = changed_fields(old, new) if old != new else []
    except SpecError as error:
        raise unreadable_spec(error) from error
    if changed:
        given = "; ".join(f"{name}: {old.get(name)!r} -> {new.get(name)!r}" for name in changed)
        raise StateError(
            f"a changed specification ({given})",
            "a state belongs to the specification that made it",
            "put the field back, or start from a new checkpoint",
        )
    if manifest.shards != shards:
        rule = f"this state was made with {manifest.shards} shards, and their number is fixed"
        raise StateError(
            f"shards={shards}", rule, f"give shards={manifest.shards}, or start from a new checkpoint"
        )


def _check_types(operator: AnyOperator, header: Mapping[str, Any]) -> None:
    """Refuses a state that was made from columns of other types."""
    stored, mine = header.get("types"), _types(operator)
    if stored is not None and stored != mine:
        different = sorted(name for name in {*stored, *mine} if stored.get(name) != mine.get(name))
        raise StateError(
            f"a state with other columns: {different}",
            "the columns of a state have fixed types",
            "cast the input's columns to the types that they had, or start from a new checkpoint",
        )


def _types(operator: AnyOperator) -> dict[str, str]:
    """Returns the types of the columns of all tables.

    The names of columns of other tables than table 0 begin with the number of the table. Blocks of slices are
    left out, as they have the columns of slices.
    """
    state = operator.state
    own = {name: str(dtype) for name, dtype in state.windows.shape.schema.items()}
    following = enumerate([*state.following, *([] if state.slices is None else [state.slices.held])], start=1)
    return own | {
        f"{number}:{name}": str(dtype)
        for number, table in following
        for name, dtype in table.shape.schema.items()
    }


def _header(operator: AnyOperator) -> dict[str, Any]:
    state, clocks, spec = operator.state, operator.state.clocks, operator.plan.spec
    told: dict[str, Any] = {
        "processing_time": clocks.processing_time,
        "watermark": clocks.watermark,
        "finished": clocks.finished,
    }
    if isinstance(spec.watermark, InputsSpec) or operator.plan.row_driven_inputs is not None:
        told["inputs"] = {
            "since": clocks.inputs.since,
            "told": {name: [one.watermark, one.heard] for name, one in clocks.inputs.told_last},
        }
    if operator.plan.in_arrival_order:
        told["received"] = state.received
    if state.tally:
        told["tally"] = state.tally
    if state.slices is not None and state.slices.in_blocks:
        told["in_blocks"] = True
    return {**told, "marks": _marks(state), "types": _types(operator)}


def _marks(state: State) -> list[list[Any]]:
    return [] if state.marks.table is None else [list(row) for row in state.marks.table.rows()]


def _read_header(plan: Plan | OverPlan, header: dict[str, Any]) -> tuple[Clocks, Marks]:
    if not header:
        return Clocks.of(plan.spec), Marks()
    known = header.get("inputs", {"told": {}, "since": None})
    inputs = Inputs(tuple((name, Told(*told)) for name, told in known["told"].items()), known["since"])
    clocks = Clocks(
        header["processing_time"], header["watermark"], header["finished"], inputs, plan.by_key, plan.counted
    )
    if not header["marks"] or plan.spec.position is None:
        return clocks, Marks()
    return clocks, Marks(marks_table(header["marks"], Marks.schema(plan.spec.position, plan.schema)))


def save(operator: AnyOperator) -> bytes:
    """Returns the whole state of an operator as one value.

    It consists of the manifest and one run for each table, each after its length (u32, little-endian).
    """
    manifest = Manifest(to_dict(operator.spec), header=_header(operator)).encode().encode()
    parts = [manifest, *(encode(table.all()) for table in _tables(operator.state))]
    return b"".join(struct.pack("<I", len(part)) + part for part in parts)


def restore(spec: Specification, schema: Mapping[str, pl.DataType], data: bytes) -> AnyOperator:
    """Returns an operator with a state that :func:`save` returned.

    Raises:
        StateError: if the state was made with another specification or other types, or is corrupt.
    """
    head, *runs = _parts(data)
    manifest = Manifest.decode(head.decode(errors="replace"))
    check_same(manifest, spec, 1)
    checked(manifest.header)
    operator = operator_of(spec, schema)
    _check_types(operator, manifest.header)
    clocks, marks = _read_header(operator.plan, manifest.header)
    read = [decode(run).with_columns(pl.lit(False).alias(TOMBSTONE)) for run in runs]
    if len(read) != len(_tables(operator.state)):
        raise StateError(
            f"a saved operator with {len(read)} tables",
            f"this one has {len(_tables(operator.state))}",
            REMEDY,
        )
    told = zip(_tables(operator.state), read, operator.horizons(clocks), strict=True)
    tables = [
        replace(table, library=MemoryLibrary(), newest=rows, horizon=horizon) for table, rows, horizon in told
    ]
    operator.state = _told(_with_tables(operator.state, tables), clocks, marks, manifest.header)
    return operator


def _parts(data: bytes) -> list[bytes]:
    """Returns the manifest and the runs of a saved operator.

    Raises:
        StateError: if the data ends too early.
    """
    parts, at = list[bytes](), 0
    while at < len(data) or not parts:
        length = int.from_bytes(data[at : at + 4], "little")
        at += 4 + length
        if at > len(data):
            raise StateError(
                f"a saved operator of {len(data)} bytes", f"this one has {at} bytes or more", REMEDY
            )
        parts.append(data[at - length : at])
    return parts
