"""The oracle for window joins does what the text says, with rows that were worked out by hand."""

from collections.abc import Mapping
from typing import Any

import pytest

from panewise import AfterCount, AfterWatermark, Always, Hopping, Repeatedly, Session, Tumbling
from panewise.spec.conditions import left as left_column
from panewise.spec.conditions import right as right_column
from panewise.spec.operators.join.same_window import SameWindow
from tests.oracle.join.cases import left, oracle, right, shown

TEN = SameWindow(Tumbling(10))
EACH = Repeatedly(AfterCount(1))


def windows(output: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Returns op, both event times, the bounds of the window, timing and join_time of each emitted row."""
    names = ("op", "t", "u", "window_start", "window_end", "timing", "join_time")
    return [tuple(pane.get(name) for name in names) for pane in output["panes"]]


@pytest.mark.parametrize(
    ("how", "emitted"),
    [
        ("inner", [("+", 1, 2), ("+", 1, 9)]),
        ("left", [("+", 1, 2), ("+", 1, 9)]),
        ("right", [("+", 1, 2), ("+", 1, 9), ("+", None, 3)]),
        ("full", [("+", 1, 2), ("+", 1, 9), ("+", None, 3)]),
        ("semi", [("+", 1, None)]),
        ("anti", []),
    ],
)
def test_types(how: Any, emitted: list[tuple[Any, ...]]) -> None:
    """semantics 27, 37.10: rows of one key in one window, when the watermark reaches its end."""
    one = oracle(TEN, how=how)
    one.add(left(1, 10), "left")
    one.add([*right(2, 9), *right(3, k=2.0)], "right")
    assert shown(one.watermark(9)) == []
    assert shown(one.watermark(10)) == emitted
    later = {"left": [("+", 10, None)], "full": [("+", 10, None)], "anti": [("+", 10, None)]}
    assert shown(one.finish()) == later.get(how, [])


def test_emitted_rows_have_their_window() -> None:
    """semantics 37.10, 40, 40.1: a pair is emitted in each window that both rows belong to."""
    one = oracle(SameWindow(Hopping(10, 5)), how="left")
    one.add_batch({"left": left(7), "right": right(3)})
    assert windows(one.watermark(10)) == [("+", 7, 3, 0, 10, "ON_TIME", 9)]
    assert windows(one.watermark(15)) == [("+", 7, None, 5, 15, "ON_TIME", 14)]


def test_the_watermark_of_the_windows_is_the_lower_one() -> None:
    """semantics 37.11: it decides which rows of either side are late."""
    one = oracle(TEN)
    one.watermark(30, "left")
    assert one.add(left(9), "left")["counts"]["left"]["applied"] == 1
    one.watermark(12, "right")
    late = one.add(left(9, 11), "left")["late"]
    assert [(row["row"]["t"], row["reason"], row["windows"], row["late_by"]) for row in late] == [
        (9, "expired", [[0, 10]], 3)
    ]


def test_a_row_may_be_late_for_some_of_its_windows() -> None:
    """semantics 37.11, 13: it is applied to the others."""
    one = oracle(SameWindow(Hopping(10, 5)), how="left")
    one.watermark(10)
    found = one.add(left(7), "left")
    assert [(row["windows"], row["partial"]) for row in found["late"]] == [([[0, 10]], True)]
    assert found["counts"]["left"] | {"replays": 0} == {
        "rows_in": 1,
        "applied": 1,
        "replays": 0,
        "late": 0,
        "invalid": 0,
        "partially_late": 1,
    }
    assert windows(one.finish()) == [("+", 7, None, 5, 15, "ON_TIME", 14)]


def test_a_session_has_rows_of_both_sides() -> None:
    """semantics 37.11: a right row between two left rows makes one session of them."""
    one = oracle(SameWindow(Session(5)))
    one.add(left(0, 8), "left")
    one.add(right(4), "right")
    assert windows(one.watermark(13)) == [
        ("+", 0, 4, 0, 13, "ON_TIME", 12),
        ("+", 8, 4, 0, 13, "ON_TIME", 12),
    ]


@pytest.mark.parametrize(
    ("accumulation", "second", "third"),
    [
        ("discarding", [("-", 1, None), ("+", 1, 2)], [("+", 1, 3)]),
        ("accumulating", [("+", 1, 2)], [("+", 1, 2), ("+", 1, 3)]),
        (
            "retracting",
            [("-", 1, None), ("+", 1, 2)],
            [("-", 1, 2), ("+", 1, 2), ("+", 1, 3)],
        ),
    ],
)
def test_accumulation(accumulation: Any, second: list[Any], third: list[Any]) -> None:
    """semantics 37.12, 37.13: a firing compares the content of the window with that of the last firing."""
    match = SameWindow(Tumbling(10), trigger=EACH, accumulation=accumulation)
    one = oracle(match, how="left", unmatched="early")
    assert shown(one.add(left(1), "left")) == [("+", 1, None)]
    assert shown(one.add(right(2), "right")) == second
    assert shown(one.add(right(3), "right")) == third
    assert shown(one.add(right(4, k=2.0), "right")) == []  # a window without left rows
    assert shown(one.finish()) == []


def test_rows_without_a_partner_wait_for_the_last_firing() -> None:
    """semantics 37.12: with allowed lateness that is the one at the expiry of the window."""
    match = SameWindow(Tumbling(10), trigger=AfterWatermark(late=Always()), allowed_lateness=5)
    one = oracle(match, how="full")
    one.add(left(1, 2, k=None), "left")
    one.add_batch({"left": left(3), "right": right(4)})
    assert windows(one.watermark(10)) == [("+", 3, 4, 0, 10, "ON_TIME", 9)]
    assert windows(one.add(right(5), "right")) == [("+", 3, 5, 0, 10, "LATE", 9)]
    assert windows(one.watermark(15)) == [
        ("+", 1, None, 0, 10, "LATE", 9),
        ("+", 2, None, 0, 10, "LATE", 9),
    ]


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


ACROSS = [("+", 9, 3), ("+", 0, 10), ("+", 0, 6), ("+", 9, 6)]
MERGED = [("+", 0, 3), ("+", 9, 3), ("+", 0, 10), ("+", 9, 10), ("+", 0, 6), ("+", 9, 6)]


@pytest.mark.parametrize(
    ("accumulation", "emitted"),
    [
        ("discarding", ACROSS),
        ("accumulating", MERGED),
        ("retracting", [("-", 0, 3), ("-", 9, 10), *MERGED]),
    ],
)
def test_sessions_that_merge(accumulation: Any, emitted: list[Any]) -> None:
    """semantics 37.12, 37.13: pairs of the merged sessions are not new, pairs across them are."""
    one = oracle(SameWindow(Session(4), trigger=EACH, accumulation=accumulation))
    assert shown(one.add_batch({"left": left(0), "right": right(3)})) == [("+", 0, 3)]
    assert shown(one.add_batch({"left": left(9), "right": right(10)})) == [("+", 9, 10)]
    assert shown(one.add(right(6), "right")) == emitted
    assert shown(one.finish()) == []


def test_a_condition_and_null_keys() -> None:
    """semantics 28, 38: rows with a null key are in windows, and have no partner."""
    condition = left_column("t") < right_column("u")
    one = oracle(TEN, condition=condition, how="full")
    one.add_batch({"left": [*left(5), *left(1, k=None)], "right": [*right(4, 6), *right(2, k=None)]})
    emitted = shown(one.finish())
    assert emitted == [("+", 1, None), ("+", None, 2), ("+", 5, 6), ("+", None, 4)]


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
