"""Operators behind Spark's own stateful operators: no row that these emit is late (semantics 18.3, 36.9)."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import polars as pl
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as SF

import panewise as pw
from panewise import Window
from panewise import functions as F
from panewise.errors import DroppedLateRowsWarning, SetupError, SpecError
from panewise.spark import cogrouped, deduplicate, joined, over, policy_windows, windowed
from panewise.streamwindow import count
from tests.nightly import first_here
from tests.spark.conftest import Feed, at, beside, emitted, write

TWO = pw.Tumbling("2 minutes")
SUM = F.sum("n").alias("n")
MINUTES = 6


@pytest.fixture
def minutes(feed: Feed) -> Feed:
    """Six files, each with the rows of a minute in perfect order: three of each of two keys."""
    for n in range(MINUTES):
        feed.put(*((60 * n + 10 * i, "ab"[i % 2], i) for i in range(6)))
    return feed


def stream(feed: Feed) -> DataFrame:
    return feed.stream().withWatermark("ts", "0 seconds")


def counted(df: DataFrame) -> DataFrame:
    """Counts of each minute by Spark, each with the last instant of its minute."""
    counts = df.groupBy(SF.window("ts", "1 minute"), "k").agg(SF.count("*").alias("n"))
    return counts.select(SF.window_time("window").alias("ts"), "k", "n")


def paired(df: DataFrame) -> DataFrame:
    """Rows of the key a by Spark's outer join: every third one at once, the others 30 seconds later."""
    left = df.where("k = 'a'").select("ts", "k", "v")
    right = df.where("k = 'b'").select(SF.col("ts").alias("other"), SF.col("v").alias("w"))
    within = SF.expr("w = v + 1 AND v % 4 = 2 AND other >= ts AND other <= ts + INTERVAL 30 SECONDS")
    return left.join(right, within, "leftOuter").select("ts", "k", SF.lit(1).alias("n"))


def first_ones(df: DataFrame) -> DataFrame:
    return df.dropDuplicatesWithinWatermark(["k", "ts"]).select("ts", "k", SF.lit(1).alias("n"))


UPSTREAM = [counted, paired, first_ones]


def windows(df: DataFrame) -> Any:
    return windowed(df, event_time="ts").groupBy("k").window(TWO).agg(SUM)


def run(feed: Feed, result: Any, *outputs: str) -> dict[str, pl.DataFrame]:
    """Writes outputs until all files are read, and returns them."""
    write(feed, result, outputs=outputs)
    return {name: feed.read(name) for name in outputs}


def by_window(panes: pl.DataFrame) -> dict[tuple[str, datetime], int]:
    return {(k, start): n for k, start, n in panes.select("k", "window_start", "n").iter_rows()}


def native_windows(df: DataFrame, feed: Feed) -> dict[tuple[str, datetime], int]:
    """Returns what Spark's own windows of two minutes contain."""
    sums = df.groupBy(SF.window("ts", "2 minutes"), "k").agg(SF.sum("n").alias("n"))
    return by_window(
        emitted(feed, sums.select("k", SF.col("window.start").alias("window_start"), "n"), "native")
    )


@pytest.mark.nightly
@pytest.mark.parametrize("upstream", first_here(UPSTREAM))
def test_windows_contain_what_those_of_spark_contain(
    minutes: Feed, upstream: Callable[[DataFrame], DataFrame]
) -> None:
    found = run(minutes, windows(upstream(stream(minutes))), "panes", "counts")
    native = native_windows(upstream(stream(minutes)), minutes)
    assert by_window(found["panes"]) == native
    assert len(native) >= 2
    assert found["counts"]["late"].sum() == 0


FAMILIES: dict[str, Callable[[DataFrame], Any]] = {
    "sessions": lambda df: (
        windowed(df, event_time="ts").groupBy("k").window(pw.Session("90 seconds")).agg(SUM)
    ),
    "a chain": lambda df: windows(df).then(keys=[], aggregates=[SUM]),
    "OVER": lambda df: over(df, event_time="ts").withColumn(
        "total", F.sum("n").over(Window.partitionBy("k").orderBy("ts"))
    ),
    "policy windows": lambda df: policy_windows(df).partition_by("k").tumbling(count(2)).agg(SUM),
    "a deduplication": lambda df: deduplicate(df, event_time="ts").on("k", "ts").within("1 minute"),
}


