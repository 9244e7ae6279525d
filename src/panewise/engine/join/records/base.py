"""The rows of a join as Python objects: emitted row by row, without a step of the engine.

A copy of the tables has the rows by side and key. A match says what a row or a move of the clocks emits. The
tables get the rows later, many at once, as :mod:`panewise.standalone.row_path` says.

Invariant: the copy has all rows that a row to come can be paired with, and all that may be emitted without a
partner. Cost: a look-up of its key for each row, and what the match needs.
"""

from abc import abstractmethod
from collections.abc import Iterator

import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import NUMBER, TIME
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.records.emitted import pair_emitted, single_emitted
from panewise.engine.join.records.rows import JoinRow
from panewise.engine.join.two_sides import JoinState
from panewise.engine.kernels.python_rows import KEY_TYPES, python_rows
from panewise.engine.tables.copied_tables import MOST, CopiedTables, Row, stored_rows
from panewise.spec.operators.join.columns import EITHER, LEFT, OTHER, RIGHT


def has_plain_sides(plan: JoinPlan) -> bool:
    """Returns whether nothing but keys and event times is compared, and only given watermarks expire rows."""
    spec, ports = plan.spec, plan.ports.values()
    entries = [port.entry for port in ports]
    return (
        spec.condition is None
        and spec.watermark is None
        and spec.idle_after is None
        and all(not entry.order and entry.position is None for entry in entries)
        and all(entry.watermark is None and entry.max_future_skew is None for entry in entries)
        and all(port.schema[name].base_type() in KEY_TYPES for port in ports for name in port.entry.keys)
    )


class RecordJoin(CopiedTables[JoinState, JoinClocks]):
    """The stored rows of a join, by side and key."""

    def __init__(self, plan: JoinPlan) -> None:
        self.spec, selected = plan.spec, plan.selected
        sides = {LEFT: LEFT, RIGHT: RIGHT, EITHER: LEFT}
        self._names = {
            side: [chosen.column for chosen in selected if sides[chosen.side] == side] for side in OTHER
        }
        self._keys = {side: list(plan.entries[side].keys) for side in OTHER}
        self._places = {side: self._in_schema(side, list(plan.ports[side].schema)) for side in OTHER}
        self.pair = pair_emitted(plan)
        self.single = {side: single_emitted(plan, side) for side in OTHER}
        super().__init__()

    @abstractmethod
    def apply(self, port: str, row: JoinRow, clocks: JoinClocks) -> list[Row]:
        """Adds an applied row of a side. Returns what is emitted."""

    def clear(self) -> None:
        """Removes all rows of the copy."""
        self._next_number = 0

    def read(self, state: JoinState) -> bool:
        """Reads the rows, if they are not too many."""
        if stored_rows(state.tables.values()) > MOST:
            return False
        self.read_tables(state)
        self._next_number = state.next_number
        return True

    @abstractmethod
    def read_tables(self, state: JoinState) -> None:
        """Reads the rows of all tables. Each counts in the size of the copy."""

    def add(self, state: JoinState, port: str, time: int, row: Row) -> list[Row] | None:
        """Adds a valid row. Returns what it emits; None if it is late, or the engine must add it."""
        clocks = self.clocks_of(state)
        horizon = clocks.horizon(self.spec, port)
        late = horizon is not None and (time < horizon or horizon == MAX_INSTANT)
        if late or not self.ensure_copy_of(state):
            return None
        keys, values = self._places[port]
        key, number = tuple([row[place] for place in keys]), self._next_number
        self.size, self._next_number = self.size + 1, number + 1
        return self.apply(port, JoinRow(time, number, key, tuple([row[place] for place in values])), clocks)

    def _in_schema(self, side: str, schema: list[str]) -> tuple[list[int], list[int]]:
        """Returns the places of the keys and of the selected columns in the rows of a side."""
        keys, values = self._keys[side], self._names[side]
        return [schema.index(name) for name in keys], [schema.index(name) for name in values]

    def rows_of(self, side: str, stored: pl.DataFrame) -> Iterator[JoinRow]:
        """Yields the rows of a table with rows of a side, in the order of time and arrival."""
        stored = stored.sort(TIME, NUMBER)
        self.size += stored.height
        times, numbers = (stored[name].to_list() for name in (TIME, NUMBER))
        keys, values = (_values(stored, names[side]) for names in (self._keys, self._names))
        return map(JoinRow, times, numbers, keys, values)

    def _moved(
        self, clocks: JoinClocks, processing_time: int | None, watermark: int | None, source: str | None
    ) -> JoinClocks:
        return clocks.moved(self.spec, processing_time, watermark, source)


def _values(stored: pl.DataFrame, names: list[str]) -> list[Row]:
    """Returns the values of rows in these columns, of which one may be named several times."""
    if not names:
        return [()] * stored.height
    columns = list(dict.fromkeys(names))
    rows = python_rows(stored[columns])
    if len(columns) == len(names):
        return rows
    places = [columns.index(name) for name in names]
    return [tuple([row[place] for place in places]) for row in rows]
