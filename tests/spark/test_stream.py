"""Tests of the operator in streaming queries: watermark, timers, sinks, restart, end of input."""

from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import DataFrame, SparkSession

import panewise as pw
from panewise import functions as F
from panewise.errors import StateError, UnguardedWatermarkWarning
from panewise.spark import ParquetSink, WindowBuilder, windowed
from tests.spark.conftest import Feed, at, beside, emitted, sums, write

pytestmark = pytest.mark.usefixtures("two_partitions")

AGGREGATES = (F.count().alias("n"), F.sum("v").alias("s"))


def minutes(df: DataFrame, **options: Any) -> WindowBuilder:
    watched = df.withWatermark("ts", "10 seconds") if df.isStreaming else df
    described = (
        windowed(watched, event_time="ts")
        .groupBy("k")
        .window(pw.Tumbling("1 minute"))
        .accumulation("retracting")
    )
    described = described.trigger(pw.AfterWatermark(early=pw.Always(), late=pw.Always())).allowed_lateness(
        "2 minutes"
    )
    return described.options(**{"on_time": "if_pending", **options})


run = partial(write, outputs=("panes", "late", "invalid", "counts"))


def identity_holds(feed: Feed) -> bool:
    counts = feed.read("counts")
    return bool(
        (
            counts["rows_in"] == counts["applied"] + counts["replays"] + counts["late"] + counts["invalid"]
        ).all()
    )


