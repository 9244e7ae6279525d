"""Joins in which each side has a window of rows by arrival (semantics 37.4, 37.5, 37.7 to 37.9)."""

import math
from itertools import takewhile
from typing import Any

from panewise.oracle.join.applied import Applied
from panewise.oracle.join.clocks import SideClocks
from panewise.oracle.join.emitted import EmittedRows
from panewise.oracle.join.pairing import PairingJoin
from panewise.oracle.join.partners import are_partners, has_null_key, keys_are_equal
from panewise.oracle.rows import Row, exceeds
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT
from panewise.spec.operators.join.last_rows import LastRows, RowWindow
from panewise.spec.operators.join.latest import Latest
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.policy.policies import CountPolicy, DeltaPolicy, TimePolicy


class ArrivalJoin(PairingJoin):
    """Finds the partners of each row in the window of the other side, and inserts it into its own."""

    def __init__(self, spec: JoinOperator, clocks: SideClocks, emitted: EmittedRows) -> None:
        super().__init__(spec, clocks, emitted)
        self._policies = self._policies_of(spec)
        # What the windows contain, of all keys, with the processing time at which each row arrived.
        self._windows: dict[str, list[tuple[Applied, int]]] = {LEFT: [], RIGHT: []}

    def _policies_of(self, spec: JoinOperator) -> dict[str, RowWindow | None]:
        assert isinstance(spec.match, LastRows)
        return spec.match.windows

    def apply(self, side: str, row: Row) -> None:
        """Pairs a row with the rows in the other window, and then inserts it (semantics 37.5)."""
        super().apply(side, row)
        if self._policies[side] is not None and not has_null_key(row):
            self._insert(self._applied[-1])

    def evaluate(self) -> list[dict[str, Any]]:
        """Evicts rows from windows of time, and returns the rows that one evaluation emits (10.10)."""
        now = self._clocks.processing_time
        for side, policy in self._policies.items():
            if isinstance(policy, TimePolicy):
                limit = policy.duration.us
                self._windows[side] = [it for it in self._windows[side] if now - it[1] <= limit]
        return super().evaluate()

    def furthest_behind(self) -> int | None:
        """Returns how far `join_time` may lie behind both horizons; None if there is no limit (40.4).

        A row of a window may be of any age. A row that arrives is not behind the horizon of its side.
        """
        if self._spec.timestamp == "later" and not self._spec.outer_sides:
            return 0
        if self._policies[LEFT] is None:
            return 0 if self._spec.timestamp in (None, "left", "later") else None
        of_right = self._policies[RIGHT] is None and self._spec.timestamp == "right"
        return 0 if of_right and not self._spec.outer_sides else None

    def _insert(self, new: Applied) -> None:
        """Inserts a row into the window of its key, after the evictions that it causes (semantics 10.8)."""
        policy, window = self._policies[new.side], self._windows[new.side]
        mine = [old for old, _ in window if keys_are_equal(old.row, new.row)]
        evicted: list[Applied] = []
        if isinstance(policy, CountPolicy) and len(mine) >= policy.n:
            evicted = mine[: len(mine) - policy.n + 1]
        if isinstance(policy, DeltaPolicy):
            evicted = list(takewhile(lambda old: exceeds(policy, new.row.values, old.row.values), mine))
        stays = [it for it in window if all(it[0] is not old for old in evicted)]
        self._windows[new.side] = [*stays, (new, self._clocks.processing_time)]

    def _partners(self, new: Applied) -> list[Applied]:
        others = self._windows[OTHER[new.side]]
        return [old for old, _ in others if are_partners(self._spec.condition, new, old)]

    def _can_get_partner(self, applied: Applied) -> bool:
        """Returns whether the row is in its window, and rows of the other side may come (semantics 37.5)."""
        inside = any(it is applied for it, _ in self._windows[applied.side])
        return inside and self._clocks.horizon(OTHER[applied.side]) != math.inf


class LatestJoin(ArrivalJoin):
    """Pairs each row with the newest row of its key on the other side (semantics 37.7 to 37.9)."""

    def _policies_of(self, spec: JoinOperator) -> dict[str, RowWindow | None]:
        assert isinstance(spec.match, Latest)
        self._latest = spec.match
        return dict.fromkeys((LEFT, RIGHT), CountPolicy(1))

    def apply(self, side: str, row: Row) -> None:
        """Pairs a row and inserts it, or deletes the row of its key (semantics 37.8)."""
        column = self._latest.deletes_by_side[side]
        if column is None or row.values[column] is not None:
            super().apply(side, row)
            return
        window = self._windows[side]
        self._windows[side] = [it for it in window if not keys_are_equal(it[0].row, row)]

    def evaluate(self) -> list[dict[str, Any]]:
        """Removes the rows that are too old, and returns the rows that one evaluation emits (37.7)."""
        now, ttl = self._clocks.processing_time, self._latest.ttl
        if ttl is not None:
            for side, window in self._windows.items():
                self._windows[side] = [it for it in window if now < it[1] + ttl.us]
        return super().evaluate()
