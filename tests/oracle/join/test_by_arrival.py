"""The oracle for joins with the last rows does what the text says (semantics 37.4 to 37.6)."""

from typing import Any

import pytest

from panewise.spec.conditions import left as left_column
from panewise.spec.conditions import right as right_column
from panewise.spec.operators.join.as_of import AsOf
from panewise.spec.operators.join.last_rows import LastRows
from panewise.streamwindow import time
from tests.oracle.join.cases import MAX, left, oracle, right, shown


def stored(one: Any) -> list[int]:
    return [window["window_start"] for window in one.windows()]


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_left_rows_with_a_partner_are_not_listed(how: Any) -> None:
    """Semantics 41.2."""
    one = oracle(LastRows(0, left=2), how=how)
    one.add([*left(1), *left(2, k=2.0)], "left")
    assert stored(one) == [1, 2]
    one.add(right(3), "right")
    assert stored(one) == [2]


def test_windows_are_stored_until_no_row_can_come() -> None:
    """semantics 41.2: until H of the other side is plus infinity, whatever it is before."""
    one = oracle(LastRows(1, left=1))
    one.add_batch({"left": left(1), "right": right(2)})
    one.watermark(MAX - 1)
    assert stored(one) == [1, 2]
    one.watermark(MAX, "left")
    assert stored(one) == [1]
    one.finish("right")
    assert stored(one) == []


def test_the_example_of_a_window_by_time() -> None:
    """Semantics 37.5."""
    one = oracle(LastRows(1, left=time(10)), how="left")
    one.clock(100)
    one.add(left(5), "left")
    assert shown(one.clock(110)) == []
    assert shown(one.clock(300)) == [("+", 5, None)]


@pytest.mark.parametrize(
    ("match", "fields", "known"),
    [
        (LastRows(1, left=1), {"timestamp": "later"}, True),
        (LastRows(1, left=1), {"timestamp": "later", "how": "left"}, False),
        (LastRows(1), {"timestamp": "later", "how": "left"}, True),
        (LastRows(1), {"timestamp": "left"}, True),
        (LastRows(1), {"timestamp": "right"}, False),
        (LastRows(1), {"timestamp": "earlier"}, False),
        (LastRows(1), {"how": "anti"}, True),
        (LastRows(1), {"how": "semi"}, True),
        (LastRows(1, left=1), {"how": "semi"}, False),
        (LastRows(0, left=1), {"timestamp": "right"}, True),
        (LastRows(0, left=1), {"timestamp": "left"}, False),
        (LastRows(0, left=1), {"timestamp": "right", "how": "left"}, False),
        (LastRows(2, order="event_time"), {"timestamp": "left"}, True),
        (LastRows(2, order="event_time"), {"timestamp": "later"}, True),
        (LastRows(2, order="event_time"), {"timestamp": "right"}, False),
        (LastRows(2, order="event_time"), {"how": "anti"}, True),
    ],
)
def test_the_output_watermark(match: LastRows, fields: dict[str, Any], known: bool) -> None:
    """semantics 40.4: the lower horizon, or none until both sides have ended."""
    one = oracle(match, right={"allowed_lateness": 10}, **fields)
    one.watermark(60)
    assert one.output_watermark() == (50 if known else None)
    one.finish()
    assert one.output_watermark() == MAX


def test_rows_by_event_time_as_in_the_example() -> None:
    """semantics 37.6: decided by the right horizon, in any order of arrival."""
    one = oracle(LastRows(2, order="event_time"), how="left")
    one.add(right(8, 3), "right")
    one.add(left(7), "left")
    one.add(right(5), "right")
    assert stored(one) == [7]
    one.watermark(100, "left")
    assert shown(one.watermark(7, "right")) == []
    assert shown(one.watermark(8, "right")) == [("+", 7, 3), ("+", 7, 5)]


def test_of_equal_times_the_last_arrivals_match() -> None:
    """semantics 37.6, 27.1: the pairs are in the order of arrival."""
    one = oracle(LastRows(2, order="event_time"))
    for text in "abc":
        one.add(right(5, b=text), "right")
    one.add(left(5), "left")
    assert [pane["b"] for pane in one.finish()["panes"]] == ["b", "c"]


def test_one_row_by_event_time_is_as_of() -> None:
    """semantics 37.6: also for rows with a null key, and without a partner."""
    found = []
    for match in (AsOf(), LastRows(1, order="event_time")):
        one = oracle(match, how="left")
        one.add_batch({"left": [*left(4, 6, 2), *left(5, k=None)], "right": right(3, 6, 6, 1)})
        found.append([shown(one.watermark(6)), shown(one.finish())])
    assert found[0] == found[1] != [[], []]


def test_a_condition_is_evaluated_for_the_latest_rows() -> None:
    """semantics 37.6: no earlier row takes the place of one for which it is false."""
    condition = left_column("a") == right_column("b")
    one = oracle(LastRows(2, order="event_time"), how="left", condition=condition)
    one.add([*right(1, b="x"), *right(2, b="y"), *right(3, b="z")], "right")
    one.add([*left(4, a="x"), *left(5, a="y")], "left")
    assert shown(one.finish()) == [("+", 4, None), ("+", 5, 2)]
