"""Tests that emitted rows of a stream refuse a second watermark (semantics 42.12)."""

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.errors import SetupError
from panewise.spark import compat, over, windowed
from tests.spark.conftest import Feed

MINUTE = pw.Tumbling("1 minute")
RULE = r" of emitted rows \| the watermark waits for these rows, and they wait .* \| "


def counts(df: DataFrame, timestamp: str | None = None) -> pw.spark.WindowResult:
    described = windowed(df.withWatermark("ts", "1 second"), "ts").groupBy("k").window(MINUTE)
    return described.options(timestamp=timestamp).agg(F.count().alias("n"))


STEPS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "itself": lambda df: df,
    "columns": lambda df: df.where("n > 1").select("window_end", "n").withColumn("m", SF.col("n") + 1),
    "a union": lambda df: df.unionByName(df),
    "a function": lambda df: df.transform(lambda one: one.drop("k").distinct()),
    "a value for null": lambda df: df.na.fill(0),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_second_watermark(feed: Feed, name: str) -> None:
    """semantics 42.12"""
    rows = STEPS[name](counts(feed.stream()).panes)
    with pytest.raises(
        SetupError, match=rf"^withWatermark\('window_end', '0 seconds'\){RULE}give the result"
    ):
        rows.withWatermark("window_end", "0 seconds")


def test_a_column_that_has_a_watermark(feed: Feed) -> None:
    rows = counts(feed.stream(), "window_time").panes
    with pytest.raises(SetupError, match=r"\| leave it out, as the column 'timestamp' has the watermark of"):
        rows.withWatermark("timestamp", delayThreshold="0 seconds")
    with pytest.raises(SetupError, match=r"\| give the result itself to the operator behind"):
        counts(feed.stream()).late.select("row.ts").withWatermark("ts", "0 seconds")


def test_the_rows_of_over(feed: Feed) -> None:
    stream = feed.stream().withWatermark("ts", "1 second")
    w = pw.Window.partitionBy("k").orderBy("ts")
    with pytest.raises(SetupError, match=r"^withWatermark\('ts', '1 second'\)"):
        over(stream).withColumn("n", F.row_number().over(w)).rows.withWatermark("ts", "1 second")
    with compat.enabled():
        w = compat.Window.partitionBy("k").orderBy("ts")
        rows = stream.withColumn("n", compat.functions.row_number().over(w)).withColumn("m", SF.lit(1))
    with pytest.raises(SetupError, match=r"^withWatermark\('ts', '1 second'\)"):
        rows.withWatermark("ts", "1 second").dropDuplicates(["k"])


def test_batches_take_one(feed: Feed) -> None:
    rows = windowed(feed.batch(), "ts").window(MINUTE).agg(F.count().alias("n")).panes
    assert rows.withWatermark("window_end", "0 seconds").columns == rows.columns


def test_two_outputs_of_one_result(feed: Feed) -> None:
    """semantics 42.13"""
    result = counts(feed.stream())
    late = result.late.select("row.k")
    with pytest.raises(SetupError, match=r"^two outputs of one result, or .* \| write outputs of one result"):
        result.panes.select("k").union(late)