@pytest.fixture(scope="module")
def played(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Feed:
    """A query that was run to its end. It has panes of all timings, late rows, invalid rows and counts."""
    feed = Feed(spark, tmp_path_factory.mktemp("played"))
    feed.put((0, "a", 1), (5, "a", 2), (7, "b", 3))
    feed.put((130, "a", 5), (3, "a", 7), (8, None, 1), (None, "b", 1))
    feed.put((400, "c", 9))
    feed.put((None, "c", 0))  # W is 390 in this micro-batch, and so before the next one
    feed.put((1, "a", 100), (350, "c", 1))  # the first row is late, the second is not
    again(feed)
    return feed


def again(feed: Feed) -> None:
    run(feed, minutes(feed.stream(), null_keys=False).finish("at_end").agg(*AGGREGATES))


def test_panes_late_and_invalid_rows_from_one_query(played: Feed) -> None:
    feed = played
    assert sums(feed) == {("a", 0): 10, ("b", 0): 3, ("a", 120): 5, ("c", 360): 9, ("c", 300): 1}
    late = feed.read("late").drop("batch_id").to_dicts()
    assert [(row["row"]["v"], row["reason"], row["partial"], row["late_by"]) for row in late] == [
        (100, "expired", False, 389_000_000)
    ]
    reasons = sorted(feed.read("invalid")["reason"])
    assert reasons == ["event time is null", "event time is null", "key k is null (null_keys=False)"]
    counts = feed.read("counts")
    assert counts.select("rows_in", "applied", "late", "invalid").sum().row(0) == (11, 7, 1, 3)
    assert identity_holds(feed)


@pytest.mark.nightly
def test_a_restart_at_every_step_changes_nothing(feed: Feed) -> None:
    """A run for each file emits the same as one query that gets the files one by one (semantics 33).

    In both a micro-batch without rows follows each file. So the watermark moves at the same places (18.3).
    """
    batches = [[(n * 20 + d, "abc"[(n + d) % 3], d) for d in (0, 7, 31, -50)] for n in range(4)]
    other = beside(feed, "other")
    sinks = {name: ParquetSink(feed.sink(name)) for name in ("panes", "late")}
    query = minutes(feed.stream()).agg(*AGGREGATES).write(**sinks, checkpoint=feed.sink("checkpoint"))
    for batch in batches:
        feed.put(*batch)
        query.processAllAvailable()
        other.put(*batch)
        run(other, minutes(other.stream()).agg(*AGGREGATES))
    query.stop()
    columns = ["batch_id", "k", "window_start", "n", "s", "timing", "index", "op"]
    shown = [one.read("panes").select(columns[1:]).sort(columns[1:]) for one in (feed, other)]
    assert shown[0].equals(shown[1])
    late = [sorted(one.read("late")["row"].struct.field("v")) for one in (feed, other)]
    assert late[0] == late[1]


def forget(log: Path, first: int) -> None:
    """Deletes the entries of a log of Spark's from a micro-batch on."""
    for path in log.glob("[0-9]*"):
        if int(path.name) >= first:
            path.unlink()
            (log / f".{path.name}.crc").unlink(missing_ok=True)


def test_a_batch_that_is_repeated_writes_the_same_once(played: Feed) -> None:
    """The driver died after the sinks were written and before the batch was committed (semantics 35)."""
    before, checkpoint = played.read("panes").sort(pl.all()), Path(played.sink("checkpoint"))
    last = max(before["batch_id"])
    forget(checkpoint / "offsets", last + 1)
    forget(checkpoint / "commits", last)
    again(played)
    assert played.read("panes").sort(pl.all()).equals(before)


@pytest.mark.nightly
def test_the_watermark_is_that_of_the_query(feed: Feed) -> None:
    """W is in whole milliseconds, and there is none while Spark's watermark is 0 (semantics 12.1)."""
    before_1970 = -1_800_000_000.0
    feed.put((before_1970, "a", 1))
    feed.put((before_1970 - 3600, "a", 2), (100.001_9, "b", 3))
    feed.put((200, "b", 4))
    run(feed, minutes(feed.stream()).agg(*AGGREGATES))
    assert feed.read("late").is_empty()
    marks = feed.read("counts").group_by("batch_id").agg(pl.col("watermark").unique()).sort("batch_id")
    assert marks["watermark"].to_list()[:3] == [[None], [None], [at(90.001)]]


@pytest.mark.nightly
def test_the_input_may_end_in_a_later_run(feed: Feed) -> None:
    feed.put((0, "a", 1))
    never = (
        windowed(feed.stream().withWatermark("ts", "10 seconds"), "ts")
        .groupBy("k")
        .window(pw.Tumbling("1 minute"))
    )
    run(feed, never.agg(*AGGREGATES))
    assert sums(feed) == {}
    run(feed, never.finish("at_end").agg(*AGGREGATES))
    assert sums(feed) == {("a", 0): 1}


@pytest.mark.nightly
def test_the_end_of_input_is_remembered(feed: Feed) -> None:
    feed.put((0, "a", 1))
    run(feed, minutes(feed.stream()).finish("at_end").agg(*AGGREGATES))
    feed.put((10_000, "a", 2))
    run(feed, minutes(feed.stream()).finish("at_end").agg(*AGGREGATES))
    late = feed.read("late")
    assert late["reason"].to_list() == ["finished"]
    assert feed.read("panes").filter(pl.col("op") == "+").height == 1


@pytest.mark.nightly
def test_a_changed_specification_is_refused_before_the_query_starts(feed: Feed) -> None:
    """The error names the field that changed (semantics 35)."""
    feed.put((0, "a", 1))
    run(feed, minutes(feed.stream()).agg(*AGGREGATES))
    changed = minutes(feed.stream()).window(pw.Tumbling("2 minutes")).agg(*AGGREGATES)
    with pytest.raises(StateError, match=r"a changed specification \(window: .*60000000.* -> .*120000000"):
        run(feed, changed)
    with pytest.raises(StateError, match=r"shards=6 \| this state was made with 2 shards"):
        run(feed, minutes(feed.stream()).shards(6).agg(*AGGREGATES))


def test_processing_time_is_that_of_the_micro_batch(played: Feed) -> None:
    times = played.read("panes").group_by("batch_id").agg(pl.col("processing_time").n_unique())
    assert times["processing_time"].to_list() == [1] * times.height


@pytest.mark.nightly
def test_dataframes_of_panes_late_and_invalid_rows(feed: Feed) -> None:
    """Each output is a streaming DataFrame like any other."""
    feed.put((0, "a", 1), (None, "a", 2))
    feed.put((500, "a", 3))
    feed.put((None, "a", 5))
    feed.put((1, "a", 4))
    result = minutes(feed.stream()).agg(*AGGREGATES)
    expected_outputs = {"panes": [1, 3], "late": [4], "invalid": [2, 5], "counts": [2, 1, 1, 1]}
    for name, expected in expected_outputs.items():
        frame = emitted(feed, getattr(result, name), name)
        value = {"panes": "s", "counts": "rows_in"}.get(name)
        values = frame[value] if value else frame["row"].struct.field("v")
        assert sorted(values) == sorted(expected), name


@pytest.mark.nightly
def test_event_times_far_ahead_of_the_micro_batch_are_invalid(feed: Feed) -> None:
    """They are counted as invalid, and still move the watermark (semantics 15, 15.1, 15.3)."""
    feed.put((0, "a", 1), (76 * 365 * 86_400, "a", 2))
    feed.put((30, "a", 3))
    with pytest.warns(UnguardedWatermarkWarning):
        result = minutes(feed.stream(), max_future_skew="1 hour").agg(*AGGREGATES)
    run(feed, result)
    invalid = feed.read("invalid")
    assert [(row["v"], reason) for row, reason in invalid.select("row", "reason").rows()] == [
        (2, "event time is too far ahead")
    ]
    assert identity_holds(feed)
