"""The oracle for joins does what the text says: each sentence, with rows that were worked out by hand."""

import math
from collections.abc import Mapping
from typing import Any

import pytest

from panewise import FixedLag, Position, StreamTime
from panewise.errors import InputError
from panewise.oracle.join.interpreter import JoinInterpreter
from panewise.spec.conditions import left as left_column
from panewise.spec.conditions import right as right_column
from panewise.spec.operators.join.columns import HOWS, Selected
from panewise.spec.operators.join.interval import Interval
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.side import Side
from tests.oracle.join.cases import MAX, TYPES, Row, join, left, oracle, right, shown

PER_SIDE = StreamTime(per="all")


def reasons(output: Mapping[str, Any]) -> list[tuple[Any, ...]]:
    """Returns side, event time, reason and lateness of each late row."""
    return [
        (late["input"], late["row"].get("t", late["row"].get("u")), late["reason"], late["late_by"])
        for late in output["late"]
    ]


# Pairs and types


@pytest.mark.parametrize(
    ("how", "of_batch", "of_finish"),
    [
        ("inner", [("+", 10, 8), ("+", 10, 15)], []),
        ("left", [("+", 10, 8), ("+", 10, 15)], [("+", 20, None)]),
        ("right", [("+", 10, 8), ("+", 10, 15)], [("+", None, 7), ("+", None, 16)]),
        ("full", [("+", 10, 8), ("+", 10, 15)], [("+", None, 7), ("+", None, 16), ("+", 20, None)]),
        ("semi", [("+", 10, None)], []),
        ("anti", [], [("+", 20, None)]),
    ],
)
def test_what_each_type_emits(
    how: Any, of_batch: list[tuple[Any, ...]], of_finish: list[tuple[Any, ...]]
) -> None:
    """semantics 27, 27.2: pairs, rows without a partner, and left rows, which `semi` emits once."""
    one = oracle(how=how)
    assert shown(one.add_batch({"left": left(10, 20), "right": right(7, 8, 15, 16)})) == of_batch
    assert shown(one.finish()) == of_finish


def test_pairs_do_not_depend_on_the_order_of_arrival() -> None:
    """semantics 27.1: rows are partners however far apart they arrive."""
    batches = [("left", left(10)), ("right", right(8)), ("right", right(15, 16)), ("left", left(11))]
    found = []
    for order in (batches, batches[::-1], [batches[2], batches[0], batches[3], batches[1]]):
        one = oracle()
        found.append(sorted(row for side, rows in order for row in shown(one.add(rows, side))))
    assert found[0] == found[1] == found[2] == [("+", 10, 8), ("+", 10, 15), ("+", 11, 15), ("+", 11, 16)]


def test_keys_of_the_example() -> None:
    """semantics 28: NaN equals NaN, and null equals nothing."""
    rows = {
        "left": [*left(1), *left(1, k=None), *left(1, k=math.nan)],
        "right": [*right(1, k=None), *right(1, k=math.nan)],
    }
    assert [str(pane["k"]) for pane in oracle().add_batch(rows)["panes"]] == ["nan"]
    full = oracle(how="full")
    found = [(str(pane["k"]), pane["missing"]) for pane in [*full.add_batch(rows)["panes"]]]
    assert found == [("nan", None), ("None", "right"), ("None", "left")]
    assert [(pane["k"], pane["missing"]) for pane in full.finish()["panes"]] == [(1.0, "right")]


def test_null_keys_may_be_invalid() -> None:
    """semantics 28: with `null_keys=False` a null key is invalid on this side."""
    one = oracle(how="full", right={"null_keys": False})
    output = one.add_batch({"left": left(1, k=None), "right": right(1, k=None)})
    assert [(entry["input"], entry["reason"]) for entry in output["invalid"]] == [
        ("right", "key k is null (null_keys=False)")
    ]
    assert shown(output) == [("+", 1, None)]
    assert join().left.null_keys


