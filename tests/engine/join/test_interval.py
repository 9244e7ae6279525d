"""Interval joins: what they store, and which of it a step reads (semantics 39, 41)."""

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from panewise import Interval, JoinOperator, Side, StreamTime, left, right
from panewise.engine.columns import END, NUMBER, TIME
from panewise.engine.join.interval import retention
from panewise.engine.join.operator import JoinEngine
from panewise.engine.run_library import RunLibrary
from panewise.engine.tables.run import RunRows, Shape
from panewise.spec.operators.join.columns import Selected
from panewise.state import MemoryRunStore, Run
from tests.engine.join.micro_batches import SCHEMAS, inspected, rows, steps


def join(how: Any, **fields: Any) -> JoinOperator:
    side = Side(keys=["k"], event_time="t")
    other = side if how in ("anti", "semi") else replace(side, prefix="r_")
    return JoinOperator(left=side, right=other, match=Interval(0, 5), how=how, **fields)


def test_expiry_reads_the_queue_and_not_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    micro_batches = steps(join("left"), MemoryRunStore())
    next(micro_batches).operator.add(rows("left", *((n, n, 0) for n in range(100))), "left")
    operator, read = next(micro_batches).operator, list[int]()
    plain = RunLibrary.read

    def spied(library: RunLibrary, run: Run, shape: Shape) -> RunRows:
        read.append(library.table)
        return plain(library, run, shape)

    monkeypatch.setattr(RunLibrary, "read", spied)
    assert operator.advance(watermark=13).panes["t"].to_list() == list(range(8))
    assert set(read) == {list(operator.state.tables).index("left unmatched")}


@pytest.mark.parametrize("how", ["left", "right", "full", "anti"])
@pytest.mark.parametrize("unmatched", ["final", "early"])
def test_only_rows_that_may_be_emitted_later_are_queued(how: str, unmatched: str) -> None:
    stored = next(steps(join(how, unmatched=unmatched), MemoryRunStore()))
    batch = {"left": rows("left", (1, 10, 0), (2, 11, 0)), "right": rows("right", (1, 12, 0), (3, 13, 0))}
    stored.operator.add_batch(batch)  # type: ignore[attr-defined]
    stored.commit()
    tables = stored.operator.state.tables
    queued = {
        name: table.all()["t"].to_list() for name, table in tables.items() if name.endswith("unmatched")
    }
    sides = {"left": ["left"], "anti": ["left"], "right": ["right"], "full": ["left", "right"]}[how]
    times = {"left": [11], "right": [13]}
    assert queued == ({f"{side} unmatched": times[side] for side in sides} if unmatched == "final" else {})


@pytest.mark.parametrize("how", ["inner", "full", "semi"])
def test_an_inspection_shows_the_retained_rows(how: str) -> None:
    """Semantics 37.1, 41: rows that are evicted by number are not among them."""
    match = Interval(None, None, retain_for=50, retain_rows=2)
    spec, store = replace(join(how), match=match), MemoryRunStore()
    micro_batches = steps(spec, store)
    operator = next(micro_batches).operator
    operator.add(rows("right", (1, 2, 0), (1, 3, 0), (2, 1, 0)), "right")
    operator.add(rows("left", (3, 6, 1), (3, 7, 1), (3, 8, 1)), "left")
    next(micro_batches).operator.add(rows("right", (1, 4, 0)), "right")
    stored = next(micro_batches)
    assert stored.operator.live()["window_start"].to_list() == [1, 3, 4, 7, 8]
    found = inspected(stored.operator)
    assert sorted(found.rows["__end"]) == [1, 3, 4, 7, 8]


def test_merges_drop_evicted_rows() -> None:
    """Semantics 41."""
    spec, store = replace(join("left"), match=Interval(None, 0, retain_rows=2)), MemoryRunStore()
    for number, stored in zip(range(12), steps(spec, store), strict=False):
        stored.operator.add(rows("right", *((key, number, 0) for key in range(5))), "right")
    table = next(steps(spec, store)).operator.state.tables["right"]
    assert sum(run.rows for run in table.runs) < 5 * 12
    assert table.all().group_by("k").len()["len"].min() >= 2


