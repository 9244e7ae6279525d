"""The rows of an as-of join as Python objects, if left rows wait for a later right row (semantics 37.23).

A left row is overdue if the right horizon has passed it, and it is not decided. The next right row of its key
that the horizon passes is after it, and decides it. With "nearest" it is decided before, when the horizon has
passed as far beyond it as an earlier right row is away.

Invariant: right rows that the horizon has not passed are among those to pass, overdue rows that an earlier
right row decides are among the checks. Cost: besides that of an as-of join a heap operation for each right
row, and one for each check.
"""

from collections import defaultdict
from heapq import heapify, heappop, heappush

from panewise.chrono import MAX_INSTANT, saturating_add
from panewise.engine.join.as_of.awaited import OVERDUE
from panewise.engine.join.as_of.records import AsOfRows
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.records.base import has_plain_sides
from panewise.engine.join.records.rows import JoinRow
from panewise.engine.join.two_sides import JoinState
from panewise.engine.tables.copied_tables import Row
from panewise.spec.operators.join.as_of import AsOf
from panewise.spec.operators.join.columns import LEFT, RIGHT


def record_rows(plan: JoinPlan) -> AsOfRows | None:
    """Returns the rows of a new operator, None if it cannot emit them one by one in Python."""
    match = plan.spec.match
    assert isinstance(match, AsOf)
    if not has_plain_sides(plan):
        return None
    return (AwaitedAsOfRows if match.waits_for_partner else AsOfRows)(plan, match)


class AwaitedAsOfRows(AsOfRows):
    """The left rows that wait or are overdue, and the right rows by key."""

    def clear(self) -> None:
        """Removes all rows of the copy."""
        super().clear()
        self._overdue = defaultdict[Row, dict[int, JoinRow]](dict)  # by key and number
        self._checks: list[tuple[int, JoinRow]] = []
        self._passing: list[JoinRow] = []

    def read_tables(self, state: JoinState) -> None:
        """Reads the left rows that wait or are overdue, and the right rows."""
        super().read_tables(state)
        for row in self.rows_of(LEFT, state.tables[OVERDUE].all()):
            self._let_wait(row)
        passed = state.clocks.passed(self.spec, RIGHT)
        for rows in self._right.values():
            self._passing += [row for row in rows.rows if passed is None or row.time > passed]
        heapify(self._passing)

    def apply(self, port: str, row: JoinRow, clocks: JoinClocks) -> list[Row]:
        """Adds an applied row of a side. Returns what is emitted."""
        passed = clocks.passed(self.spec, RIGHT)
        if port == LEFT and passed is not None and row.time <= passed < self._until(row):
            self._let_wait(row)
            return []
        if port == RIGHT:
            heappush(self._passing, row)
        return super().apply(port, row, clocks)

    def due(self, passed: int) -> list[JoinRow]:
        """Removes the left rows that are decided when the right horizon has passed an instant."""
        due = list[JoinRow]()
        while self._passing and self._passing[0].time <= passed:
            due += self._overdue.pop(heappop(self._passing).key, {}).values()
        while self._checks and self._checks[0][0] <= passed:
            _, row = heappop(self._checks)
            overdue = self._overdue.get(row.key, {})
            if row.number in overdue:
                due.append(overdue.pop(row.number))
            if not overdue:
                self._overdue.pop(row.key, None)
        for row in super().due(passed):
            if self._until(row) <= passed:
                due.append(row)
            else:
                self._let_wait(row)
        return sorted(due)

    def _let_wait(self, row: JoinRow) -> None:
        """Adds an overdue row."""
        self._overdue[row.key][row.number] = row
        until = self._until(row)
        if self.match.strategy == "nearest" and until < MAX_INSTANT:
            heappush(self._checks, (until, row))

    def _until(self, row: JoinRow) -> int:
        """Returns the last instant at which a better right row can come, saturating, given those so far."""
        rows = self._right.get(row.key)
        place = -1 if rows is None else self.partner(rows.times, row.time)
        if rows is None or place < 0:
            return MAX_INSTANT
        return saturating_add(row.time, abs(rows.times[place] - row.time))
