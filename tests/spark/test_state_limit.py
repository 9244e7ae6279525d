"""Tests of the limit of the state of a shard."""

import os
from collections.abc import Iterator

import polars as pl
import pytest

import panewise as pw
from panewise import functions as F
from panewise.errors import SetupError, StateError
from panewise.spark import QueryError, WindowResult, configure, windowed
from panewise.spark.session.settings import STATE
from panewise.spark.workers.microbatch import check_state_size
from tests.spark.conftest import SCHEMA, Feed, at, write


def test_a_state_at_the_limit_is_not_above_it() -> None:
    """semantics 15.11"""
    check_state_size(2 << 20, 2, 0)
    check_state_size(1 << 40, 0, 0)
    check_state_size(None, 2, 0)
    with pytest.raises(StateError, match=r"^2\.0 MB of state in shard 7 \| configure\(state_mb=2\) .* raise"):
        check_state_size((2 << 20) + 1, 2, 7)


def test_a_limit_is_not_negative(feed: Feed) -> None:
    with pytest.raises(SetupError, match=r"^state_mb=-1 \| .* 0 megabytes \(no limit\) or more"):
        configure(feed.spark, state_mb=-1)


@pytest.fixture
def limited(feed: Feed) -> Iterator[Feed]:
    configure(feed.spark, state_mb=1)
    yield feed
    feed.spark.conf.unset(STATE)


def sums(feed: Feed) -> WindowResult:
    stream = feed.stream().withWatermark("ts", "10 seconds")
    return windowed(stream, "ts").groupBy("k").window(pw.Tumbling("1 minute")).agg(F.sum("v").alias("s"))


def put_keys(feed: Feed, count: int) -> None:
    """Adds a file with a row for each of so many keys, which compression does not shorten much."""
    feed.put()
    path = feed.path / f"{feed.files:04}.parquet"
    keys = pl.int_range(count, eager=True).hash().cast(pl.String)
    pl.DataFrame({"ts": at(0), "k": keys, "v": 1}, schema=SCHEMA).write_parquet(path)
    os.utime(path, (feed.files, feed.files))  # as Feed.put does


@pytest.mark.nightly
def test_a_query_continues_with_a_higher_limit(limited: Feed) -> None:
    """A micro-batch that would store more is not committed (semantics 15.11)."""
    feed = limited
    feed.put((0, "a", 1))
    write(feed, sums(feed), outputs=["panes"])
    put_keys(feed, 300_000)
    with pytest.raises(QueryError, match=r"MB of state in shard \d \| configure\(state_mb=1\)"):
        write(feed, sums(feed), outputs=["panes"])
    configure(feed.spark, state_mb=1000)
    write(feed, sums(feed), outputs=["panes"])
    feed.put((120, "a", 1))
    write(feed, sums(feed), outputs=["panes"])
    assert feed.read("panes")["s"].sum() == 300_001
