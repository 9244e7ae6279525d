"""Intervals, as :class:`panewise.engine.join.match_engine.MatchEngine`."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from panewise.engine.columns import END, NUMBER, ORDINAL, ROW_COUNT, TIME
from panewise.engine.family_parts import Inspection, TableReader, on_call
from panewise.engine.join.interval.late_rows import late_rule
from panewise.engine.join.interval.method import IntervalJoin, table_names
from panewise.engine.join.interval.retention import counts_name
from panewise.engine.join.match_engine import MatchEngine, keys_of_side, stored_rows
from panewise.engine.join.operator import JoinEngine
from panewise.engine.join.two_sides import read_clocks
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT
from panewise.spec.operators.join.interval import Interval


def _inspect(spec: JoinOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    """Returns the rows that can get a partner, and left rows of semi and anti even if they had one."""
    clocks = read_clocks(header)
    passed = {side: clocks.passed(spec, OTHER[side]) for side in (LEFT, RIGHT)}
    waiting = [(side, _waiting(spec, side, read, horizon)) for side, horizon in passed.items()]
    return stored_rows(spec, clocks, waiting)


def _waiting(spec: JoinOperator, side: str, read: TableReader, horizon: int | None) -> pl.DataFrame:
    """Returns the rows of a side that can get a partner. A table may have more if their number is limited."""
    match, keys = spec.match, keys_of_side(spec, side)
    assert isinstance(match, Interval)
    if match.retain_rows is None or side not in match.retained:
        return read(side, [*keys, TIME, END], [TIME, NUMBER], [], horizon, keys)
    rows = read(side, [*keys, TIME, END, ORDINAL], [TIME, NUMBER], [], horizon, keys)
    counts = read(counts_name(side), [*keys, ROW_COUNT, END], [NUMBER, NUMBER], [], horizon, keys)
    if not rows.width or not counts.width:
        return rows
    both = pl.concat([rows, counts], how="diagonal")
    both = both.filter(pl.col(ORDINAL) >= pl.col(ROW_COUNT).max().over(keys) - match.retain_rows)
    return both.select(*keys, TIME, END)


PARTS = MatchEngine(
    operator=JoinEngine,
    method=IntervalJoin,
    tables=table_names,
    inspect=_inspect,
    record_rows=on_call("panewise.engine.join.interval.records:record_rows"),
    late_rows=late_rule,
)
