"""The oracle for joins with the last rows does what the text says (semantics 37.4 to 37.6)."""

from typing import Any

import pytest

from panewise import StreamTime
from panewise.spec.conditions import left as left_column
from panewise.spec.conditions import right as right_column
from panewise.spec.operators.join.match import AsOf, LastRows
from panewise.streamwindow import count, delta, time
from tests.oracle.join.cases import MAX, left, oracle, right, shown

RECORD: dict[str, Any] = {"evaluate": "record"}


def stored(one: Any) -> list[int]:
    return [window["window_start"] for window in one.windows()]


def test_event_times_make_no_difference() -> None:
    """semantics 37.4, 27.1: a right row that arrives after a left row is no partner of it."""
    one = oracle(LastRows(2), how="left")
    for at in (50, -3, 7):
        one.add(right(at), "right")
    assert shown(one.add(left(0), "left")) == [("+", 0, -3), ("+", 0, 7)]
    assert shown(one.add(right(0), "right")) == []
    assert shown(one.finish()) == []


def test_each_key_has_its_windows() -> None:
    """semantics 37.4, 28: also NaN; -0.0 is 0.0."""
    one = oracle(LastRows(1))
    nan = float("nan")
    one.add([*right(1, k=nan), *right(2, k=0.0), *right(3, k=5.0), *right(4, k=None)], "right")
    found = one.add([*left(10, k=nan), *left(11, k=-0.0), *left(12, k=None), *left(13, k=6.0)], "left")
    assert shown(found) == [("+", 10, 1), ("+", 11, 2)]


def test_a_row_is_matched_before_it_is_inserted() -> None:
    """semantics 37.4: the second example; a row is no partner of rows of its own side."""
    one = oracle(LastRows(2, left=1), left={"order": ["m"]}, right={"order": ["n"]})
    rows = {"left": [*left(1, m=1), *left(2, m=3)], "right": [*right(5, n=2), *right(6, n=4), *right(7, n=5)]}
    assert shown(one.add_batch(rows)) == [("+", 1, 5), ("+", 2, 5), ("+", 2, 6), ("+", 2, 7)]


def test_only_right_rows_may_look_for_partners() -> None:
    """semantics 37.4, 37.5: with a window of 0 right rows no right row is stored."""
    one = oracle(LastRows(0, left=count(1)), how="left")
    one.add(right(1), "right")
    assert shown(one.add(left(2, 3), "left")) == [("+", 2, None)]
    assert shown(one.add(right(4, 5), "right")) == [("+", 3, 4), ("+", 3, 5)]
    assert stored(one) == [3]


def test_the_condition_does_not_change_a_window() -> None:
    """semantics 37.4, 38: no older row takes the place of one for which it is false."""
    one = oracle(LastRows(2), how="left", condition=left_column("a") == right_column("b"))
    one.add([*right(1, b="x"), *right(2, b="y"), *right(3, b="z")], "right")
    assert shown(one.add([*left(4, a="x"), *left(5, a="y")], "left")) == [("+", 5, 2), ("+", 4, None)]


@pytest.mark.parametrize(
    ("how", "found"),
    [
        ("inner", [[("+", 1, 3), ("+", 1, 4)], [], []]),
        ("left", [[("+", 1, 3), ("+", 1, 4)], [("+", 2, None)], [("+", 9, None)]]),
        ("semi", [[("+", 1, None)], [], []]),
        ("anti", [[], [("+", 2, None)], [("+", 9, None)]]),
    ],
)
def test_what_each_type_emits(how: Any, found: Any) -> None:
    """semantics 27, 27.2, 37.5: a row without a partner when it is evicted, or no right row can come."""
    one = oracle(LastRows(0, left=1), how=how)
    one.add([*left(1), *left(2, k=2.0)], "left")
    assert shown(one.add(right(3, 4), "right")) == found[0]
    assert shown(one.add(left(9, k=2.0), "left")) == found[1]
    assert shown(one.finish("right")) == found[2]


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


