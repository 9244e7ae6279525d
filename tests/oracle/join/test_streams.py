"""The oracle for windowed stream joins does what the text says (semantics 37.14 to 37.18)."""

from typing import Any

import pytest

from panewise import JoinWindow, StreamTime, Tumbling, WindowedStreams, rows
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
