"""The last rows and the latest row of each key as Python objects (:mod:`panewise.engine.join.records.pairs`).

Rows without event times have the time 0, so those of a key are in arrival order. With event times the rows
that wait would be another batch, whose arrival order is that of time (semantics 36.6).

Invariant: a list has the rows in the window of its key, so all of them are partners.
"""

import polars as pl

from panewise.engine.join.by_arrival.arrived_rows import ArrivalWindow
from panewise.engine.join.by_arrival.method import ArrivalJoin
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.records.pairs import RecordPairs, emits_only_pairs
from panewise.engine.join.records.rows import JoinRow, RowsOfKey
from panewise.engine.join.two_sides import JoinState


def record_rows(plan: JoinPlan) -> "ArrivalPairs | None":
    """Returns the rows of a new operator, None if its pairs cannot be emitted one by one in Python."""
    spec = plan.spec
    if not emits_only_pairs(plan) or spec.has_event_times:
        return None
    windows = [ArrivalWindow.from_match(spec.match, side) for side in plan.ports]
    by_count = all(window == ArrivalWindow(latest=window.latest) for window in windows)
    return ArrivalPairs(plan) if by_count and None not in [window.latest for window in windows] else None


class ArrivalPairs(RecordPairs):
    """The rows in the windows of both sides, by side and key."""

    def __init__(self, plan: JoinPlan) -> None:
        self._windows = ArrivalJoin(plan).windows
        self._count = {side: of_side.window.latest or 0 for side, of_side in self._windows.items()}
        super().__init__(plan)

    def partners(self, rows: RowsOfKey, port: str, time: int) -> range:
        """Returns the places of all rows in the window."""
        return range(len(rows.rows))

    def put(self, rows: RowsOfKey, port: str, row: JoinRow, clocks: JoinClocks) -> int:
        """Adds a row to the window, and removes the oldest one if there are too many."""
        rows.insert(row)
        evicted = max(0, len(rows.rows) - self._count[port])
        rows.trim(evicted)
        return evicted

    def stored(self, state: JoinState, side: str) -> pl.DataFrame:
        """Returns the rows in the windows of a side."""
        return self._windows[side].all(state.latest(side))
