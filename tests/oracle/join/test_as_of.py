"""The oracle for as-of joins does what the text says, and finds the rows that Polars' join_asof finds."""

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
from panewise.spec.operators.join.as_of import AsOf
from tests.engine.effort import examples
from tests.oracle.join.cases import MAX, TYPES, Row, join, left, oracle, right, shown

DELAY = 5


def stored(one: JoinInterpreter) -> list[int]:
    return [window["window_start"] for window in one.windows()]


# The partner


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


# When it is decided


def test_the_horizon_that_decides_saturates() -> None:
    """semantics 37.3: l + tolerance beyond 64 bits is reached when H is plus infinity."""
    one = oracle(AsOf("forward", 10), how="left")
    one.add(left(MAX - 5), "left")
    assert shown(one.watermark(MAX - 1, "right")) == []
    assert shown(one.watermark(MAX, "right")) == [("+", MAX - 5, None)]


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
