"""The rows of an interval join as Python objects, if it matters whether a row has had a partner.

Rows of such a side that have had no partner wait in the order in which they expire. An outer or an anti join
emits them then, a semi join when they get their first partner.

Invariant: a row is among those that wait if and only if it has had no partner and has not expired. Cost: two
heap operations for each row that has no partner when it arrives.
"""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush

import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import MATCHED, NUMBER
from panewise.engine.join.batch.emission import matches_of, remembered_sides
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.interval.records import IntervalPairs
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.records.base import has_plain_sides
from panewise.engine.join.records.rows import JoinRow
from panewise.engine.join.two_sides import JoinState
from panewise.engine.tables.copied_tables import Row
from panewise.spec.operators.join.columns import LEFT, ONE_SIDED, OTHER, RIGHT
from panewise.spec.operators.join.interval import Interval


def record_rows(plan: JoinPlan) -> IntervalPairs | None:
    """Returns the rows of a new operator, None if it cannot emit them one by one in Python."""
    spec, match = plan.spec, plan.spec.match
    assert isinstance(match, Interval)
    plain = match.late == "output" and not match.retained and spec.unmatched != "early"
    if not plain or not has_plain_sides(plan):
        return None
    return IntervalPairs(plan) if spec.how == "inner" else SingleRows(plan)


class SingleRows(IntervalPairs):
    """The rows of an interval join, by side and key, and which have had no partner."""

    def __init__(self, plan: JoinPlan) -> None:
        self._remembers = remembered_sides(plan.spec)
        super().__init__(plan)

    def clear(self) -> None:
        """Removes all rows of the copy."""
        super().clear()
        self._waiting = {side: _Waiting() for side in self._remembers}

    def read_tables(self, state: JoinState) -> None:
        """Reads the rows of both sides, and which have had no partner."""
        super().read_tables(state)
        for side, waiting in self._waiting.items():
            stored = self.stored(state, side)
            matched = matches_of(state, side).all()[NUMBER]
            alone = stored.filter(~pl.col(MATCHED) & ~pl.col(NUMBER).is_in(matched.implode()))
            numbers = set(alone[NUMBER])
            for of_key in self._rows[side].values():
                for row in of_key.rows:
                    if row.number in numbers:
                        waiting.put(self._end(side, row), row)

    def emitted(self, port: str, row: JoinRow, partners: Sequence[JoinRow], clocks: JoinClocks) -> list[Row]:
        """Returns what a row emits, with all partners that it has when it arrives."""
        how, first, other = self.spec.how, [], OTHER[port]
        if other in self._remembers:
            first = self._waiting[other].taken(partners)
        alone = self._alone(port, row, clocks) if port in self._remembers and not partners else []
        if how == "semi":
            first = [row] if port == LEFT and partners else first
            return [self.single[LEFT](left) for left in first]
        pairs = super().emitted(port, row, partners, clocks) if how not in ONE_SIDED else []
        return pairs + alone

    def _alone(self, port: str, row: JoinRow, clocks: JoinClocks) -> list[Row]:
        """Lets a row without a partner wait, or returns what is emitted if it can get none any more."""
        end, passed = self._end(port, row), clocks.passed(self.spec, OTHER[port])
        if passed is None or end > passed:
            self._waiting[port].put(end, row)
            return []
        return [self.single[port](row)]

    def _advanced(self, state: JoinState, clocks: JoinClocks) -> list[Row] | None:
        """Returns the rows without a partner that expire, by time, then left before right, then arrival."""
        if not self.ensure_copy_of(state):
            return None
        expired = []
        for side, waiting in self._waiting.items():
            until = clocks.passed(self.spec, OTHER[side])
            if until is not None:
                expired += [(row.time, side == RIGHT, row.number, row) for row in waiting.expired(until)]
        if self.spec.how == "semi":
            return []
        return [self.single[RIGHT if right else LEFT](row) for _, right, _, row in sorted(expired)]

    def _end(self, side: str, row: JoinRow) -> int:
        """Returns the last instant at which a row can get a partner, saturating."""
        return min(max(row.time + self._reach[side][1], MIN_INSTANT), MAX_INSTANT)


class _Waiting:
    """The rows of a side that have had no partner, in the order in which they expire."""

    def __init__(self) -> None:
        self._by_end: list[tuple[int, JoinRow]] = []
        self._numbers = set[int]()  # of those that have got no partner since

    def put(self, end: int, row: JoinRow) -> None:
        """Adds a row that expires after an instant."""
        heappush(self._by_end, (end, row))
        self._numbers.add(row.number)

    def taken(self, rows: Iterable[JoinRow]) -> list[JoinRow]:
        """Removes those of these rows that have had no partner, and returns them."""
        first = [row for row in rows if row.number in self._numbers]
        self._numbers.difference_update(row.number for row in first)
        return first

    def expired(self, until: int) -> list[JoinRow]:
        """Removes the rows that expire up to an instant, and returns them."""
        rows = []
        while self._by_end and self._by_end[0][0] <= until:
            _, row = heappop(self._by_end)
            if row.number in self._numbers:
                self._numbers.remove(row.number)
                rows.append(row)
        return rows
