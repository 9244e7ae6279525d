"""The rows of an interval join as Python objects (:mod:`panewise.engine.join.records.pairs`).

Bisection finds the partners of a row, as the rows of a key are in the order of time.

Invariant: the lists have all stored rows that have not expired. They may have expired rows, too: a row that
is not late has none of these as its partner.
"""

from bisect import bisect_left, bisect_right

import polars as pl

from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.interval.method import IntervalJoin
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.records.pairs import RecordPairs
from panewise.engine.join.records.rows import JoinRow, RowsOfKey
from panewise.engine.join.two_sides import JoinState
from panewise.engine.tables.copied_tables import TRIMMED
from panewise.spec.operators.join.columns import OTHER


class IntervalPairs(RecordPairs):
    """The rows of an interval join, by side and key."""

    def __init__(self, plan: JoinPlan) -> None:
        reach = IntervalJoin(plan).reach
        self._reach = {side: (first or 0, last or 0) for side, (first, last) in reach.items()}
        super().__init__(plan)

    def partners(self, rows: RowsOfKey, port: str, time: int) -> range:
        """Returns the places of the rows in the interval of a row."""
        first, last = self._reach[port]
        return range(bisect_left(rows.times, time + first), bisect_right(rows.times, time + last))

    def put(self, rows: RowsOfKey, port: str, row: JoinRow, clocks: JoinClocks) -> int:
        """Adds a row, after removing the expired rows, if there are enough of them."""
        passed, reach = clocks.passed(self.spec, OTHER[port]), self._reach[port][1]
        expired = 0 if passed is None else bisect_right(rows.times, passed - reach)
        expired = expired if expired >= TRIMMED else 0
        rows.trim(expired)
        rows.insert(row)
        return expired

    def stored(self, state: JoinState, side: str) -> pl.DataFrame:
        """Returns the rows of a side that have not expired."""
        return state.rows(side).all()
