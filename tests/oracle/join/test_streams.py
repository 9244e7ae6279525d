"""The oracle for windowed stream joins does what the text says (semantics 37.14 to 37.18)."""

from typing import Any

import pytest

from panewise import Every, Hopping, JoinWindow, StreamTime, Tumbling, WindowedStreams, rows
from panewise.spec.conditions import left as left_column
from panewise.spec.conditions import right as right_column
from tests.oracle.join.cases import MAX, left, oracle, right, shown

LATE = {"allowed_lateness": 100}


def streams(one: JoinWindow | None = None, other: JoinWindow | None = None, **fields: Any) -> Any:
    return oracle(WindowedStreams(one, other), left=LATE, right=LATE, **fields)


def pairs(output: Any) -> list[tuple[int, int]]:
    return [(one, other) for _, one, other in shown(output)]


def stored(one: Any) -> list[int]:
    return [window["window_start"] for window in one.windows()]


def test_rows_of_the_first_side_are_released_first() -> None:
    """semantics 37.15: the left side, or the only side with a window; 40.3."""
    batch = {"left": left(2, 1), "right": right(8, 9)}
    assert pairs(streams().add_batch(batch)) == [(1, 8), (2, 8), (1, 9), (2, 9)]
    assert pairs(streams(other=JoinWindow(rows(5))).add_batch(batch)) == [(1, 8), (1, 9), (2, 8), (2, 9)]
    both = streams(JoinWindow(rows(5)), JoinWindow(rows(5)))
    assert pairs(both.add_batch(batch)) == [(1, 8), (2, 8), (1, 9), (2, 9)]


def test_with_record_each_row_is_released_alone() -> None:
    """semantics 36.7, 37.15: rows are released in the arrival order of the batch."""
    one = streams(JoinWindow(rows(1)), evaluate="record")
    assert pairs(one.add_batch({"left": left(1, 5), "right": right(2, 6)})) == [(1, 2), (5, 2), (5, 6)]
    whole = streams(JoinWindow(rows(1)))
    assert pairs(whole.add_batch({"left": left(1, 5), "right": right(2, 6)})) == [(5, 2), (5, 6)]


def test_a_period_releases_rows_at_its_boundaries() -> None:
    """semantics 37.16: the first boundary after the arrival, with a phase."""
    one = streams(JoinWindow(early=Every(10, aligned=True, offset=3)))
    one.add(right(1), "right")
    found = []
    for at in (3, 4, 12):
        found.append(pairs(one.clock(at)))
        one.add(left(at), "left") if at != 3 else found.append(pairs(one.add(left(at), "left")))
    assert found == [[], [], [], []]
    assert pairs(one.clock(13)) == [(3, 1), (4, 1), (12, 1)]


def test_a_complete_window_releases_its_rows() -> None:
    """semantics 37.16: full size, with and without an early policy, and the end of input."""
    for early in (None, 1000):
        one = streams(JoinWindow(Tumbling(10, origin=5), early=early))
        one.clock(1)
        one.add(right(0), "right")
        one.add(left(4, 5, 14, 15), "left")
        assert pairs(one.watermark(5, "left")) == [(4, 0)]
        assert pairs(one.watermark(14, "left")) == []
        assert pairs(one.watermark(15, "left")) == [(5, 0), (14, 0)]
        assert pairs(one.finish("left")) == [(15, 0)]


def test_the_end_of_input_releases_all_rows_of_its_side() -> None:
    """semantics 37.16: also those that wait for a period, early or late."""
    one = streams(JoinWindow(early=1000), JoinWindow(Tumbling(5), late=1000))
    one.watermark(50, "right")
    one.clock(1)
    one.add_batch({"left": left(1), "right": right(2, 60)})
    assert pairs(one.finish("left")) == [(1, 60)]
    assert pairs(one.finish("right")) == [(1, 2)]


def test_hopping_windows_complete_the_first_one() -> None:
    """semantics 37.16: a row waits for the first window that contains it, and is released once."""
    one = streams(JoinWindow(Hopping(10, 4), early=None))
    one.add(right(0), "right")
    one.add(left(1, 2), "left")
    assert pairs(one.watermark(2, "left")) == [(1, 0)]
    assert pairs(one.watermark(6, "left")) == [(2, 0)]
    assert pairs(one.watermark(100, "left")) == []


def test_late_rows_follow_their_own_policy() -> None:
    """semantics 37.16: as in its example."""
    one = streams(JoinWindow(Tumbling(10), early=100, late="each"))
    one.clock(150)
    one.add(right(4), "right")
    one.add(left(3), "left")
    assert pairs(one.clock(199)) == []
    one.watermark(12, "left")
    assert pairs(one.add(left(5, 11), "left")) == [(5, 4)]
    assert pairs(one.clock(200)) == [(11, 4)]
    late = streams(JoinWindow(Tumbling(10), late=100))
    late.add(right(4), "right")
    late.watermark(12, "left")
    late.clock(1)
    assert pairs(late.add(left(5, 11), "left")) == [(11, 4)]
    assert pairs(late.watermark(90, "left")) == []
    assert pairs(late.clock(100)) == [(5, 4)]


