"""An operator's state into runs and back.

A step adds one run with what it changed. Runs are merged newest first while the older one is at most twice as long,
so a store holds a number of runs logarithmic in its rows, every row is rewritten a logarithmic number of times, and
what a step writes does not depend on what is held. Runs never change, so decoded ones are cached by name: a process
that has seen an earlier version reads only the runs that it lacks.
"""

import struct
import uuid
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from panewise.engine.arrival import MARK, Marks
from panewise.engine.clocks import Clocks
from panewise.engine.operator import Operator, State
from panewise.engine.plan import Plan
from panewise.engine.table import DEAD, Delta, applied
from panewise.errors import StateError
from panewise.spec import WindowOperator
from panewise.spec.codec import changed_fields, to_dict
from panewise.state import Manifest, Run, RunStore
from panewise.state.blob import decode, encode

_CACHED_SHARDS = 256


@dataclass(frozen=True)
class _Known:
    """A decoded state: the window table, the runs that it is made of, and the frames of the younger ones."""

    windows: pl.DataFrame
    runs: tuple[Run, ...]
    frames: Mapping[str, pl.DataFrame]


class Cache:
    """Decoded states of this process, by the name that identifies a state; the least recently used goes first."""

    def __init__(self, size: int = _CACHED_SHARDS) -> None:
        self._size = size
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def get(self, name: str, runs: tuple[Run, ...]) -> _Known | None:
        """The cached state, if it is made of the first of these runs."""
        known = self._known.get(name)
        if known is None or runs[: len(known.runs)] != known.runs:
            return None
        self._known.move_to_end(name)
        return known

    def put(self, name: str, known: _Known) -> None:
        """Remembers a state."""
        self._known[name] = known
        self._known.move_to_end(name)
        while len(self._known) > self._size:
            self._known.popitem(last=False)


@dataclass
class Stored:
    """An operator whose state is in a run store."""

    operator: Operator
    manifest: Manifest
    known: _Known
    cache: Cache
    name: str

    @classmethod
    def load(
        cls, spec: WindowOperator, schema: Mapping[str, pl.DataType], store: RunStore, cache: Cache, name: str, shards: int = 1
    ) -> "Stored":
        """Reads an operator's state, as far as the cache does not have it. `name` tells the states of a process apart.

        Raises:
            StateError: if the state was made with another specification or number of shards, or is corrupt.
        """
        text = store.manifest()
        manifest = Manifest(to_dict(spec), shards) if text is None else Manifest.decode(text)
        check_same(manifest, spec, shards)
        operator = Operator(spec, schema)
        identity, empty = operator.plan.identity, operator.plan.no_windows()
        known = cache.get(name, manifest.runs) or _Known(empty, (), {})
        windows, frames = known.windows, dict(known.frames)
        for run in manifest.runs[len(known.runs) :]:
            frames[run.name] = decode(store.run(run.name))
            windows = applied(windows, Delta(_fitting(frames[run.name], operator)), identity)
        known = _Known(windows, manifest.runs, _younger(frames, manifest.runs))
        operator.state = State(windows, *_read_header(operator.plan, manifest.header))
        return cls(operator, manifest, known, cache, name)

    @property
    def changed(self) -> bool:
        """Whether there is anything to write: clocks alone are not worth it where the runtime gives them again."""
        old, new = _read_header(self.operator.plan, self.manifest.header)[0], self.operator.state
        return self.operator.has_changes or new.clocks.finished != old.finished or _marks(new) != self.manifest.header.get("marks", [])

    @property
    def moved(self) -> bool:
        """Whether the clocks have moved."""
        return self.operator.state.clocks != _read_header(self.operator.plan, self.manifest.header)[0]

    def commit(self, store: RunStore, timer: int | None = None) -> None:
        """Writes what the operator has changed since it was loaded. `timer` is the runtime's own note."""
        delta = self.operator.take_changes()
        frames, runs = dict(self.known.frames), self.known.runs
        if not delta.rows.is_empty():
            name = uuid.uuid4().hex
            frames[name], runs = delta.rows, (*runs, Run(name, delta.rows.height))
            runs = self._compacted(store, runs, frames)
            for run in runs:
                if run not in self.known.runs:
                    store.put_run(run.name, encode(frames[run.name]))
            for run in self.known.runs:
                if run not in runs:
                    store.drop_run(run.name)
        self.manifest = self.manifest.following(runs, {**_header(self.operator.state), "timer": timer})
        store.put_manifest(self.manifest.encode())
        self.known = _Known(self.operator.state.windows, runs, _younger(frames, runs))
        self.cache.put(self.name, self.known)

    def _compacted(self, store: RunStore, runs: tuple[Run, ...], frames: dict[str, pl.DataFrame]) -> tuple[Run, ...]:
        """Merges the youngest runs while the older of two is at most twice as long as the younger."""
        identity = self.operator.plan.identity
        while len(runs) > 1 and runs[-2].rows <= 2 * runs[-1].rows:
            older, newer = (frames[r.name] if r.name in frames else decode(store.run(r.name)) for r in runs[-2:])
            kept = older.join(newer, on=identity, how="anti", nulls_equal=True, maintain_order="left")
            both = pl.concat([kept, newer])
            if len(runs) == 2:
                both = both.filter(~pl.col(DEAD))  # nothing older is left that a dead row would have to hide
            name = uuid.uuid4().hex
            frames[name], runs = both, (*runs[:-2], Run(name, both.height))
        return runs