def test_keys_are_compared_in_their_order() -> None:
    """semantics 28: the first key with the first one, and all of them count; without keys all are equal."""
    spec = JoinOperator(
        left=Side(keys=["a", "b"], event_time="t"),
        right=Side(keys=["c", "d"], event_time="u"),
        match=Interval(0, 0),
    )
    given = {
        "left": [{"a": 1, "b": 2, "t": 0}],
        "right": [{"c": 1, "d": 2, "u": 0}, {"c": 2, "d": 1, "u": 0}],
    }
    [pane] = JoinInterpreter(spec, {"left": {}, "right": {}}).add_batch(given)["panes"]
    assert (pane["a"], pane["b"], pane["c"], pane["d"]) == (1, 2, 1, 2)
    given["right"] = [{"c": 1, "d": None, "u": 0}]
    assert JoinInterpreter(spec, {"left": {}, "right": {}}).add_batch(given)["panes"] == []
    none = JoinOperator(left=Side(event_time="t"), right=Side(event_time="u"), match=Interval(0, 0))
    rows = {"left": [{"t": 0}], "right": [{"u": 0}, {"u": 0}]}
    assert len(JoinInterpreter(none, {"left": {}, "right": {}}).add_batch(rows)["panes"]) == 2


# Sides, clocks and lateness


def test_each_side_has_its_own_counts_and_marks() -> None:
    """semantics 36, 15.1: a replay, an invalid and a late row on each side."""
    position = Position(partition="p", offset="o")
    one = oracle(left={"position": Position()}, right={"position": position, "null_keys": False})
    place = {"partition": 0, "offset": 4}
    one.add_batch({"left": left(9, **place), "right": right(9, p=0, o=2)})
    one.watermark(5)
    given = {
        "left": [*left(9, **place), *left(3, partition=0, offset=5), *left(9, partition=0, offset=6)],
        "right": [
            *right(9, p=0, o=4),
            *right(9, p=0, o=None),
            *right(9, p=0, o=1),
            *right(2, p=1, o=0),
            *right(9, k=None, p=0, o=9),
        ],
    }
    output = one.add_batch(given)
    assert output["counts"] == {
        "left": {"rows_in": 3, "applied": 1, "replays": 1, "late": 1, "invalid": 0, "partially_late": 0},
        "right": {"rows_in": 5, "applied": 1, "replays": 1, "late": 1, "invalid": 2, "partially_late": 0},
    }
    assert reasons(output) == [("left", 3, "behind", 2), ("right", 2, "behind", 3)]
    assert [(entry["input"], entry["reason"]) for entry in output["invalid"]] == [
        ("right", "position is null"),
        ("right", "key k is null (null_keys=False)"),
    ]


def test_watermarks_from_outside_are_of_a_side_or_of_both() -> None:
    """semantics 36.1: a watermark without a side is that of both; a lower one changes nothing."""
    one = oracle()
    one.watermark(20, "left")
    assert reasons(one.add_batch({"left": left(19), "right": right(1)})) == [("left", 19, "behind", 1)]
    one.watermark(30)
    one.watermark(10)
    output = one.add_batch({"left": left(29, 30), "right": right(29, 30)})
    assert reasons(output) == [("left", 29, "behind", 1), ("right", 29, "behind", 1)]


def test_rows_of_a_side_drive_its_watermark() -> None:
    """semantics 36.1: StreamTime of a side, for which replays count; from outside it is refused."""
    one = oracle(left={"watermark": StreamTime(3, per="all"), "position": Position()})
    one.add(left(10, partition=0, offset=0), "left")
    late = one.add([*left(6, partition=1, offset=0), *left(7, partition=1, offset=1)], "left")
    assert reasons(late) == [("left", 6, "behind", 1)]
    assert one.add(left(20, partition=0, offset=0), "left")["counts"]["left"]["replays"] == 1
    assert reasons(one.add(left(16, partition=1, offset=2), "left")) == [("left", 16, "behind", 1)]
    assert reasons(one.add(right(0), "right")) == []
    for side in ("left", None):
        with pytest.raises(InputError, match=r"a watermark of the left side .* \| with StreamTime rows"):
            one.watermark(5, side)
    one.watermark(5, "right")
    assert reasons(one.add(right(4), "right")) == [("right", 4, "behind", 1)]


def test_a_watermark_may_lag_behind_the_clock() -> None:
    """semantics 36.1: FixedLag of a side; a watermark from outside counts, too."""
    one = oracle(right={"watermark": FixedLag(10)})
    one.clock(30)
    output = one.add_batch({"left": left(0), "right": right(19, 20)})
    assert reasons(output) == [("right", 19, "behind", 1)]
    one.watermark(25, "right")
    one.clock(31)
    assert reasons(one.add(right(24), "right")) == [("right", 24, "behind", 1)]


