"""Begins a new shard with the rows of another state: in a store, or in memory.

Rows are collected, and stored a run at a time. So memory has some ten thousand rows, and those of the runs
that are merged, as in the steps of an operator.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import polars as pl

from panewise.engine.checkpoint import StoredOperator
from panewise.engine.family_parts import engine_parts
from panewise.engine.kernels.small_frames import vstack_frames
from panewise.engine.protocol import Operator
from panewise.engine.redistribution import Redistribution
from panewise.spec import Specification
from panewise.spec.codec import to_dict
from panewise.state import Manifest, RunStore

MANY: Final = 1 << 16  # rows that are stored together


def begin(store: RunStore, spec: Specification, shards: int, header: Mapping[str, Any]) -> None:
    """Begins the state of a new shard in an empty store, with the header of another state."""
    store.put_manifest(Manifest(to_dict(spec), shards, header=dict(header)).encode())


@dataclass
class ImportedShard:
    """A shard that receives rows. :func:`begin` has begun it.

    Attributes:
        load: loads the operator of the shard.
        commit: commits it.
    """

    load: Callable[[], StoredOperator]
    commit: Callable[[StoredOperator], None]
    _unstored: dict[str, list[pl.DataFrame]] = field(default_factory=dict)
    _rows: int = 0

    def add(self, table: str, rows: pl.DataFrame) -> None:
        """Adds rows of a table. Later ones are newer."""
        self._unstored.setdefault(table, []).append(rows)
        self._rows += rows.height
        if self._rows >= MANY:
            self._store(last=False)

    def end(self) -> None:
        """Stores the rest."""
        self._store(last=True)

    def _store(self, *, last: bool) -> None:
        stored = self.load()
        state = stored.operator.state
        tables = dict(state.tables)
        for name, pieces in self._unstored.items():
            tables[name] = tables[name].with_stored(vstack_frames(pieces))
        self._unstored, self._rows = {}, 0
        state = state.with_tables(tables)
        settle = engine_parts(stored.operator.spec).settled
        stored.operator.replace_state(settle(state) if last else state)
        self.commit(stored)


def in_memory(redistribution: Redistribution, stored: Mapping[int, Mapping[str, bytes]]) -> Operator:
    """Returns an operator in memory with the whole state, in one shard."""
    operator, (shard,) = redistribution.operator, redistribution.shards
    state = operator.with_header(redistribution.header(shard))
    horizons = operator.horizons(state.clocks)
    tables = {name: replace(table, horizon=horizons[name]) for name, table in state.tables.items()}
    for _, name, rows in redistribution.pieces(stored):
        table = tables[name].with_stored(rows)
        tables[name] = table.sealed() if table.newest.height >= MANY else table
    operator.replace_state(engine_parts(operator.spec).settled(state.with_tables(tables)))
    return operator


def in_store(
    redistribution: Redistribution, stored: Mapping[int, Mapping[str, bytes]], shard: ImportedShard
) -> None:
    """Puts the whole state into one shard, which :func:`begin` has begun."""
    for _, name, rows in redistribution.pieces(stored):
        shard.add(name, rows)
    shard.end()
