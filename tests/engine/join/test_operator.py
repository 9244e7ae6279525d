"""The join operator where random events do not lead: repeated steps, long batches, odd names and types."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from panewise import AsOf, FixedLag, Interval, JoinOperator, LastRows, Latest, Side, StreamTime
from panewise.engine.join.operator import JoinEngine
from panewise.engine.registry import operator_for
from panewise.engine.saved_operator import restore, save
from panewise.errors import SpecError
from panewise.spec.operators.join.columns import Selected
from panewise.state import MemoryRunStore
from panewise.testing import run
from tests.engine.join.micro_batches import LONG, SCHEMAS, inspected, rows, steps


def join(match: Interval | AsOf, how: str = "left", watermark: FixedLag | None = None) -> JoinOperator:
    sides = {side: Side(keys=["k"], event_time="t", watermark=watermark) for side in ("left", "right")}
    sides["right"] = Side(keys=["k"], event_time="t", watermark=watermark, prefix="r_")
    return JoinOperator(**sides, match=match, how=how)  # type: ignore[arg-type]


@pytest.mark.parametrize("match", [Interval(0, 5), AsOf()], ids=["interval", "as of"])
def test_what_only_the_clock_emits_is_emitted_once(match: Interval | AsOf) -> None:
    """A step that only moves the clocks commits if it emits something (semantics 33)."""
    micro_batches = steps(join(match, watermark=FixedLag(1)), MemoryRunStore())
    next(micro_batches).operator.add(rows("left", (1, 7, 12)), "left")
    emitted = [next(micro_batches).operator.advance(time).panes.height for time in (5, 100, 200, 300)]
    assert emitted == [0, 1, 0, 0]


def test_rows_that_expire_in_the_step_in_which_they_arrive_are_in_no_run() -> None:
    """A batch that is sealed before the commit, too, has them no more (semantics 41.1)."""
    side = Side(keys=["k"], event_time="t", watermark=StreamTime(0, per="all"))
    spec = JoinOperator(left=side, right=replace(side, prefix="r_"), match=Interval(0, 9))
    operator = JoinEngine(spec, SCHEMAS)
    operator.add_batch({name: rows(name, *((0, n, n) for n in range(5000))) for name in ("left", "right")})
    runs = {name: operator.state.tables[name].runs for name in ("left", "right")}
    assert {name: sum(run.rows for run in of) for name, of in runs.items()} == {"left": 10, "right": 1}


def test_superseded_rows_go_even_if_a_batch_is_long() -> None:
    """A batch that is sealed before the commit drops them, too (semantics 41.1)."""
    micro_batches = steps(join(AsOf()), MemoryRunStore())
    for n in range(12):
        operator = next(micro_batches).operator
        operator.advance(watermark=n * 5000)
        operator.add(rows("right", *((m % 10, n * 5000 + m, m) for m in range(5000))), "right")
    stored = next(micro_batches).operator.state.tables["right"].all()
    assert stored.height < 4 * 5000


def test_without_a_tolerance_the_distance_has_no_limit() -> None:
    """Semantics 37.2, after a restart, too."""
    spec = join(AsOf())
    operator = operator_for(spec, SCHEMAS)
    operator.add(rows("right", (1, -(2**63) + 1, 9)), "right")
    operator.advance(watermark=5)
    operator = restore(spec, SCHEMAS, save(operator))
    operator.add(rows("left", (1, 6, 0)), "left")
    assert operator.finish().panes["r_w"].to_list() == [9]


@pytest.mark.parametrize("strategy", ["forward", "nearest"])
def test_decided_rows_leave_the_state(strategy: Any) -> None:
    """Also those that wait for a right row of their key in many steps (semantics 37.23, 41.1)."""
    micro_batches = steps(join(AsOf(strategy)), MemoryRunStore())
    for n in range(20):
        operator = next(micro_batches).operator
        operator.add(rows("left", *((m, 10 * n + 8, 0) for m in range(10)), (99, 10 * n + 8, 0)), "left")
        assert operator.advance(watermark=10 * n + 9).panes.is_empty()
        operator = next(micro_batches).operator
        operator.add(rows("right", *((m, 10 * n + 9, m) for m in range(10))), "right")
        assert operator.advance(watermark=10 * n + 10).panes.height == 10
    stored = next(micro_batches)
    tables = stored.operator.state.tables
    assert sorted(tables["left overdue"].all()["t"]) == [*range(8, 208, 10)]
    assert tables["right"].all().height < 100
    assert sum(run.rows for run in tables["left overdue"].runs) < 100
    assert sorted(inspected(stored.operator).rows["__end"]) == [*range(8, 208, 10)]
    assert stored.operator.finish().panes.height == 20


@pytest.mark.parametrize("match", [Interval(0, 5), AsOf()], ids=["interval", "as of"])
def test_names_of_columns_may_look_like_those_of_pairs(match: Interval | AsOf) -> None:
    schemas = {"left": {"k": LONG, "t": LONG, "w:right": LONG}, "right": {"k": LONG, "t": LONG, "w": LONG}}
    operator = operator_for(join(match), schemas)
    operator.add(pl.DataFrame([(1, 5, 7)], schema=schemas["left"], orient="row"), "left")
    found = [operator.add(rows("right", (1, 5, 8)), "right"), operator.advance(watermark=6)]
    assert pl.concat([one.panes for one in found]).select("w:right", "r_w").rows() == [(7, 8)]


@pytest.mark.parametrize("match", [LastRows(1, left=1), Latest(10)], ids=["last rows", "latest"])
def test_nothing_shows_a_time_of_rows_without_event_times(match: LastRows | Latest) -> None:
    """Semantics 36.13: no watermark moves anything, and nothing is due until the inputs end."""
    side = Side(keys=["k"], event_time=None)
    spec = JoinOperator(left=side, right=replace(side, prefix="r_"), match=match, how="left")
    micro_batches = steps(spec, MemoryRunStore())
    operator = next(micro_batches).operator
    operator.advance(processing_time=100, watermark=50)
    output = operator.add(rows("left", (1, 7, 12), (2, -5, 3)), "left")
    assert (output.late.height, output.counts.applied, output.panes.height) == (0, 2, 0)
    operator = next(micro_batches).operator
    operator.advance(watermark=60, source="right")
    clocks = operator.state.clocks
    assert (clocks.watermark, operator.output_watermark(), operator.next_due()) == (None, None, None)
    assert [side.watermark for side in clocks.sides.values()] == [None, None]
    live = operator.live()
    assert live.select("k", "window_start", "window_end").rows() == [(1, None, None), (2, None, None)]
    found = inspected(operator)
    assert (found.ends_in_time, found.watermark, found.rows.height) == (False, None, 2)
    assert "join_time" not in operator.finish().panes.columns
    assert operator.output_watermark() == 2**63 - 1


def test_no_row_is_shown_without_keys_and_event_times() -> None:
    """Semantics 36.13, 41.2: an operator without rows shows none."""
    side = Side(event_time=None)
    spec = JoinOperator(left=side, right=replace(side, prefix="r_"), match=LastRows(1))
    operator = JoinEngine(spec, SCHEMAS)
    assert operator.live().is_empty()
    operator.add(rows("right", (1, 2, 3), (4, 5, 6)), "right")
    assert operator.live().select("window_start", "input").rows() == [(None, "right")]


def test_rows_are_emitted_that_have_no_column_of_their_side() -> None:
    """Semantics 36.13, 40.2: as many as there are, with null in the columns of the other side."""
    side = Side(keys=["k"], event_time=None)
    selected = [Selected("left", "v")]
    spec = JoinOperator(left=side, right=side, match=Latest(), how="right", select=selected)
    operator = JoinEngine(spec, SCHEMAS)
    assert operator.add(rows("right"), "right").panes.is_empty()
    operator.add(rows("right", (1, 2, 3), (4, 5, 6)), "right")
    assert operator.finish().panes.rows() == [(None, "+", "left")] * 2


@pytest.mark.parametrize("strategy", ["nearest", "backward"])
def test_a_right_row_stays_stored_however_early_it_is(strategy: Any) -> None:
    """Semantics 37.3, 37.23: without a tolerance there is no limit, also from the first instants on."""
    events = [
        {"op": "add", "input": "right", "rows": [{"k": 1, "t": -(2**63) + 2, "w": 7}]},
        {"op": "restart"},
        {"op": "watermark", "to": 3},
        {"op": "restart"},
        {"op": "add", "input": "left", "rows": [{"k": 1, "t": 5, "v": 0}]},
        {"op": "finish"},
    ]
    outputs = run(join(AsOf(strategy)), events, "engine", stored=True)
    assert [pane["r_w"] for pane in outputs[-1]["panes"]] == [7]


def test_compared_columns_have_one_type() -> None:
    """Semantics 28: in process, too."""
    schemas = {"left": SCHEMAS["left"], "right": {"k": pl.Int32(), "t": LONG, "w": LONG}}
    with pytest.raises(SpecError, match=r"keys k: bigint \(left\) and k: int \(right\)"):
        JoinEngine(join(Interval(0, 5)), schemas)