def test_rows_of_both_sides_drive_one_watermark() -> None:
    """semantics 36.2: the highest event time of the rows of both sides, less the delay."""
    one = oracle(watermark=StreamTime(3, per="all"), right={"allowed_lateness": 2})
    one.add(left(10), "left")
    output = one.add_batch({"left": left(6, 7), "right": right(4, 5)})
    assert reasons(output) == [("left", 6, "behind", 1), ("right", 4, "behind", 3)]
    one.add(right(20), "right")
    assert reasons(one.add(left(16, 17), "left")) == [("left", 16, "behind", 1)]
    with pytest.raises(InputError, match=r"a watermark of the right side"):
        one.watermark(30, "right")


def test_the_horizon_saturates() -> None:
    """semantics 36.3: W - L is no lower than 64 bits allow, and minus infinity before the first watermark."""
    one = oracle(right={"allowed_lateness": 10}, how="left")
    one.watermark(-(2**63) + 3, "right")
    assert reasons(one.add(right(-(2**63) + 1), "right")) == []
    assert shown(one.add(left(-(2**63) + 1), "left")) == [("+", -(2**63) + 1, -(2**63) + 1)]


def test_finish_names_its_side() -> None:
    """semantics 36.3, 36.4: after the end of a side nothing is added to it; without a side both end."""
    one = oracle(how="full")
    one.add_batch({"left": left(1), "right": right(90)})
    assert shown(one.finish("right")) == [("+", 1, None)]
    with pytest.raises(InputError, match=r"rows of the right side after finish \| nothing is added"):
        one.add_batch({"left": left(9), "right": []})
    assert shown(one.add(left(85, 99), "left")) == [("+", 85, 90), ("+", 99, None)]
    assert shown(one.finish()) == []
    with pytest.raises(InputError):
        one.add(left(9), "left")


def test_late_rows_of_the_example() -> None:
    """semantics 36.4: with L = 5 and W = 20 a row at 15 is applied, and one at 14 is late by 6."""
    one = oracle(right={"allowed_lateness": 5})
    one.watermark(20, "right")
    output = one.add_batch({"right": right(15, 14), "left": left(0)})
    assert output["late"] == [
        {
            "row": {"k": 1.0, "u": 14},
            "reason": "behind",
            "windows": [],
            "late_by": 6,
            "partial": False,
            "input": "right",
        }
    ]
    assert output["counts"]["left"]["applied"] == output["counts"]["right"]["applied"] == 1


def test_lateness_is_that_when_the_batch_began() -> None:
    """semantics 36.4, 36.7: rows of one batch do not make one another late; with "record" they do."""
    driven: dict[str, Any] = {"left": {"watermark": PER_SIDE, "order": ["n"]}}
    rows = [*left(10, n=1), *left(9, n=2)]
    assert reasons(oracle(**driven).add(rows, "left")) == []
    assert reasons(oracle(**driven, evaluate="record").add(rows, "left")) == [("left", 9, "behind", 1)]


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


def places(one: JoinInterpreter, given: dict[str, list[Row]]) -> list[tuple[Any, ...]]:
    """Returns the event times of the rows of a batch in their arrival order.

    With "early" and "record" each row is emitted when it arrives.
    """
    return [(pane["t"], pane["u"]) for pane in one.add_batch(given)["panes"] if pane["missing"] is not None]


ALONE: dict[str, Any] = {
    "how": "full",
    "unmatched": "early",
    "evaluate": "record",
    "match": Interval(500, 501),
}


def test_order_by_event_time() -> None:
    """semantics 36.6: by event time, of equal ones the left row first."""
    given = {"right": right(5, 3, 3), "left": left(4, 3, 5)}
    found = places(oracle(**ALONE), given)
    assert found == [(3, None), (None, 3), (None, 3), (4, None), (5, None), (None, 5)]


def test_order_of_the_example() -> None:
    """semantics 36.6: one side names order columns, so the first rows are compared by event time."""
    one = oracle(**ALONE, right={"order": ["n"]})
    given = {"left": left(5, 7), "right": [*right(5, n=2), *right(6, n=1)]}
    assert places(one, given) == [(5, None), (None, 6), (None, 5), (7, None)]


