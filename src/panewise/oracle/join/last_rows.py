"""Joins with the last rows by event time (semantics 37.6), and by arrival."""

from panewise.oracle.join.as_of import AsOfJoin
from panewise.oracle.join.by_arrival import ArrivalJoin
from panewise.oracle.join.clocks import SideClocks
from panewise.oracle.join.emitted import EmittedRows
from panewise.oracle.rows import Row
from panewise.spec.operators.join.as_of import AsOf
from panewise.spec.operators.join.last_rows import LastRows
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.policy.policies import CountPolicy


class LastRowsInTime(AsOfJoin):
    """Finds the partners of each left row among the latest right rows that are not after it."""

    def _as_of(self) -> AsOf:
        return AsOf()

    def _partners(self, left: Row) -> list[Row]:
        assert isinstance(self._spec.match, LastRows) and isinstance(self._spec.match.right, CountPolicy)
        earlier = sorted(self._matching(left), key=lambda right: (right.row.time, right.place))
        return [right.row for right in earlier[-self._spec.match.right.n :] if self._fits(left, right)]


def last_rows_join(spec: JoinOperator, clocks: SideClocks, emitted: EmittedRows) -> AsOfJoin | ArrivalJoin:
    """Returns the method for the order of the match."""
    assert isinstance(spec.match, LastRows)
    kind = LastRowsInTime if spec.match.order == "event_time" else ArrivalJoin
    return kind(spec, clocks, emitted)