def test_the_queue_has_only_the_columns_that_are_emitted() -> None:
    """A column that only the condition reads is not in it."""
    spec = join("anti", condition=left("v") == right("w"), select=[Selected("left", "k")])
    tables = next(steps(spec, MemoryRunStore())).operator.state.tables
    shapes = {name: set(table.shape.schema) for name, table in tables.items()}
    own = {TIME, NUMBER, END}
    assert shapes["left unmatched"] == {"k"} | own
    assert {"k", "v"} | own < shapes["left"]


@pytest.mark.parametrize("retain_for", [None, 10**12])
@pytest.mark.parametrize(
    ("how", "fields"),
    [("left", {}), ("right", {}), ("full", {}), ("anti", {}), ("semi", {}), ("left", {"unmatched": "early"})],
)
def test_evicted_rows_do_not_stay_in_any_table(how: str, fields: Any, retain_for: int | None) -> None:
    """Semantics 41. Rows of key 0 get no partner, those of key 9 at once, the others in a later batch."""
    bounds, mine, other = ((None, 0), "right", "left") if how == "right" else ((0, None), "left", "right")
    match = Interval(*bounds, retain_for=retain_for, retain_rows=2)
    spec, store = replace(join(how, **fields), match=match), MemoryRunStore()
    for number, stored in zip(range(16), steps(spec, store), strict=False):
        operator, at = stored.operator, 10 * number
        operator.advance(watermark=at)
        partners = rows(other, *((key, at, 0) for key in range(1, 9)), (9, at + 9, 0))
        batch = {mine: rows(mine, *((key, at + place, 0) for key in range(10) for place in range(1, 9)))}
        operator.add_batch(batch | {other: partners})  # type: ignore[attr-defined]
    tables = next(steps(spec, store)).operator.state.tables
    counts = {name: sum(run.rows for run in table.runs) for name, table in tables.items()}
    assert max(counts.values()) <= 80, counts  # two rows of each key in up to four runs


def test_only_evicted_rows_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the other retained rows of the keys a batch reads no more than the places (semantics 37.1)."""
    spec, store = replace(join("left"), match=Interval(0, None, retain_rows=50)), MemoryRunStore()
    micro_batches = steps(spec, store)
    for first in (0, 25):  # two runs
        batch = [(key, place, 0) for key in range(5) for place in range(first, first + 25)]
        next(micro_batches).operator.add(rows("left", *batch), "left")
    operator, heights, plain = next(micro_batches).operator, list[int](), retention.take_rows

    def spied(frame: pl.DataFrame, places: Any) -> pl.DataFrame:
        heights.append(len(places))
        return plain(frame, places)

    monkeypatch.setattr(retention, "take_rows", spied)
    batch = [(key, 60 + place, 0) for key in range(5) for place in (0, 1)]
    emitted = operator.add(rows("left", *batch), "left")
    assert emitted.panes.select("k", "t").rows() == [(key, place) for place in (0, 1) for key in range(5)]
    assert sum(heights) == 10


def test_the_count_of_a_key_whose_rows_have_expired_evicts_no_row() -> None:
    """A row that arrives and expires in one batch is emitted, however many rows its key had before."""
    side = Side(keys=["k"], event_time="t", watermark=StreamTime(0, per="all"))
    match = Interval(0, None, retain_for=10, retain_rows=1)
    left_side = replace(side, allowed_lateness=100)
    spec = JoinOperator(left=left_side, right=replace(side, prefix="r_"), match=match, how="left")
    operator = JoinEngine(spec, SCHEMAS)
    operator.add_batch({"left": rows("left", *((1, place, 0) for place in range(4)))})
    operator.add_batch({"right": rows("right", (2, 50, 0))})
    outputs = operator.add_batch({"left": rows("left", (1, 45, 0)), "right": rows("right", (2, 100, 0))})
    assert [row for one in outputs for row in one.panes["t"].to_list()] == [45]