def test_order_columns_of_both_sides() -> None:
    """semantics 36.6: by order columns of the same types, nulls first; otherwise by event time."""
    types = {"left": {"t": "bigint", "n": "bigint"}, "right": {"u": "bigint", "m": "bigint"}}
    spec = join(**ALONE, left={"keys": [], "order": ["n"]}, right={"keys": [], "order": ["m"]})
    given: dict[str, list[Row]] = {
        "left": [{"t": 1, "n": 2}, {"t": 9, "n": None}],
        "right": [{"u": 3, "m": 2}, {"u": 8, "m": 1}, {"u": 4, "m": None}],
    }
    by_columns = [(9, None), (None, 4), (None, 8), (1, None), (None, 3)]
    assert places(JoinInterpreter(spec, types), given) == by_columns
    types["right"]["m"] = "double"
    by_time = [(None, 4), (None, 8), (None, 3), (9, None), (1, None)]
    assert places(JoinInterpreter(spec, types), given) == by_time


def test_late_and_invalid_rows_come_by_side() -> None:
    """semantics 36.6: those of the left side before those of the right side."""
    one = oracle()
    one.watermark(10)
    given = {"right": [*right(1, 0), {"k": 1.0, "u": None}], "left": [*left(3), {"k": 1.0, "t": None}]}
    output = one.add_batch(given)
    assert [late["input"] for late in output["late"]] == ["left", "right", "right"]
    assert [(entry["input"], entry["reason"]) for entry in output["invalid"]] == [
        ("left", "event time is null"),
        ("right", "event time is null"),
    ]


def test_a_batch_and_its_watermarks_are_evaluated_one_after_the_other() -> None:
    """semantics 36.7: first all rows, then the watermarks of both sides together."""
    driven = {"left": {"watermark": PER_SIDE}, "right": {"watermark": PER_SIDE}}
    one = oracle(**driven, how="full", match=Interval(0, 5))
    output = one.add_batch({"left": left(1, 20), "right": right(3, 9, 30)})
    # The evaluation of the rows emits the pair, that of the watermarks 20 and 30 the rest.
    assert shown(output) == [("+", 1, 3), ("+", None, 9), ("+", 20, None)]
    record = oracle(**driven, how="full", match=Interval(0, 5), evaluate="record")
    output = record.add_batch({"left": left(1, 20), "right": right(3, 9, 30)})
    assert shown(output) == [("+", 1, 3), ("+", None, 9), ("+", 20, None)]


# Matches


@pytest.mark.parametrize(
    ("closed", "times"),
    [
        ("both", [8, 9, 14, 15]),
        ("left", [8, 9, 14]),
        ("right", [9, 14, 15]),
        ("neither", [9, 14]),
    ],
)
def test_bounds_of_an_interval(closed: Any, times: list[int]) -> None:
    """semantics 37: the bounds that `closed` names are included."""
    one = oracle(Interval(-2, 5, closed))
    output = one.add_batch({"left": left(10), "right": right(7, 8, 9, 14, 15, 16)})
    assert [pane["u"] for pane in output["panes"]] == times


@pytest.mark.parametrize(
    ("lower", "upper", "times"), [(-5, -2, [5, 8]), (0, 0, [10]), (3, 5, [13, 15]), (-1, 0, [9, 10])]
)
def test_bounds_may_be_negative_or_equal(lower: int, upper: int, times: list[int]) -> None:
    """semantics 37: the right row may have to be the earlier one."""
    rows = right(4, 5, 8, 9, 10, 11, 12, 13, 15, 16)
    found = [
        pane["u"]
        for pane in oracle(Interval(lower, upper)).add_batch({"left": left(10), "right": rows})["panes"]
    ]
    assert (found[0], found[-1]) == (times[0], times[-1])
    assert found == [row["u"] for row in rows if lower <= row["u"] - 10 <= upper]


def test_differences_may_exceed_64_bits() -> None:
    """semantics 37: the difference of the whole numbers is compared."""
    one = oracle(Interval(MAX - 5, MAX))
    given = {"left": left(-MAX), "right": right(MAX, 0, -5, -6)}
    assert [pane["u"] for pane in one.add_batch(given)["panes"]] == [-5, 0]


