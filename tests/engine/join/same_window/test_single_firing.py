"""Window joins whose windows fire once: no windows are stored (semantics 37.11 to 37.13)."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import AfterCount, AfterWatermark, Always, Calendar, Hopping, Side, Tumbling
from panewise.engine.join.same_window.operator import WindowJoinEngine
from panewise.engine.join.same_window.same_window_engine import WINDOWS
from panewise.engine.join.same_window.single_firing import SingleFiringEngine
from panewise.engine.registry import operator_for
from panewise.engine.saved_operator import restore, save
from panewise.spec import JoinOperator
from panewise.spec.operators.join.same_window import SameWindow, fires_once
from panewise.testing.join_events import join_events
from panewise.testing.joins import join_specs
from tests.engine.agreement import agree
from tests.engine.effort import FEW, SOAK
from tests.engine.join.micro_batches import inspected

pytestmark = pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")

ONCE = [
    SameWindow(Tumbling(5)),
    SameWindow(Tumbling(5, origin=2), trigger=AfterWatermark(), accumulation="retracting"),
    SameWindow(Tumbling(1), trigger=AfterWatermark(late=AfterCount(2)), accumulation="accumulating"),
    SameWindow(Calendar("day", zone="Europe/Berlin")),
]
SCHEMA = {"t": pl.Int64(), "k": pl.Int64(), "v": pl.Int64()}
SCHEMAS = {"left": SCHEMA, "right": SCHEMA}


def check(data: st.DataObject, **options: Any) -> None:
    match = data.draw(st.sampled_from(ONCE), label="match")
    spec = data.draw(join_specs(match=match), label="spec")
    agree(spec, data.draw(join_events(spec), label="events"), **options)


@FEW
@given(data=st.data())
def test_engine_is_oracle(data: st.DataObject) -> None:
    check(data, **data.draw(st.sampled_from([{}, {"stored": True}])))


@pytest.mark.soak
@SOAK
@given(data=st.data())
def test_engine_is_oracle_at_length(data: st.DataObject) -> None:
    check(data, **data.draw(st.sampled_from([{}, {"stored": True}])))


@pytest.mark.parametrize("match", ONCE)
def test_the_windows_fire_once(match: SameWindow) -> None:
    assert fires_once(match)
    assert isinstance(operator_for(spec_of(match), SCHEMAS), SingleFiringEngine)


@pytest.mark.parametrize(
    "match",
    [
        SameWindow(Hopping(4, 2)),
        SameWindow(Tumbling(5), trigger=Always()),
        SameWindow(Tumbling(5), trigger=AfterWatermark(early=Always())),
        SameWindow(Tumbling(5), allowed_lateness=1),
        SameWindow(Tumbling(5), allowed_lateness="unlimited"),
        SameWindow(Tumbling(5), drop_by="row"),
    ],
)
def test_other_windows_are_stored(match: SameWindow) -> None:
    assert not fires_once(match)
    assert isinstance(operator_for(spec_of(match), SCHEMAS), WindowJoinEngine)


def spec_of(match: SameWindow, how: Any = "full") -> JoinOperator:
    left, right = Side(keys=["k"], event_time="t"), Side(keys=["k"], event_time="t", prefix="r_")
    return JoinOperator(left=left, right=right, match=match, how=how)


def rows(*values: tuple[int, int | None, int]) -> pl.DataFrame:
    return pl.DataFrame(values, schema=SCHEMA, orient="row")


def test_a_state_with_stored_windows_is_continued() -> None:
    """A state in which windows are stored, too, is read: the rows alone decide."""
    spec, before = spec_of(SameWindow(Tumbling(10))), []
    stored = WindowJoinEngine(spec, SCHEMAS)
    for operator in (stored, SingleFiringEngine(spec, SCHEMAS)):
        operator.add(rows((1, 1, 10), (2, 2, 20), (25, 1, 30)), "left")
        operator.add(rows((3, 1, 40), (12, 1, 50), (4, None, 60)), "right")
        before.append(operator.live())
    assert before[0].equals(before[1])
    assert stored.state.tables[WINDOWS].all().height == 5
    after = [one.advance(watermark=10) for one in (stored, restore(spec, SCHEMAS, save(stored)))]
    assert after[0].panes.equals(after[1].panes)
    assert after[0].panes.height == 3
    continued = restore(spec, SCHEMAS, save(stored))
    assert continued.live().equals(stored.live())
    assert continued.next_due() == stored.next_due() == 20
    assert continued.advance(watermark=40).panes.equals(stored.advance(watermark=40).panes)
    assert continued.next_due() is None


def test_a_state_grows_only_by_rows() -> None:
    operator = operator_for(spec_of(SameWindow(Tumbling(10))), SCHEMAS)
    operator.add(rows((1, 1, 10), (12, 2, 20)), "left")
    assert operator.state.tables[WINDOWS].all().is_empty()
    assert operator.state.tables["left"].all().height == 2


def test_a_late_row_names_its_window() -> None:
    """semantics 13.4"""
    operator = operator_for(spec_of(SameWindow(Tumbling(10))), SCHEMAS)
    operator.advance(watermark=14)
    late = operator.add(rows((9, 1, 0), (10, 1, 0)), "right").late
    assert late["t"].to_list() == [9]
    assert late["__windows"].to_list() == [[{"start": 0, "end": 10}]]
    assert late.select("__reason", "__late_by", "__partial").rows() == [("expired", 5, False)]


@pytest.mark.parametrize("keys", [["k"], []])
def test_an_inspection_shows_the_windows_of_the_rows(keys: list[str]) -> None:
    """Semantics 41.4: the operator shows the same windows."""
    sides = {
        "left": Side(keys=keys, event_time="t"),
        "right": Side(keys=keys, event_time="t", prefix="r_"),
    }
    spec = JoinOperator(**sides, match=SameWindow(Tumbling(10)))
    operator = operator_for(spec, SCHEMAS)
    operator.add(rows((1, 1, 10), (2, 1, 20), (25, 1, 30)), "left")
    operator.add(rows((3, 1, 40), (12, 1, 50)), "right")
    operator.advance(watermark=10)
    found = inspected(operator)
    bounds = sorted(zip(found.rows["__start"], found.rows["__end"], strict=True))
    assert bounds == [(10, 20), (20, 30)]
    assert operator.live()["window_end"].to_list() == [20, 30]
    assert operator.live()["pending"].to_list() == [1, 1]
    assert found.watermark == 10
