"""The oracle for as-of joins does what the text says, and finds the rows that Polars' join_asof finds."""

import math
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise import StreamTime
from panewise.errors import InputError
from panewise.oracle.join.interpreter import JoinInterpreter
from panewise.spec.conditions import left as left_column
from panewise.spec.conditions import right as right_column
from panewise.spec.operators.join.match import STRATEGIES, AsOf
from tests.engine.effort import examples
from tests.oracle.join.cases import MAX, TYPES, Row, join, left, oracle, right, shown

DELAY = 5
PER_SIDE = StreamTime(per="all")


def partner(match: AsOf, at: int, *times: int, **fields: Any) -> int | None:
    """Returns the time of the partner of a left row, among right rows at these times."""
    one = oracle(match, how="left", **fields)
    one.add_batch({"left": left(at), "right": right(*times)})
    [(op, time, found)] = shown(one.finish())
    assert (op, time) == ("+", at)
    return None if found is None else int(found)


def stored(one: JoinInterpreter) -> list[int]:
    return [window["window_start"] for window in one.windows()]


# The partner


@pytest.mark.parametrize(("at", "found"), [(9, 8), (18, 8), (19, None), (8, 8), (7, 3), (3, 3), (2, None)])
def test_backward_of_the_example(at: int, found: int | None) -> None:
    """semantics 37.2: the latest right row at or before the left one, at most the tolerance before it."""
    assert partner(AsOf(tolerance=10), at, 3, 8) == found


@pytest.mark.parametrize(("at", "found"), [(9, None), (8, 8), (7, 8), (4, 8), (3, 3), (-7, 3), (-8, None)])
def test_forward(at: int, found: int | None) -> None:
    """semantics 37.2: the earliest right row at or after the left one, at most the tolerance after it."""
    assert partner(AsOf("forward", 10), at, 8, 3) == found


@pytest.mark.parametrize(
    ("at", "found"), [(5, 3), (6, 7), (4, 3), (7, 7), (17, 7), (18, None), (-7, 3), (-8, None)]
)
def test_nearest_of_the_example(at: int, found: int | None) -> None:
    """semantics 37.2: the right row with the least distance; of two the earlier one."""
    assert partner(AsOf("nearest", 10), at, 7, 3) == found


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_tolerance_of_zero_needs_equal_times(strategy: Any) -> None:
    """semantics 37.2: the tolerance is included."""
    assert partner(AsOf(strategy, 0), 10, 9, 10, 11) == 10
    assert partner(AsOf(strategy, 0), 10, 9, 11) is None


@pytest.mark.parametrize(
    ("strategy", "found"),
    [("backward", [None, 3, 3, 8]), ("forward", [8, 8, 12, 12]), ("nearest", [8, 3, 12, 8])],
)
def test_without_exact_matches_equal_times_do_not_match(strategy: Any, found: list[int | None]) -> None:
    """semantics 37.22: for left rows at 3, 4, 8 and 9, among right rows at 3, 8 and 12."""
    match = AsOf(strategy, 10, allow_exact_matches=False)
    assert [partner(match, at, 3, 8, 8, 12) for at in (3, 4, 8, 9)] == found
    exact = AsOf(strategy, 1, allow_exact_matches=False)
    assert partner(exact, MAX - 1, MAX - 1) is None
    assert partner(exact, -MAX, -MAX) is None


def test_a_row_before_which_all_is_known_is_decided() -> None:
    """semantics 37.22: with "backward" when H is above l - 1; a row at l that comes then does not match."""
    one = oracle(AsOf(allow_exact_matches=False), how="left")
    one.add_batch({"left": left(8), "right": right(3)})
    assert shown(one.watermark(7, "right")) == []
    assert shown(one.add(right(7), "right")) == []
    assert shown(one.watermark(8, "right")) == [("+", 8, 7)]
    assert shown(one.add_batch({"left": left(8, 9), "right": right(8)})) == [("+", 8, 7)]
    assert shown(one.watermark(9, "right")) == [("+", 9, 8)]


