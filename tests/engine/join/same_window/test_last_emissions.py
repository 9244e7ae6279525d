"""What windows store of their last emission: timing for retractions, and numbers (semantics 37.20, 37.21)."""

from typing import Any

import pytest

from panewise import AfterWatermark, Always, SameWindow, Session, Side, Tumbling
from panewise.spec.conditions import left, right
from panewise.spec.operators.join.operator import JoinOperator
from panewise.testing import run
from panewise.testing.compare import same
from tests.engine.join.same_window.test_first_panes import SIDES, TYPES, add, mark, retracted

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


def numbers(spec: JoinOperator, events: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Returns the numbers of emitted rows, which all ways to run the engine agree on."""
    whole, other = (run(spec, events, "engine", types=TYPES, stored=stored) for stored in (False, True))
    assert same(whole, other)
    assert same(whole, run(spec, events, types=TYPES))
    names = ("timing", "index", "nonspeculative_index", "is_first", "is_last")
    return [tuple(pane[name] for name in names) for output in whole for pane in output["panes"]]


def accumulating(window: Any, trigger: Any = TRIGGER, lateness: int = 5) -> JoinOperator:
    match = SameWindow(window, trigger=trigger, accumulation="accumulating", allowed_lateness=lateness)
    return JoinOperator(**SIDES, match=match)


def test_numbers_of_firings() -> None:
    """semantics 37.21: firings that emit nothing have no number."""
    early = [add("left", 1), add("right", 2), {"op": "restart"}, mark(10)]
    events = [*early, add("right", 3), {"op": "finish"}]
    first, later = ("EARLY", 0, -1, True, False), ("LATE", 1, 0, False, False)
    assert numbers(accumulating(Tumbling(10)), events) == [first, later, later]


def test_a_session_that_grows_begins_again() -> None:
    """semantics 37.21: it is a new window."""
    events = [add("left", 1), add("right", 2), add("right", 3), add("right", 2)]
    first, second = ("EARLY", 0, -1, True, False), ("EARLY", 1, -1, False, False)
    assert numbers(accumulating(Session(5)), events) == [first, first, first, second, second, second]


def test_windows_that_fire_once() -> None:
    """semantics 37.21: their only firing is the first and the last one."""
    events = [add("left", 1), add("right", 2), mark(10)]
    spec = accumulating(Tumbling(10), AfterWatermark(), lateness=0)
    assert numbers(spec, events) == [("ON_TIME", 0, 0, True, True)]
