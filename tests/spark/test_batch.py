"""Tests of the operator on batch DataFrames: all rows are one batch, and then the input ends."""

from datetime import UTC, datetime
from decimal import Decimal

import polars as pl
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.spark import ParquetSink, windowed
from tests.spark.conftest import Feed


def test_tumbling_equals_sparks_own_window(feed: Feed) -> None:
    feed.put(*((n * 7 % 400, "abc"[n % 3], n % 11 if n % 5 else None) for n in range(300)))
    df = feed.batch()
    functions = ("count", "sum", "avg", "min", "max", "stddev", "variance", "median", "approx_count_distinct")
    ours = (
        windowed(df, event_time="ts")
        .groupBy("k")
        .window(pw.Tumbling("1 minute"))
        .agg(*(getattr(F, f)("v").alias(f) for f in functions))
    )
    native = df.groupBy("k", SF.window("ts", "1 minute").alias("w")).agg(
        *(getattr(SF, f)("v").alias(f) for f in functions)
    )
    native = native.select("k", SF.col("w.start").alias("window_start"), *functions)
    same = ours.panes.select(native.columns)
    assert same.schema.simpleString() == native.schema.simpleString()
    left, right = (pl.DataFrame(one.toArrow()).sort("k", "window_start") for one in (same, native))
    from polars.testing import assert_frame_equal

    assert_frame_equal(left, right, rel_tol=1e-12)


def test_types_of_results_are_sparks(spark: SparkSession) -> None:
    """The types and values are those of Spark (semantics 24.1)."""
    ddl = (
        "ts TIMESTAMP, b BYTE, i INT, f FLOAT, d DECIMAL(10,2), s STRING, t TIMESTAMP, dt DATE, o "
        "BOOLEAN, y BINARY, a ARRAY<INT>"
    )
    now = datetime(2024, 1, 1, tzinfo=UTC)
    row = (now, 1, 2, 0.5, Decimal("1.25"), "x", now, now.date(), True, b"z", [1, 2])
    df = spark.createDataFrame([row, row], ddl)
    asked = [(fn, c) for fn in ("sum", "avg") for c in ("b", "i", "f", "d")]
    asked += [(fn, c) for fn in ("min", "max") for c in ("b", "i", "f", "d", "s", "t", "dt", "o")]
    asked += [
        (fn, c)
        for fn in ("first", "last", "count", "collect_list")
        for c in ("b", "f", "d", "s", "t", "dt", "o", "y", "a")
    ]
    ours = (
        windowed(df, event_time="ts")
        .window(pw.Global())
        .agg(*(getattr(F, fn)(c).alias(f"{fn}_{c}") for fn, c in asked))
        .panes
    )
    native = df.agg(*(getattr(SF, fn)(c).alias(f"{fn}_{c}") for fn, c in asked))
    mine = ours.select(native.columns)
    assert mine.schema.simpleString() == native.schema.simpleString()
    assert mine.collect() == native.collect()


def test_no_keys_two_keys_and_null_keys(feed: Feed) -> None:
    feed.put((0, "a", 1), (1, None, 2), (2, "a", 1))
    one = windowed(feed.batch(), event_time="ts").window(pw.Tumbling("1 hour")).agg(F.count().alias("n"))
    assert one.panes.select("n").collect() == [(3,)]
    two = windowed(feed.batch(), event_time="ts").groupBy("k", "v").window(pw.Tumbling("1 hour"))
    rows = two.agg(F.count().alias("n")).panes.select("k", "v", "n").collect()
    assert sorted(rows, key=str) == sorted([("a", 1, 2), (None, 2, 1)], key=str)


def test_a_batch_is_written_to_its_sinks(feed: Feed) -> None:
    feed.put((0, "a", 1), (None, "a", 2))
    result = (
        windowed(feed.batch(), event_time="ts")
        .groupBy("k")
        .window(pw.Tumbling("1 minute"))
        .agg(F.sum("v").alias("s"))
    )
    query = result.write(panes=ParquetSink(feed.sink("panes")), invalid=ParquetSink(feed.sink("invalid")))
    assert query.awaitTermination()
    assert feed.read("panes")["s"].to_list() == [1]
    assert feed.read("invalid")["reason"].to_list() == ["event time is null"]


def test_shards_hold_each_key_whole(feed: Feed) -> None:
    feed.put(*((n % 50, f"key {n % 40}", 1) for n in range(400)))
    described = windowed(feed.batch(), event_time="ts").groupBy("k").window(pw.Tumbling("1 minute")).shards(7)
    rows = described.agg(F.sum("v").alias("s")).panes.select("k", "s").collect()
    assert sorted(rows) == sorted((f"key {n}", 10) for n in range(40))


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_the_sessions_time_zone_changes_no_instant(feed: Feed, zone: str) -> None:
    feed.put((0, "a", 1), (3_600, "a", 2))
    before = feed.spark.conf.get("spark.sql.session.timeZone")
    feed.spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        result = (
            windowed(feed.batch(), event_time="ts").window(pw.Tumbling("1 hour")).agg(F.sum("v").alias("s"))
        )
        starts = result.panes.select(SF.unix_micros("window_start")).collect()
    finally:
        feed.spark.conf.set("spark.sql.session.timeZone", before or "UTC")
    assert sorted(r[0] for r in starts) == [1_704_067_200_000_000, 1_704_070_800_000_000]


def test_sessions_with_a_gap_for_each_row(feed: Feed) -> None:
    """The sessions are those of Spark's session_window, which merges sessions that touch (semantics 9.3)."""
    feed.put(*((n * 7 % 400, "abc"[n % 3], n % 11 + 1) for n in range(100)), (5, "a", None), (6, "b", 0))
    df = feed.batch().withColumn("gap", SF.expr("make_dt_interval(0, 0, 0, v)"))
    result = (
        windowed(df, event_time="ts")
        .groupBy("k")
        .window(pw.Session("gap", touching="merge"))
        .agg(F.count().alias("n"))
    )
    native = df.groupBy(
        "k", SF.session_window("ts", SF.expr("make_interval(0, 0, 0, 0, 0, 0, v)")).alias("w")
    ).agg(SF.count("*").alias("n"))
    ours = result.panes.select("k", "window_start", "window_end", "n").collect()
    assert sorted(ours) == sorted(native.select("k", "w.start", "w.end", "n").collect())
    assert sorted(row.reason for row in result.invalid.collect()) == [
        "gap gap is not above zero",
        "gap gap is null",
    ]
