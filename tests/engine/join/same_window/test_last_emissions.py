"""The timing that retracting windows store for their retractions (semantics 37.20)."""

from typing import Any

import pytest

from panewise import AfterWatermark, Always, SameWindow, Session, Side, Tumbling
from panewise.spec.conditions import left, right
from panewise.spec.operators.join.operator import JoinOperator
from tests.engine.join.same_window.test_first_panes import SIDES, add, mark, retracted

TRIGGER = AfterWatermark(early=Always(), late=Always())
CONDITIONS = [None, left("event_time") < right("event_time")]


def join(window: Any, condition: Any, **fields: Any) -> JoinOperator:
    match = SameWindow(window, trigger=TRIGGER, accumulation="retracting", allowed_lateness=10)
    return JoinOperator(**{**SIDES, **fields}, match=match, condition=condition)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_firings_without_a_change(condition: Any) -> None:
    """The on-time pane emits nothing, so the next one retracts what was emitted early."""
    later = [{"op": "restart"}, add("right", 3), add("right", 4)]
    events = [add("left", 1), add("right", 2), mark(10), *later]
    expected = [(1, 0, 10, "EARLY"), (1, 0, 10, "LATE"), (1, 0, 10, "LATE")]
    assert retracted(join(Tumbling(10), condition), events) == expected


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_session_that_grows(condition: Any) -> None:
    """What the session had emitted is retracted with its timing, though its on-time pane emitted nothing."""
    events = [add("left", 1), add("right", 2), mark(7), add("left", 6)]
    assert retracted(join(Session(5), condition), events) == [(1, 1, 7, "EARLY")]


def test_a_window_that_was_empty() -> None:
    """A window whose content was retracted retracts nothing until it has emitted again."""
    sides = {"left": Side(keys=["k"]), "right": Side(keys=["k"])}
    spec = join(Tumbling(10), None, how="anti", unmatched="early", **sides)
    events = [add("left", 1), add("right", 2), mark(10), add("left", 3)]
    assert retracted(spec, events) == [(1, 0, 10, "EARLY")]
