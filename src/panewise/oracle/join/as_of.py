"""Joins as of the event time of left rows: one is emitted once its partners are known (37.2, 37.3)."""

import math
from collections.abc import Iterable
from typing import Any

from panewise.chrono import MAX_INSTANT
from panewise.oracle.join.applied import Applied
from panewise.oracle.join.clocks import SideClocks
from panewise.oracle.join.emitted import EmittedRows
from panewise.oracle.join.method import StoringJoin
from panewise.oracle.join.partners import condition_is_true, has_null_key, keys_are_equal
from panewise.oracle.rows import Row
from panewise.spec.operators.join.as_of import AsOf
from panewise.spec.operators.join.columns import LEFT, RIGHT
from panewise.spec.operators.join.operator import JoinOperator


class AsOfJoin(StoringJoin):
    """Finds the partner of each left row among all right rows, when the left row is decided."""

    def __init__(self, spec: JoinOperator, clocks: SideClocks, emitted: EmittedRows) -> None:
        super().__init__(spec, clocks, emitted)
        self._match = self._as_of()
        self._undecided: list[Applied] = []
        self._right: list[Applied] = []
        self._arrived = 0

    def _as_of(self) -> AsOf:
        assert isinstance(self._spec.match, AsOf)
        return self._spec.match

    def apply(self, side: str, row: Row) -> None:
        """Stores a row."""
        stored = self._undecided if side == LEFT else self._right
        stored.append(Applied(side, row, self._arrived))
        self._arrived += 1

    def evaluate(self) -> list[dict[str, Any]]:
        """Returns the rows of the left rows that are decided, in the order of semantics 40.3."""
        decided = [left for left in self._undecided if self._is_decided(left.row)]
        self._undecided = [left for left in self._undecided if not self._is_decided(left.row)]
        rows = []
        for left in sorted(decided, key=lambda left: left.order):
            rows += self._of_left(left.row)
        return rows

    def stored(self) -> list[Applied]:
        """Returns the left rows that are not decided (semantics 41.1)."""
        return list(self._undecided)

    def furthest_behind(self) -> int | None:
        """Returns how far `join_time` of a row that is emitted later may lie behind both horizons.

        A left row that is emitted later may lie behind them as far as it waits, and its right row may lie
        still further behind. None if there is no limit (semantics 40.4).
        """
        if self._match.waits_for_partner:
            of_later = self._match.strategy == "forward" and self._spec.timestamp in ("right", "later")
            return 0 if of_later and self._spec.how == "inner" else None
        far = None if self._match.tolerance is None else self._match.tolerance.us
        waits = 0 if far is None or self._match.strategy == "backward" else far
        if self._spec.timestamp not in ("right", "earlier"):
            return waits
        if far is None:
            return None
        return waits if self._match.strategy == "forward" else waits + far

    def _is_decided(self, left: Row) -> bool:
        """Returns whether no right row can come that would be the partner (semantics 37.3)."""
        if self._match.waits_for_partner and not has_null_key(left):
            return self._is_known(left)
        last = left.time
        if self._match.strategy == "backward" and not self._match.allow_exact_matches:
            last -= 1
        if self._match.strategy != "backward" and self._match.tolerance is not None:
            last = min(last + self._match.tolerance.us, MAX_INSTANT)
        return has_null_key(left) or self._clocks.horizon(RIGHT) > last

    def _is_known(self, left: Row) -> bool:
        """Returns whether no right row can come that is as near as the nearest one so far (37.23)."""
        horizon, partners = self._clocks.horizon(RIGHT), self._partners(left)
        if not partners:
            return horizon == math.inf
        return horizon > left.time + abs(partners[0].time - left.time)

    def _of_left(self, left: Row) -> list[dict[str, Any]]:
        """Returns the rows of a decided left row, none if the type of the join does not emit it."""
        partners = self._partners(left)
        if self._spec.how in ("semi", "anti"):
            emits = bool(partners) == (self._spec.how == "semi")
            return [self._emitted.alone(LEFT, left, "+")] if emits else []
        if partners:
            return [self._emitted.pair(left, right) for right in partners]
        return [self._emitted.alone(LEFT, left, "+")] if self._spec.how == "left" else []

    def _partners(self, left: Row) -> list[Row]:
        """Returns the partner of a left row, or none."""
        fitting = [right for right in self._matching(left) if self._fits(left, right)]
        partner = best(self._match, left.time, fitting)
        return [] if partner is None else [partner]

    def _matching(self, left: Row) -> list[Applied]:
        """Returns the right rows with equal keys that the strategy allows."""
        return [
            right
            for right in self._right
            if keys_are_equal(left, right.row) and can_be_partner(self._match, left.time, right.row.time)
        ]

    def _fits(self, left: Row, right: Applied) -> bool:
        return condition_is_true(self._spec.condition, left, right.row)


def can_be_partner(match: AsOf, left: int, right: int) -> bool:
    """Returns whether a right row at a time is on the side of the strategy, and near enough.

    >>> [can_be_partner(AsOf(tolerance=10), 18, right) for right in (7, 8, 18, 19)]
    [False, True, True, False]
    """
    if match.strategy == "backward" and right > left:
        return False
    if match.strategy == "forward" and right < left:
        return False
    if right == left and not match.allow_exact_matches:
        return False
    return match.tolerance is None or abs(right - left) <= match.tolerance.us


def best(match: AsOf, left: int, candidates: Iterable[Applied]) -> Row | None:
    """Returns the right row that the strategy chooses; of equal times the one that arrived last."""

    def rank(right: Applied) -> tuple[int, ...]:
        if match.strategy == "backward":
            return -right.row.time, -right.place
        if match.strategy == "forward":
            return right.row.time, -right.place
        return abs(right.row.time - left), right.row.time, -right.place

    first = min(candidates, key=rank, default=None)
    return None if first is None else first.row
