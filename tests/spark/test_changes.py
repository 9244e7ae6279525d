"""`write` on a checkpoint that was made with another specification (semantics 47.9)."""

import logging
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.errors import StateError
from panewise.spark import WindowBuilder, windowed
from panewise.spark.queries import writer as writers
from panewise.spark.queries.query_record import record_of
from panewise.spec.codec import to_dict
from panewise.state import Manifest
from tests.spark.conftest import Feed, emitted, write

COUNT, SUM, LARGEST = F.count().alias("n"), F.sum("v").alias("s"), F.max("v").alias("most")


def minutes(df: DataFrame, lateness: str = "0 seconds", **options: Any) -> WindowBuilder:
    described = windowed(df.withWatermark("ts", "0 seconds"), event_time="ts").groupBy("k")
    described = described.window(pw.Tumbling("1 minute")).shards(2)
    return described.allowed_lateness(lateness).options(**options)


run = partial(write, outputs=("panes", "late"))


def panes(feed: Feed) -> pl.DataFrame:
    """Returns the panes so far, with the columns of all specifications."""
    read = feed.spark.read.option("mergeSchema", True).parquet(feed.sink("panes"))
    rows = pl.DataFrame(read.toArrow()).with_columns(pl.col("window_end").dt.epoch("s") % 86_400)
    return rows.sort("window_end")