def test_without_a_tolerance_the_distance_has_no_limit() -> None:
    """semantics 37.2: it may exceed 64 bits."""
    assert partner(AsOf(), MAX - 1, -MAX) == -MAX
    assert partner(AsOf(tolerance=MAX), MAX - 1, -1) == -1
    assert partner(AsOf(tolerance=MAX), MAX - 1, -2) is None


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_of_equal_times_the_last_arrival_counts(strategy: Any) -> None:
    """semantics 37.2, 27.1: of right rows of equal time, also of one batch by the order columns."""
    one = oracle(AsOf(strategy, 3), right={"order": ["n"]})
    one.add([*right(10, b="second", n=2), *right(10, b="first", n=1)], "right")
    one.add(left(10), "left")
    assert [pane["b"] for pane in one.finish()["panes"]] == ["second"]
    one = oracle(AsOf(strategy, 3))
    for text in ("first", "second"):
        one.add_batch({"left": left(10), "right": right(10, b=text)})
    assert [pane["b"] for pane in one.finish()["panes"]] == ["second"] * 2


def test_a_row_is_the_partner_of_many() -> None:
    """semantics 37.2: a left row has one partner, a right row may have many."""
    one = oracle(AsOf())
    one.add_batch({"left": left(5, 9, 7), "right": right(1, 5)})
    assert shown(one.finish()) == [("+", 5, 5), ("+", 7, 5), ("+", 9, 5)]


def test_keys_are_equal() -> None:
    """semantics 37.2, 28: only right rows with equal keys count; NaN equals NaN, and -0.0 equals 0.0."""
    one = oracle(AsOf(), how="left")
    rows = {
        "left": [*left(10, k=math.nan), *left(11, k=-0.0), *left(12, k=2.0)],
        "right": [*right(3, k=math.nan), *right(4, k=0.0), *right(9, k=1.0), *right(9, k=None)],
    }
    one.add_batch(rows)
    assert shown(one.finish()) == [("+", 10, 3), ("+", 11, 4), ("+", 12, None)]


def test_the_partner_is_chosen_among_rows_for_which_the_condition_holds() -> None:
    """semantics 37.2, 38: a nearer row for which it is false or null is passed over."""
    given = [*right(4, b="x"), *right(6, b="y"), *right(7, b="w"), *right(8, b=None), *right(12, b="z")]
    found = {}
    for strategy in STRATEGIES:
        condition = left_column("a") < right_column("b")
        one = oracle(AsOf(strategy, 6), how="left", condition=condition)
        one.add_batch({"left": [*left(10, a="x"), *left(9, a=None)], "right": given})
        found[strategy] = shown(one.finish())
    alone = ("+", 9, None)
    assert found == {
        "backward": [alone, ("+", 10, 6)],
        "forward": [alone, ("+", 10, 12)],
        "nearest": [alone, ("+", 10, 12)],
    }


def test_a_condition_is_evaluated_when_the_left_row_is_decided() -> None:
    """semantics 38, 38.14: for every row in the tolerance, not only for the partner, and for no other."""
    types: Any = {side: {**columns, "n": "bigint"} for side, columns in TYPES.items()}
    for at, fails in ((8, True), (7, False), (11, False)):
        condition = right_column("n") + 1 > left_column("n")
        one = JoinInterpreter(join(AsOf(tolerance=2), condition=condition, how="semi"), types)
        one.add_batch({"left": left(10, n=0), "right": [*right(at, n=MAX), *right(9, n=5)]})
        if fails:
            with pytest.raises(InputError, match="64 bits"):
                one.watermark(11)
        else:
            assert shown(one.watermark(11)) == [("+", 10, None)]


@pytest.mark.parametrize(
    ("how", "found"),
    [
        ("inner", [("+", 10, 8)]),
        ("left", [("+", 5, None), ("+", 10, 8)]),
        ("semi", [("+", 10, None)]),
        ("anti", [("+", 5, None)]),
    ],
)
def test_what_each_type_emits(how: Any, found: list[tuple[Any, ...]]) -> None:
    """semantics 27, 27.2: of a left row with a partner and one without."""
    one = oracle(AsOf(tolerance=10), how=how)
    assert shown(one.add_batch({"left": left(10, 5), "right": right(8)})) == []
    assert shown(one.finish()) == found


# When it is decided


def test_a_row_is_decided_as_in_the_example() -> None:
    """semantics 37.3: by the right watermark; a right row at the same time may still come."""
    one = oracle(AsOf(), how="left")
    one.add(right(4), "right")
    assert shown(one.add(left(10), "left")) == []
    one.watermark(50, "left")
    assert shown(one.watermark(10, "right")) == []
    assert shown(one.add(right(10), "right")) == []
    assert shown(one.watermark(11, "right")) == [("+", 10, 10)]


