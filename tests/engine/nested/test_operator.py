"""Nested operators: the order of their tables, their headers, and copies. Each family tests its answers."""

from copy import copy
from typing import Any

import polars as pl
import pytest

import panewise as pw
from panewise import functions as F
from panewise.engine.family_parts import engine_parts
from panewise.engine.protocol import Operator
from panewise.engine.registry import operator_for
from panewise.errors import StateError

COUNT = F.count().alias("n")
SIDE = pw.Side(keys=["k"], event_time="t")
COLUMNS = {"k": pl.Int64(), "t": pl.Int64()}
SCHEMAS = {"left": COLUMNS, "right": COLUMNS}
RIGHT = pw.Side(keys=["k"], event_time="t", prefix="r_")

CHAIN = pw.WindowOperator(
    keys=["k"], event_time="t", window=pw.Sliding(10), trigger=pw.Always(), aggregates=[COUNT]
).then(aggregates=[F.sum("n").alias("n")])
WINDOWED_JOIN = pw.JoinOperator(left=SIDE, right=RIGHT, match=pw.Interval(0, 5)).then(
    keys=["k"], window=pw.Tumbling(10), aggregates=[COUNT]
)
COGROUP = pw.CogroupOperator(left=SIDE, right=SIDE, window=pw.Tumbling(10), left_aggregates=[COUNT])
ROWS = pl.DataFrame([{"k": 1, "t": 3}])

# The specification, the columns, the input that gets rows, and the tables.
CASES: dict[str, tuple[Any, Any, str, tuple[str, ...]]] = {
    "chain": (
        CHAIN,
        COLUMNS,
        "input",
        ("windows", "contributions of stage 1", "windows of stage 1", "slices", "blocks"),
    ),
    "windowed_join": (WINDOWED_JOIN, SCHEMAS, "left", ("windows", "join: left", "join: right")),
    "cogroup": (COGROUP, SCHEMAS, "left", ("windows",)),
}
EACH = pytest.mark.parametrize("name", CASES)


def operator_with_rows(name: str) -> Operator:
    spec, schema, port, _ = CASES[name]
    operator = operator_for(spec, schema)
    operator.add(ROWS, port)
    return operator


@EACH
def test_tables_have_their_places(name: str) -> None:
    """Places are the numbers of tables on disk, so they never change."""
    operator, tables = operator_with_rows(name), CASES[name][-1]
    assert tuple(operator.state.tables) == tables
    assert set(operator.horizons(operator.state.clocks)) == set(tables)
    assert operator.state.copies == ({"blocks"} if name == "chain" else frozenset())


def test_an_inspection_reads_the_same_tables() -> None:
    assert engine_parts(CHAIN).tables(CHAIN) == CASES["chain"][-1]


@EACH
def test_a_copy_has_a_state_of_its_own(name: str) -> None:
    spec, schema, port, _ = CASES[name]
    operator = operator_for(spec, schema)
    other = copy(operator)
    other.add(ROWS, port)
    other.advance(watermark=30)
    assert (other.changed, operator.changed) == (True, False)
    assert all(table.all().is_empty() for table in operator.state.tables.values())
    assert operator.state.clocks.instant_watermark is None


@EACH
def test_a_header_is_read_as_it_was_written(name: str) -> None:
    operator = operator_with_rows(name)
    operator.advance(5, 2)
    again = operator_for(*CASES[name][:2])
    again.replace_state(again.with_header(operator.header()))
    assert again.header() == operator.header()
    assert again.state.clocks == operator.state.clocks


@pytest.mark.parametrize(("name", "field"), [("windowed_join", "then"), ("cogroup", "windows")])
@pytest.mark.parametrize("wrong", [None, {}, []])
def test_a_header_without_that_of_the_windows_is_refused(name: str, field: str, wrong: Any) -> None:
    operator = operator_with_rows(name)
    header = operator.header() | {field: wrong}
    with pytest.raises(StateError, match=field):
        operator.with_header(header)
    del header[field]
    with pytest.raises(StateError, match=field):
        operator.with_header(header)


def test_clocks_that_do_not_move_evaluate_nothing() -> None:
    """The windows of a cogroup move to the lower watermark of both sides, and end with both."""
    operator = operator_for(COGROUP, SCHEMAS)
    operator.add(ROWS, "left")
    assert operator.advance(watermark=30, source="left").panes.is_empty()
    assert operator.advance(watermark=20, source="right").panes["n"].to_list() == [1]
    assert operator.advance(watermark=20, source="right").panes.is_empty()
    assert [operator.finish(side).panes.height for side in ("left", "right", "left")] == [0, 0, 0]
