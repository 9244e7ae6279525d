"""Windows over joins in real queries (semantics 42)."""

from functools import partial

import polars as pl
import pytest
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.errors import SpecError
from panewise.spark import JoinBuilder, WindowedJoinResult, apply, joined
from tests.spark.conftest import Feed, read_state, write

SUMS = [F.count().alias("pairs"), F.sum("r_v").alias("total"), F.max("join_time").alias("latest")]
PANE = ["k", "window_start", "window_end", "pairs", "total", "latest"]


def described(builder: JoinBuilder) -> WindowedJoinResult:
    pairs = builder.on("k").within("-2 seconds", "5 seconds").prefix(right="r_").how("left")
    return pairs.then(keys=["k"], window=pw.Tumbling("10 seconds"), aggregates=SUMS)


def put(feed: Feed, other: Feed, *turns: int) -> None:
    """Adds a file to both sides, with rows of each turn of 10 seconds; no row is late."""
    left = [(10 * n + (7 * i + n) % 10, "abc"[i % 3], i) for n in turns for i in range(9)]
    feed.put(*left, *((10 * n + 5, None, 0) for n in turns))
    other.put(*((10 * n + (3 * i) % 10, "abd"[i % 3], i) for n in turns for i in range(7)))


run = partial(write, outputs=("panes", "left_late", "left_counts"))


def streams(feed: Feed, other: Feed) -> WindowedJoinResult:
    left, right = (one.stream().withWatermark("ts", "4 seconds") for one in (feed, other))
    return described(joined(left, right))


def test_a_stream_emits_what_a_batch_emits(feed: Feed, other: Feed) -> None:
    """Each window once, when the output watermark has passed it (semantics 42.2)."""
    put(feed, other, 0, 1)
    put(feed, other, 2, 30)
    run(feed, streams(feed, other))
    panes, late = feed.read("panes"), feed.read("left_late")
    assert late.is_empty()
    assert set(panes["timing"]) == {"ON_TIME"}
    assert panes["batch_id"].n_unique() > 1
    batch = pl.DataFrame(described(joined(feed.batch(), other.batch(), "ts")).panes.toArrow())
    before = batch.filter(pl.col("window_end") <= panes["window_end"].max())
    assert panes.schema["latest"] == pl.Datetime("us", "UTC")
    assert panes.select(PANE).sort(PANE).equals(before.select(PANE).sort(PANE))
    assert before.height > 9
    state = read_state(feed.spark, feed.sink("checkpoint"))
    assert state.operators[0].spec == streams(feed, other).spec


def test_a_specification_of_both(feed: Feed, other: Feed) -> None:
    """`apply` takes it, a stage can follow, and the batch panes are those of Spark's own join."""
    feed.put((1, "a", 1), (2, "a", 2), (3, "b", 3))
    other.put((2, "a", 5), (4, "a", 6), (9, "b", 7))
    result = described(joined(feed.batch(), other.batch(), "ts"))
    assert result.explain().startswith("Join: emits each pair of partners, and each left row without")
    again = apply({"left": feed.batch(), "right": other.batch()}, result.spec)
    assert isinstance(again, WindowedJoinResult)
    assert again.right.counts.select(SF.sum("applied")).first()[0] == 3  # type: ignore[index]
    [row] = again.then(aggregates=[F.sum("pairs").alias("n"), F.sum("total").alias("s")]).panes.collect()
    assert (row.n, row.s) == (5, 22)
    pairs = joined(feed.batch(), other.batch(), "ts").on("k").within(0, 5).prefix(right="r_").how("inner")
    with pytest.raises(SpecError, match=r"^column 'w' after a join \| "):
        pairs.then(window=pw.Tumbling("1 hour"), aggregates=[F.sum("w")])