@pytest.mark.parametrize(("strategy", "last"), [("backward", 10), ("forward", 13), ("nearest", 13)])
def test_a_row_waits_for_the_tolerance(strategy: Any, last: int) -> None:
    """semantics 37.3, 36.3: the horizon is above l, or above l + tolerance, even if a partner is known."""
    one = oracle(AsOf(strategy, 3), how="left", right={"allowed_lateness": 20})
    one.add_batch({"left": left(10), "right": right(10, b="known")})
    assert shown(one.watermark(last + 20, "right")) == []
    assert stored(one) == [10]
    assert shown(one.watermark(last + 21, "right")) == [("+", 10, 10)]
    assert stored(one) == []


def test_a_row_that_comes_with_the_horizon_passed_is_decided_at_once() -> None:
    """semantics 37.3: in the evaluation of its batch; it meets right rows from long ago."""
    one = oracle(AsOf(), how="left")
    one.add(right(3, 20), "right")
    one.watermark(15, "right")
    assert shown(one.add(left(15, 14, 2), "left")) == [("+", 2, None), ("+", 14, 3)]
    assert stored(one) == [15]


def test_a_null_key_is_decided_at_once() -> None:
    """semantics 37.3, 28: before any watermark."""
    for how, found in (("left", [("+", 10, None)]), ("anti", [("+", 10, None)]), ("inner", []), ("semi", [])):
        one = oracle(AsOf(), how=how)
        assert shown(one.add([*left(10, k=None), *left(9)], "left")) == found
        assert stored(one) == [9]


def test_the_horizon_that_decides_saturates() -> None:
    """semantics 37.3: l + tolerance beyond 64 bits is reached when H is plus infinity."""
    one = oracle(AsOf("forward", 10), how="left")
    one.add(left(MAX - 5), "left")
    assert shown(one.watermark(MAX - 1, "right")) == []
    assert shown(one.watermark(MAX, "right")) == [("+", MAX - 5, None)]


def test_the_end_of_the_right_input_decides() -> None:
    """semantics 37.3, 36.3: H is plus infinity then. That of the left input decides nothing."""
    one = oracle(AsOf("nearest", 4), how="left")
    one.add_batch({"left": left(10), "right": right(13)})
    assert shown(one.finish("left")) == []
    assert shown(one.finish("right")) == [("+", 10, 13)]


def test_a_left_row_waits_for_the_next_right_row() -> None:
    """semantics 37.23: until H has passed it, also if it comes later; without one until the end."""
    one = oracle(AsOf("forward"), how="left")
    one.add([*left(3, k=1.0), *left(4, k=2.0)], "left")
    one.add([*right(9, k=1.0), *right(20, k=3.0)], "right")
    assert shown(one.watermark(9, "right")) == []
    one.add(right(9, k=1.0, b="last"), "right")
    [pane] = one.watermark(10, "right")["panes"]
    assert (pane["t"], pane["u"], pane["b"]) == (3, 9, "last")
    assert stored(one) == [4]
    assert shown(one.watermark(1000)) == []
    assert shown(one.finish("left")) == []
    assert shown(one.finish("right")) == [("+", 4, None)]


def test_an_earlier_right_row_limits_the_wait_for_the_nearest_one() -> None:
    """semantics 37.23: until H is above l + d, or a nearer right row has passed."""
    for more, to, found in (((), 18, 3), ((12,), 13, 12), ((16,), 17, 16), ((17,), 18, 3), ((18,), 18, 3)):
        one = oracle(AsOf("nearest"), how="left")
        one.add_batch({"left": left(10), "right": right(3)})
        assert shown(one.watermark(11, "right")) == []
        one.add(right(*more), "right")
        assert shown(one.watermark(to - 1, "right")) == []
        assert shown(one.watermark(to, "right")) == [("+", 10, found)]


def test_a_row_that_waits_for_its_partner_may_come_late() -> None:
    """semantics 37.23: it is decided at once if H has passed its partner."""
    one = oracle(AsOf("forward", allow_exact_matches=False), how="left")
    one.add(right(5, 9), "right")
    one.watermark(8, "right")
    assert shown(one.add([*left(5, 4), *left(3, k=None)], "left")) == [("+", 3, None), ("+", 4, 5)]
    assert shown(one.watermark(10, "right")) == [("+", 5, 9)]
    one = oracle(AsOf("nearest"))
    one.add_batch({"left": left(MAX - 1), "right": right(-MAX)})
    assert shown(one.watermark(MAX - 1)) == []
    assert shown(one.watermark(MAX)) == [("+", MAX - 1, -MAX)]


