"""The rows of a join as Python objects: pairs are emitted row by row, without a step of the engine.

For each side and key there is a list of stored rows. A match says which of them are the partners of a row,
and which stay (:mod:`panewise.engine.join.interval.records`, :mod:`panewise.engine.join.by_arrival.records`).
The tables get the rows later, many at once, as :mod:`panewise.standalone.row_path` says. Only inner joins
without a condition emit nothing but pairs, and store nothing but rows.

Invariant: the lists have all rows that a row to come can be paired with, and the partners of a row that comes
now are a range of the list of its key. Cost: a look-up of its key for each row, what the match needs to find
the range, and a tuple for each pair.
"""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import NUMBER, TIME
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.two_sides import JoinState
from panewise.engine.kernels.python_rows import KEY_TYPES, python_rows
from panewise.engine.tables.copied_tables import MOST, CopiedTables, Row, stored_rows
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import EITHER, JOIN_TIME, LEFT, MISSING, OTHER, RIGHT
from panewise.spec.operators.panes import OP


def emits_only_pairs(plan: JoinPlan) -> bool:
    """Returns whether a join emits only pairs, and nothing but given watermarks decides what rows expire."""
    spec, ports = plan.spec, plan.ports.values()
    entries = [port.entry for port in ports]
    return (
        spec.how == "inner"
        and spec.condition is None
        and spec.watermark is None
        and spec.idle_after is None
        and all(not entry.order and entry.position is None for entry in entries)
        and all(entry.watermark is None and entry.max_future_skew is None for entry in entries)
        and all(port.schema[name].base_type() in KEY_TYPES for port in ports for name in port.entry.keys)
    )


@dataclass(slots=True)
class RowsOfKey:
    """The rows of a key of a side, in the order of time, of equal times in arrival order."""

    times: list[int] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def trim(self, count: int) -> None:
        """Removes so many of the first rows."""
        del self.times[:count], self.rows[:count]


class RecordPairs(CopiedTables[JoinState, JoinClocks]):
    """The stored rows of a join, by side and key."""

    def __init__(self, plan: JoinPlan) -> None:
        self._spec = plan.spec
        sides = {LEFT: LEFT, RIGHT: RIGHT, EITHER: LEFT}
        of_columns = [(sides[chosen.side], chosen.column) for chosen in plan.selected]
        self._names = {side: [name for of, name in of_columns if of == side] for side in OTHER}
        self._keys = {side: list(plan.entries[side].keys) for side in OTHER}
        self._at = {side: {name: n for n, name in enumerate(plan.ports[side].schema)} for side in OTHER}
        self._pair = _pair(plan.spec, [side == LEFT for side, _ in of_columns])
        super().__init__()

    @abstractmethod
    def partners(self, rows: RowsOfKey, port: str, time: int) -> range:
        """Returns the places of the rows of the other side with which a row of a port is paired."""

    @abstractmethod
    def put(self, rows: RowsOfKey, port: str, time: int, row: Row, clocks: JoinClocks) -> int:
        """Adds a row to those of its side. Returns how many rows it removed."""

    @abstractmethod
    def stored(self, state: JoinState, side: str) -> pl.DataFrame:
        """Returns the stored rows of a side."""

    def clear(self) -> None:
        """Removes all rows of the copy."""
        self._rows: dict[str, defaultdict[Row, RowsOfKey]] = {side: defaultdict(RowsOfKey) for side in OTHER}

    def read(self, state: JoinState) -> bool:
        """Reads the rows of both sides, if they are not too many."""
        if stored_rows(state.tables.values()) > MOST:
            return False
        for side, by_key in self._rows.items():
            stored = self.stored(state, side).sort(TIME, NUMBER)
            rows, keys = (
                python_rows(stored[names[side]]) if names[side] else [()] * stored.height
                for names in (self._names, self._keys)
            )
            for key, time, row in zip(keys, stored[TIME].to_list(), rows, strict=True):
                by_key[key].times.append(time)
                by_key[key].rows.append(row)
            self.size += stored.height
        return True

    def add(self, state: JoinState, port: str, time: int, row: Row) -> list[Row] | None:
        """Adds a valid row that is not late. Returns its pairs; None if the engine must add it."""
        clocks = self.clocks_of(state)
        horizon = clocks.horizon(self._spec, port)
        late = horizon is not None and (time < horizon or horizon == MAX_INSTANT)
        if late or not self.is_read(state):
            return None
        at, pair = self._at[port], self._pair
        key = tuple([row[at[name]] for name in self._keys[port]])
        mine = tuple([row[at[name]] for name in self._names[port]])
        self.size += 1 - self.put(self._rows[port][key], port, time, mine, clocks)
        others = self._rows[OTHER[port]].get(key)
        places = range(0) if others is None else self.partners(others, port, time)
        if others is None or not places:
            return []
        if port == LEFT:
            return [pair(mine, others.rows[place], time, others.times[place]) for place in places]
        return [pair(others.rows[place], mine, others.times[place], time) for place in places]

    def _moved(
        self, clocks: JoinClocks, processing_time: int | None, watermark: int | None, source: str | None
    ) -> JoinClocks:
        return clocks.moved(self._spec, processing_time, watermark, source)

    def _advanced(self, state: JoinState, clocks: JoinClocks) -> list[Row]:
        """Returns nothing: only rows emit pairs."""
        return []


def _pair(spec: JoinOperator, is_left: list[bool]) -> Callable[[Row, Row, int, int], Row]:
    """Returns a function that makes the emitted row of a pair from the columns and times of both rows.

    `is_left` says which of the selected columns are of the left side.
    """
    times: dict[str | None, Callable[[int, int], int]] = {
        "right": lambda left, right: right,
        "later": max,
        "earlier": min,
    }
    added: dict[str, Callable[[int, int], Any]] = {
        OP: lambda left, right: "+",
        MISSING: lambda left, right: None,
        JOIN_TIME: times.get(spec.timestamp, lambda left, right: left),
    }
    columns = [added[name] for name in spec.added_columns]
    in_order = is_left == sorted(is_left, reverse=True)

    def pair(left: Row, right: Row, left_time: int, right_time: int) -> Row:
        own = tuple([column(left_time, right_time) for column in columns])
        if in_order:
            return left + right + own
        lefts, rights = iter(left), iter(right)
        return tuple([next(lefts) if of_left else next(rights) for of_left in is_left]) + own

    return pair
