"""Tests of deduplication in real queries (semantics 45). Spark's own functions give the expected results."""

import random
from collections import Counter
from functools import partial
from typing import Any

import polars as pl
import pytest
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.errors import SpecError, StateError
from panewise.spark import DeduplicateResult, apply, deduplicate, windowed
from panewise.spark.checkpoint_reader import read_state
from tests.nightly import first_here
from tests.spark.conftest import START, Feed, write

FAR = "1 minute"  # farther than any two rows of these streams of one key that are copies


def ours(feed: Feed, *, batch: bool = False) -> Any:
    stream = feed.batch() if batch else feed.stream().withWatermark("ts", "10 seconds")
    return deduplicate(stream, "ts").on("k")


run = partial(write, outputs=("rows", "late", "invalid", "counts"))


def put_copies(feed: Feed, first: int, files: int = 2) -> None:
    """Adds files of rows, each delivered up to three times within 8 seconds. No row is late."""
    chosen = random.Random(first)
    for n in range(first, first + files):
        rows = [
            (n * 20 + key / 4 + chosen.random() * 8, f"{n} {key}", copy)
            for key in range(30)
            for copy in range(chosen.choice([1, 2, 3]))
        ]
        feed.put(*chosen.sample(rows, len(rows)))


def test_a_stream_emits_the_earliest_row_of_each_key(feed: Feed) -> None:
    """Without late rows. Another specification cannot continue from the checkpoint."""
    put_copies(feed, 0, 3)
    run(feed, ours(feed).within(FAR))
    with pytest.raises(StateError, match=r"^a changed specification \(within: 1 minute -> 2 minutes\)"):
        run(feed, ours(feed).within("2 minutes"))
    rows = feed.read("rows")
    counts = feed.read("counts").sum().to_dicts()[0]
    assert counts["rows_in"] == counts["applied"] == feed.batch().count() > rows.height
    earliest = {
        row.k: row.v for row in feed.batch().groupBy("k").agg(SF.min_by("v", "ts").alias("v")).collect()
    }
    assert sorted(rows.select("k", "v").iter_rows()) == sorted(earliest.items())


@pytest.mark.nightly
def test_a_stream_emits_what_spark_emits(feed: Feed) -> None:
    """Without late rows the chosen keys are those of Spark's own deduplication."""
    put_copies(feed, 0, 3)
    run(feed, ours(feed).within(FAR))
    native = feed.stream().withWatermark("ts", FAR).dropDuplicatesWithinWatermark(["k"])
    native.writeStream.format("memory").queryName("native").trigger(
        availableNow=True
    ).start().awaitTermination()
    assert sorted(row.k for row in feed.spark.table("native").collect()) == sorted(feed.read("rows")["k"])


@pytest.mark.nightly
def test_late_and_invalid_rows_are_outputs(feed: Feed) -> None:
    feed.put((0, "a", 1), (1, "a", 2), (None, "b", 3), (30, "c", 4))
    feed.put((31, "d", 5))
    feed.put((2, "a", 6), (2, "x", 7), (40, "c", 8))
    run(feed, ours(feed).within("15 seconds"))
    assert sorted(feed.read("rows")["v"]) == [1, 4, 5]
    late = feed.read("late").unnest("row").sort("v")
    assert late.select("k", "v", "reason").rows() == [("a", 6, "behind"), ("x", 7, "behind")]
    assert feed.read("invalid")["reason"].to_list() == ["event time is null"]
    counts = feed.read("counts").sum().to_dicts()[0]
    assert [counts[name] for name in ("rows_in", "applied", "late", "invalid")] == [8, 5, 2, 1]


@pytest.mark.nightly
@pytest.mark.parametrize("keep", first_here(["last", "first"]))
def test_complete_groups_of_a_stream_are_those_of_a_batch(feed: Feed, keep: Any) -> None:
    """Rows are taken in the order of event time, so restarts and micro-batches change nothing (45.4)."""
    put_copies(feed, 0)
    run(feed, ours(feed).within(FAR, keep=keep, by="event_time"))
    put_copies(feed, 2, 1)
    feed.put((1000, "end", 0))
    run(feed, ours(feed).within(FAR, keep=keep, by="event_time"))
    batch = pl.DataFrame(ours(feed, batch=True).within(FAR, keep=keep, by="event_time").rows.toArrow())
    before = batch.filter(pl.col("k") != "end").sort("k")
    assert feed.read("rows").select(before.columns).sort("k").equals(before)
    assert before.height == 90
    (state,) = read_state(feed.spark, feed.sink("checkpoint")).operators
    assert state.total.windows == 1
    assert isinstance(state.spec, pw.DeduplicateOperator)