@pytest.mark.parametrize(
    ("closed", "last_of_left", "last_of_right"),
    [("both", 15, 12), ("left", 14, 12), ("right", 15, 11), ("neither", 14, 11)],
)
def test_the_last_match(closed: Any, last_of_left: int, last_of_right: int) -> None:
    """semantics 37.1: of a left row and a right row at 10, under `Interval(-2, 5)`."""
    for own, other, last in (("left", "right", last_of_left), ("right", "left", last_of_right)):
        one = oracle(Interval(-2, 5, closed), how="full")
        one.add((left if own == "left" else right)(10), own)
        assert one.watermark(last, other)["panes"] == []
        assert len(one.watermark(last + 1, other)["panes"]) == 1


def test_the_examples_of_retention() -> None:
    """semantics 37, 37.1, 39: rows of any later time match as long as a row is retained."""
    one = oracle(Interval(None, 0, retain_for=10), how="right")
    assert shown(one.add(right(5), "right")) == []
    assert shown(one.watermark(15, "left")) == []
    assert shown(one.add(left(99), "left")) == [("+", 99, 5)]
    alone = oracle(Interval(None, 0, retain_for=10), how="right")
    alone.add(right(5), "right")
    assert shown(alone.watermark(16, "left")) == [("+", None, 5)]
    assert shown(alone.add(left(16), "left")) == []
    some = oracle(Interval(None, 0, retain_rows=2), how="right")
    assert shown(some.add(right(1, 4), "right")) == []
    assert shown(some.add(right(2), "right")) == [("+", None, 1)]
    assert shown(some.add(left(5, k=2.0), "left")) == []
    assert shown(some.add(left(5), "left")) == [("+", 5, 2), ("+", 5, 4)]
    assert some.windows()[0]["window_start"] == 2
    assert shown(some.finish("left")) == []


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


def test_rows_that_are_evicted_together_are_emitted_in_one_evaluation() -> None:
    """semantics 37.1, 39, 40.3: with "record" each in its own; a row with a partner is not emitted."""
    one = oracle(Interval(None, None, retain_rows=1), how="full")
    assert shown(one.add_batch({"left": left(7), "right": right(8, 9)})) == [("+", 7, 8), ("+", 7, 9)]
    assert shown(one.add(right(1, 2, 3), "right")) == [("+", 7, 1), ("+", 7, 2), ("+", 7, 3)]
    assert shown(one.add(left(5, 6), "left")) == [("+", 5, 3), ("+", 6, 3)]
    assert shown(one.add(left(1, 2, k=2.0), "left")) == [("+", 1, None)]
    other = oracle(Interval(None, None, retain_rows=1), how="left", evaluate="record")
    assert shown(other.add(left(7, 5, 6), "left")) == [("+", 5, None), ("+", 6, None)]


def test_a_row_that_is_not_retained_matches_what_is() -> None:
    """semantics 37.1: a row that arrives can match earlier rows even if it is not retained itself."""
    one = oracle(Interval(None, 0, retain_for=3), how="right")
    one.add(left(20), "left")
    one.watermark(19, "left")
    assert shown(one.add(right(2), "right")) == [("+", 20, 2)]
    assert shown(one.add(left(21), "left")) == []


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


# Rows without a partner


@pytest.mark.parametrize("unmatched", ["final", "early"])
def test_rows_without_a_partner_of_the_example(unmatched: Any) -> None:
    """semantics 39: `Interval(0, 5)` and a left row at 10, which a right row could match until 15."""
    early = unmatched == "early"
    one = oracle(Interval(0, 5), how="left", unmatched=unmatched)
    alone = [("+", 10, None)]
    assert shown(one.add(left(10), "left")) == (alone if early else [])
    assert shown(one.watermark(15, "right")) == []
    assert shown(one.watermark(16, "right")) == ([] if early else alone)
    other = oracle(Interval(0, 5), how="left", unmatched=unmatched)
    other.add(left(10), "left")
    taken_back = [("-", 10, None)] if early else []
    assert shown(other.add(right(12), "right")) == [*taken_back, ("+", 10, 12)]
    assert shown(other.finish()) == []


def test_anti_retracts_only() -> None:
    """semantics 39: with "early" `anti` emits no pair, and a row whose partner is there is not emitted."""
    one = oracle(how="anti", unmatched="early")
    assert shown(one.add_batch({"left": left(10, 30), "right": right(31)})) == [("+", 10, None)]
    assert shown(one.add(right(12, 13), "right")) == [("-", 10, None)]
    assert shown(one.add(right(14), "right")) == []


