"""Tests that one DataFrame of panes may be started any number of times.

The queries share caches and copies of state, and must not mix them up.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

import panewise as pw
from panewise import functions as F
from panewise.spark import WindowResult, windowed
from tests.nightly import first_here
from tests.spark.conftest import Feed

Totals = dict[str, tuple[int, int]]


def daily(feed: Feed) -> WindowResult:
    """Returns accumulating windows of one day that fire in every micro-batch."""
    days = (
        windowed(feed.stream().withWatermark("ts", "1 day"), event_time="ts")
        .groupBy("k")
        .window(pw.Tumbling("1 day"))
    )
    return (
        days.trigger(pw.Always())
        .accumulation("accumulating")
        .agg(F.count().alias("n"), F.sum("v").alias("s"))
    )


class Input:
    """A source that contains only its last file, so a query that starts later misses the files before."""

    def __init__(self, feed: Feed) -> None:
        self.feed, self.number = feed, 0

    def put(self) -> list[tuple[float, str, int]]:
        """Replaces the file by one of eight rows, and returns these rows."""
        for path in self.feed.path.iterdir():
            path.unlink()
        self.number += 1
        rows = [(float(self.number), f"key {n % 4}", self.number * 100 + n) for n in range(8)]
        self.feed.put(*rows)
        return rows


class Query:
    """A query of a DataFrame of panes, and the totals that it must emit for the rows that it has read."""

    def __init__(self, panes: DataFrame, checkpoint: str) -> None:
        self.panes, self.checkpoint = panes, checkpoint
        self.taken: list[tuple[float, str, int]] = []
        self.sent: Totals = {}

    def start(self) -> StreamingQuery:
        def take(batch: DataFrame, _: int) -> None:
            for row in sorted(batch.collect(), key=lambda row: row["index"]):
                self.sent[row["k"]] = (row["n"], row["s"])

        writer: Any = self.panes.writeStream.foreachBatch(take)
        started: StreamingQuery = writer.option("checkpointLocation", self.checkpoint).start()
        return started

    def run(self, rows: list[tuple[float, str, int]]) -> None:
        """Reads what there is, stops, and checks the totals."""
        with live(self) as query:
            query.processAllAvailable()
        self.taken += rows
        self.check()

    def check(self) -> None:
        expected: Totals = {}
        for _, k, v in self.taken:
            n, s = expected.get(k, (0, 0))
            expected[k] = (n + 1, s + v)
        assert self.sent == expected


@contextmanager
def live(query: Query) -> Iterator[StreamingQuery]:
    started = query.start()
    try:
        yield started
    finally:
        started.stop()


@pytest.fixture
def source(feed: Feed) -> Input:
    return Input(feed)


@pytest.mark.nightly
def test_two_queries_at_the_same_time(feed: Feed, source: Input) -> None:
    panes = daily(feed).panes
    one, other = Query(panes, feed.sink("one")), Query(panes, feed.sink("other"))
    rows = source.put()
    with live(one) as first:
        first.processAllAvailable()
        one.taken += rows
        with live(other) as second:
            for _ in range(2):
                rows = source.put()
                for query, started in ((one, first), (other, second)):
                    started.processAllAvailable()
                    query.taken += rows
                    query.check()


@pytest.mark.nightly
def test_a_loop_in_a_notebook(feed: Feed, source: Input) -> None:
    """Each query has a new checkpoint and other rows, and all are made from one DataFrame."""
    panes = daily(feed).panes
    for number in range(3):
        query = Query(panes, feed.sink(f"checkpoint {number}"))
        for _ in range(3):
            query.run(source.put())


@pytest.mark.nightly
def test_a_checkpoint_that_is_restored_from_an_older_copy(feed: Feed, source: Input) -> None:
    query = Query(daily(feed).panes, feed.sink("checkpoint"))
    query.run(source.put())
    shutil.copytree(query.checkpoint, feed.sink("backup"))
    taken, sent = [*query.taken], {**query.sent}
    for _ in range(2):
        query.run(source.put())
    shutil.rmtree(query.checkpoint)
    shutil.copytree(feed.sink("backup"), query.checkpoint)
    query.taken, query.sent = taken, sent
    for _ in range(2):
        query.run(source.put())


@pytest.mark.nightly
def test_copies_of_a_checkpoint(feed: Feed, source: Input) -> None:
    panes = daily(feed).panes
    query = Query(panes, feed.sink("checkpoint"))
    query.run(source.put())
    copies = [Query(panes, feed.sink(f"copy {number}")) for number in range(2)]
    for copy in copies:
        shutil.copytree(query.checkpoint, copy.checkpoint)
        copy.taken, copy.sent = [*query.taken], {**query.sent}
    for _ in range(2):
        for each in (*copies, query):
            each.run(source.put())


def exchange(files: list[Path]) -> None:
    """Replaces the content of each file by that of another."""
    contents = [path.read_bytes() for path in files]
    for path, data in zip(files, [*contents[1:], *contents[:1]], strict=True):
        path.write_bytes(data)


def truncate(files: list[Path]) -> None:
    for path in files:
        os.truncate(path, path.stat().st_size // 2)


def delete(files: list[Path]) -> None:
    for path in files:
        path.unlink()


@pytest.mark.nightly
@pytest.mark.parametrize("harm", first_here([exchange, truncate, delete]))
def test_a_mirror_that_is_harmed_while_queries_run(
    spark: SparkSession, feed: Feed, source: Input, harm: Callable[[list[Path]], None]
) -> None:
    """Damaged copies change no output. Nothing is cached here, so workers read copies in each micro-batch."""
    spark.conf.set("panewise.cacheMegabytes", "0")
    panes = daily(feed).panes
    spark.conf.set("panewise.cacheMegabytes", "1024")
    query = Query(panes, feed.sink("checkpoint"))
    before = set(copies(spark))
    for _ in range(4):
        query.run(source.put())
        mine = sorted(set(copies(spark)) - before)
        assert len(mine) > 1
        harm(mine)


@pytest.mark.nightly
def test_a_session_without_a_mirror(spark: SparkSession, feed: Feed, source: Input) -> None:
    spark.conf.set("panewise.mirrorMegabytes", "0")
    panes = daily(feed).panes
    spark.conf.set("panewise.mirrorMegabytes", "4096")
    before = set(copies(spark))
    query = Query(panes, feed.sink("checkpoint"))
    for _ in range(2):
        query.run(source.put())
    assert set(copies(spark)) <= before


def copies(spark: SparkSession) -> list[Path]:
    """Returns the files of the mirror on this machine."""
    return [
        Path(folder) / name
        for folder, _, names in os.walk(spark.conf.get("spark.local.dir", ""))  # Spark deletes some meanwhile
        if Path(folder).name == "panewise"
        for name in names
        if name.endswith(".run")
    ]
