"""An operator's state into runs and back.

A step adds one run with what it changed (:mod:`panewise.engine.store.stored_table`), so what it writes does not depend on what is
held. Runs never change: decoded ones are cached by their content, and copied to a directory of the machine, so a process
reads from the durable store only what no process of the machine has seen.
"""

import struct
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
import pyarrow as pa
import xxhash

from panewise.engine.chain.operator import AnyOperator
from panewise.engine.columns import HASH, TOMBSTONE
from panewise.engine.header import checked, marks_table
from panewise.engine.ingest.arrival import Marks
from panewise.engine.operator_cache import operator_of
from panewise.engine.over.plan import FramePlan
from panewise.engine.progress.clocks import Clocks
from panewise.engine.progress.multi_input import Inputs, Told
from panewise.engine.store.cache import Cache
from panewise.engine.store.run import Indexed, MemoryLibrary, Shape
from panewise.engine.store.stored_table import StoredTable
from panewise.engine.windowing.plan import Plan
from panewise.engine.windows.operator import State
from panewise.errors import SpecError, StateError
from panewise.spec import Inputs as InputsSpec
from panewise.spec import Specification
from panewise.spec.codec import changed_fields, to_dict
from panewise.state import Manifest, Mirror, Run, RunStore
from panewise.state.blob import check, checksum, decode, decode_table, encode, stream_of
from panewise.state.manifest import REMEDY
from panewise.state.streams import Buffer, frame_of_table, give_back, own_text, shares_text

_SHORT = 1 << 22  # bytes of a run that is kept in memory: to map a copy of it would cost more than it saves


@dataclass
class StoredLibrary:
    """The runs of a run store, with nearer copies of them.

    A run is named by the version of the state that it came with. So a step that is repeated writes the same names: Spark
    may take a snapshot that one attempt left, and the changes that another one noted after it. The runs of the tables of a
    chain's stages have the number of their `table`, too; 0 is the windows of the operator.

    Cache and mirror are addressed by content, never by name: the checksum in the manifest, and the columns that the
    rows are hashed by. So any number of stores share them.
    """

    store: RunStore
    cache: Cache
    mirror: Mirror | None = None
    version: int = 0
    table: int = 0
    _fresh: dict[str, Indexed] = field(default_factory=dict)
    _found: dict[str, Run] = field(default_factory=dict)
    _named: int = 0

    def read(self, run: Run, shape: Shape) -> Indexed:
        """The rows of a run, from the nearest place that has them.

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
        """The version that will have the run, and a number."""
        self._named += 1
        table = f".{self.table}" if self.table else ""
        return f"{self.version}{table}-{self._named}"

    def beside(self, table: int) -> "StoredLibrary":
        """The same store's runs of another table."""
        return StoredLibrary(self.store, self.cache, self.mirror, self.version, table)

    def add(self, run: Run, rows: Indexed) -> None:
        """Takes a new run, which is stored when the step is committed."""
        self._fresh[run.name] = rows

    def keep(self, runs: Sequence[Run]) -> None:
        """Forgets the new runs that are not among these."""
        self._fresh = {run.name: self._fresh[run.name] for run in runs if run.name in self._fresh}

    def commit(self, before: Sequence[Run], table: StoredTable) -> StoredTable:
        """Stores the new runs of a table, and drops those that it does not name any more; gives the table with checksums."""
        kept = {run.name for run in table.runs}
        for run in before:  # first, as the new runs need their memory
            if run.name not in kept:
                self.store.drop_run(run.name)
                self._forget(self._found.get(run.name, run), table.shape)
        return replace(table, runs=tuple(self._put(run, table.shape) for run in table.runs))

    def _put(self, run: Run, shape: Shape) -> Run:
        """Stores a run if it is new. One that was found to be different from the manifest's description is described anew."""
        rows = self._fresh.pop(run.name, None)
        if rows is None:
            return self._found.get(run.name, run)
        short = rows.frame.estimated_size() <= _SHORT
        table = None if short else own_text(rows.frame)
        if table is not None:
            rows = Indexed(frame_of_table(table))  # which needs the memory of the rows that it was made of no more
        with nullcontext() if self.mirror is None or table is None else self.mirror.spool(table.nbytes) as spool:
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
        """Frees the room that a dropped run takes. If another state has the same content, it is only read again."""
        address = _address(run, shape)
        if address is not None:
            self.cache.drop(address)
            if self.mirror is not None:
                self.mirror.drop([address])

    def _from_mirror(self, address: str, shape: Shape) -> Indexed | None:
        copy = None if self.mirror is None else self.mirror.read(address)
        if copy is None:
            return None
        rows = Indexed(copy) if HASH in copy.columns else Indexed.again(copy, shape)
        self.cache.put(address, rows)
        return rows

    def _from_store(self, run: Run, shape: Shape) -> Indexed:
        stored = self.store.run(run.name)
        table = decode_table(stored, run.name)
        frame = frame_of_table(table)
        if list(frame.schema.items()) != [*shape.schema.items(), (TOMBSTONE, pl.Boolean())]:
            raise StateError(f"run {run.name} with other columns", "a run has the columns of its table", REMEDY)
        rows = Indexed.again(frame, shape)
        if checksum(stored) != run.checksum:
            run = self._found[run.name] = _described_again(run, rows, checksum(stored))
        short = rows.frame.estimated_size() <= _SHORT
        content: Buffer | pa.Table | None = check(stored) if short else None
        if not short and shares_text(frame):
            content = table.append_column(HASH, rows.frame[HASH].to_arrow())
        del stored, table, frame
        return self._copied(run, shape, rows, content)

    def _copied(self, run: Run, shape: Shape, rows: Indexed, content: Buffer | pa.Table | None) -> Indexed:
        """The rows, in the cache and the mirror. If they are many they are mapped: the memory is then the machine's, and shared.

        `content` is what the copy is made of, by default the rows; that of a short run is what is stored of it, for the other processes.
        """
        address = _address(run, shape)
        assert address is not None
        if self.mirror is not None:
            self.mirror.write(address, stream_of(rows.frame, "uncompressed") if content is None else content)
            copy = self.mirror.read(address) if rows.frame.estimated_size() > _SHORT else None
            rows = rows if copy is None else Indexed(copy)
        self.cache.put(address, rows)
        return rows