def test_every_evaluation_decides() -> None:
    """semantics 39: after a batch, a watermark, a reading of the clock, and the end of input."""
    one = oracle(Interval(0, 5), how="left", right={"watermark": FixedLag(10)})
    one.watermark(100, "right")
    assert shown(one.add(left(94, 95), "left")) == [("+", 94, None)]
    assert shown(one.clock(110)) == []
    assert shown(one.clock(111)) == [("+", 95, None)]
    one.add(left(200), "left")
    assert shown(one.finish("left")) == []
    assert shown(one.finish("right")) == [("+", 200, None)]


def test_null_keys_do_not_wait() -> None:
    """semantics 39: a row with a null key can get no partner."""
    for unmatched in ("final", "early"):
        one = oracle(how="full", unmatched=unmatched)
        output = one.add_batch({"left": left(9, k=None), "right": right(9, k=None)})
        assert shown(output) == [("+", 9, None), ("+", None, 9)]


# Emitted rows


def test_columns_of_emitted_rows() -> None:
    """semantics 40, 40.2: the columns in their order; those of the missing side are null."""
    one = oracle(Interval(0, 5), how="full")
    given = {"left": [*left(1, a="x"), *left(50, a="y")], "right": right(3, b="z")}
    [pane] = one.add_batch(given)["panes"]
    pair = {"k": 1.0, "t": 1, "a": "x", "u": 3, "b": "z", "op": "+", "missing": None, "join_time": 3}
    assert list(pane.items()) == list(pair.items())
    one.add(right(70, b="w", k=-0.0), "right")
    none = {"u": None, "b": None}
    assert one.finish()["panes"] == [
        {"k": 1.0, "t": 50, "a": "y", **none, "op": "+", "missing": "right", "join_time": 50},
        {"k": 0.0, "t": None, "a": None, "u": 70, "b": "w", "op": "+", "missing": "left", "join_time": 70},
    ]


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_columns_of_semi_and_anti(how: Any) -> None:
    """semantics 40, 40.2: the columns of the left side only, and no `missing`."""
    one = oracle(how=how)
    rows = [*left(10, a="x"), *left(90, a="y", k=-0.0)]
    panes = [*one.add_batch({"left": rows, "right": right(10, b="z")})["panes"], *one.finish()["panes"]]
    pane = {"k": 1.0, "t": 10, "a": "x", "op": "+", "join_time": 10}
    other = {"k": -0.0, "t": 90, "a": "y", "op": "+", "join_time": 90}
    assert [list(one.items()) for one in panes] == [list((pane if how == "semi" else other).items())]
    assert str(panes[0]["k"]) == ("1.0" if how == "semi" else "-0.0")


@pytest.mark.parametrize(("timestamp", "times"), [("left", [10, 10]), ("right", [8, 15])])
def test_the_time_of_one_side(timestamp: Any, times: list[int]) -> None:
    """semantics 40.1: t of the row of one side; a row without a partner has its own."""
    one = oracle(timestamp=timestamp, how="full")
    output = one.add_batch({"left": left(10), "right": right(8, 15, 90)})
    assert [pane["join_time"] for pane in output["panes"]] == times
    assert [pane["join_time"] for pane in one.finish()["panes"]] == [90]


@pytest.mark.parametrize(
    ("timestamp", "times"), [("later", [10, 15]), (None, [10, 15]), ("earlier", [8, 10])]
)
def test_the_later_or_earlier_time(timestamp: Any, times: list[int]) -> None:
    """semantics 40.1: "later" is the default."""
    output = oracle(timestamp=timestamp).add_batch({"left": left(10), "right": right(8, 15)})
    assert [pane["join_time"] for pane in output["panes"]] == times


def test_selected_columns() -> None:
    """semantics 40.2: the columns of `select`, under their names; "either" is the key that there is."""
    columns = [
        Selected("right", "id", "right_id"),
        Selected("either", "key"),
        Selected("left", "key", "left_key"),
        Selected("right", "b"),
    ]
    spec = JoinOperator(
        left=Side(keys=["key"], event_time="t"),
        right=Side(keys=["id"], event_time="u"),
        match=Interval(0, 5),
        how="full",
        select=columns,
    )
    types = {
        "left": {"key": "double", "t": "bigint"},
        "right": {"id": "double", "u": "bigint", "b": "string"},
    }
    one = JoinInterpreter(spec, types)
    given = {"left": [{"key": -0.0, "t": 1}], "right": [{"id": 0.0, "u": 2, "b": "x"}, {"id": 7.0, "u": 3}]}
    panes = [*one.add_batch(given)["panes"], *one.finish()["panes"]]
    assert [str(list(pane.values())[:4]) for pane in panes] == [
        "[0.0, 0.0, -0.0, 'x']",
        "[7.0, 7.0, None, None]",
    ]
    assert list(panes[0]) == ["right_id", "key", "left_key", "b", "op", "missing", "join_time"]


