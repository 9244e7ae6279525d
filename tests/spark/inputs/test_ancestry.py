"""Tests of operators on the output of other operators: those that would wait for each other are refused."""

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as SF

import panewise as pw
from panewise import Window
from panewise import functions as F
from panewise.errors import SetupError
from panewise.spark import WindowResult, over, windowed
from tests.spark.conftest import Feed

MINUTE = pw.Tumbling("1 minute")
SUM = F.sum("v").alias("v")
REFUSED = (
    r"^a stream that another operator emits \| an operator waits for the query's watermark, "
    r"which waits for the output of the operator before it: neither would ever emit "
    r"\| add a stage with result.then\(...\), give the result itself, as in windowed\(result\), or write the "
    r"panes and read them in a second query \[PW-"
)


def by_minutes(df: DataFrame) -> WindowResult:
    return windowed(df.withWatermark("ts", "1 second"), "ts").groupBy("k").window(MINUTE).agg(SUM)


def by_pairs(df: DataFrame) -> WindowResult:
    """Returns the sums of windows of two rows, which wait for no watermark."""
    return windowed(df).groupBy("k").window(pw.Tumbling(pw.rows(2))).agg(SUM)


def named(df: DataFrame) -> DataFrame:
    """Returns a DataFrame that Spark makes from a name, which does not refuse `withWatermark`."""
    df.createOrReplaceTempView("emitted")
    return df.sparkSession.table("emitted")


def rows_of(df: DataFrame) -> DataFrame:
    w = Window.partitionBy("k").orderBy("ts")
    return over(df.withWatermark("ts", "1 second")).withColumn("n", F.row_number().over(w)).rows


PANES: dict[str, Callable[[DataFrame], DataFrame]] = {
    "panes": lambda df: named(by_minutes(df).panes).withWatermark("window_end", "0 seconds"),
    "columns made of panes": lambda df: by_minutes(df).panes.select(
        "k", (SF.col("v") + 1).alias("v"), SF.timestamp_seconds("v").alias("ts")
    ),
    "a union": lambda df: df.select("k", "v").union(by_minutes(df).panes.select("k", "v")),
    "a stage": lambda df: by_minutes(df).then(keys=["k"], aggregates=[SUM]).panes,
    "late rows": lambda df: by_minutes(df).late.select("row.*"),
    "rows of frames": rows_of,
}


@pytest.mark.parametrize("name", PANES)
def test_an_operator_on_panes_that_wait_for_the_watermark(feed: Feed, name: str) -> None:
    panes = PANES[name](feed.stream())
    with pytest.raises(SetupError, match=REFUSED):
        by_pairs(panes)
    with pytest.raises(SetupError, match=REFUSED):
        windowed(panes).groupBy("k").window(MINUTE).options(time="processing").agg(SUM)


def test_an_operator_with_a_watermark_on_panes_that_wait_for_it(feed: Feed) -> None:
    panes = named(by_minutes(feed.stream()).panes).withWatermark("window_end", "1 second")
    with pytest.raises(SetupError, match=REFUSED):
        windowed(panes, "window_end").groupBy("k").window(pw.Tumbling("1 hour")).agg(SUM)


def test_an_operator_with_a_watermark_on_one_without(feed: Feed) -> None:
    """The first operator's stream has a constant watermark, so the watermark of the query never moves."""
    panes = named(by_pairs(feed.stream()).panes).withWatermark("processing_time", "1 second")
    with pytest.raises(SetupError, match=REFUSED):
        windowed(panes, "processing_time").groupBy("k").window(MINUTE).agg(SUM)


@pytest.mark.nightly
def test_two_operators_without_a_watermark(feed: Feed) -> None:
    """Neither operator waits, so both emit."""
    feed.put((0, "a", 1), (1, "a", 2), (2, "a", 3), (3, "a", 4), (4, "a", 5))
    pairs = by_pairs(feed.stream()).panes
    fours = windowed(pairs).groupBy("k").window(pw.Tumbling(pw.rows(2))).agg(SUM).panes
    writer = (
        fours.writeStream.format("parquet")
        .option("checkpointLocation", feed.sink("checkpoint"))
        .trigger(availableNow=True)
    )
    query = writer.start(feed.sink("panes"))
    query.awaitTermination()
    assert feed.read("panes")["v"].to_list() == [10]
    observed = query.recentProgress[0].observedMetrics
    assert {name: (row["rows_in"], row["panes"]) for name, row in observed.items()} == {
        "panewise": (5, 2),
        "panewise_2": (2, 1),
    }


def test_a_batch_of_panes(feed: Feed) -> None:
    feed.put((0, "a", 1), (70, "a", 2), (3_600, "a", 4))
    hours = (
        windowed(by_minutes(feed.batch()).panes, "window_start")
        .groupBy("k")
        .window(pw.Tumbling("1 hour"))
        .agg(SUM)
    )
    assert sorted(row.v for row in hours.panes.collect()) == [3, 4]


@pytest.mark.nightly
def test_a_stream_joined_with_a_batch_of_panes(feed: Feed) -> None:
    """The batch side waits for nothing, and has no metrics."""
    feed.put((0, "a", 1), (61, "a", 2))
    static = by_minutes(feed.batch()).panes.select("k", SF.col("v").alias("w"))
    joined = feed.stream().join(static, "k")
    assert by_pairs(joined).dataflow._metrics_name() == "panewise"
    query = (
        by_minutes(joined)
        .panes.writeStream.format("noop")
        .option("checkpointLocation", feed.sink("checkpoint"))
    )
    query.trigger(availableNow=True).start().awaitTermination()