def _address(run: Run, shape: Shape) -> str | None:
    """What cache and mirror know a run by; None if its checksum is not known yet.

    Rows come with their hashes, so the columns that these are made of belong to it.
    """
    columns = "\0".join(shape.by).encode()
    return None if run.checksum is None else f"{run.checksum}-{xxhash.xxh64_hexdigest(columns)}"


def _described_again(run: Run, rows: Indexed, found: str) -> Run:
    """A sound run whose checksum the manifest does not have: from a release with format 1, or from another attempt of its step.

    Attempts have the same rows, but perhaps in another order of arrival, and so other lists or last digits of sums. A
    run with other windows is none of an attempt.

    Raises:
        StateError: if the windows are others.
    """
    described = replace(rows.described(run.name, run.part), checksum=found)
    if (described.rows, described.low, described.high) != (run.rows, run.low, run.high):
        raise StateError(f"another run in the place of run {run.name}", "a run has the windows that the manifest says", REMEDY)
    return described


@dataclass
class Stored:
    """An operator whose state is in a run store."""

    operator: AnyOperator
    manifest: Manifest
    libraries: tuple[StoredLibrary, ...]

    @classmethod
    def load(cls, spec: Specification, schema: Mapping[str, pl.DataType], library: StoredLibrary, shards: int = 1) -> "Stored":
        """Reads an operator's manifest; of its runs, only what is asked for later.

        Raises:
            StateError: if the state was made with another specification, other types, or another number of shards, or is corrupt.
        """
        text = library.store.manifest()
        manifest = Manifest(to_dict(spec), shards) if text is None else Manifest.decode(text)
        check_same(manifest, spec, shards)
        checked(manifest.header)
        library.version = manifest.version + 1
        operator = operator_of(spec, schema)
        _check_types(operator, manifest.header)
        clocks, marks = _read_header(operator.plan, manifest.header)
        libraries = (library, *(library.beside(table + 1) for table in range(len(_tables(operator.state)) - 1)))
        tables = [
            replace(table, library=mine, runs=runs_of(manifest.runs, mine.table), horizon=horizon)
            for table, mine, horizon in zip(_tables(operator.state), libraries, operator.horizons(clocks), strict=True)
        ]
        operator.state = _told(_with_tables(operator.state, tables), clocks, marks, manifest.header)
        return cls(operator, manifest, libraries)

    @property
    def changed(self) -> bool:
        """Whether there is anything to write: clocks alone are not worth it where the runtime gives them again.

        It does not where rows tell: their watermarks are all that is left of them, here and in other shards.
        """
        old, new = _read_header(self.operator.plan, self.manifest.header)[0], self.operator.state
        told = self.operator.plan.hears is not None and new.clocks != old
        return told or self.operator.changed or new.clocks.finished != old.finished or _marks(new) != self.manifest.header.get("marks", [])

    @property
    def moved(self) -> bool:
        """Whether the clocks have moved."""
        return self.operator.state.clocks != _read_header(self.operator.plan, self.manifest.header)[0]

    def commit(self, timer: int | None = None) -> None:
        """Writes what the operator has changed since it was loaded. `timer` is the runtime's own note."""
        # The state is replaced first, so that no rows are in memory but those of runs that are still to be written.
        self.operator.state = _with_tables(self.operator.state, [table.sealed() for table in _tables(self.operator.state)])
        tables = [
            library.commit(runs_of(self.manifest.runs, library.table), table)
            for table, library in zip(_tables(self.operator.state), self.libraries, strict=True)
        ]
        self.operator.state = _with_tables(self.operator.state, tables)
        runs = tuple(run for table in tables for run in table.runs)
        self.manifest = self.manifest.following(runs, {**_header(self.operator), "timer": timer})
        self.libraries[0].store.put_manifest(self.manifest.encode())


