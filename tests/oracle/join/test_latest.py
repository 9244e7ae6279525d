"""The oracle for joins of the latest rows does what the text says (semantics 37.7 to 37.9)."""

from typing import Any

import pytest

from panewise.spec.conditions import left as left_column
from panewise.spec.conditions import right as right_column
from panewise.spec.operators.join.latest import Latest
from tests.oracle.join.cases import MAX, left, oracle, right, shown


def stored(one: Any) -> list[int]:
    return [window["window_start"] for window in one.windows()]


def test_the_newest_rows_are_paired_as_in_the_example() -> None:
    """semantics 37.7: a match uses up no row, and event times make no difference."""
    one = oracle(Latest(10))
    found = []
    for at, side, row in ((100, "right", right(9)), (105, "left", left(50)), (106, "right", right(1))):
        found += shown(one.clock(at)) + shown(one.add(row, side))
    one.clock(110)
    assert found + shown(one.add(left(2), "left")) == [("+", 50, 9), ("+", 50, 1), ("+", 2, 1)]
    one.clock(115)
    assert stored(one) == [1, 2]
    one.clock(116)
    assert stored(one) == [2]
    assert shown(one.add(left(3), "left")) == []


def test_without_a_ttl_no_row_is_too_old() -> None:
    """semantics 37.7, 41.3: the last row of a key is stored for good."""
    one = oracle(Latest())
    one.add(right(1), "right")
    one.clock(MAX)
    one.watermark(MAX - 1)
    assert shown(one.add(left(MAX - 1), "left")) == [("+", MAX - 1, 1)]


def test_each_key_has_a_newest_row() -> None:
    """semantics 37.7, 28: NaN equals NaN, and null equals nothing."""
    one = oracle(Latest(), how="full", unmatched="early")
    nan = float("nan")
    one.add([*right(1, k=nan), *right(2, k=0.0), *right(3, k=None)], "right")
    found = one.add([*left(10, k=nan), *left(11, k=-0.0), *left(12, k=None)], "left")
    assert [row for row in shown(found) if row[0] == "+"] == [("+", 10, 1), ("+", 11, 2), ("+", 12, None)]
    assert stored(one) == [1, 2, 10, 11]


def test_the_condition_does_not_change_which_row_is_newest() -> None:
    """semantics 37.7, 38."""
    one = oracle(Latest(), how="left", condition=left_column("a") == right_column("b"))
    one.add([*right(1, b="x"), *right(2, b="y")], "right")
    assert shown(one.add(left(3, a="x"), "left")) == []
    assert shown(one.add(left(4, a="y"), "left")) == [("+", 4, 2), ("+", 3, None)]


def test_a_null_deletes() -> None:
    """semantics 37.8: the row of its key on its own side; it is applied and not emitted."""
    one = oracle(Latest(deletes=("a", "b")), how="full")
    one.add_batch({"left": left(1, a="p"), "right": right(2, k=2.0, b="q")})
    output = one.add([*left(3, a=None), *left(4, k=2.0, a=None), *left(5, k=None, a=None)], "left")
    assert shown(output) == [("+", 1, None)]
    assert output["counts"]["left"]["applied"] == 3
    assert stored(one) == [2]
    assert shown(one.add(right(6, b="r"), "right")) == []
    assert [pane["u"] for pane in one.finish()["panes"]] == [2, 6]


def test_a_row_is_emitted_in_the_reading_that_finds_it_too_old() -> None:
    """Semantics 37.9."""
    one = oracle(Latest(10), how="left")
    one.clock(100)
    assert shown(one.add(left(1), "left")) == []
    one.clock(103)
    assert shown(one.add(left(2), "left")) == [("+", 1, None)]
    assert shown(one.clock(112)) == []
    assert shown(one.clock(113)) == [("+", 2, None)]


@pytest.mark.parametrize(
    ("fields", "known"),
    [({"timestamp": "later"}, True), ({"timestamp": "left"}, False), ({"how": "left"}, False)],
)
def test_the_output_watermark(fields: dict[str, Any], known: bool) -> None:
    """semantics 40.4: of pairs the later event time is not behind the lower horizon."""
    one = oracle(Latest(), **fields)
    one.watermark(60)
    assert one.output_watermark() == (60 if known else None)
    one.finish()
    assert one.output_watermark() == MAX
