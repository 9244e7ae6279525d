"""As-of matches, as :class:`panewise.engine.join.match_engine.MatchEngine`."""

from panewise.engine.columns import NUMBER, TIME
from panewise.engine.family_parts import TableReader, on_call
from panewise.engine.join.as_of.awaited import OVERDUE, AwaitedAsOfJoin
from panewise.engine.join.as_of.method import AsOfJoin
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.match_engine import MatchEngine, RowsOfSides, keys_of_side
from panewise.engine.join.operator import JoinEngine
from panewise.engine.join.plan import JoinPlan
from panewise.spec import JoinOperator
from panewise.spec.operators.join.as_of import AsOf
from panewise.spec.operators.join.columns import LEFT, RIGHT


def _method(plan: JoinPlan) -> AsOfJoin:
    match = plan.spec.match
    assert isinstance(match, AsOf)
    return (AwaitedAsOfJoin if match.waits_for_partner else AsOfJoin)(plan, match)


def undecided(spec: JoinOperator, clocks: JoinClocks, read: TableReader) -> RowsOfSides:
    """Yields the left rows that are not decided."""
    keys, passed = keys_of_side(spec, LEFT), clocks.passed(spec, RIGHT)
    columns = [*keys, TIME, NUMBER]
    yield LEFT, read(LEFT, columns, [], passed, keys)
    if isinstance(spec.match, AsOf) and spec.match.waits_for_partner:
        yield LEFT, read(OVERDUE, columns, [*keys, NUMBER], passed, keys)


PARTS = MatchEngine(
    operator=JoinEngine,
    method=_method,
    tables=lambda spec: (LEFT, RIGHT, OVERDUE),
    live=undecided,
    record_rows=on_call("panewise.engine.join.as_of.awaited_records:record_rows"),
)
