"""Joins with the last and the latest rows in real queries (semantics 37.4 to 37.9)."""

import polars as pl
import pytest

from panewise.errors import SpecError
from panewise.spark import JoinBuilder, JoinResult, ParquetSink, joined
from panewise.streamwindow import delta, time
from tests.spark.conftest import Feed

DELAY = "10 minutes"


@pytest.fixture
def other(feed: Feed) -> Feed:
    """The right side."""
    (feed.folder / "right").mkdir()
    return Feed(feed.spark, feed.folder / "right")


def streams(feed: Feed, other: Feed) -> JoinBuilder:
    left, right = (one.stream().withWatermark("ts", DELAY) for one in (feed, other))
    return joined(left, right).on("k").prefix(right="r_")


def emitted(result: JoinResult, feed: Feed) -> list[tuple[object, ...]]:
    """Runs the query over what has come since its last run, and returns all rows so far."""
    sink = ParquetSink(feed.sink("rows"))
    result.write(rows=sink, checkpoint=feed.sink("checkpoint"), available_now=True).awaitTermination()
    found = pl.DataFrame(feed.spark.read.parquet(feed.sink("rows")).toArrow())
    return sorted(found.select("v", "r_v").rows(), key=repr)


def test_windows_last_from_run_to_run(feed: Feed, other: Feed) -> None:
    """semantics 37.4, 37.5, 33: right rows by count, and left rows by processing time."""
    result = streams(feed, other).rows(2, left=time("1 day")).how("left")
    other.put((1, "a", 1), (2, "a", 2), (3, "a", 3), (3, "b", 9))
    feed.put((4, "a", 10), (5, "c", 11))
    assert emitted(result, feed) == [(10, 2), (10, 3)]
    other.put((0, "c", 4))
    assert emitted(result, feed) == [(10, 2), (10, 3), (11, 4)]


def test_latest_rows_from_run_to_run(feed: Feed, other: Feed) -> None:
    """semantics 37.7, 37.8, 33: each run is a reading of the clock, and rows of earlier runs are paired."""
    result = streams(feed, other).latest("1 day", deletes=(None, "v")).how("inner")
    other.put((5, "a", 1), (5, "b", 2))
    feed.put((6, "a", 10), (1, "b", 11))
    assert emitted(result, feed) == [(10, 1), (11, 2)]
    other.put((7, "a", 3), (7, "b", None))
    feed.put((8, "a", 12), (9, "b", 13))
    assert emitted(result, feed) == [(10, 1), (10, 3), (11, 2), (12, 3)]


def test_batches_and_what_is_refused(feed: Feed, other: Feed) -> None:
    """semantics 36.6, 37.5, 37.6: a batch arrives in the order of event time, so both orders agree."""
    feed.put((4, "a", 1), (6, "a", 2), (1, "a", 3))
    other.put((3, "a", 4), (5, "a", 5), (2, "a", 6), (9, None, 7))
    began = joined(feed.batch(), other.batch(), "ts").on("k").prefix(right="r_")
    for result in (began.rows(2).how("left"), began.rows(2, order="event_time").how("left")):
        rows = result.rows.select("v", "r_v").collect()
        assert sorted(map(tuple, rows), key=repr) == [(1, 4), (1, 6), (2, 4), (2, 5), (3, None)]
    assert began.prefix().rows(delta("ts", "2 seconds")).how("semi").rows.count() == 2
    with pytest.raises(
        SpecError, match=r"time\('1 minute'\) on a batch DataFrame \| .* \| use delta over a time"
    ):
        began.rows(time("1 minute")).how("inner")
    with pytest.raises(SpecError, match=r"Latest\(ttl=None.* on a batch DataFrame \| .* \| use AsOf"):
        began.latest().how("inner")
    with pytest.raises(SpecError, match=r"how='full', LastRows.* \| exchange the sides"):
        began.rows(1).how("full")