@pytest.mark.nightly
def test_the_latest_row_of_each_key_with_retractions(feed: Feed) -> None:
    """Rows that are not retracted are the latest of each key (semantics 45.8)."""
    put_copies(feed, 0)
    result = ours(feed).within("unlimited", keep="last", by="event_time", emit="retracting")
    run(feed, result)
    net: Counter[Any] = Counter()
    for k, v, op in feed.read("rows").select("k", "v", "op").iter_rows():
        net[k, v] += 1 if op == "+" else -1
    latest = feed.batch().groupBy("k").agg(SF.max_by("v", "ts").alias("v")).collect()
    assert {key for key, count in net.items() if count} == {(row.k, row.v) for row in latest}
    assert set(net.values()) <= {0, 1}


@pytest.mark.nightly
def test_deduplicate_then_window(feed: Feed) -> None:
    """One query: its rows are those of the windows, and none is late there (semantics 45.18)."""
    put_copies(feed, 0, 3)
    feed.put((1000, "end", 0))

    def unique(*, batch: bool) -> Any:
        once = ours(feed, batch=batch).within(FAR, by="event_time")
        return windowed(once).window(pw.Tumbling("20 seconds")).agg(F.count().alias("n"))

    run(feed, unique(batch=False), outputs=("panes", "late"))
    found = {
        (row.window_start.replace(tzinfo=START.tzinfo) - START).total_seconds(): row.n
        for row in unique(batch=True).panes.collect()
    }
    starts = feed.read("panes").select((pl.col("window_start") - START).dt.total_seconds(), "n").rows()
    assert dict(starts) == {start: n for start, n in found.items() if start < 900}
    assert sum(n for _, n in starts) == 90
    assert feed.read("late").is_empty()


@pytest.mark.nightly
def test_a_deduplication_behind_windows(feed: Feed) -> None:
    feed.put((0, "a", 1), (11, "a", 1), (21, "b", 1), (100, "c", 1))
    panes = windowed(feed.stream().withWatermark("ts", "10 seconds"), "ts").groupBy("k")
    panes = panes.options(timestamp="window_time").window(pw.Tumbling("10 seconds"))
    run(feed, deduplicate(panes.agg(F.count().alias("n"))).on("k").within(FAR))
    assert sorted(feed.read("rows")["k"]) == ["a", "b"]


def test_a_batch_is_one_batch_and_ends(feed: Feed) -> None:
    """Also without an event time, and with several shards (semantics 45.16, 45.19)."""
    put_copies(feed, 0)
    latest = {
        row.k: row.v for row in feed.batch().groupBy("k").agg(SF.max_by("v", "ts").alias("v")).collect()
    }
    timed = ours(feed, batch=True).within("unlimited", keep="last", by="event_time").rows
    assert {row.k: row.v for row in timed.collect()} == latest
    ordered = (
        deduplicate(feed.batch(), None).on("k").order_by("ts").shards(3).within("unlimited", keep="last")
    )
    assert {row.k: row.v for row in ordered.rows.collect()} == latest


def test_the_first_row_of_each_day(feed: Feed) -> None:
    """The day is a key, so a group does not reach into the next day."""
    hour = 3600
    feed.put((23 * hour, "a", 1), (20 * hour, "a", 2), (25 * hour, "a", 3), (47 * hour, "a", 4), (1, "b", 5))
    daily = feed.batch().withColumn("day", SF.floor(SF.unix_timestamp("ts") / 86400))
    rows = deduplicate(daily, "ts").on("k", "day").within("1 day", by="event_time").rows
    assert sorted(row.v for row in rows.collect()) == [2, 3, 5]


def counted(rows: Any) -> Any:
    return windowed(rows).window(pw.Tumbling("1 hour")).agg(F.count())


def test_what_the_builder_refuses(feed: Feed) -> None:
    """Retractions have no second operator (semantics 45.18)."""
    for make, message in (
        (
            lambda: deduplicate(feed.batch(), "ts").within(FAR),
            r"^deduplicate\(...\).within\(...\) without keys",
        ),
        (lambda: deduplicate(feed.batch(), "ts").on("no").within(FAR), r"^column 'no'"),
        (lambda: ours(feed, batch=True).options(emit="complete"), r"^option 'emit'"),
        (
            lambda: counted(ours(feed).within(FAR, keep="last", emit="retracting")),
            r"^emit=.retracting. before a second operator \| .* takes rows that are emitted once",
        ),
        (
            lambda: counted(deduplicate(feed.stream(), None).on("k").within("unlimited")),
            r"^a deduplication with event_time=None before a second operator",
        ),
    ):
        with pytest.raises(SpecError, match=message):
            make()
    result = apply(feed.batch(), pw.DeduplicateOperator(keys=["k"], within=FAR, event_time="ts"))
    assert isinstance(result, DeduplicateResult)
    assert "State: k and time of the first row of each group" in result.explain()
    with pytest.raises(SpecError, match=r"^rows=7 \|"):
        ours(feed).within(FAR).write(rows=7, checkpoint=feed.sink("checkpoint"))  # type: ignore[arg-type]
