"""Tests of Spark's own operators behind operators (semantics 42.11)."""

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.spark import cogrouped, deduplicate, joined, over, windowed
from panewise.spark.inputs.checks import watermark_columns
from tests.spark.conftest import Feed, emitted, write

HALF = pw.Tumbling("30 seconds")
COUNT = F.count().alias("n")


@pytest.fixture
def halves(feed: Feed) -> Feed:
    """Files of 30 seconds each, in which rows are up to 9 seconds out of order."""
    for n in range(5):
        feed.put(*((30 * n + (7 * i) % 30, "ab"[i % 2], i) for i in range(10)))
    return feed


def stream(feed: Feed) -> DataFrame:
    return feed.stream().withWatermark("ts", "30 seconds")


def panes(df: DataFrame, **options: Any) -> Any:
    options = {"timestamp": "window_time", **options}
    window = options.pop("window", HALF)
    lateness = options.pop("lateness", 0)
    described = windowed(df, "ts").groupBy("k").window(window).allowed_lateness(lateness)
    if "accumulation" in options:
        described = described.accumulation(options.pop("accumulation"))
    return described.options(**options).agg(COUNT)


def rows_of(feed: Feed, df: DataFrame, name: str) -> list[Row]:
    """Runs a query to its end, and returns what it emits."""
    emitted(feed, df, name)
    return sorted(feed.spark.read.parquet(feed.sink(name)).collect())


def minutes(df: DataFrame, window: Any) -> DataFrame:
    found = df.groupBy(window.alias("w"), "k").agg(SF.sum("n").alias("n"))
    return found.select("k", SF.col("w.start").alias("start"), "n")


@pytest.mark.nightly
def test_sparks_windows_over_panes(halves: Feed) -> None:
    """They emit what Spark's windows over Spark's windows emit, and what a second operator emits.

    Source: semantics 42.11
    """
    counts = stream(halves).groupBy(SF.window("ts", "30 seconds"), "k").agg(SF.count("*").alias("n"))
    of_spark = rows_of(halves, minutes(counts, SF.window("window", "1 minute")), "of_spark")
    assert (
        rows_of(halves, minutes(panes(stream(halves)).panes, SF.window("timestamp", "1 minute")), "beside")
        == of_spark
    )
    assert len(of_spark) == 2
    sums = windowed(panes(stream(halves))).groupBy("k").window(pw.Tumbling("1 minute"))
    write(halves, sums.agg(F.sum("n").alias("n")), outputs=["panes"])
    rows = halves.spark.read.parquet(halves.sink("panes")).select("k", "window_start", "n").collect()
    assert sorted(map(tuple, rows)) == list(map(tuple, of_spark))


def pairs(left: DataFrame, right: DataFrame, how: Any = "inner", **options: Any) -> Any:
    described = joined(left, right, "ts").on("k").within(0, "5 seconds").prefix(right="r_")
    return described.options(**options).how(how)


@pytest.mark.nightly
def test_sparks_deduplication_of_the_rows_of_a_join(halves: Feed) -> None:
    """No row of the join is late for it: each left row with a partner comes once."""
    rows = pairs(stream(halves), stream(halves)).rows
    first = rows.dropDuplicatesWithinWatermark(["k", "v", "ts"]).select("k", "ts", "v")
    batch = pairs(halves.batch(), halves.batch()).rows.select("k", "ts", "v").distinct()
    assert rows_of(halves, first, "first") == sorted(batch.collect())


@pytest.mark.nightly
def test_sparks_join_of_the_rows_of_a_join(halves: Feed) -> None:
    """semantics 42.11: a join of two streams by Spark behind ours finds what it finds on a batch."""

    def triples(stream: bool) -> DataFrame:
        rows = pairs(stream_of(stream), stream_of(stream)).rows.select("k", "v", "ts", "r_v")
        third = stream_of(stream).select(SF.col("k").alias("k3"), SF.col("ts").alias("ts3"))
        within = SF.expr("k = k3 AND ts3 >= ts AND ts3 <= ts + INTERVAL 5 SECONDS")
        return rows.join(third, within).select("k", "v", "r_v", "ts3")

    def stream_of(live: bool) -> DataFrame:
        return stream(halves) if live else halves.batch()

    found = rows_of(halves, triples(True), "triples")
    assert found == sorted(triples(False).collect())
    assert len(found) > 10


