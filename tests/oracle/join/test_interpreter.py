"""The oracle for joins does what the text says: each sentence, with rows that were worked out by hand."""

import math
from collections.abc import Mapping
from typing import Any

import pytest

from panewise import StreamTime
from panewise.oracle.join.interpreter import JoinInterpreter
from panewise.spec.operators.join.columns import HOWS
from panewise.spec.operators.join.interval import Interval
from tests.oracle.join.cases import MAX, TYPES, join, left, oracle, right, shown

PER_SIDE = StreamTime(per="all")


def reasons(output: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Returns side, event time, reason and lateness of each late row."""
    return [
        (late["input"], late["row"].get("t", late["row"].get("u")), late["reason"], late["late_by"])
        for late in output["late"]
    ]


# Sides, clocks and lateness


def test_the_horizon_saturates() -> None:
    """semantics 36.3: W - L is no lower than 64 bits allow, and minus infinity before the first watermark."""
    one = oracle(right={"allowed_lateness": 10}, how="left")
    one.watermark(-(2**63) + 3, "right")
    assert reasons(one.add(right(-(2**63) + 1), "right")) == []
    assert shown(one.add(left(-(2**63) + 1), "left")) == [("+", -(2**63) + 1, -(2**63) + 1)]


def test_idle_sides_of_the_example() -> None:
    """semantics 36.5: the watermark of an idle side rises with that of the other, and does not go back."""
    one = oracle(idle_after=10)
    one.clock(100)
    one.clock(109)
    one.watermark(20, "left")
    assert reasons(one.add(right(0), "right")) == []
    one.clock(110)
    assert reasons(one.add(right(19, 20), "right")) == [("right", 19, "behind", 1)]
    one.watermark(15, "right")
    one.watermark(30, "left")
    assert reasons(one.add(right(19, 20), "right")) == [("right", 19, "behind", 1)]
    one.clock(120)
    assert reasons(one.add_batch({"right": right(29), "left": left(29)})) == [("left", 29, "behind", 1)]


def test_two_idle_sides_stay_where_they_are() -> None:
    """semantics 36.5: nothing rises while both sides are idle. The end of an input is no report."""
    one = oracle(idle_after=10)
    one.watermark(50, "left")
    one.clock(0)
    one.clock(10)
    assert reasons(one.add(right(0), "right")) == []
    one.finish("left")
    assert reasons(one.add(right(0), "right")) == []
    other = oracle(idle_after=10)
    other.clock(0)
    other.clock(5)
    other.watermark(50, "left")
    other.finish("left")
    other.clock(10)
    assert reasons(other.add(right(49, 50), "right")) == [("right", 49, "behind", 1)]
    driven = oracle(idle_after=10, left={"watermark": PER_SIDE}, right={"watermark": PER_SIDE})
    driven.clock(0)
    driven.clock(9)
    driven.add(left(40), "left")
    driven.clock(10)
    assert reasons(driven.add(right(39), "right")) == [("right", 39, "behind", 1)]


# Matches


def test_differences_may_exceed_64_bits() -> None:
    """semantics 37: the difference of the whole numbers is compared."""
    one = oracle(Interval(MAX - 5, MAX))
    given = {"left": left(-MAX), "right": right(MAX, 0, -5, -6)}
    assert [pane["u"] for pane in one.add_batch(given)["panes"]] == [-5, 0]


def test_rows_may_be_retained_until_the_other_input_ends() -> None:
    """semantics 37.24, 27.1: whatever the watermarks are, and however many rows there are."""
    one = oracle(Interval(None, 0, retain_for="unlimited"), how="right")
    one.add(right(5, 1, 7), "right")
    assert shown(one.watermark(10**15)) == []
    assert shown(one.add(left(10**15), "left")) == [("+", 10**15, 1), ("+", 10**15, 5), ("+", 10**15, 7)]
    one.add(right(10**15, 10**15 + 1), "right")
    assert one.output_watermark() is None
    assert shown(one.finish("right")) == []
    assert shown(one.finish("left")) == [("+", None, 10**15 + 1)]
    both = [oracle(Interval(None, None, retain_for="unlimited")) for _ in range(2)]
    both[0].add_batch({"left": left(3, 2), "right": right(1, 9)})
    both[1].add(right(9, 1), "right")
    assert len(both[1].add(left(2, 3), "left")["panes"]) == 4


def late_joining(**fields: Any) -> JoinInterpreter:
    """Returns the join of the example of 37.25, with a watermark of 200."""
    one = oracle(Interval(-100, 100, late="join"), **{"how": "left", **fields})
    one.add(right(150, 90), "right")
    one.watermark(200)
    return one


def test_a_late_row_joins_what_is_stored() -> None:
    """semantics 37.25: the example: a row that is stored, one that can get no partner, and a late one."""
    one = late_joining()
    assert shown(one.add(left(120), "left")) == [("+", 120, 150)]
    assert shown(one.add(left(10), "left")) == [("+", 10, None)]
    output = one.add(left(-1), "left")
    assert (shown(output), [entry["late_by"] for entry in output["late"]]) == ([], [201])
    assert shown(one.add(right(210), "right")) == [("+", 120, 210)]
    assert late_joining(how="inner").add(left(9, -1), "left")["counts"]["left"]["late"] == 1
    assert [entry["row"]["t"] for entry in oracle(Interval(-100, 100)).add(left(120), "left")["late"]] == []


def test_a_late_row_matches_no_expired_row() -> None:
    """semantics 37.25, 39: so what was emitted without a partner stays."""
    one = oracle(Interval(0, 5, late="join"), how="full")
    one.add_batch({"left": left(10), "right": right(20)})
    assert shown(one.watermark(16, "right")) == [("+", 10, None)]
    output = one.add(right(12), "right")
    assert shown(output) == []
    assert output["late"] == []
    assert shown(one.watermark(13, "left")) == [("+", None, 12)]
    early = oracle(Interval(0, 5, late="join"), how="left", unmatched="early")
    assert shown(early.add(left(10), "left")) == [("+", 10, None)]
    early.watermark(15, "right")
    assert shown(early.add(right(12), "right")) == [("-", 10, None), ("+", 10, 12)]


def test_a_row_behind_the_end_of_time_is_late() -> None:
    """semantics 37.25, 36.3: H is plus infinity."""
    one = oracle(Interval(0, 5, late="join"))
    one.watermark(MAX, "left")
    assert len(one.add(left(MAX), "left")["late"]) == 1


@pytest.mark.parametrize(
    ("match", "fields", "mark"),
    [
        (Interval(-2, 5, late="join"), {}, 95),
        (Interval(-2, 5, late="join"), {"timestamp": "left"}, 93),
        (Interval(-2, 5, late="join"), {"timestamp": "right"}, 93),
        (Interval(-2, 5, late="join"), {"timestamp": "earlier"}, 93),
        (Interval(2, 5, late="join"), {}, 97),
        (Interval(2, 5, late="join"), {"timestamp": "left"}, 95),
        (Interval(2, 5, late="join"), {"timestamp": "right"}, 97),
        (Interval(-5, -2, "neither", late="join"), {}, 99),
    ],
)
def test_the_output_watermark_with_late_rows(match: Any, fields: Any, mark: int | None) -> None:
    """semantics 37.25, 40.4."""
    one = oracle(match, **fields)
    one.watermark(100)
    assert one.output_watermark() == mark


@pytest.mark.parametrize(
    ("match", "fields", "mark"),
    [
        (Interval(None, 5, retain_for=9), {"timestamp": "right"}, 91),
        (Interval(None, 5, retain_for=9), {"timestamp": "left"}, 95),
        (Interval(None, 5, retain_rows=9), {"timestamp": "left"}, 95),
        (Interval(None, 5, retain_rows=9), {"timestamp": "right"}, None),
        (Interval(None, 5, retain_rows=9), {"how": "right"}, None),
        (Interval(None, 5, retain_rows=9), {}, 100),
        (Interval(0, None, retain_rows=9), {"how": "semi"}, None),
        (Interval(0, None, retain_for="unlimited"), {"how": "semi"}, None),
        (Interval(0, None, retain_for="unlimited"), {"how": "right"}, 100),
    ],
)
def test_the_output_watermark_of_retained_rows(match: Any, fields: Any, mark: int | None) -> None:
    """semantics 37.1, 37.24, 40.4."""
    one = oracle(match, **fields)
    one.watermark(100)
    assert one.output_watermark() == mark


def test_the_last_match_may_be_beyond_64_bits() -> None:
    """semantics 37.1, 39: such a row waits until H is plus infinity, or for the first watermark."""
    one = oracle(how="full")
    one.add_batch({"left": left(MAX - 3), "right": right(-MAX)})
    assert shown(one.watermark(MAX - 1, "right")) == []
    assert shown(one.watermark(MAX, "right")) == [("+", MAX - 3, None)]
    low = oracle(Interval(3, 5), how="right", left={"allowed_lateness": 10})
    # The last match of the first row is below -2^63, that of the second one is -2^63.
    assert shown(low.add(right(-MAX, -MAX + 2), "right")) == []
    assert shown(low.watermark(-MAX, "left")) == [("+", None, -MAX)]  # H of the left side is -2^63
    assert shown(low.watermark(-MAX + 10, "left")) == [("+", None, -MAX + 2)]


def test_rows_are_late_when_the_horizon_is_the_last_instant() -> None:
    """semantics 36.3: an H of 2^63 - 1 is plus infinity."""
    one = oracle(left={"watermark": PER_SIDE}, how="full")
    one.add(left(MAX), "left")
    assert reasons(one.add(left(MAX), "left")) == [("left", MAX, "behind", 0)]
    other = oracle(left={"watermark": PER_SIDE, "allowed_lateness": 1})
    other.add(left(MAX), "left")
    assert reasons(other.add(left(MAX - 1, MAX - 2), "left")) == [("left", MAX - 2, "behind", 2)]


# Emitted rows


@pytest.mark.parametrize(
    ("how", "timestamp", "behind"),
    [
        ("inner", "later", (0, 0, 0)),
        ("inner", "left", (5, 6, 0)),
        ("inner", "right", (2, 0, 7)),
        ("inner", "earlier", (5, 6, 7)),
        ("left", "later", (5, 6, 0)),
        ("right", "later", (2, 0, 7)),
        ("full", "later", (5, 6, 7)),
        ("semi", None, (5, 6, 0)),
        ("anti", None, (5, 6, 0)),
    ],
)
def test_the_output_watermark(how: Any, timestamp: Any, behind: tuple[int, ...]) -> None:
    """semantics 40.4: the lower horizon, less how far a later row may lie behind it."""
    matches = (Interval(-2, 5), Interval(3, 7, "left"), Interval(-7, -3))
    for match, far in zip(matches, behind, strict=True):
        one = oracle(match, how=how, timestamp=timestamp, right={"allowed_lateness": 10})
        one.watermark(40, "left")
        assert one.output_watermark() is None
        one.watermark(30, "right")
        assert one.output_watermark() == 20 - far
        one.finish("right")
        assert one.output_watermark() == 40 - far
        one.finish("left")
        assert one.output_watermark() == MAX
        low = oracle(match, how=how, timestamp=timestamp)
        low.watermark(-MAX)
        assert low.output_watermark() == (-MAX - 1 if far else -MAX)


# State


def stored(one: JoinInterpreter) -> list[tuple[Any, ...]]:
    return [(window["k"], window["window_start"]) for window in one.windows()]


def test_rows_are_stored_while_they_can_get_a_partner() -> None:
    """semantics 41: until the horizon of the other side has passed their last match, not with a null key."""
    one = oracle(right={"allowed_lateness": 1})
    one.add_batch({"left": [*left(10), *left(3, k=None)], "right": right(11, k=2.0)})
    assert one.windows() == [
        {"k": 1.0, "window_start": 10, "window_end": 11, "pending": 1, "closed": False, "input": "left"},
        {"k": 2.0, "window_start": 11, "window_end": 12, "pending": 1, "closed": False, "input": "right"},
    ]
    one.watermark(16, "right")
    assert stored(one) == [(1.0, 10), (2.0, 11)]
    one.watermark(17, "right")
    assert stored(one) == [(2.0, 11)]
    one.watermark(13, "left")
    assert stored(one) == [(2.0, 11)]
    one.watermark(14, "left")
    assert stored(one) == []


def test_rows_that_arrive_with_their_last_match_passed_are_not_stored() -> None:
    """semantics 41: they meet the rows that are stored."""
    one = oracle(how="left")
    one.add(right(12), "right")
    one.watermark(20, "right")
    assert shown(one.add(left(10, 30), "left")) == [("+", 10, 12)]
    assert stored(one) == [(1.0, 12), (1.0, 30)]


@pytest.mark.parametrize("how", HOWS)
def test_left_rows_with_a_partner(how: Any) -> None:
    """semantics 41: `semi` and `anti` store a left row until it has a partner."""
    one = oracle(how=how)
    one.add_batch({"left": left(10, 11, k=3.0), "right": right(16, k=3.0)})
    assert stored(one) == ([(3.0, 10)] if how in ("semi", "anti") else [(3.0, 10), (3.0, 11)]) + [(3.0, 16)]


def test_stored_rows_are_sorted() -> None:
    """By end, start and keys; of equal ones the left row comes first."""
    one = JoinInterpreter(join(left={"keys": ["k"]}, right={"keys": ["k"]}), TYPES)
    one.add_batch(
        {"right": [*right(5, k=2.0), *right(5, k=1.0)], "left": [*left(5, k=math.nan), *left(4, k=3.0)]}
    )
    found = [(str(window["k"]), window["window_end"]) for window in one.windows()]
    assert found == [("3.0", 5), ("1.0", 6), ("2.0", 6), ("nan", 6)]
    far = oracle()
    far.add(left(MAX), "left")
    assert far.windows()[0]["window_end"] == MAX
