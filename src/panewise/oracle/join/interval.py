"""Joins with an interval: pairs are emitted when they arrive (semantics 37, 37.1, 39, 41)."""

import math

from panewise.oracle.join.applied import Applied
from panewise.oracle.join.clocks import SideClocks
from panewise.oracle.join.emitted import EmittedRows
from panewise.oracle.join.pairing import PairingJoin
from panewise.oracle.join.partners import (
    are_partners,
    has_null_key,
    in_interval,
    keys_are_equal,
    reach,
)
from panewise.oracle.rows import Row
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT
from panewise.spec.operators.join.interval import Interval
from panewise.spec.operators.join.operator import JoinOperator


class IntervalJoin(PairingJoin):
    """Finds the partners of each row among all rows that have arrived before it."""

    def __init__(self, spec: JoinOperator, clocks: SideClocks, emitted: EmittedRows) -> None:
        super().__init__(spec, clocks, emitted)
        assert isinstance(spec.match, Interval)
        self._match = spec.match

    @property
    def joins_late_rows(self) -> bool:
        """Whether a row behind the horizon of its side is joined (semantics 37.25)."""
        return self._match.late == "join"

    def is_late(self, side: str, row: Row) -> bool:
        """Returns whether a row is late: with `late="join"` only if it can have no partner (37.25)."""
        joins = self.joins_late_rows and self.may_have_partner(side, row)
        return super().is_late(side, row) and not joins

    def may_have_partner(self, side: str, row: Row) -> bool:
        """Returns whether the time of a row allows a partner.

        The latest possible partner is at the last instant that matches the row. If it has arrived already, it
        must still be able to get a partner. If it comes later, it must not be behind its horizon.
        """
        own, other = self._clocks.horizon(side), self._clocks.horizon(OTHER[side])
        last, back = reach(self._match, side), reach(self._match, OTHER[side])
        assert last is not None and back is not None
        return own != math.inf and (own <= row.time + last + back or other <= row.time + last)

    def furthest_behind(self) -> int | None:
        """Returns how far `join_time` of a row that is emitted later may lie behind both horizons.

        A row that arrives later is not behind the horizon of its side. Its partners, and rows that still wait
        for a partner, are behind it by at most the time for which they can wait. None if that is unlimited.
        """
        if self.joins_late_rows:
            return self._furthest_behind_with_late_rows()
        of_sides = {side: self._longest_wait(side) for side in (LEFT, RIGHT)}
        timestamp = self._spec.timestamp or LEFT
        of_pairs = {"later": [0.0], "earlier": [*of_sides.values()]}.get(timestamp)
        waits = [of_sides[timestamp]] if of_pairs is None else of_pairs
        waits = [*waits, *(of_sides[side] for side in self._spec.outer_sides)]
        return None if math.inf in waits else int(max(waits))

    def _furthest_behind_with_late_rows(self) -> int:
        """Returns :meth:`furthest_behind` if rows behind their horizon are joined (semantics 37.25)."""
        left, right = reach(self._match, LEFT), reach(self._match, RIGHT)
        assert left is not None and right is not None
        of_sides = {LEFT: max(left, left + right), RIGHT: max(right, left + right)}
        timestamp = self._spec.timestamp or LEFT
        of_pairs = {"later": left + min(right, 0), "earlier": max(of_sides.values()), **of_sides}
        distances = [of_pairs[timestamp], *(of_sides[side] for side in self._spec.outer_sides)]
        if timestamp == "later":
            distances.append(right + min(left, 0))
        return max(0, *distances)

    def _longest_wait(self, side: str) -> float:
        last = reach(self._match, side)
        if last is None:
            limit = self._match.retain_for
            return math.inf if limit is None or limit == "unlimited" else limit.us
        return max(0, last)

    def _partners(self, new: Applied) -> list[Applied]:
        return [
            old
            for old in self._applied
            if old.side != new.side
            and self._are_near(old, new)
            and are_partners(self._spec.condition, old, new)
            and (self._can_get_partner(old) if self.joins_late_rows else self._is_retained(old))
        ]

    def _are_near(self, old: Applied, new: Applied) -> bool:
        left, right = (old.row, new.row) if old.side == LEFT else (new.row, old.row)
        return in_interval(self._match, left, right)

    def _is_retained(self, applied: Applied) -> bool:
        """Returns whether a row is retained, if rows of its side need a retention (semantics 37.1)."""
        if reach(self._match, applied.side) is not None:
            return True
        limit, count = self._match.retain_for, self._match.retain_rows
        if limit == "unlimited":
            return True  # semantics 37.24
        if limit is not None and self._clocks.horizon(OTHER[applied.side]) > applied.row.time + limit.us:
            return False
        after = [it for it in self._applied if it.side == applied.side and it.place > applied.place]
        return count is None or sum(keys_are_equal(it.row, applied.row) for it in after) < count

    def _can_get_partner(self, applied: Applied) -> bool:
        """Returns whether a row of the other side that is not late could be a partner (semantics 39)."""
        horizon, last = self._clocks.horizon(OTHER[applied.side]), reach(self._match, applied.side)
        if has_null_key(applied.row) or horizon == math.inf:
            return False
        return self._is_retained(applied) if last is None else horizon <= applied.row.time + last
