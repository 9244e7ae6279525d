"""README's table of what Spark refuses on a stream: each row has the beginning of Spark's own error."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as SF

from tests.house.sources import ROOT

README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
TABLE: Final = README.partition("## What Spark refuses")[2].partition("\n## ")[0]
ROWS: Final = re.findall(r"^\| ([^|]+?) \| `([^|]+)` \| .* \|$", TABLE, re.MULTILINE)


def pairs(left: DataFrame, how: str) -> DataFrame:
    """Joins a stream with itself under other names."""
    right = left.withColumnsRenamed({"ts": "ts2", "k": "k2", "v": "v2"})
    return left.join(right, SF.expr("k = k2 AND ts2 BETWEEN ts AND ts + INTERVAL 1 HOUR"), how)


def of_hour(df: DataFrame) -> DataFrame:
    return df.groupBy("k", SF.window("ts", "1 hour")).count()


# In the order of the table: the query, and its output mode.
QUERIES: Final[list[tuple[Callable[[DataFrame], DataFrame], str]]] = [
    (lambda df: df.withColumn("before", SF.lag("v").over(Window.partitionBy("k").orderBy("ts"))), "append"),
    (lambda df: df.groupBy(SF.window("ts", "1 hour")).agg(SF.count_distinct("v")), "append"),
    (lambda df: df.groupBy("k", SF.session_window("ts", "1 hour")).count(), "update"),
    (lambda df: df.groupBy(SF.window("ts", "1 month")).count(), "append"),
    (lambda df: df.groupBy(SF.window("ts", "1 minute", "5 minutes")).count(), "append"),
    (lambda df: df.orderBy("ts"), "append"),
    (lambda df: of_hour(df).limit(3), "update"),
    (lambda df: of_hour(df).groupBy(SF.window(SF.window_time("window"), "1 day")).count(), "update"),
    (lambda df: pairs(df, "left_anti"), "append"),
    (lambda df: pairs(df, "left_outer"), "update"),
]


@pytest.mark.versions
@pytest.mark.parametrize(("row", "query"), [*zip(ROWS, QUERIES, strict=True)], ids=[row[0] for row in ROWS])
def test_spark_refuses(
    row: tuple[str, str],
    query: tuple[Callable[[DataFrame], DataFrame], str],
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    stream = spark.readStream.format("rate").load().selectExpr("timestamp ts", "value % 2 k", "value v")
    build, mode = query
    # Spark 4.1 does not name the type of the join.
    message = row[1] if spark.version >= "4.2" else row[1].replace("LeftOuter join", "Join")
    with pytest.raises((PySparkException, ValueError), match=re.escape(message)):
        _start(build(stream.withWatermark("ts", "1 minute")), mode, tmp_path)


def _start(df: DataFrame, mode: str, folder: Path) -> None:
    writer = df.writeStream.format("noop").outputMode(mode).option("checkpointLocation", str(folder))
    writer.start().stop()
