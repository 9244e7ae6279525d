"""The latest rows and the last rows, as :class:`panewise.engine.join.match_engine.MatchEngine`."""

import polars as pl

from panewise.engine.columns import DELETES, NUMBER, SINCE, TIME
from panewise.engine.family_parts import TableReader, on_call
from panewise.engine.join.as_of.method import AsOfJoin
from panewise.engine.join.as_of.parts import undecided
from panewise.engine.join.by_arrival.arrived_rows import ArrivalWindow
from panewise.engine.join.by_arrival.method import ArrivalJoin, horizon_of_windows
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.match_engine import MatchEngine, RowsOfSides, keys_of_side
from panewise.engine.join.operator import JoinEngine
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.two_sides import NEXT_NUMBER
from panewise.spec import JoinOperator
from panewise.spec.operators.join.as_of import AsOf
from panewise.spec.operators.join.columns import SIDES
from panewise.spec.operators.join.last_rows import LastRows
from panewise.spec.operators.policy.policies import CountPolicy


def _live(spec: JoinOperator, clocks: JoinClocks, read: TableReader) -> RowsOfSides:
    """Yields the rows in the windows of both sides."""
    for side in SIDES:
        window = ArrivalWindow.from_match(spec.match, side)
        horizon = horizon_of_windows(clocks, spec, side, window)
        yield side, _in_window(window, keys_of_side(spec, side), read, side, horizon)


def _method_of_last_rows(plan: JoinPlan) -> ArrivalJoin | AsOfJoin:
    count = _count_in_time(plan.spec)
    return ArrivalJoin(plan) if count is None else AsOfJoin(plan, AsOf(), count)


def _live_of_last_rows(spec: JoinOperator, clocks: JoinClocks, read: TableReader) -> RowsOfSides:
    """Returns the rows in the windows of both sides; by event time the left rows that are not decided."""
    return (_live if _count_in_time(spec) is None else undecided)(spec, clocks, read)


def _count_in_time(spec: JoinOperator) -> int | None:
    """Returns how many right rows match a left one by event time; None for windows by arrival."""
    match = spec.match
    assert isinstance(match, LastRows)
    return match.right.n if match.order == "event_time" and isinstance(match.right, CountPolicy) else None


def _in_window(
    window: ArrivalWindow, keys: list[str], read: TableReader, side: str, horizon: int | None
) -> pl.DataFrame:
    """Returns the rows in the windows of a side. A table may have more, which no merge has removed yet."""
    since = [SINCE] if window.delta is not None else []
    deletes = [DELETES] if window.deletes is not None else []
    rows = read(side, [*keys, TIME, NUMBER, *since, *deletes], [], horizon, keys)
    number = pl.col(NUMBER)
    if window.latest and rows.width:
        rows = rows.filter(number.rank("ordinal", descending=True).over(keys) <= window.latest)
    if deletes and rows.width:
        rows = rows.filter(~pl.col(DELETES))
    return rows.filter(number >= pl.col(SINCE).max().over(keys)) if since and rows.width else rows


_record_rows = on_call("panewise.engine.join.by_arrival.records:record_rows")
LATEST = MatchEngine(operator=JoinEngine, method=ArrivalJoin, live=_live, record_rows=_record_rows)
LAST_ROWS = MatchEngine(
    operator=JoinEngine,
    method=_method_of_last_rows,
    live=_live_of_last_rows,
    record_rows=_record_rows,
    numbers=lambda table: {NUMBER: NEXT_NUMBER, SINCE: NEXT_NUMBER},
)
