"""Fixtures of the Spark tests: a stream of small Parquet files, and what the sinks have written."""

import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as SF

from panewise.checkpoints.figures import CheckpointFigures
from panewise.checkpoints.reader import read_files
from panewise.spark import ParquetSink, checkpoint_reader

START = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA = {"ts": pl.Datetime("us", "UTC"), "k": pl.String, "v": pl.Int64}


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


class Feed:
    """A directory that a stream reads, one file in each micro-batch."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder, self.path, self.files = spark, folder, folder / "in", 0
        self.path.mkdir()

    def put(self, *rows: tuple[float | None, str | None, int | None]) -> None:
        """Adds a file with rows of (seconds, key, value)."""
        self.files += 1
        given = [(None if s is None else at(s), k, v) for s, k, v in rows]
        # Spark reads files in the order of their modification times, so a file gets its time before a query
        # can see it. A query that had seen a file of today would ignore all that are more than a week older.
        hidden = self.path / f".{self.files:04}.parquet"
        pl.DataFrame(given, schema=SCHEMA, orient="row").write_parquet(hidden)
        os.utime(hidden, (self.files, self.files))
        hidden.rename(self.path / f"{self.files:04}.parquet")

    def stream(self) -> DataFrame:
        reader = self.spark.readStream.schema("ts TIMESTAMP, k STRING, v BIGINT").option(
            "maxFilesPerTrigger", 1
        )
        return reader.parquet(str(self.path))

    def batch(self) -> DataFrame:
        return self.spark.read.schema("ts TIMESTAMP, k STRING, v BIGINT").parquet(str(self.path))

    def sink(self, name: str) -> str:
        return str(self.folder / name)

    def read(self, name: str) -> pl.DataFrame:
        """Returns what a ParquetSink has written."""
        return pl.DataFrame(self.spark.read.parquet(self.sink(name)).toArrow())


def beside(feed: Feed, name: str) -> Feed:
    """Returns another stream, in a folder of this name."""
    (feed.folder / name).mkdir()
    return Feed(feed.spark, feed.folder / name)


def write(
    feed: Feed, result: Any, checkpoint: str = "checkpoint", *, outputs: Iterable[str], **options: Any
) -> Any:
    """Writes outputs, each to the sink of its name, until all files are read; returns the query."""
    sinks = {name: ParquetSink(feed.sink(name)) for name in outputs}
    query = result.write(sinks, checkpoint=feed.sink(checkpoint), available_now=True, **options)
    query.awaitTermination()
    return query


def pairs_so_far(feed: Feed, result: Any) -> list[tuple[Any, ...]]:
    """Runs a join over what has come since its last run; returns the values of all its rows so far."""
    write(feed, result, outputs=["rows"])
    return sorted(feed.read("rows").select("v", "r_v").rows(), key=repr)


def emitted(feed: Feed, df: DataFrame, name: str = "rows") -> pl.DataFrame:
    """Runs a query of one's own until all files are read; returns what it emits."""
    writer = df.writeStream.format("parquet").option("checkpointLocation", feed.sink(f"{name}-checkpoint"))
    writer.trigger(availableNow=True).start(feed.sink(name)).awaitTermination()
    return feed.read(name)


def read_state(spark: SparkSession, checkpoint: str, batch: int | None = None) -> CheckpointFigures:
    """Returns the state in a checkpoint, which is the same with Spark and without it."""
    found = read_files(checkpoint, batch)
    assert found == checkpoint_reader.read_state(spark, checkpoint, batch)
    return found


def best(value: str, by: str, k: int, *, least: bool = False) -> Column:
    """Returns Spark's ``max_by(value, by, k)`` or ``min_by``. On PySpark 4.1 it sorts and cuts."""
    if not version("pyspark").startswith("4.1."):
        return SF.expr(f"{'min_by' if least else 'max_by'}({value}, {by}, {k})")
    pairs = f"collect_list(struct({by} AS b, {value} AS v)) FILTER (WHERE {by} IS NOT NULL)"
    return SF.expr(f"slice(transform(sort_array({pairs}, {str(least).lower()}), pair -> pair.v), 1, {k})")


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Feed:
    return Feed(spark, tmp_path)


@pytest.fixture
def other(feed: Feed) -> Feed:
    """The right side, or another stream."""
    return beside(feed, "right")


def sums(feed: Feed) -> dict[Any, int]:
    """Returns the sums `s` by key and window: the + panes minus the - panes."""
    signed = feed.read("panes").with_columns(
        pl.when(pl.col("op") == "+").then("s").otherwise(-pl.col("s")).alias("s")
    )
    totals = signed.group_by("k", "window_start").agg(pl.col("s").sum())
    return {(k, int((start - START).total_seconds())): s for k, start, s in totals.iter_rows()}
