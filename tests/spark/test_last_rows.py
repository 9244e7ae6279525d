"""Joins with the last and the latest rows in real queries (semantics 37.4 to 37.9)."""

import pytest
from pyspark.sql import functions as SF

from panewise import Tumbling
from panewise import functions as F
from panewise.errors import SpecError
from panewise.spark import JoinBuilder, ParquetSink, deduplicate, joined, windowed
from panewise.streamwindow import delta, time
from tests.spark.conftest import Feed, pairs_so_far

DELAY = "10 minutes"


def streams(feed: Feed, other: Feed) -> JoinBuilder:
    left, right = (one.stream().withWatermark("ts", DELAY) for one in (feed, other))
    return joined(left, right).on("k").prefix(right="r_")


@pytest.mark.nightly
def test_windows_last_from_run_to_run(feed: Feed, other: Feed) -> None:
    """semantics 37.4, 37.5, 33: right rows by count, and left rows by processing time."""
    result = streams(feed, other).rows(2, left=time("1 day")).how("left")
    other.put((1, "a", 1), (2, "a", 2), (3, "a", 3), (3, "b", 9))
    feed.put((4, "a", 10), (5, "c", 11))
    assert pairs_so_far(feed, result) == [(10, 2), (10, 3)]
    other.put((0, "c", 4))
    assert pairs_so_far(feed, result) == [(10, 2), (10, 3), (11, 4)]


@pytest.mark.nightly
def test_latest_rows_from_run_to_run(feed: Feed, other: Feed) -> None:
    """semantics 37.7, 37.8, 33: each run is a reading of the clock, and rows of earlier runs are paired."""
    result = streams(feed, other).latest("1 day", deletes=(None, "v")).how("inner")
    other.put((5, "a", 1), (5, "b", 2))
    feed.put((6, "a", 10), (1, "b", 11))
    assert pairs_so_far(feed, result) == [(10, 1), (11, 2)]
    other.put((7, "a", 3), (7, "b", None))
    feed.put((8, "a", 12), (9, "b", 13))
    assert pairs_so_far(feed, result) == [(10, 1), (10, 3), (11, 2), (12, 3)]


def without_times(feed: Feed, other: Feed) -> JoinBuilder:
    left, right = (one.stream().drop("ts") for one in (feed, other))
    return joined(left, right, (None, None)).on("k").prefix(right="r_")


@pytest.mark.nightly
def test_rows_without_event_times_from_run_to_run(feed: Feed, other: Feed) -> None:
    """semantics 36.13: no stream has a watermark. Right rows of a micro-batch come before left rows."""
    result = without_times(feed, other).rows(1).how("left")
    assert result.rows.columns == ["k", "v", "r_v", "op", "missing"]
    other.put((None, "a", 1), (None, "b", 2))
    feed.put((None, "a", 10), (None, "c", 11))
    assert pairs_so_far(feed, result) == [(10, 1), (11, None)]
    other.put((None, "a", 3), (None, "c", 4))
    feed.put((None, "a", 12), (None, "b", 13), (None, "c", 14))
    assert pairs_so_far(feed, result) == [(10, 1), (11, None), (12, 3), (13, 2), (14, 4)]


@pytest.mark.nightly
def test_the_watermark_of_the_query_is_not_that_of_rows_without_event_times(feed: Feed, other: Feed) -> None:
    """semantics 36.13: a stream may have a watermark; no row is late by it."""
    left, right = (one.stream().withWatermark("ts", "0 seconds") for one in (feed, other))
    result = joined(left, right, (None, None)).on("k").prefix(right="r_").latest().how("inner")
    for second, value in ((500, 1), (100, 2), (3, 3)):
        other.put((second, "a", value))
        feed.put((second, "a", 10 * value))
        found = pairs_so_far(feed, result)
    assert {(10, 1), (20, 2), (30, 3)} <= set(found)


@pytest.mark.nightly
def test_a_lookup_over_a_lookup(feed: Feed, other: Feed) -> None:
    """semantics 36.13, 42.5: rows without event times are the input of a join that needs none."""
    first = without_times(feed, other).rows(1).how("left")
    names = other.stream().select("k", SF.col("v").alias("name"))
    result = joined(first, names, (None, None)).on("k").rows(1).select("k", "v", "r_v", "name").how("left")
    other.put((None, "a", 1))
    feed.put((None, "a", 10), (None, "b", 11))
    sink = ParquetSink(feed.sink("rows"))
    result.write(rows=sink, checkpoint=feed.sink("checkpoint"), available_now=True).awaitTermination()
    assert sorted(feed.read("rows").select("v", "r_v", "name").rows()) == [(10, 1, 1), (11, None, None)]


def test_a_batch_without_event_times(feed: Feed, other: Feed) -> None:
    """semantics 36.13: all right rows of a batch come before its left rows."""
    feed.put((4, "a", 1), (6, "b", 2))
    other.put((9, "a", 4))
    began = joined(feed.batch().drop("ts"), other.batch().drop("ts"), (None, None)).on("k").prefix(right="r_")
    rows = began.rows(1).how("left").rows.select("v", "r_v").collect()
    assert sorted(map(tuple, rows)) == [(1, 4), (2, None)]


def test_what_rows_without_event_times_refuse(feed: Feed, other: Feed) -> None:
    """semantics 36.13, 42.5: other matches, one side only, and a second operator that needs a time."""
    began = without_times(feed, other)
    with pytest.raises(
        SpecError, match=r"event_time=None, Interval.* \| only Latest, and LastRows by arrival"
    ):
        began.within(0, 5).how("inner")
    with pytest.raises(SpecError, match=r"allowed_lateness needs event times"):
        began.rows(1).allowed_lateness("1 minute").how("inner")
    one = joined(feed.stream(), other.stream().drop("ts"), ("ts", None)).on("k").prefix(right="r_")
    with pytest.raises(SpecError, match=r"event_time=None of the right only \| both sides"):
        one.latest().how("inner")
    result = began.latest().how("inner")
    with pytest.raises(SpecError, match=r"a join with event_time=None before a second operator"):
        deduplicate(result, "k").on("k").within("1 hour")
    counted = (
        windowed(result).options(time="processing").window(Tumbling("1 minute")).agg(F.count().alias("n"))
    )
    assert "n" in counted.panes.columns


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
