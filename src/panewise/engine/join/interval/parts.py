"""Intervals, as :class:`panewise.engine.join.match_engine.MatchEngine`."""

import polars as pl

from panewise.engine.columns import NUMBER, ORDINAL, ROW_COUNT, TIME
from panewise.engine.family_parts import TableReader, on_call
from panewise.engine.join.clocks import JoinClocks
from panewise.engine.join.interval.late_rows import late_rule
from panewise.engine.join.interval.method import IntervalJoin, table_names
from panewise.engine.join.interval.retention import counts_name
from panewise.engine.join.match_engine import MatchEngine, RowsOfSides, keys_of_side
from panewise.engine.join.operator import JoinEngine
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import OTHER, SIDES
from panewise.spec.operators.join.interval import Interval


def _live(spec: JoinOperator, clocks: JoinClocks, read: TableReader) -> RowsOfSides:
    """Yields the rows of both sides that can get a partner."""
    for side in SIDES:
        yield side, _waiting(spec, side, read, clocks.passed(spec, OTHER[side]))


def _waiting(spec: JoinOperator, side: str, read: TableReader, horizon: int | None) -> pl.DataFrame:
    """Returns the rows of a side that can get a partner. A table may have more if their number is limited."""
    match, keys = spec.match, keys_of_side(spec, side)
    assert isinstance(match, Interval)
    columns = [*keys, TIME, NUMBER]
    if match.retain_rows is None or side not in match.retained:
        return read(side, columns, [], horizon, keys)
    rows = read(side, [*columns, ORDINAL], [], horizon, keys)
    counts = read(counts_name(side), [*keys, ROW_COUNT], [], horizon, keys)
    if not rows.width or not counts.width:
        return rows
    both = pl.concat([rows, counts], how="diagonal")
    both = both.filter(pl.col(ORDINAL) >= pl.col(ROW_COUNT).max().over(keys) - match.retain_rows)
    return both.select(columns)


PARTS = MatchEngine(
    operator=JoinEngine,
    method=IntervalJoin,
    tables=table_names,
    live=_live,
    record_rows=on_call("panewise.engine.join.interval.single_records:record_rows"),
    late_rows=late_rule,
)