def test_a_row_that_waits_leaves_no_output_watermark() -> None:
    """semantics 40.4: but the pairs of "forward" have a right row that H has not passed."""
    for match, timestamp, how, behind in (
        (AsOf("forward"), "later", "inner", True),
        (AsOf("forward"), "right", "inner", True),
        (AsOf("forward"), "left", "inner", False),
        (AsOf("forward"), "later", "left", False),
        (AsOf("nearest"), "later", "inner", False),
    ):
        one = oracle(match, timestamp=timestamp, how=how)
        one.add(left(5), "left")
        one.watermark(80)
        assert one.output_watermark() == (80 if behind else None)
        one.finish()
        assert one.output_watermark() == MAX


def test_rows_drive_the_decisions() -> None:
    """semantics 36.7, 37.3: after a batch, or after each row, so that a later row is late."""
    fields: dict[str, Any] = {"how": "left", "right": {"watermark": PER_SIDE, "order": ["n"]}}
    rows = {"left": left(10), "right": [*right(11, n=1), *right(9, n=2)]}
    assert shown(oracle(AsOf(), **fields).add_batch(rows)) == [("+", 10, 9)]
    record = oracle(AsOf(), **fields, evaluate="record").add_batch(rows)
    assert shown(record) == [("+", 10, None)]
    assert [entry["row"]["u"] for entry in record["late"]] == [9]


def test_decided_rows_are_in_the_order_of_time() -> None:
    """semantics 40.3: then of arrival, whether or not they have a partner, and wherever that is."""
    one = oracle(AsOf(tolerance=3), how="left")
    one.add(left(20, 10, a="first"), "left")
    one.add_batch({"left": left(15, 10, a="second"), "right": right(10, 19)})
    panes = one.watermark(30)["panes"]
    found = [(pane["t"], pane["a"], pane["u"]) for pane in panes]
    assert found == [(10, "first", 10), (10, "second", 10), (15, "second", None), (20, "first", 19)]


# State and output watermark


def test_the_stored_rows_are_the_left_ones() -> None:
    """semantics 41.1: as long as they are not decided."""
    one = oracle(AsOf(), how="semi")
    one.add_batch({"left": left(12, 10, k=2.0), "right": right(9, 11, k=2.0)})
    assert one.windows() == [
        {
            "k": 2.0,
            "window_start": time,
            "window_end": time + 1,
            "pending": 1,
            "closed": False,
            "input": "left",
        }
        for time in (10, 12)
    ]
    one.watermark(11, "right")
    assert stored(one) == [12]


def test_the_latest_right_row_counts_for_good() -> None:
    """semantics 41.1: without a tolerance, however far both watermarks have moved on."""
    one = oracle(AsOf())
    one.add(right(3, 1), "right")
    one.watermark(10**12)
    assert shown(one.add(left(10**12 + 5), "left")) == []
    assert shown(one.finish()) == [("+", 10**12 + 5, 3)]


@pytest.mark.parametrize(
    ("match", "timestamp", "behind"),
    [
        (AsOf(tolerance=7), "left", 0),
        (AsOf(tolerance=7), "later", 0),
        (AsOf(tolerance=7), "right", 7),
        (AsOf(tolerance=7), "earlier", 7),
        (AsOf("forward", 7), "left", 7),
        (AsOf("forward", 7), "later", 7),
        (AsOf("forward", 7), "right", 7),
        (AsOf("forward", 7), "earlier", 7),
        (AsOf("nearest", 7), "left", 7),
        (AsOf("nearest", 7), "later", 7),
        (AsOf("nearest", 7), "right", 14),
        (AsOf("nearest", 7), "earlier", 14),
        (AsOf(), "left", 0),
        (AsOf(), "later", 0),
    ],
)
def test_the_output_watermark(match: AsOf, timestamp: Any, behind: int) -> None:
    """semantics 40.4: the lower horizon less how far a row may lie behind it, which a row reaches."""
    far = match.tolerance.us if match.tolerance else 0
    at = 50 - (0 if match.strategy == "backward" else far)  # the first left row that is not decided
    of_right = timestamp in ("right", "earlier") and match.strategy != "forward"
    one = oracle(match, timestamp=timestamp, right={"allowed_lateness": 10})
    one.add_batch({"left": left(at), "right": right(at - far if of_right else at)})
    one.watermark(60, "left")
    assert one.output_watermark() is None
    one.watermark(60, "right")
    assert one.output_watermark() == 50 - behind
    [pane] = one.finish()["panes"]
    assert pane["join_time"] == 50 - behind
    assert one.output_watermark() == MAX