def check_same(manifest: Manifest, spec: WindowOperator, shards: int) -> None:
    """Refuses the state of another specification or number of shards (semantics 35).

    Raises:
        StateError: naming the fields that changed.
    """
    changed = changed_fields(manifest.spec, to_dict(spec))
    if changed:
        old, new = manifest.spec, to_dict(spec)
        given = "; ".join(f"{name}: {old.get(name)!r} -> {new.get(name)!r}" for name in changed)
        raise StateError(
            f"a changed specification ({given})",
            "a state belongs to the specification that made it",
            "put the field back, or start from a new checkpoint",
        )
    if manifest.shards != shards:
        rule = f"this state was made with {manifest.shards} shards, and their number is fixed"
        raise StateError(f"shards={shards}", rule, f"give shards={manifest.shards}, or start from a new checkpoint")


def _fitting(run: pl.DataFrame, operator: Operator) -> pl.DataFrame:
    """The run, checked to have the columns of the operator's table."""
    expected = {**operator.plan.table_schema, DEAD: pl.Boolean()}
    if dict(run.schema) != expected:
        different = sorted(name for name in {*run.columns, *expected} if run.schema.get(name) != expected.get(name))
        raise StateError(
            f"a state with other columns: {different}",
            "a state keeps the types of the columns that it was made of",
            "cast the input's columns to the types that they had, or start from a new checkpoint",
        )
    return run


def _younger(frames: Mapping[str, pl.DataFrame], runs: tuple[Run, ...]) -> dict[str, pl.DataFrame]:
    """The frames worth keeping: the oldest run is nearly the whole table, and rarely merged."""
    return {run.name: frames[run.name] for run in runs[1:] if run.name in frames}


def _header(state: State) -> dict[str, Any]:
    clocks = state.clocks
    told = {"processing_time": clocks.processing_time, "watermark": clocks.watermark, "finished": clocks.finished}
    return {**told, "marks": _marks(state)}


def _marks(state: State) -> list[list[Any]]:
    return [] if state.marks.table is None else [list(row) for row in state.marks.table.rows()]


def _read_header(plan: Plan, header: dict[str, Any]) -> tuple[Clocks, Marks]:
    if not header:
        return Clocks(), Marks()
    clocks = Clocks(header["processing_time"], header["watermark"], header["finished"])
    if not header["marks"] or plan.spec.position is None:
        return clocks, Marks()
    columns = plan.spec.position.columns
    schema = {**{name: plan.schema[name] for name in columns[:-1]}, MARK: plan.schema[columns[-1]]}
    return clocks, Marks(pl.DataFrame(header["marks"], schema=schema, orient="row"))


def save(operator: Operator) -> bytes:
    """The whole state of an operator as one value: length of the manifest (u32), manifest, run."""
    manifest = Manifest(to_dict(operator.plan.spec), header=_header(operator.state)).encode().encode()
    windows = operator.state.windows.with_columns(pl.lit(False).alias(DEAD))
    return struct.pack("<I", len(manifest)) + manifest + encode(windows)


def restore(spec: WindowOperator, schema: Mapping[str, pl.DataType], data: bytes) -> Operator:
    """An operator from what :func:`save` gave.

    Raises:
        StateError: if the state was made with another specification, or is corrupt.
    """
    (length,) = struct.unpack_from("<I", data)
    manifest = Manifest.decode(data[4 : 4 + length].decode(errors="replace"))
    check_same(manifest, spec, 1)
    operator = Operator(spec, schema)
    windows = _fitting(decode(data[4 + length :]), operator).drop(DEAD)
    operator.state = State(windows, *_read_header(operator.plan, manifest.header))
    return operator
