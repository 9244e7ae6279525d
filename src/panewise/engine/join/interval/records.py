"""The rows of an interval join as Python objects: pairs are emitted row by row, without a step of the engine.

For each side and key there is a list of rows in the order of time, in which bisection finds the partners of
a row. The tables get the rows later, many at once, as :mod:`panewise.standalone.row_path` says. Only inner
joins without a condition, whose intervals have both bounds, emit nothing but pairs, and store nothing but
rows.

Invariant: the lists have all stored rows that have not expired. They may have expired rows, too: a row that
is not late has none of these as its partner.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import NUMBER, TIME
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.interval.method import IntervalJoin
from panewise.engine.join.operator import JoinEngine
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.two_sides import JoinState
from panewise.engine.store.copied_tables import MOST, CopiedTables, stored_rows
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import JOIN_TIME, LEFT, MISSING, OP, OTHER, RIGHT
from panewise.spec.operators.join.interval import Interval

Row: TypeAlias = tuple[Any, ...]
_KEY_TYPES: Final = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.String, pl.Boolean, pl.Date)
_TRIMMED: Final = 64  # rows that are removed together


def record_rows(plan: JoinPlan) -> "RecordPairs | None":
    """Returns the rows of a new operator, None if its pairs cannot be emitted one by one in Python."""
    spec, match, entries = plan.spec, plan.spec.match, plan.entries.values()
    assert isinstance(match, Interval)
    plain = (
        spec.how == "inner"
        and spec.condition is None
        and spec.watermark is None
        and spec.idle_after is None
        and match.late == "output"
        and not match.retained
        and all(not entry.order and entry.position is None for entry in entries)
        and all(entry.watermark is None and entry.max_future_skew is None for entry in entries)
        and all(
            port.schema[name].base_type() in _KEY_TYPES
            for port in plan.ports.values()
            for name in port.keys
            if name in port.schema
        )
    )
    return RecordPairs(plan) if plain else None


@dataclass(slots=True)
class _Rows:
    """The rows of a key of a side in the order of time, of equal times in arrival order."""

    times: list[int] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)


class RecordPairs(CopiedTables):
    """The rows of an interval join, by side and key."""

    def __init__(self, plan: JoinPlan) -> None:
        self._plan, self._spec, method = plan, plan.spec, IntervalJoin(plan)
        self._reach: dict[str, tuple[int, int]] = {
            side: (first or 0, last or 0) for side, (first, last) in method.reach.items()
        }
        sides = {LEFT: LEFT, RIGHT: RIGHT, "either": LEFT}
        self._names = {
            side: [chosen.column for chosen in plan.selected if sides[chosen.side] == side] for side in OTHER
        }
        self._keys = {side: list(plan.entries[side].keys) for side in OTHER}
        self._at = {side: {name: n for n, name in enumerate(plan.ports[side].schema)} for side in OTHER}
        self._is_left = [sides[chosen.side] == LEFT for chosen in plan.selected]
        self._pair = _pair(plan.spec, self._is_left)
        super().__init__()

    def clear(self) -> None:
        """Removes all rows of the copy."""
        self._rows: dict[str, defaultdict[Row, _Rows]] = {side: defaultdict(_Rows) for side in OTHER}

    def read(self, state: JoinState) -> bool:
        """Reads all rows of both sides, if they are not too many."""
        if stored_rows(state.tables.values()) > MOST:
            return False
        for side, by_key in self._rows.items():
            stored = state.rows(side).all().sort(TIME, NUMBER)
            rows = stored[self._names[side]].rows() if self._names[side] else [()] * stored.height
            keys = stored[self._keys[side]].rows() if self._keys[side] else [()] * stored.height
            for key, time, row in zip(keys, stored[TIME].to_list(), rows, strict=True):
                of = by_key[key]
                of.times.append(time)
                of.rows.append(row)
            self.size += stored.height
        return True

    def add(
        self, operator: JoinEngine, port: str, time: int, row: Row, clocks: JoinClocks
    ) -> list[Row] | None:
        """Adds a valid row that is not late. Returns its pairs; None if the engine must add it."""
        horizon = clocks.horizon(self._spec, port)
        if (horizon is not None and time < horizon) or horizon == MAX_INSTANT or not self.is_read(operator):
            return None
        at, other = self._at[port], OTHER[port]
        key = tuple([row[at[name]] for name in self._keys[port]])
        mine = tuple([row[at[name]] for name in self._names[port]])
        self._put(self._rows[port][key], time, mine, clocks.passed(self._spec, other), self._reach[port][1])
        partners = self._rows[other].get(key)
        if partners is None:
            return []
        first, last = self._reach[port]
        low, high = bisect_left(partners.times, time + first), bisect_right(partners.times, time + last)
        if port == LEFT:
            return [
                self._pair(mine, partners.rows[place], time, partners.times[place])
                for place in range(low, high)
            ]
        return [
            self._pair(partners.rows[place], mine, partners.times[place], time) for place in range(low, high)
        ]

    def advance(self, operator: JoinEngine, clocks: JoinClocks) -> list[Row] | None:
        """Emits nothing: only rows emit pairs."""
        return []

    def _put(self, of: _Rows, time: int, row: Row, passed: int | None, wait: int) -> None:
        """Adds a row, after removing expired rows, if there are enough of them.

        Rows have expired whose last match, `wait` after them, is at `passed` or before it.
        """
        expired = 0 if passed is None else bisect_right(of.times, passed - wait)
        if expired >= _TRIMMED:
            del of.times[:expired], of.rows[:expired]
            self.size -= expired
        place = bisect_right(of.times, time)
        of.times.insert(place, time)
        of.rows.insert(place, row)
        self.size += 1


def _pair(spec: JoinOperator, is_left: list[bool]) -> Callable[[Row, Row, int, int], Row]:
    """Returns a function that makes the emitted row of a pair from the columns and times of both rows."""
    times: dict[str | None, Callable[[int, int], int]] = {
        "right": lambda left, right: right,
        "later": max,
        "earlier": min,
    }
    time_of = times.get(spec.timestamp, lambda left, right: left)
    added: dict[str, Callable[[int, int], Any]] = {
        OP: lambda left, right: "+",
        MISSING: lambda left, right: None,
        JOIN_TIME: time_of,
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