def test_early_rows_are_retracted() -> None:
    """semantics 37.5, 39: if a partner comes while they are in their window."""
    one = oracle(LastRows(1, left=1), how="left", unmatched="early")
    assert shown(one.add([*left(1), *left(2, k=2.0)], "left")) == [("+", 1, None), ("+", 2, None)]
    assert shown(one.add(left(3), "left")) == [("+", 3, None)]
    assert shown(one.add(right(9), "right")) == [("-", 3, None), ("+", 3, 9)]
    assert shown(one.finish()) == []


def test_a_window_by_time_evicts_at_a_reading_of_the_clock() -> None:
    """semantics 37.5: once more than the duration has passed since the arrival."""
    one = oracle(LastRows(time(10)))
    one.clock(100)
    one.add(right(1), "right")
    one.clock(105)
    one.add(right(2), "right")
    one.clock(110)
    assert shown(one.add(left(1), "left")) == [("+", 1, 1), ("+", 1, 2)]
    one.clock(111)
    assert shown(one.add(left(2), "left")) == [("+", 2, 2)]
    assert stored(one) == [2]
    one.clock(50)  # the clock does not move back
    assert stored(one) == [2]


def test_the_example_of_a_window_by_time() -> None:
    """Semantics 37.5."""
    one = oracle(LastRows(1, left=time(10)), how="left")
    one.clock(100)
    one.add(left(5), "left")
    assert shown(one.clock(110)) == []
    assert shown(one.clock(300)) == [("+", 5, None)]


def test_a_window_by_delta_evicts_up_to_the_first_row_that_stays() -> None:
    """semantics 37.4, 10.8: falling values evict nothing."""
    one = oracle(LastRows(delta("u", 2)))
    one.add(right(10), "right")
    one.add(right(3), "right")
    one.add(right(12), "right")
    assert shown(one.add(left(0), "left")) == [("+", 0, 3), ("+", 0, 10), ("+", 0, 12)]
    one.add(right(13), "right")
    assert shown(one.add(left(0), "left")) == [("+", 0, 12), ("+", 0, 13)]


def test_a_row_without_a_value_for_delta_is_invalid() -> None:
    """semantics 37.5, 10.4: after all other tests."""
    one = oracle(LastRows(delta("k", 1), left=delta("k", 1)), left={"null_keys": False})
    output = one.add_batch(
        {
            "left": [*left(1, k=None), *left(2, k=float("nan"))],
            "right": [*right(1, k=None), *right(2, k=float("nan"))],
        }
    )
    assert [entry["reason"] for entry in output["invalid"]] == [
        "key k is null (null_keys=False)",
        "key k is NaN (null_keys=False)",
        "delta k is null",
        "delta k is NaN",
    ]


def test_late_rows_are_in_no_window() -> None:
    """semantics 37.4: only applied rows are inserted."""
    one = oracle(LastRows(1), right={"watermark": StreamTime(per="all")})
    one.add(right(9), "right")
    assert one.add(right(8), "right")["counts"]["right"]["late"] == 1
    assert shown(one.add(left(0), "left")) == [("+", 0, 9)]


def test_a_row_that_is_evicted_is_emitted_in_its_turn() -> None:
    """semantics 36.7, 40.3: after each row with "record", in the order of time with "batch"."""
    rows = {"left": left(1, 2, 3, 4)}
    fields: dict[str, Any] = {"how": "left", "left": {"order": ["t"]}}
    assert shown(oracle(LastRows(0, left=2), **fields).add_batch(rows)) == [("+", 1, None), ("+", 2, None)]
    given = {"left": [*left(9, n=1), *left(5, n=2), *left(7, n=3)]}
    fields = {"how": "left", "left": {"order": ["n"]}}
    assert shown(oracle(LastRows(0, left=1), **fields).add_batch(given)) == [("+", 5, None), ("+", 9, None)]
    record = oracle(LastRows(0, left=1), **fields, **RECORD).add_batch(given)
    assert shown(record) == [("+", 9, None), ("+", 5, None)]


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
