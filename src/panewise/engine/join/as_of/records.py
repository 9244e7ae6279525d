"""The rows of an as-of join as Python objects (:mod:`panewise.engine.join.records.base`).

Left rows wait in the order in which they are decided. Bisection finds their partners, as the right rows of a
key are in the order of time. The last rows by event time are partners, too.

Invariant: the lists have all right rows that a left row can need which is still to be decided. They may have
others. Cost: two heap operations and two bisections for each left row.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from heapq import heappop, heappush

from panewise.chrono import saturating_add
from panewise.engine.join.as_of.method import AsOfJoin
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.records.base import RecordJoin
from panewise.engine.join.records.rows import JoinRow, RowsOfKey
from panewise.engine.join.two_sides import JoinState
from panewise.engine.tables.copied_tables import TRIMMED, Row
from panewise.spec.operators.join.as_of import AsOf
from panewise.spec.operators.join.columns import LEFT, RIGHT


class AsOfRows(RecordJoin):
    """The left rows that wait, and the right rows by key."""

    def __init__(self, plan: JoinPlan, match: AsOf) -> None:
        self._method, self.match = AsOfJoin(plan, match), match
        # How far from a left row the nearest and the furthest right rows lie that match it.
        self._near = 0 if match.allow_exact_matches else 1
        self._far = None if match.tolerance is None else match.tolerance.us
        super().__init__(plan)

    def clear(self) -> None:
        """Removes all rows of the copy."""
        super().clear()
        self._waiting: list[tuple[int, JoinRow]] = []
        self._right = defaultdict[Row, RowsOfKey](RowsOfKey)

    def read_tables(self, state: JoinState) -> None:
        """Reads the left rows that wait, and the right rows."""
        # They are in the order of time, and so in that of the heap.
        self._waiting = [(self._end(row), row) for row in self.rows_of(LEFT, state.queue(LEFT).all())]
        for row in self.rows_of(RIGHT, state.latest(RIGHT).all()):
            self._right[row.key].insert(row)

    def apply(self, port: str, row: JoinRow, clocks: JoinClocks) -> list[Row]:
        """Adds an applied row of a side. Returns what is emitted."""
        if port == RIGHT:
            self._put(self._right[row.key], row, clocks)
            return []
        end, passed = self._end(row), clocks.passed(self.spec, RIGHT)
        if passed is None or end > passed:
            heappush(self._waiting, (end, row))
            return []
        self.size -= 1
        return self._decided(row)

    def _advanced(self, state: JoinState, clocks: JoinClocks) -> list[Row] | None:
        """Returns what the left rows emit that are decided, by time, then arrival."""
        if not self.ensure_copy_of(state):
            return None
        passed = clocks.passed(self.spec, RIGHT)
        due = [] if passed is None else self.due(passed)
        self.size -= len(due)
        return [emitted for row in due for emitted in self._decided(row)]

    def due(self, passed: int) -> list[JoinRow]:
        """Removes the left rows that are decided when the right horizon has passed an instant.

        Returns them in the order of time, then of arrival.
        """
        due = []
        while self._waiting and self._waiting[0][0] <= passed:
            due.append(heappop(self._waiting)[1])
        return due

    def _end(self, row: JoinRow) -> int:
        """Returns the last instant of a right row that a left row waits for, saturating."""
        return saturating_add(row.time, self.match.waits)

    def _put(self, rows: RowsOfKey, row: JoinRow, clocks: JoinClocks) -> None:
        """Adds a right row, after removing those that no left row needs, if there are enough of them."""
        settled = None if len(rows.times) < TRIMMED else self._method.table_horizons(clocks)[RIGHT]
        if settled is not None:
            # With "forward" a right row at `settled` is needless, else the last one until then may be needed.
            needless = bisect_right(rows.times, settled) - (self.match.strategy != "forward")
            if self.match.strategy == "nearest" and self._near and needless > 0:
                # An overdue left row may have the time of the last one, and need the last one before it.
                needless = bisect_left(rows.times, rows.times[needless]) - 1
            if needless >= TRIMMED:
                rows.trim(needless)
                self.size -= needless
        rows.insert(row)

    def _decided(self, left: JoinRow) -> list[Row]:
        """Returns what a left row emits when it is decided."""
        how, rows = self.spec.how, self._right.get(left.key)
        place = -1 if rows is None else self.partner(rows.times, left.time)
        if rows is not None and place >= 0:
            if how in ("inner", "left"):
                return [self.pair(left, rows.rows[place])]
            return [self.single[LEFT](left)] if how == "semi" else []
        return [self.single[LEFT](left)] if how in ("left", "anti") else []

    def partner(self, times: list[int], time: int) -> int:
        """Returns the place of the partner of a left row, -1 if it has none."""
        match self.match.strategy:
            case "backward":
                return self._before(times, time)
            case "forward":
                return self._after(times, time)
        before, after = self._before(times, time), self._after(times, time)
        if before < 0 or after < 0:
            return max(before, after)
        return after if times[after] - time < time - times[before] else before

    def _before(self, times: list[int], time: int) -> int:
        """Returns the place of the latest right row at or before a left row, -1 if none matches."""
        place = bisect_right(times, time - self._near) - 1
        return -1 if place < 0 or (self._far is not None and times[place] < time - self._far) else place

    def _after(self, times: list[int], time: int) -> int:
        """Returns the place of the earliest right row at or after a left row, -1 if none matches.

        If several right rows have this time, it is the one that arrived last.
        """
        place = bisect_left(times, time + self._near)
        if place == len(times) or (self._far is not None and times[place] > time + self._far):
            return -1
        return bisect_right(times, times[place]) - 1
