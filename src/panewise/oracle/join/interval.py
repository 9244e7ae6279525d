"""Joins with an interval: pairs are emitted when they arrive (semantics 37, 37.1, 39, 41)."""

from panewise.oracle.join.applied import Applied
from panewise.oracle.join.clocks import SideClocks
from panewise.oracle.join.emitted import EmittedRows
from panewise.oracle.join.matching import (
    condition_is_true,
    has_null_key,
    in_interval,
    keys_are_equal,
    last_match,
    reach,
)
from panewise.oracle.join.pairing import PairingJoin
from panewise.spec.operators.join.columns import LEFT, RIGHT
from panewise.spec.operators.join.match import Interval
from panewise.spec.operators.join.operator import JoinOperator

OTHER = {LEFT: RIGHT, RIGHT: LEFT}


class IntervalJoin(PairingJoin):
    """Finds the partners of each row among all rows that have arrived before it."""

    def __init__(self, spec: JoinOperator, clocks: SideClocks, emitted: EmittedRows) -> None:
        super().__init__(spec, clocks, emitted)
        assert isinstance(spec.match, Interval)
        self._match = spec.match

    def furthest_behind(self) -> int:
        """Returns how far `join_time` of a row that is emitted later may lie behind both horizons.

        A row that arrives later is not behind the horizon of its side. The rows that it may meet, and those
        that still wait for a partner, are behind it by their reach at most.
        """
        left, right = (max(0, reach(self._match, side)) for side in (LEFT, RIGHT))
        of_pairs = {"left": left, "right": right, "earlier": max(left, right), "later": 0}
        of_sides = {LEFT: left, RIGHT: right}
        alone = [of_sides[side] for side in self._spec.outer_sides]
        return max([left if self._spec.timestamp is None else of_pairs[self._spec.timestamp], *alone])

    def _partners(self, new: Applied) -> list[Applied]:
        return [one for one in self._applied if one.side != new.side and self._are_partners(one, new)]

    def _are_partners(self, one: Applied, other: Applied) -> bool:
        left, right = (one.row, other.row) if one.side == LEFT else (other.row, one.row)
        fit = keys_are_equal(left, right) and in_interval(self._match, left, right)
        return fit and condition_is_true(self._spec.condition, left, right)

    def _can_get_partner(self, one: Applied) -> bool:
        """Returns whether a row of the other side that is not late could be a partner (semantics 39)."""
        if has_null_key(one.row):
            return False
        last = last_match(self._match, one.side, one.row.time)
        return self._clocks.horizon(OTHER[one.side]) <= last
