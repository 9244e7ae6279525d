"""A limit of windows on Spark: in a query that starts again, and before and behind other operators."""

from typing import Any

import polars as pl
import pytest
from pyspark.sql import DataFrame

import panewise as pw
from panewise import functions as F
from panewise.spark import joined, windowed
from tests.spark.conftest import START, Feed, beside, emitted, write

FILES: Any = (
    ((0, "a", 1), (70, "a", 2), (0, "b", 3)),
    ((5, "a", 9), (65, "a", 4)),
    ((130, "a", 5), (70, "b", 6)),
)
# By key and the second at which the window ends; all of them are early.
EARLY = [("a", 60, 1), ("a", 120, 6), ("b", 60, 3)]


def minutes(df: DataFrame, **options: Any) -> Any:
    """Sums of each minute, of which each key may have one."""
    described = windowed(df, event_time="ts").groupBy("k").window(pw.Tumbling("1 minute"))
    described = described.options(max_windows=pw.MaxWindows(1), timestamp="window_time", **options)
    return described.agg(F.sum("v").alias("s"))


def stream(feed: Feed) -> DataFrame:
    return feed.stream().withWatermark("ts", "10 minutes")


@pytest.fixture
def files(feed: Feed) -> Feed:
    for rows in FILES:
        feed.put(*rows)
    return feed


def ends(frame: pl.DataFrame, value: str = "s") -> list[tuple[str, int, int]]:
    """Returns key, second of the end, and value."""
    seconds: Any = lambda end: int((end - START).total_seconds())  # noqa: E731
    return sorted((k, seconds(end), s) for k, end, s in frame.select("k", "window_end", value).iter_rows())


def test_a_query_that_starts_again(feed: Feed) -> None:
    """semantics 15.23 to 15.25: the windows before the restart count, and nothing depends on shards."""
    for rows in FILES:
        feed.put(*rows)
        write(feed, minutes(stream(feed)), outputs=["panes", "late"])
    panes = feed.read("panes")
    assert ends(panes) == EARLY
    assert panes.select(pl.col("timing").unique(), pl.col("is_last").unique()).rows() == [("EARLY", True)]
    assert feed.read("late").select("reason", pl.col("row").struct.field("v")).rows() == [("full", 9)]


def test_a_batch(files: Feed) -> None:
    """All rows are one batch, so none is late, and the last windows are emitted at its end (15.24)."""
    assert ends(pl.DataFrame(minutes(files.batch()).panes.toArrow())) == [
        ("a", 60, 10),
        ("a", 120, 6),
        ("a", 180, 5),
        ("b", 60, 3),
        ("b", 120, 6),
    ]


@pytest.mark.nightly
def test_a_second_operator(files: Feed) -> None:
    """It takes the panes of windows that have expired early: they are not late (semantics 15.24, 42.2)."""
    behind = windowed(minutes(stream(files)), "timestamp").groupBy("k").window(pw.Tumbling("10 minutes"))
    result = behind.trigger(pw.Always()).agg(F.sum("s").alias("s"), F.count().alias("n"))
    write(files, result, outputs=["panes", "counts"])
    latest = files.read("panes").sort("n").group_by("k").agg(pl.col("s").last())
    assert sorted(latest.rows()) == [("a", 7), ("b", 3)]
    assert files.read("counts").select("late", "invalid").sum().row(0) == (0, 0)


@pytest.mark.nightly
def test_a_join_behind_it(files: Feed) -> None:
    """A pane that is emitted early finds its partner like any other (semantics 15.24, 36.9)."""
    right = beside(files, "right")
    right.put((59, "a", 100), (119, "a", 200), (179, "a", 300), (59, "b", 400))
    for _ in FILES[1:]:
        right.put()
    pairs = (
        joined(minutes(stream(files)), stream(right), ("timestamp", "ts"))
        .on("k")
        .prefix(left="l_", right="r_")
    )
    result = pairs.within("-2 seconds", "0 seconds").how("inner")
    write(files, result, outputs=["rows", "left_counts"])
    rows = files.read("rows").select("k", "l_s", "r_v").rows()
    assert sorted(rows) == [("a", 1, 100), ("a", 6, 200), ("b", 3, 400)]
    assert files.read("left_counts")["late"].sum() == 0


@pytest.mark.nightly
def test_beside_operators_of_spark(files: Feed) -> None:
    """Behind one of Spark's, and before another one (semantics 15.24, 18.3)."""
    once = stream(files).dropDuplicatesWithinWatermark(["k", "v"])
    each = minutes(once).panes.dropDuplicatesWithinWatermark(["k", "window_end"])
    frame = emitted(files, each.select("k", "window_end", "s"))
    assert ends(frame) == EARLY


def test_a_limit_that_stops_a_query(files: Feed) -> None:
    """semantics 15.26: the error names the key, and the rows of the micro-batch stay unread."""
    described = windowed(stream(files), event_time="ts").groupBy("k").window(pw.Tumbling("1 minute"))
    limit = pw.MaxWindows(1, when_full="stop")
    result = described.options(max_windows=limit).agg(F.sum("v").alias("s"))
    with pytest.raises(Exception, match=r"more than 1 windows of the key \{'k': 'a'\}"):
        write(files, result, outputs=["panes"])