def test_all_columns() -> None:
    """semantics 40.2: keys of the same name are there once; a prefix begins the other names."""
    spec = JoinOperator(
        left=Side(keys=["k", "m"], event_time="t", prefix="l_"),
        right=Side(keys=["k", "n"], event_time="t", prefix="r_"),
        match=Interval(0, 5),
    )
    types = {
        side: dict.fromkeys(["t", "k", key, "v"], "bigint") for side, key in (("left", "m"), ("right", "n"))
    }
    given = {
        "left": [{"t": 1, "k": 2, "m": 3, "v": 4}],
        "right": [{"t": 5, "k": 2, "n": 3, "v": 6}],
    }
    [pane] = JoinInterpreter(spec, types).add_batch(given)["panes"]
    assert list(pane.items())[:7] == [
        ("l_t", 1),
        ("k", 2),
        ("l_m", 3),
        ("l_v", 4),
        ("r_t", 5),
        ("r_n", 3),
        ("r_v", 6),
    ]


def test_the_order_of_an_evaluation() -> None:
    """semantics 40.3: retractions, then pairs, then rows without a partner."""
    one = oracle(Interval(-9, 9), how="full", unmatched="early")
    assert shown(one.add_batch({"left": left(20, 10), "right": right(60)})) == [
        ("+", 10, None),
        ("+", 20, None),
        ("+", None, 60),
    ]
    output = one.add_batch({"left": left(61, 62, 90), "right": right(18, 19, 90, 12, 40)})
    assert shown(output) == [
        ("-", 10, None),
        ("-", 20, None),
        ("-", None, 60),
        ("+", 10, 12),  # 12 arrives: of its partners 10 and 20 the earlier one first
        ("+", 20, 12),
        ("+", 10, 18),
        ("+", 20, 18),
        ("+", 10, 19),
        ("+", 20, 19),
        ("+", 61, 60),
        ("+", 62, 60),
        ("+", 90, 90),
        ("+", None, 40),
    ]


def test_places_of_pairs_and_of_semi() -> None:
    """semantics 40.3: a pair has the place of its later row, a row of `semi` that of its first pair."""
    order: dict[str, Any] = {"left": {"order": ["n"]}, "right": {"order": ["m"]}}
    batch = {
        "left": [*left(5, n=2), *left(4, n=3)],
        "right": [*right(6, m=1), *right(5, m=4), *right(3, m=5)],
    }
    inner = oracle(Interval(-1, 1), **order)
    assert shown(inner.add_batch(batch)) == [("+", 5, 6), ("+", 4, 5), ("+", 5, 5), ("+", 4, 3)]
    semi = oracle(Interval(-1, 1), **order, how="semi")
    assert shown(semi.add_batch(batch)) == [("+", 5, None), ("+", 4, None)]


def test_rows_alone_of_one_time() -> None:
    """semantics 40.3: of one time the left row comes first, then the one that arrived earlier."""
    one = oracle(Interval(500, 501), how="full")
    one.add(right(7, b="1"), "right")
    one.add(right(7, b="2"), "right")
    one.add(left(7, a="3"), "left")
    assert [(pane["a"], pane["b"]) for pane in one.finish()["panes"]] == [
        ("3", None),
        (None, "1"),
        (None, "2"),
    ]


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


def test_a_condition_that_is_null_makes_no_partners() -> None:
    """Such rows are emitted without a partner (semantics 38)."""
    made = oracle(how="left", condition=left_column("a") < right_column("b"))
    made.add(left(10, a="x"), "left")
    made.add(left(11, a=None), "left")
    found = made.add([*right(10, b="y"), *right(11, b="w")], "right")
    assert [(pane["t"], pane["b"]) for pane in found["panes"]] == [(10, "y")]
    assert shown(made.finish()) == [("+", 11, None)]
