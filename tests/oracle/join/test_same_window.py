"""The oracle for window joins does what the text says, with rows that were worked out by hand."""

from collections.abc import Mapping
from typing import Any

import pytest

from panewise import AfterCount, AfterWatermark, Always, Repeatedly, Session, Tumbling
from panewise.spec.conditions import left as left_column
from panewise.spec.conditions import right as right_column
from panewise.spec.operators.join.same_window import SameWindow
from tests.oracle.join.cases import left, oracle, right, shown

EACH = Repeatedly(AfterCount(1))


def windows(output: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Returns op, both event times, the bounds of the window, timing and join_time of each emitted row."""
    names = ("op", "t", "u", "window_start", "window_end", "timing", "join_time")
    return [tuple(pane.get(name) for name in names) for pane in output["panes"]]


def test_numbers_of_firings() -> None:
    """semantics 37.21: only firings that emit rows have a number, and all of their rows have the same."""
    match = SameWindow(
        Tumbling(10),
        trigger=AfterWatermark(early=Always(), late=Always()),
        accumulation="accumulating",
        allowed_lateness=5,
    )
    one = oracle(match, how="full")
    names = ("timing", "index", "nonspeculative_index", "is_first", "is_last")

    def numbers(output: Any) -> list[tuple[Any, ...]]:
        return [tuple(pane[name] for name in names) for pane in output["panes"]]

    assert numbers(one.add(left(1), "left")) == []
    assert numbers(one.add(right(2), "right")) == [("EARLY", 0, -1, True, False)]
    assert numbers(one.add(right(3), "right")) == [("EARLY", 1, -1, False, False)] * 2
    assert numbers(one.watermark(10)) == []
    assert numbers(one.add(right(4), "right")) == [("LATE", 2, 0, False, False)] * 3
    assert numbers(one.add(left(5, k=2.0), "left")) == []
    assert numbers(one.watermark(15)) == [("LATE", 0, 0, True, True)]


def test_a_retraction_repeats_bounds_and_timing() -> None:
    """semantics 20.5, 37.20: rows that one firing retracts were emitted by several others."""
    one = oracle(SameWindow(Session(4), trigger=EACH), how="left", unmatched="early")
    assert windows(one.add(left(10), "left")) == [("+", 10, None, 10, 14, "EARLY", 13)]
    assert windows(one.add(left(12), "left")) == [("+", 12, None, 10, 16, "EARLY", 15)]
    assert windows(one.add(right(13), "right")) == [
        ("-", 10, None, 10, 14, "EARLY", 13),
        ("-", 12, None, 10, 16, "EARLY", 15),
        ("+", 10, 13, 10, 17, "EARLY", 16),
        ("+", 12, 13, 10, 17, "EARLY", 16),
    ]


@pytest.mark.parametrize("accumulation", ["discarding", "retracting"])
def test_a_retraction_on_time_of_an_early_row(accumulation: Any) -> None:
    """semantics 37.20: the timing of a retraction is not that of the firing that retracts."""
    match = SameWindow(Tumbling(10), trigger=AfterWatermark(early=AfterCount(2)), accumulation=accumulation)
    one = oracle(match, how="left", unmatched="early")
    early = [("+", 1, None, 0, 10, "EARLY", 9), ("+", 2, None, 0, 10, "EARLY", 9)]
    assert windows(one.add(left(1, 2), "left")) == early
    assert windows(one.add(right(3), "right")) == []
    assert windows(one.watermark(10)) == [
        *(("-", *row[1:]) for row in early),
        ("+", 1, 3, 0, 10, "ON_TIME", 9),
        ("+", 2, 3, 0, 10, "ON_TIME", 9),
    ]


def test_a_session_that_has_grown_retracts_the_row_as_it_was_emitted() -> None:
    """semantics 20.5, 37.20: with "discarding", too."""
    match = SameWindow(Session(5), trigger=EACH, accumulation="discarding")
    one = oracle(match, how="left", unmatched="early")
    assert windows(one.add(left(10), "left")) == [("+", 10, None, 10, 15, "EARLY", 14)]
    assert windows(one.add(right(13), "right")) == [
        ("-", 10, None, 10, 15, "EARLY", 14),
        ("+", 10, 13, 10, 18, "EARLY", 17),
    ]


def test_a_firing_without_a_change_has_no_retraction() -> None:
    """semantics 37.20: the on-time firing emits nothing, so the late one retracts what was emitted early."""
    match = SameWindow(
        Tumbling(10),
        trigger=AfterWatermark(early=Always(), late=Always()),
        accumulation="retracting",
        allowed_lateness=5,
    )
    one = oracle(match)
    one.add_batch({"left": left(1), "right": right(2)})
    assert windows(one.watermark(10)) == []
    assert windows(one.add(right(3), "right")) == [
        ("-", 1, 2, 0, 10, "EARLY", 9),
        ("+", 1, 2, 0, 10, "LATE", 9),
        ("+", 1, 3, 0, 10, "LATE", 9),
    ]


def test_a_condition_and_null_keys() -> None:
    """semantics 28, 38: rows with a null key are in windows, and have no partner."""
    condition = left_column("t") < right_column("u")
    one = oracle(SameWindow(Tumbling(10)), condition=condition, how="full")
    one.add_batch({"left": [*left(5), *left(1, k=None)], "right": [*right(4, 6), *right(2, k=None)]})
    emitted = shown(one.finish())
    assert emitted == [("+", 1, None), ("+", None, 2), ("+", 5, 6), ("+", None, 4)]