def runs_of(runs: Sequence[Run], table: int) -> tuple[Run, ...]:
    """Of all runs of a state those of one table, as their names tell."""
    return tuple(run for run in runs if int(run.name.split("-")[0].partition(".")[2] or 0) == table)


def _tables(state: State) -> list[StoredTable]:
    """The windows, then the tables of a chain's stages, then the slices of sliding windows and their blocks."""
    return [state.windows, *state.following, *([] if state.slices is None else state.slices.tables)]


def _with_tables(state: State, tables: list[StoredTable]) -> State:
    """The state with these tables, in the same order."""
    count = 1 + len(state.following)
    slices = None if state.slices is None else state.slices.having(tables[count:])
    return replace(state, windows=tables[0], following=tuple(tables[1:count]), slices=slices)


def _told(state: State, clocks: Clocks, marks: Marks, header: Mapping[str, Any]) -> State:
    """The state with what a header tells of it."""
    slices = state.slices and replace(state.slices, in_blocks=header.get("in_blocks", False))
    return replace(state, clocks=clocks, marks=marks, slices=slices, received=header.get("received", 0), tally=header.get("tally", 0))


def unreadable_spec(error: SpecError) -> StateError:
    """The error of a manifest whose specification is none."""
    return StateError(f"a manifest with a specification that is none ({error})", "a manifest is the JSON that panewise wrote", REMEDY)


