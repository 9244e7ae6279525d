"""Windowed stream joins in real queries (semantics 37.14 to 37.18)."""

import pytest

from panewise import JoinWindow, Tumbling, rows
from panewise.errors import SpecError
from panewise.spark import joined
from tests.spark.conftest import Feed, pairs_so_far


@pytest.mark.nightly
def test_rows_wait_from_run_to_run(feed: Feed, other: Feed) -> None:
    """semantics 37.16, 37.17, 33: a left row is released once its window is complete.

    By then the right row 4 has taken the place of row 2 in the window of its key.
    """
    left, right = (one.stream().withWatermark("ts", "0 seconds") for one in (feed, other))
    began = joined(left, right).on("k").prefix(right="r_").allowed_lateness("1 day")
    result = began.streams(JoinWindow(Tumbling("10 seconds"), early=None), JoinWindow(rows(2))).how("inner")
    other.put((1, "a", 1), (2, "a", 2), (3, "a", 3), (3, "b", 9))
    feed.put((4, "a", 10), (9, "b", 11), (2, None, 12))
    assert pairs_so_far(feed, result) == []
    feed.put((10, "b", 13))
    other.put((14, "a", 4))
    assert pairs_so_far(feed, result) == [(10, 3), (10, 4), (11, 9)]


def test_batches_and_what_is_refused(feed: Feed, other: Feed) -> None:
    """semantics 37.14 to 37.16, 27.2."""
    feed.put((4, "a", 1), (6, "a", 2), (1, "a", 3))
    other.put((3, "a", 4), (5, "a", 5), (9, None, 7))
    began = joined(feed.batch(), other.batch(), "ts").on("k").prefix(right="r_")
    result = began.streams(JoinWindow(Tumbling("2 seconds"))).how("inner")
    assert sorted(map(tuple, result.rows.select("v", "r_v").collect())) == [
        (1, 4),
        (1, 5),
        (2, 4),
        (2, 5),
        (3, 4),
    ]
    assert "one of the last 2 of the key" in began.streams(JoinWindow(rows(2))).how("inner").explain()
    with pytest.raises(
        SpecError, match=r"Every\(.*\) on a batch DataFrame \| .* \| use 'each', or read a str"
    ):
        began.streams(JoinWindow(early="1 minute")).how("inner")
    with pytest.raises(SpecError, match=r"how='left', WindowedStreams.* \| .*inner \| use how='inner'"):
        began.streams().how("left")