def test_rows_of_a_window_of_rows_are_the_last_released() -> None:
    """semantics 37.17: by key, and a row that waits is in no window."""
    one = streams(JoinWindow(rows(2), early=10))
    one.add([*left(1, 2, 3), *left(4, k=2.0)], "left")
    one.clock(10)
    one.add(left(9), "left")
    assert pairs(one.add(right(5), "right")) == [(2, 5), (3, 5)]
    assert pairs(one.clock(20)) == [(9, 5)]
    assert pairs(one.add(right(6), "right")) == [(3, 6), (9, 6)]
    assert stored(one) == [3, 4, 5, 6, 9]


@pytest.mark.parametrize("reverse", [False, True])
def test_windows_of_time_bound_the_distance(reverse: bool) -> None:
    """semantics 37.17: both ends are included, whichever row is released first."""
    one = streams(JoinWindow(Tumbling(10)), JoinWindow(Tumbling(3)))
    steps: list[tuple[Any, str]] = [(left(20), "left"), (right(16, 17, 20, 30, 31), "right")]
    found = [pairs(one.add(*step)) for step in (steps[::-1] if reverse else steps)]
    assert found[1] == [(20, 17), (20, 20), (20, 30)]


def test_a_condition_does_not_change_what_a_window_contains() -> None:
    """semantics 37.17, 38, 28: nor do rows with a null key."""
    one = streams(JoinWindow(rows(1)), condition=left_column("a") == right_column("b"))
    one.add([*left(1, a="x"), *left(2, a="y"), *left(3, k=None, a="x")], "left")
    found = one.add([*right(4, b="x"), *right(5, b="y"), *right(6, k=None, b="x")], "right")
    assert pairs(found) == [(2, 5)]
    assert stored(one) == [2, 4, 5]


def test_retention_by_time() -> None:
    """semantics 37.18: as in its example; the end of input does not move it."""
    one = oracle(
        WindowedStreams(JoinWindow(retention=20)),
        left={"allowed_lateness": 20, "watermark": StreamTime(0, per="all")},
        right=LATE,
    )
    one.add(left(30, 10, 9), "left")
    assert pairs(one.add(right(7), "right")) == [(10, 7), (30, 7)]
    assert stored(one) == [7, 10, 30]
    one.finish("left")
    assert pairs(one.add(right(8), "right")) == [(10, 8), (30, 8)]


def test_retention_by_size() -> None:
    """semantics 37.18: the latest event times; of equal times those released last."""
    one = streams(JoinWindow(retention_rows=2))
    one.add([*left(5, a="first"), *left(9)], "left")
    one.add([*left(5, a="second"), *left(4)], "left")
    found = one.add(right(6), "right")["panes"]
    assert [(pane["t"], pane["a"]) for pane in found] == [(5, "second"), (9, None)]


def test_rows_are_stored_as_long_as_they_can_match() -> None:
    """semantics 41.5: without a window until the other side ends, with one until its watermark has passed."""
    one = streams(JoinWindow(Tumbling(10)))
    one.add(left(20), "left")
    one.add(right(20), "right")
    one.watermark(130, "right")
    assert stored(one) == [20, 20]
    one.watermark(131, "right")
    assert stored(one) == [20]
    one.finish("left")
    assert stored(one) == []


def test_the_output_watermark_follows_rows_that_wait() -> None:
    """semantics 40.4: no row has a `join_time` before it."""
    one = streams(JoinWindow(Tumbling(10), early=1000), timestamp="left")
    one.clock(1)
    one.add(left(50), "left")
    assert one.output_watermark() is None
    one.watermark(200)
    assert one.output_watermark() == 100 - 10
    waiting = streams(JoinWindow(early=1000))
    waiting.clock(1)
    waiting.add(left(50), "left")
    waiting.watermark(200)
    assert waiting.output_watermark() == 50
    waiting.clock(1000)
    assert waiting.output_watermark() == 100
    waiting.finish()
    assert waiting.output_watermark() == MAX


@pytest.mark.parametrize(
    ("timestamp", "expected"), [("later", 100), ("left", 95), ("right", 93), ("earlier", 93)]
)
def test_the_output_watermark_of_each_timestamp(timestamp: Any, expected: int) -> None:
    """semantics 40.4: the window of the side whose time it is may lie behind."""
    one = streams(JoinWindow(Tumbling(5)), JoinWindow(Tumbling(7)), timestamp=timestamp)
    one.watermark(200)
    assert one.output_watermark() == expected
    without = streams(JoinWindow(Tumbling(5)), timestamp=timestamp)
    without.watermark(200)
    assert without.output_watermark() == {"later": 100, "left": 95}.get(timestamp)
