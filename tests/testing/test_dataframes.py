"""Tests of code over DataFrames, as users write them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from panewise import InputError, Tumbling
from panewise import functions as F
from panewise.spark import windowed
from panewise.testing.dataframes import DataFrameStream

pytestmark = pytest.mark.spark
NOON = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)


def row(minute: int, k: str, v: int | None) -> dict[str, Any]:
    return {"ts": NOON + timedelta(minutes=minute), "k": k, "v": v}


def pipeline(df: DataFrame) -> DataFrame:
    watched = df.filter("v > 0").withWatermark("ts", "1 minute")
    return (
        windowed(watched, "ts")
        .groupBy("k")
        .window(Tumbling("10 minutes"))
        .agg(F.sum("v").alias("total"))
        .panes
    )


def test_results_come_as_rows_are_added(spark: SparkSession) -> None:
    with DataFrameStream(spark, "ts TIMESTAMP, k STRING, v BIGINT") as stream:
        sums, plain = pipeline(stream.df), stream.df.select(sf.col("v") + 1)
        stream.add([row(1, "a", 1), row(2, "a", 2), row(3, "b", 4), {"ts": NOON}])
        assert stream.collect(sums) == []
        stream.add([row(30, "a", 8)])
        assert sorted((one["k"], one["total"]) for one in stream.collect(sums)) == [("a", 3), ("b", 4)]
        assert stream.collect(sums) == []
        assert sorted(str(one["(v + 1)"]) for one in stream.collect(plain)) == ["2", "3", "5", "9", "None"]
        folder = stream._scratch
    assert not folder.exists()


def test_a_batch_without_rows_is_refused(spark: SparkSession) -> None:
    with (
        DataFrameStream(spark, "v BIGINT") as stream,
        pytest.raises(InputError, match="a micro-batch has rows"),
    ):
        stream.add([])