@pytest.mark.parametrize("family", first_here(FAMILIES))
def test_no_row_of_spark_s_join_is_late_in_any_family(minutes: Feed, family: str) -> None:
    counts = run(minutes, FAMILIES[family](paired(stream(minutes))), "counts")["counts"]
    assert counts.select("late", "invalid").sum().row(0) == (0, 0)
    assert counts["applied"].sum() >= 12


def of_sides(left: DataFrame, right: DataFrame) -> dict[str, Any]:
    both = cogrouped(left, right, "ts").on("k").window(TWO).agg(left=[SUM], right=[F.count().alias("m")])
    pairs = joined(left, right, "ts").on("k").prefix(right="r_")
    return {
        "an interval join": pairs.within("-1 minute", "1 minute").how("left"),
        "a cogroup": both,
        "an as-of join": pairs.as_of().how("left"),
        "a window join": pairs.window(TWO).how("left"),
        "a join with the last rows": pairs.rows(2).how("left"),
        "a join of the latest rows": pairs.latest().how("inner"),
    }


SIDES = [
    "an interval join",
    "a cogroup",
    "an as-of join",
    "a window join",
    "a join with the last rows",
    "a join of the latest rows",
]


@pytest.mark.nightly
@pytest.mark.parametrize("family", first_here(SIDES))
def test_no_row_of_spark_s_join_is_late_on_a_side(minutes: Feed, family: str) -> None:
    """The left side is delayed by Spark; the rows of the right one drive its watermark (semantics 36.9)."""
    result = of_sides(paired(stream(minutes)), stream(minutes))[family]
    found = run(minutes, result, "left_counts", "right_counts")
    assert [counts["late"].sum() for counts in found.values()] == [0, 0]
    assert found["left_counts"]["applied"].sum() >= 12
    assert found["right_counts"]["applied"].sum() == 6 * MINUTES


@pytest.mark.nightly
def test_a_row_that_spark_s_window_accepts_is_not_late(feed: Feed) -> None:
    """Rows are late by the watermark of the micro-batch before (semantics 18.3)."""
    for seconds in ([10], [130, 20], [30], [250]):  # 20 and 30 are behind 130
        feed.put(*((s, "a", 1) for s in seconds))
    rows = stream(feed).select("ts", "k", SF.lit(1).alias("n"))
    found = run(feed, windows(rows), "panes", "counts")
    assert by_window(found["panes"]) == native_windows(rows, feed)
    assert found["counts"]["late"].sum() == 0


@pytest.mark.nightly
def test_every_shard_judges_by_the_watermark_of_a_micro_batch_without_rows(feed: Feed) -> None:
    """A micro-batch without rows moves the watermark in shards where nothing is due, too (semantics 18.3)."""
    keys = "abcdefgh"
    for n, rows in enumerate(([(300, "a", 1)], [(10, k, 1) for k in keys], [(900, "a", 1)])):
        feed.put(*rows)
        found = run(feed, windows(stream(feed).withColumnRenamed("v", "n")), "panes", "late")
        assert found["late"].height == (0 if n == 0 else len(keys))
    assert by_window(found["panes"]) == {("a", at(240)): 1}


def test_what_late_rows_need_is_named(minutes: Feed) -> None:
    """Spark drops late rows before they reach the operator (semantics 12.11)."""
    df = first_ones(stream(minutes))
    warning = (
        r"^the late rows of a stream \| Spark's own DeduplicateWithinWatermark before it drops rows .* "
        r"\(semantics 12.11\) \| use an operator of panewise in its place, or"
    )
    with pytest.warns(DroppedLateRowsWarning, match=warning):
        assert windows(df).late.isStreaming
    with pytest.warns(DroppedLateRowsWarning, match=r"^allowed_lateness='1 minute' \| "):
        windowed(df, event_time="ts").groupBy("k").window(TWO).allowed_lateness("1 minute").agg(SUM)
    pairs = joined(df, stream(minutes), "ts").on("k").prefix(right="r_")
    with pytest.warns(DroppedLateRowsWarning, match=r"^allowed_lateness='1 minute' \| "):
        _ = pairs.window(TWO, allowed_lateness="1 minute").how("inner").rows
    with pytest.warns(DroppedLateRowsWarning, match=r"^allowed_lateness='1 minute' \| "):
        _ = pairs.within("-1 minute", "1 minute").allowed_lateness("1 minute").how("inner").rows
    assert windows(minutes.batch().distinct().withColumnRenamed("v", "n")).late.count() == 0


