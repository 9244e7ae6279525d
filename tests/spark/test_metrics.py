"""Tests of observed metrics: the counts of each micro-batch, in the progress of every query."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as SF

import panewise as pw
from panewise import Window
from panewise import functions as F
from panewise.spark import WindowBuilder, configure, over, policy_windows, windowed
from panewise.spark.metrics import NAMES, with_metrics_row
from panewise.streamwindow import count
from tests.nightly import first_here
from tests.spark.conftest import START, Feed, emitted, read_state, write

pytestmark = pytest.mark.usefixtures("two_partitions")

ROWS = [
    ((0, "a", 1), (1, "a", 2), (None, "a", 3), (2, None, 4)),
    ((90, "b", 5),),
    ((3, "a", 6), (95, "b", 7)),
]


def totals(query: Any) -> dict[str, int]:
    """Returns the sums over all micro-batches."""
    found = [
        progress.observedMetrics["panewise"].asDict()
        for progress in query.recentProgress
        if progress.observedMetrics
    ]
    return {name: sum(line[name] for line in found) for name in NAMES}


def minutes(df: DataFrame) -> WindowBuilder:
    return (
        windowed(df.withWatermark("ts", "10 seconds"), "ts")
        .groupBy("k")
        .window(pw.Tumbling("1 minute"))
        .options(null_keys=False)
    )


def running_sums(df: DataFrame) -> DataFrame:
    w = Window.partitionBy("k").orderBy("ts")
    return (
        over(df.withWatermark("ts", "10 seconds"))
        .options(null_keys=False)
        .withColumn("s", F.sum("v").over(w))
        .rows
    )


def events(df: DataFrame) -> DataFrame:
    return policy_windows(df).tumbling(count(2)).agg(F.sum("v").alias("s")).events


def metrics(rows_in: int, applied: int, late: int, invalid: int, panes: int) -> dict[str, int]:
    return dict(zip(NAMES, (rows_in, applied, 0, late, invalid, panes), strict=True))


# One row has no event time, one has no key, and one is late. The first minute of "a" completes.
QUERIES: dict[str, tuple[Callable[[DataFrame], DataFrame], dict[str, int]]] = {
    "panes, as real columns": (
        lambda df: minutes(df).agg(F.sum("v").alias("s")).panes,
        metrics(7, 4, 1, 2, 1),
    ),
    "panes with lists": (
        lambda df: minutes(df).agg(F.collect_list("v").alias("l")).panes,
        metrics(7, 4, 1, 2, 1),
    ),
    "late rows": (lambda df: minutes(df).agg(F.sum("v").alias("s")).late, metrics(7, 4, 1, 2, 1)),
    "a chain": (
        lambda df: minutes(df).agg(F.sum("v").alias("s")).then(aggregates=[F.max("s").alias("m")]).panes,
        metrics(7, 4, 1, 2, 1),
    ),
    "rows of frames": (running_sums, metrics(7, 4, 1, 2, 2)),
    "events": (events, metrics(7, 7, 0, 0, 3)),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", first_here(QUERIES))
def test_a_query_of_ones_own(feed: Feed, name: str) -> None:
    """Metrics are reported whichever output a query has, and are not part of that output (semantics 15.5)."""
    build, expected = QUERIES[name]
    for rows in ROWS:
        feed.put(*rows)
        feed.put()  # the watermark moves before the next rows (semantics 18.3)
    output = build(feed.stream())
    writer = (
        output.writeStream.format("parquet")
        .option("checkpointLocation", feed.sink("checkpoint"))
        .trigger(availableNow=True)
    )
    query = writer.start(feed.sink("out"))
    query.awaitTermination()
    assert totals(query) == expected
    assert feed.read("out").columns == output.columns
    assert feed.read("out").height == (1 if name == "late rows" else expected["panes"])


@pytest.mark.nightly
def test_counts_of_a_query_whose_panes_have_text_in_lists(feed: Feed) -> None:
    """Such panes are encoded before the state is committed. No count of the step is lost (semantics 15.1)."""
    for rows in ROWS:
        feed.put(*rows)
        feed.put()  # the watermark moves before the next rows (semantics 18.3)
    counts = emitted(
        feed, minutes(feed.stream()).trigger(pw.Always()).agg(F.collect_list("k").alias("l")).counts
    )
    assert counts.select(pl.col("rows_in", "applied", "late", "invalid").sum()).row(0) == (7, 4, 1, 2)


@pytest.mark.nightly
def test_panes_beside_invalid_rows_with_text_in_lists(feed: Feed) -> None:
    keys = [chr(ord("a") + n) for n in range(12)]
    feed.put((None, "a", 0), *((0, key, 1) for key in keys))
    stream = feed.stream().withColumn("tags", SF.array("k"))
    panes = emitted(feed, minutes(stream).trigger(pw.Always()).agg(F.count("tags").alias("n")).panes)
    assert sorted(panes["k"]) == keys


@pytest.mark.nightly
def test_a_written_query(feed: Feed) -> None:
    """The metrics are the sums of the counts (semantics 15.5)."""
    for rows in ROWS:
        feed.put(*rows)
        feed.put()  # the watermark moves before the next rows (semantics 18.3)
    result = minutes(feed.stream()).agg(F.sum("v").alias("s"))
    query = write(feed, result, outputs=("panes", "late", "counts"))
    counts = feed.read("counts").select(name for name in NAMES if name != "panes").sum().row(0, named=True)
    assert totals(query.query) == {**counts, "panes": 1} == metrics(7, 4, 1, 2, 1)


def test_a_micro_batch_says_what_is_stored(feed: Feed) -> None:
    """Every shard counts, also those whose state a micro-batch does not change (semantics 15.6, 15.7)."""
    for rows in (*ROWS[:2], ((91, "c", 1), (3, "a", 6))):
        feed.put(*rows)
    result = minutes(feed.stream()).allowed_lateness("5 minutes").agg(F.sum("v").alias("s"))
    query = write(feed, result, outputs=["panes"])
    of_batch = [one.observedMetrics["panewise"].asDict() for one in query.recentProgress]
    of_rows = [one for one in of_batch if one["rows_in"]]
    assert [one["shards"] for one in of_rows] == [2, 2, 2]
    (state,) = read_state(feed.spark, feed.sink("checkpoint"), 2).operators
    first, _, third = of_rows
    assert third["state_bytes"] == state.total.bytes
    assert third["live"] >= state.total.windows == 3
    assert first["invalid_by_reason"] == {"event time is null": 1, "key k is null (null_keys=False)": 1}
    assert first["watermark"] is None
    start = int(START.timestamp()) * 1_000_000
    assert third["oldest_end"] == state.total.oldest_end == start + 60_000_000
    assert third["watermark"] == start + 80_000_000
    assert third["watermark_delay"] == state.total.processing_time - third["watermark"]
    assert third["panes_early"] == 0
    assert third["panes_on_time"] + third["panes_late"] == third["panes"] > 0
    assert sum(one["panes_on_time"] for one in of_batch) == 1


@pytest.mark.nightly
@pytest.mark.parametrize("output", ["panes", "late"])
def test_late_rows_by_reason(feed: Feed, output: str) -> None:
    """Also of rows that were combined before they reached the state."""
    for rows in ROWS:
        feed.put(*rows)
        feed.put()  # the watermark moves before the next rows (semantics 18.3)
    result = minutes(feed.stream()).agg(F.sum("v").alias("s"))
    query = write(feed, result, outputs=[output])
    told = [one.observedMetrics["panewise"]["late_by_reason"] for one in query.recentProgress]
    assert [one for one in told if one] == [{"expired": 1}]


@contextmanager
def named(spark: SparkSession, name: str | None) -> Iterator[None]:
    configure(spark, metrics=name)
    try:
        yield
    finally:
        configure(spark, metrics="panewise")


@pytest.mark.nightly
def test_two_operators_in_one_query_have_two_names(feed: Feed, spark: SparkSession) -> None:
    """An operator has the name that the session has when the operator is built (semantics 15.5)."""
    feed.put((0, "a", 1), (1, "b", 2), (None, "b", 2))
    first = (
        windowed(feed.stream(), "ts").groupBy("k").window(pw.Tumbling(pw.rows(1))).agg(F.sum("v").alias("s"))
    )
    with named(spark, "others"):
        second = windowed(feed.stream(), "ts").window(pw.Tumbling(pw.rows(1))).agg(F.sum("v").alias("s"))
    with named(spark, None):
        third = windowed(feed.stream(), "ts").window(pw.Tumbling(pw.rows(1))).agg(F.sum("v").alias("s"))
    together = first.panes.select("s").union(second.panes.select("s")).union(third.panes.select("s"))
    query = (
        together.writeStream.format("noop")
        .option("checkpointLocation", feed.sink("checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    observed = query.recentProgress[0].observedMetrics
    assert {name: row["panes"] for name, row in observed.items()} == {"panewise": 2, "others": 2}


def test_the_row_of_metrics_beside_panes() -> None:
    panes = pa.table({"k": ["a", "b"], "n": [1, 2]})
    both = with_metrics_row(panes, "7,4")
    assert both.to_pydict() == {"k": ["a", "b", None], "n": [1, 2, None], "__metrics": [None, None, "7,4"]}
    assert both.column("k").num_chunks == 1
    assert with_metrics_row(panes.slice(0, 0), "7,4").num_rows == 1
    assert with_metrics_row(panes, None).column("__metrics").null_count == 2