@pytest.mark.parametrize("timestamp", ["right", "earlier"])
def test_an_old_right_row_leaves_no_output_watermark(timestamp: Any) -> None:
    """semantics 40.4: without a tolerance there is none until H of both sides is plus infinity."""
    one = oracle(AsOf(), timestamp=timestamp)
    one.add_batch({"left": left(90), "right": right(-MAX)})
    one.watermark(80)
    assert one.output_watermark() is None
    one.finish("right")
    assert one.output_watermark() is None
    one.finish("left")
    assert one.output_watermark() == MAX


# Against Polars


@st.composite
def sequences(draw: st.DrawFn) -> list[tuple[str, Row]]:
    """Draws rows of both sides in an order of arrival in which no time is more than DELAY out of order."""
    sides = st.sampled_from(["left", "right", "right"])
    drawn = draw(
        st.lists(st.tuples(sides, st.integers(-9, 30), st.integers(0, DELAY), st.sampled_from([1.0, 2.0])))
    )
    rows = []
    for number, (side, time, _, key) in enumerate(sorted(drawn, key=lambda it: it[1] + it[2])):
        name, text = ("t", "a") if side == "left" else ("u", "b")
        rows.append((side, {"k": key, name: time, "n": number, text: str(number)}))
    return rows


@st.composite
def batches(draw: st.DrawFn, /, rows: list[tuple[str, Row]]) -> list[dict[str, list[Row]]]:
    """Returns the rows, cut into batches of both sides."""
    found: list[dict[str, list[Row]]] = []
    for side, row in rows:
        if not found or draw(st.booleans()):
            found.append({"left": [], "right": []})
        found[-1][side].append(row)
    return found


def of_polars(match: AsOf, rows: list[tuple[str, Row]]) -> list[tuple[str, str | None]]:
    """Returns the left rows and their partners by Polars, which is given data without ties.

    Right rows are in the order of time, then arrival. Only the last one of equal times and keys is given to
    the strategies for which Polars takes another one. Times are taken 4 times, and with "nearest" a left row
    comes 1 earlier: so of two rows that were equally near the earlier one is nearer now.
    """
    one, other = (
        pl.DataFrame([row for side, row in rows if side == name], schema_overrides={"n": pl.Int64})
        for name in ("left", "right")
    )
    if one.is_empty() or other.is_empty():
        return [(row["a"], None) for side, row in rows if side == "left"]
    nearest = match.strategy == "nearest"
    one = one.with_columns(at=pl.col("t") * 4 - int(nearest)).sort("at", maintain_order=True)
    other = other.with_columns(at=pl.col("u") * 4).sort("at", "n")
    if match.strategy != "backward":
        other = other.unique(["k", "at"], keep="last", maintain_order=True)
    tolerance = None if match.tolerance is None else match.tolerance.us * 4 + int(nearest)
    joined = one.join_asof(
        other,
        on="at",
        by="k",
        strategy=match.strategy,
        tolerance=tolerance,
        allow_exact_matches=match.allow_exact_matches,
        check_sortedness=False,
    )
    return [(row["a"], row["b"]) for row in joined.to_dicts()]


MATCHES = (
    *(AsOf(tolerance=tolerance) for tolerance in (None, 0, 1, 4, 12)),
    *(AsOf(strategy, far) for strategy in ("forward", "nearest") for far in (None, 0, 1, 4, 12)),  # type: ignore[arg-type]
    *(
        AsOf(strategy, far, allow_exact_matches=False)
        for strategy in ("backward", "forward")
        for far in (1, 4)
    ),  # type: ignore[arg-type]
    *(AsOf(strategy, allow_exact_matches=False) for strategy in ("backward", "forward")),  # type: ignore[arg-type]
)


@pytest.mark.parametrize("match", MATCHES, ids=str)
@examples(60)
@given(data=st.data())
def test_partners_are_those_of_polars(match: AsOf, data: st.DataObject) -> None:
    """semantics 37.2, 37.22, 37.23: without late rows, however batches are cut."""
    rows = data.draw(sequences())
    side = {"watermark": StreamTime(DELAY, per="all"), "order": ["n"]}
    types: Any = {name: {**columns, "n": "bigint"} for name, columns in TYPES.items()}
    spec = join(match, left=side, right={**side, "prefix": "r_"}, how="left", evaluate="record")
    found = []
    one = JoinInterpreter(spec, types)
    for batch in data.draw(batches(rows)):
        output = one.add_batch(batch)
        assert output["late"] == []
        found += output["panes"]
    found += one.finish()["panes"]
    assert sorted((pane["a"], pane["r_b"]) for pane in found) == sorted(of_polars(match, rows))