def check_same(manifest: Manifest, spec: Specification, shards: int) -> None:
    """Refuses the state of another specification or number of shards (semantics 35).

    Raises:
        StateError: naming the fields that changed.
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
        raise StateError(f"shards={shards}", rule, f"give shards={manifest.shards}, or start from a new checkpoint")


def _check_types(operator: AnyOperator, header: Mapping[str, Any]) -> None:
    """Refuses a state that was made of columns of other types."""
    stored, mine = header.get("types"), _types(operator)
    if stored is not None and stored != mine:
        different = sorted(name for name in {*stored, *mine} if stored.get(name) != mine.get(name))
        raise StateError(
            f"a state with other columns: {different}",
            "a state keeps the types of the columns that it was made of",
            "cast the input's columns to the types that they had, or start from a new checkpoint",
        )


def _types(operator: AnyOperator) -> dict[str, str]:
    """The types of the windows' columns; those of a following table have its number before their names. Blocks are as slices are."""
    state = operator.state
    own = {name: str(dtype) for name, dtype in state.windows.shape.schema.items()}
    following = enumerate([*state.following, *([] if state.slices is None else [state.slices.held])], start=1)
    return own | {f"{number}:{name}": str(dtype) for number, table in following for name, dtype in table.shape.schema.items()}


def _header(operator: AnyOperator) -> dict[str, Any]:
    state, clocks, spec = operator.state, operator.state.clocks, operator.plan.spec
    told: dict[str, Any] = {"processing_time": clocks.processing_time, "watermark": clocks.watermark, "finished": clocks.finished}
    if isinstance(spec.watermark, InputsSpec) or operator.plan.hears is not None:
        told["inputs"] = {"since": clocks.inputs.since, "told": {name: [one.watermark, one.heard] for name, one in clocks.inputs.told_last}}
    if operator.plan.gathers:
        told["received"] = state.received
    if state.tally:
        told["tally"] = state.tally
    if state.slices is not None and state.slices.in_blocks:
        told["in_blocks"] = True
    return {**told, "marks": _marks(state), "types": _types(operator)}


def _marks(state: State) -> list[list[Any]]:
    return [] if state.marks.table is None else [list(row) for row in state.marks.table.rows()]


def _read_header(plan: Plan | FramePlan, header: dict[str, Any]) -> tuple[Clocks, Marks]:
    if not header:
        return Clocks.of(plan.spec), Marks()
    known = header.get("inputs", {"told": {}, "since": None})
    inputs = Inputs(tuple((name, Told(*told)) for name, told in known["told"].items()), known["since"])
    clocks = Clocks(header["processing_time"], header["watermark"], header["finished"], inputs, plan.by_key, plan.counted)
    if not header["marks"] or plan.spec.position is None:
        return clocks, Marks()
    return clocks, Marks(marks_table(header["marks"], Marks.schema(plan.spec.position, plan.schema)))


def save(operator: AnyOperator) -> bytes:
    """The whole state of an operator as one value: the manifest, and a run for each table; before each its length (u32)."""
    manifest = Manifest(to_dict(operator.spec), header=_header(operator)).encode().encode()
    parts = [manifest, *(encode(table.all()) for table in _tables(operator.state))]
    return b"".join(struct.pack("<I", len(part)) + part for part in parts)


def restore(spec: Specification, schema: Mapping[str, pl.DataType], data: bytes) -> AnyOperator:
    """An operator from what :func:`save` gave.

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
        raise StateError(f"a saved operator with {len(read)} tables", f"this one has {len(_tables(operator.state))}", REMEDY)
    told = zip(_tables(operator.state), read, operator.horizons(clocks), strict=True)
    tables = [replace(table, library=MemoryLibrary(), newest=rows, horizon=horizon) for table, rows, horizon in told]
    operator.state = _told(_with_tables(operator.state, tables), clocks, marks, manifest.header)
    return operator


def _parts(data: bytes) -> list[bytes]:
    """The manifest and the runs of a saved operator.

    Raises:
        StateError: if it ends too early.
    """
    parts, at = list[bytes](), 0
    while at < len(data) or not parts:
        length = int.from_bytes(data[at : at + 4], "little")
        at += 4 + length
        if at > len(data):
            raise StateError(f"a saved operator of {len(data)} bytes", f"this one has {at} bytes or more", REMEDY)
        parts.append(data[at - length : at])
    return parts
