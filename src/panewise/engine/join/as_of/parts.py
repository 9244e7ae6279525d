"""As-of matches, as :class:`panewise.engine.join.match_engine.MatchEngine`."""

from collections.abc import Mapping
from typing import Any

from panewise.engine.columns import END, NUMBER, TIME
from panewise.engine.family_parts import Inspection, TableReader
from panewise.engine.join.as_of.awaited import OVERDUE, AwaitedAsOfJoin
from panewise.engine.join.as_of.method import AsOfJoin
from panewise.engine.join.match_engine import MatchEngine, keys_of_side, stored_rows
from panewise.engine.join.operator import JoinEngine
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.two_sides import read_clocks
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import LEFT, RIGHT
from panewise.spec.operators.join.match import AsOf


def _method(plan: JoinPlan) -> AsOfJoin:
    match = plan.spec.match
    assert isinstance(match, AsOf)
    return (AwaitedAsOfJoin if match.waits_for_partner else AsOfJoin)(plan, match)


def _inspect(spec: JoinOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    match = spec.match
    assert isinstance(match, AsOf)
    return undecided(spec, header, read, overdue=match.waits_for_partner)


def undecided(
    spec: JoinOperator, header: Mapping[str, Any], read: TableReader, *, overdue: bool
) -> Inspection:
    """Returns the left rows that are not decided. `overdue` says whether there is a table of overdue ones."""
    clocks, keys = read_clocks(header), keys_of_side(spec, LEFT)
    passed = clocks.passed(spec, RIGHT)
    tables = [read(LEFT, [*keys, TIME, END], [TIME, NUMBER], [], passed, keys)]
    if overdue:
        tables.append(read(OVERDUE, [*keys, TIME, NUMBER, END], [*keys, NUMBER], keys, passed, keys))
    return stored_rows(spec, clocks, [(LEFT, table) for table in tables])


PARTS = MatchEngine(
    operator=JoinEngine, method=_method, tables=lambda spec: (LEFT, RIGHT, OVERDUE), inspect=_inspect
)