def test_a_checkpoint_continues_with_other_aggregates_and_lateness(
    feed: Feed, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics 47.3, 47.5 and 47.9: one line in the log, and a record before the first micro-batch."""
    feed.put((0, "a", 1), (70, "a", 2))
    run(feed, minutes(feed.stream()).agg(COUNT, SUM))
    feed.put((80, "a", 3), (130, "a", 4))
    changed = minutes(feed.stream(), "1 hour", closing="always").agg(SUM.alias("total"), LARGEST)
    monkeypatch.setattr(writers, "_stepped", interrupted)
    with caplog.at_level(logging.WARNING, "panewise.evolution"), pytest.raises(InterruptedError):
        run(feed, changed)  # it fails after the record is made
    monkeypatch.undo()
    run(feed, changed)
    [line] = [record.getMessage() for record in caplog.records if record.name == "panewise.evolution"]
    assert "is continued with a changed specification (aggregate 'n' removed; " in line
    feed.put((10, "a", 50), (400, "a", 9))
    run(feed, changed)
    assert panes(feed).select("window_end", "n", "s", "total", "most").rows() == [
        (60, 1, 1, None, None),
        (120, None, None, 5, None),
        (180, None, None, 4, 4),
    ]


def interrupted(*_: Any) -> Any:
    raise InterruptedError


def test_a_change_is_refused_or_waits_or_is_taken_back(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 47.9: no repeated micro-batch has a change, and a removed value that returns is not lost."""
    feed.put((0, "a", 1))
    before, after = minutes(feed.stream()).agg(COUNT, SUM), minutes(feed.stream()).agg(COUNT)
    run(feed, before)
    with pytest.raises(StateError, match=r"^a changed specification \(window: "):
        run(feed, minutes(feed.stream()).window(pw.Tumbling("2 minutes")).agg(COUNT))
    doubles = feed.stream().withColumn("v", SF.col("v").cast("double"))
    with pytest.raises(StateError, match=r"^columns of other types \(v: bigint, now double\)"):
        run(feed, minutes(doubles).agg(SUM, LARGEST))  # 47.21: also if the specification has changed
    commits = Path(feed.sink("checkpoint"), "commits")
    last = max((file for file in commits.iterdir() if file.name.isdecimal()), key=lambda file: int(file.name))
    hidden = last.rename(commits.with_name("hidden"))
    monkeypatch.setattr(writers, "_stepped", interrupted)
    uncommitted = r"removed\) \| micro-batch \d+ has begun and is not committed.*once with"
    with pytest.raises(StateError, match=uncommitted):
        run(feed, after)
    assert recorded(feed).spec == to_dict(before.spec)
    hidden.rename(last)
    for described in (after, minutes(feed.stream()).agg(COUNT, LARGEST), before):
        with pytest.raises(InterruptedError):
            run(feed, described)
        names = [aggregate.name for aggregate in described.spec.aggregates]
        assert [aggregate["name"] for aggregate in recorded(feed).spec["aggregates"]] == names
    assert recorded(feed).spec == to_dict(before.spec)  # no aggregate is marked as added


def recorded(feed: Feed) -> Manifest:
    record = record_of(feed.spark, feed.sink("checkpoint"))
    assert record is not None
    return record


@pytest.mark.nightly
def test_a_query_that_write_has_not_started_takes_no_added_aggregate(feed: Feed) -> None:
    feed.put((0, "a", 1))
    emitted(feed, minutes(feed.stream()).agg(COUNT).panes)
    feed.put((1, "a", 1))
    with pytest.raises(Exception, match="aggregates that were added now or at an earlier start"):
        emitted(feed, minutes(feed.stream()).agg(COUNT, SUM).panes)


@pytest.mark.nightly
def test_a_clock_is_removed_and_given_again(feed: Feed, caplog: pytest.LogCaptureFixture) -> None:
    """semantics 47.9 and 47.11."""
    feed.put((0, "a", 1))
    run(feed, minutes(feed.stream()).clock("1 minute").agg(COUNT))
    intervals = []
    for every in (None, "2 minutes", "30 seconds"):
        feed.put((200, "a", 1))
        described = minutes(feed.stream())
        run(feed, (described if every is None else described.clock(every)).agg(COUNT))
        intervals.append(recorded(feed).header["clock"])
    assert intervals == [60_000_000, 120_000_000, 30_000_000]
    lines = [record.getMessage() for record in caplog.records if record.name == "panewise.evolution"]
    assert [line.partition("another clock ")[2] for line in lines] == [
        "(1 minute, now no clock)",
        "(1 minute, now 2 minutes)",
        "(2 minutes, now 30 seconds)",
    ]


def test_a_watermark_gets_another_delay(feed: Feed) -> None:
    """semantics 47.8: what is complete stays so, and windows wait for the watermark with the new delay."""
    emitted_so_far = []
    for delay, seconds in (("0 seconds", (0, 70)), ("1 minute", (80, 150)), ("0 seconds", (160,))):
        feed.put(*((at, "a", 1) for at in seconds))
        stream = feed.stream().withWatermark("ts", delay)
        described = windowed(stream, event_time="ts").groupBy("k").window(pw.Tumbling("1 minute")).shards(2)
        run(feed, described.agg(COUNT))
        emitted_so_far.append(panes(feed).select("window_end", "n").rows())
    assert emitted_so_far == [[(60, 1)], [(60, 1)], [(60, 1), (120, 2)]]


@pytest.mark.nightly
def test_a_clock_gets_a_longer_interval(feed: Feed) -> None:
    """semantics 47.11: it makes micro-batches without rows as before, also after a start without it."""
    feed.put((0, "a", 1))
    so_far = []
    for every in ("1 millisecond", None, "2 milliseconds"):
        described = minutes(feed.stream())
        run(feed, (described if every is None else described.clock(every)).agg(COUNT))
        so_far.append(committed(feed))
    assert so_far[2] > so_far[1]


@pytest.mark.nightly
def test_a_clock_is_added(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 47.11: stored windows stay, and there are micro-batches without rows.

    A start that fails after the record is made changes nothing of this.
    """
    feed.put((0, "a", 1))
    run(feed, minutes(feed.stream()).agg(COUNT))
    monkeypatch.setattr(writers, "_stepped", interrupted)
    with pytest.raises(InterruptedError):
        run(feed, minutes(feed.stream()).clock("1 second").agg(COUNT))
    monkeypatch.undo()
    before = committed(feed)
    run(feed, minutes(feed.stream()).clock("1 second").agg(COUNT))
    assert committed(feed) > before
    assert recorded(feed).header["clock_added_to"] == 2
    for more in ((30, 130), (140,)):  # the second micro-batch finds the first window complete
        feed.put(*((seconds, "a", 1) for seconds in more))
        run(feed, minutes(feed.stream()).agg(COUNT))  # without it
    assert feed.read("panes")["n"].to_list() == [2]


@pytest.mark.nightly
def test_the_clock_of_an_earlier_operator_gets_a_longer_interval(feed: Feed) -> None:
    """semantics 47.20: it makes micro-batches without rows as before."""
    feed.put((0, "a", 1))
    so_far = []
    for every in ("1 millisecond", "2 milliseconds"):
        first = minutes(feed.stream(), timestamp="window_time").clock(every).agg(COUNT)
        hours = windowed(first, "timestamp").groupBy("k").window(pw.Tumbling("1 hour")).shards(1)
        write(feed, hours.agg(F.sum("n").alias("n")), outputs=["panes"])
        so_far.append(committed(feed))
    assert so_far[1] > so_far[0]


def committed(feed: Feed) -> int:
    commits = Path(feed.sink("checkpoint"), "commits")
    return max(int(file.name) for file in commits.iterdir() if file.name.isdecimal())
