"""The panes that discarding windows store for the retractions of rows without a partner (semantics 37.20)."""

from typing import Any

import pytest

from panewise import AfterWatermark, Always, Hopping, SameWindow, Session, Side, Tumbling
from panewise.engine.join.same_window.same_window_engine import EMITTED
from panewise.engine.registry import operator_for
from panewise.spec.operators.join.operator import JoinOperator
from panewise.testing import run
from panewise.testing.compare import same
from panewise.testing.ingest import FLAGS, frame, schema

SIDES = {"left": Side(keys=["k"]), "right": Side(keys=["k"], prefix="r_")}
TYPES = {side: {"k": "bigint", "event_time": "bigint"} for side in SIDES}
TRIGGER = AfterWatermark(early=Always(), late=Always())


def join(window: Any, lateness: int = 10) -> JoinOperator:
    match = SameWindow(window, trigger=TRIGGER, allowed_lateness=lateness)
    return JoinOperator(**SIDES, match=match, how="left", unmatched="early")


def add(side: str, *times: int, k: int = 1) -> dict[str, Any]:
    return {"op": "add", "input": side, "rows": [{"k": k, "event_time": time} for time in times]}


def mark(to: int) -> dict[str, Any]:
    return {"op": "watermark", "to": to}


def retracted(spec: JoinOperator, events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Returns event time, bounds and timing of the retractions, which all ways to run the engine agree on."""
    whole, *others = (run(spec, events, "engine", types=TYPES, stored=stored) for stored in (False, True))
    assert all(same(whole, other) for other in [*others, run(spec, events, types=TYPES)])
    names = ("event_time", "window_start", "window_end", "timing")
    panes = (pane for output in whole for pane in output["panes"] if pane["op"] == "-")
    return [tuple(pane[name] for name in names) for pane in panes]


def test_rows_of_all_timings() -> None:
    events = [add("left", 1), mark(10), add("left", 2), mark(12), {"op": "restart"}, add("right", 3)]
    assert retracted(join(Tumbling(10)), events) == [(1, 0, 10, "EARLY"), (2, 0, 10, "LATE")]


def test_an_on_time_row() -> None:
    match = SameWindow(Tumbling(10), allowed_lateness=5)
    spec = JoinOperator(**SIDES, match=match, how="left", unmatched="early")
    assert retracted(spec, [add("left", 1), mark(10), add("right", 3)]) == [(1, 0, 10, "ON_TIME")]


def test_each_window_of_a_row_has_its_own_panes() -> None:
    events = [add("left", 7), mark(10), add("left", 8), add("right", 9)]
    expected = [(7, 0, 10, "EARLY"), (8, 0, 10, "LATE"), (7, 5, 15, "EARLY"), (8, 5, 15, "EARLY")]
    assert retracted(join(Hopping(10, 5)), events) == expected


@pytest.mark.parametrize("closed", ["left", "both"])
def test_sessions_that_merge_twice(closed: Any) -> None:
    events = [*(add("left", time) for time in (0, 19, 3, 11, 7)), add("right", 15)]
    first = [(0, 0, 5), (3, 0, 8), (7, 0, 16), (11, 11, 16), (19, 19, 24)]
    assert retracted(join(Session(5, closed=closed)), events) == [(*row, "EARLY") for row in first]


@pytest.mark.parametrize(("window", "left"), [(Tumbling(10), 20), (Session(5), 25)])
def test_what_is_stored_ends_with_its_window(window: Any, left: int) -> None:
    columns = {side: schema(of) | FLAGS for side, of in TYPES.items()}
    operator: Any = operator_for(join(window, lateness=0), columns)
    for side, times in (("left", (1,)), ("left", (2, 3)), ("right", (4,)), ("left", (25,))):
        operator.add(frame(SIDES[side], TYPES[side], add(side, *times)["rows"]), side)
    assert operator.state.tables[EMITTED].all().height > 1
    operator.advance(watermark=20)
    assert operator.state.tables[EMITTED].all()["__start"].to_list() == [left]
