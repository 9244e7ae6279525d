"""Tests of row number windows in streaming queries."""

from functools import partial

import polars as pl
import pytest
from pyspark.sql import types as T

import panewise as pw
from panewise import functions as F
from panewise.errors import SpecError
from panewise.spark import windowed
from tests.spark.conftest import Feed, write

run = partial(write, outputs=("panes", "late", "invalid", "counts"))


@pytest.mark.nightly
def test_a_stream_without_a_watermark_in_any_number_of_shards(feed: Feed) -> None:
    """Bounds are row numbers, and event times, some of them null, do not matter (semantics 8, 8.1, 8.5, 8.6).

    The query restarts between the rows.
    """
    feed.put((0, "a", 1), (None, "a", 2), (-5, "b", 10))
    windows = windowed(feed.stream()).groupBy("k").window(pw.Tumbling(pw.rows(3)))
    result = windows.finish("at_end").agg(F.collect_list("v").alias("seen"))
    run(feed, windows.agg(F.collect_list("v").alias("seen")))
    assert feed.read("panes").is_empty()
    feed.put((1, "a", 3), (None, "a", 4), *((n, f"key {n}", n) for n in range(5)))
    feed.put((0, "b", 20))
    run(feed, result)
    panes = feed.read("panes").filter(~pl.col("k").str.starts_with("key")).sort("k", "window_start")
    told = panes.select("k", "window_start", "window_end", "seen", "timing").rows()
    assert told == [
        ("a", 0, 3, [1, 2, 3], "ON_TIME"),
        ("a", 3, 6, [4], "ON_TIME"),
        ("b", 0, 3, [10, 20], "ON_TIME"),
    ]
    assert panes.schema["window_start"] == pl.Int64
    counts = feed.read("counts")
    assert counts.select("rows_in", "applied", "invalid", "late").sum().row(0) == (11, 11, 0, 0)
    assert counts["watermark"].is_null().all()


@pytest.mark.nightly
def test_late_and_invalid_rows(feed: Feed) -> None:
    """A named event time is validated, and orders the rows of a micro-batch (semantics 8.3 to 8.5)."""
    feed.put((3, "a", 3), (1, "a", 1), (None, "a", 0), (2, "a", 2), (4, "a", 4))
    windows = windowed(feed.stream(), "ts").groupBy("k").window(pw.Hopping(pw.rows(3), pw.rows(4), gaps=True))
    with pytest.warns(pw.DataLossWarning):
        result = (
            windows.trigger(pw.AfterCount(2))
            .options(evaluate="record")
            .agg(F.collect_list("v").alias("seen"))
        )
    run(feed, result)
    assert feed.read("panes").select("window_start", "window_end", "seen").rows() == [(0, 3, [1, 2])]
    late = feed.read("late").select(pl.col("row").struct.field("v"), "reason", "windows", "late_by").rows()
    assert late == [(3, "closed", [{"start": 0, "end": 3}], None)]
    invalid = feed.read("invalid").select(pl.col("row").struct.field("v"), "reason").rows()
    assert sorted(invalid) == [(0, "event time is null"), (4, "gap")]


@pytest.mark.nightly
def test_sessions_that_the_rows_of_others_end(feed: Feed) -> None:
    """Sessions of rows have one shard, though Spark has two partitions (semantics 9.5, 9.7)."""
    feed.put((0, "a", 1), (1, "a", 2), (2, "b", 3))
    feed.put((0, "b", 4), (1, "c", 5))
    windows = windowed(feed.stream()).groupBy("k").window(pw.Session(pw.rows(2)))
    run(feed, windows.order_by("v").agg(F.sum("v").alias("s")))
    assert feed.read("panes").select("k", "window_start", "window_end", "s").rows() == [("a", 0, 4, 3)]
    assert feed.read("counts")["shard"].n_unique() == 1
    message = r"shards=2 \| a session of rows counts the rows of all keys"
    with pytest.raises(SpecError, match=message):
        windows.shards(2).agg(F.count())


def test_a_batch_dataframe(feed: Feed) -> None:
    feed.put((2, "a", 2), (1, "a", 1), (3, "a", 3))
    panes = (
        windowed(feed.batch(), "ts")
        .groupBy("k")
        .window(pw.Tumbling(pw.rows(2)))
        .options(timestamp="latest")
        .agg(F.sum("v").alias("s"))
        .panes
    )
    assert panes.schema["window_start"].dataType == T.LongType()
    assert panes.schema["timestamp"].dataType == T.TimestampType()
    assert sorted((row.window_start, row.window_end, row.s) for row in panes.collect()) == [
        (0, 2, 3),
        (2, 4, 3),
    ]