def test_sides_that_follow_the_query(minutes: Feed) -> None:
    delayed, plain = paired(stream(minutes)), minutes.stream()
    both = joined(delayed, plain, "ts").on("k").within("-1 minute", "1 minute").prefix(right="r_")
    stops = (
        r"^a stream without a watermark \(right\) \| the left side reads what Spark's own stateful "
        r"operators or a union of streams emit, .* which this stream would stop \| call withWatermark on it"
    )
    with pytest.raises(SetupError, match=stops):
        _ = both.watermark(right=pw.StreamTime(0, per="all")).how("inner").rows
    idle = joined(delayed, stream(minutes), "ts").on("k").within("-1 minute", "1 minute").prefix(right="r_")
    known = r"^idle_after=.* \| the left side reads what .* Spark knows no idle streams \| leave idle_after"
    with pytest.raises(SpecError, match=known):
        _ = idle.idle_after("1 minute").how("inner").rows
    of_batch = stream(minutes).join(minutes.batch().select("k").distinct(), "k")  # has no state
    rows = joined(of_batch, stream(minutes), "ts").on("k").within("-1 minute", "1 minute").prefix(right="r_")
    assert rows.how("inner").spec.left.watermark == pw.StreamTime(0, per="all")


@pytest.mark.nightly
@pytest.mark.parametrize("order", ["fast first", "slow first"])
def test_a_union_of_streams_with_different_delays(feed: Feed, order: str) -> None:
    """No row of the slow stream is late, whichever stream comes first (semantics 36.10)."""
    other, right = (beside(feed, name) for name in ("slow", "right"))
    for n in range(4):
        feed.put((60 * n, "a", n), (60 * n + 50, "a", n))
        other.put((60 * n - 30, "b", n))  # 20 seconds behind the file before of the fast stream
        right.put((60 * n, "a", n), (60 * n + 30, "b", n), (60 * n + 50, "a", n))
    both = stream(feed), other.stream().withWatermark("ts", "1 minute")
    left = both[0].union(both[1]) if order == "fast first" else both[1].union(both[0])
    pairs = joined(left, stream(right), "ts").on("k").within(0, 0).select("k", ("left", "v")).how("inner")
    assert pairs.spec.left.watermark is None
    assert pairs.spec.right.watermark == pw.StreamTime(0, per="all")
    found = run(feed, pairs, "rows", "left_late")
    assert found["left_late"].height == 0
    assert sorted(found["rows"]["k"]) == ["a"] * 8 + ["b"] * 3


@pytest.mark.nightly
def test_a_union_with_the_greatest_watermark(feed: Feed) -> None:
    """semantics 36.10: rows of the slow stream are late, as Spark's policy says, and none is lost."""
    other, right = (beside(feed, name) for name in ("slow", "right"))
    for n in range(4):
        feed.put((60 * n, "a", n), (60 * n + 50, "a", n))
        other.put((60 * n - 120, "b", n))
        right.put((60 * n, "a", n), (60 * n - 120, "b", n))
    left = stream(feed).union(other.stream().withWatermark("ts", "1 hour"))
    pairs = joined(left, right.stream().withWatermark("ts", "1 hour"), "ts").on("k").within(0, 0)
    feed.spark.conf.set("spark.sql.streaming.multipleWatermarkPolicy", "max")
    try:
        found = run(feed, pairs.select("k", ("left", "v")).how("inner"), "rows", "left_counts")
    finally:
        feed.spark.conf.unset("spark.sql.streaming.multipleWatermarkPolicy")
    assert found["left_counts"]["late"].sum() > 0
    assert found["rows"].filter(pl.col("k") == "a").height >= 4
    counts = found["left_counts"].select("rows_in", "applied", "late", "invalid").sum().row(0)
    assert counts[0] == sum(counts[1:]) == 12


def test_streams_that_are_one(feed: Feed) -> None:
    """semantics 36.10"""
    one, own = stream(feed), pw.StreamTime(0, per="all")
    unions = {
        "different watermarks": (one.union(stream(feed)), None),
        "one without a watermark": (one.union(feed.stream()), None),
        "parts of one stream": (one.where("k = 'a'").union(one.where("k = 'b'")), own),
        "a watermark of a union": (feed.stream().union(feed.stream()).withWatermark("ts", "0 seconds"), own),
    }
    for name, (df, mark) in unions.items():
        sides = joined(df, one, "ts").on("k").within(0, 0).prefix(right="r_")
        assert sides.how("inner").spec.left.watermark == mark, name
        assert cogrouped(one, df, "ts").on("k").window(TWO).agg(left=[F.count()]).spec.right.watermark == mark