def test_sparks_windows_over_a_deduplication(feed: Feed) -> None:
    """They count each value once. Its row is emitted when it arrives, and is not late for them."""
    feed.put(*((7 * i % 30, "ab"[i % 2], i) for i in range(10)))
    feed.put(*((90 + 7 * i % 30, "ab"[i % 2], i) for i in range(10)))
    once = deduplicate(stream(feed), "ts").on("v").within("1 hour")
    counts = once.rows.groupBy(SF.window("ts", "30 seconds"), "k").count().select("k", "count")
    assert rows_of(feed, counts, "once") == [Row(k="a", count=5), Row(k="b", count=5)]


TIMELY: dict[str, Callable[[DataFrame], DataFrame]] = {
    "timestamp": lambda df: panes(df).panes,
    "timestamp ": lambda df: panes(df).then(aggregates=[F.sum("n").alias("m")]).panes,
    "timestamp  ": lambda df: panes(df, window=pw.Session("5 seconds"), timestamp="end").panes,
    "timestamp   ": lambda df: (
        cogrouped(df, df).on("k").window(HALF).options(timestamp="end").agg(left=[F.count().alias("n")]).panes
    ),
    "ts": lambda df: deduplicate(df, "ts").on("v").within("1 hour").rows,
    "join_time": lambda df: pairs(df, df).rows,
    "join_time ": lambda df: pairs(df.groupBy(SF.window("ts", "1 minute"), "k").agg(
        SF.max("v").alias("v")).select(SF.window_time("window").alias("ts"), "k", "v"), df).rows,
}  # fmt: skip


@pytest.mark.parametrize("name", TIMELY)
def test_rows_that_are_never_behind_the_watermark(feed: Feed, name: str) -> None:
    assert watermark_columns(TIMELY[name](stream(feed))) == [name.strip()]


BEHIND: dict[str, Callable[[DataFrame], DataFrame]] = {
    "no timestamp": lambda df: panes(df, timestamp=None).panes,
    "lateness": lambda df: panes(df, lateness="1 second").panes,
    "retractions": lambda df: panes(df, accumulation="retracting").panes,
    "sessions": lambda df: panes(df, window=pw.Session("5 seconds")).panes,
    "microseconds": lambda df: panes(df, window=pw.Tumbling(pw.Duration(30_000_001))).panes,
    "late rows": lambda df: panes(df).late,
    "OVER": lambda df: over(df).withColumn(
        "n", F.row_number().over(pw.Window.partitionBy("k").orderBy("ts"))
    ).rows,
    "the clock": lambda df: windowed(df, "ts").groupBy("k").window(HALF).watermark(pw.FixedLag(1)).options(
        timestamp="end").agg(COUNT).panes,
    "a second operator": lambda df: windowed(panes(df)).groupBy("k").window(HALF).options(
        timestamp="end").agg(COUNT).panes,
    "a deduplication that waits": lambda df: deduplicate(df, "ts").on("v").within(
        "1 hour", keep="last").rows,
    "an outer join": lambda df: pairs(df, df, "left").rows,
    "a filter before a join": lambda df: pairs(df.where("v > 1"), df).rows,
    "invalid rows of a join": lambda df: pairs(df, df, null_keys=False).rows,
    "an as-of join": lambda df: joined(df, df).on("k").as_of().prefix(right="r_").how("inner").rows,
}  # fmt: skip


@pytest.mark.parametrize("name", BEHIND)
def test_rows_that_can_be_behind_the_watermark(feed: Feed, name: str) -> None:
    """semantics 42.11"""
    assert watermark_columns(BEHIND[name](stream(feed))) == []


def test_the_greatest_watermark(feed: Feed) -> None:
    """It can be above that of a side, but not above that of a window operator, which follows it."""
    policy = "spark.sql.streaming.multipleWatermarkPolicy"
    feed.spark.conf.set(policy, "max")
    try:
        assert watermark_columns(pairs(stream(feed), stream(feed)).rows) == []
        assert watermark_columns(panes(stream(feed)).panes) == ["timestamp"]
    finally:
        feed.spark.conf.unset(policy)
