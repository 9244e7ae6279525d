"""Tests of evictors and deltas on Spark: row buffers keep rows and their order (semantics 11.1, 21.7)."""

from typing import Any

import pytest

import panewise as pw
from panewise import functions as F
from panewise.spark import ParquetSink, WindowBuilder, windowed
from tests.spark.conftest import Feed, at

InputWatermark = list[tuple[str, list[int], list[tuple[Any, ...]]]]


def described(feed: Feed) -> WindowBuilder:
    """Returns windows of a minute that keep their last two rows and fire in each micro-batch."""
    by_key = (
        windowed(feed.stream().withWatermark("ts", "10 seconds"), event_time="ts")
        .groupBy("k")
        .window(pw.Tumbling("1 minute"))
    )
    return by_key.trigger(pw.Always()).accumulation("accumulating").evictor(pw.CountEvictor(2))


def run(feed: Feed, described: WindowBuilder) -> InputWatermark:
    """Continues from the checkpoint, with two shards. Returns key, values and delta of all panes so far."""
    result = described.shards(2).agg(F.collect_list("v").alias("vs"))
    result.write(
        panes=ParquetSink(feed.sink("panes")), checkpoint=feed.sink("checkpoint"), available_now=True
    ).awaitTermination()
    panes = feed.read("panes").sort("batch_id", "k").to_dicts()
    return [(pane["k"], pane["vs"], [tuple(row.values()) for row in pane["delta"]]) for pane in panes]


@pytest.mark.nightly
def test_rows_are_kept_from_run_to_run(feed: Feed) -> None:
    """The order is that of event time, then of the file. A restart changes nothing."""
    feed.put((2, "a", 2), (1, "a", 1), (2, "a", 3), (5, "b", 5))
    first: InputWatermark = [("a", [2, 3], [(at(1), 1), (at(2), 2), (at(2), 3)]), ("b", [5], [(at(5), 5)])]
    assert run(feed, described(feed).delta("ts", "v")) == first
    feed.put((0, "a", 0), (6, "b", None))
    assert run(feed, described(feed).delta("ts", "v")) == [
        *first,
        ("a", [3, 0], [(at(0), 0)]),
        ("b", [5], [(at(6), None)]),
    ]


def test_a_delta_of_all_columns_has_columns_that_nothing_else_reads(feed: Feed) -> None:
    feed.put((2, "a", 2), (1, "a", 1))
    batch = (
        windowed(feed.batch(), event_time="ts")
        .window(pw.Tumbling("1 minute"))
        .delta()
        .agg(F.count().alias("n"))
    )
    [pane] = batch.panes.collect()
    assert pane.n == 2
    assert [tuple(row)[1:] for row in pane.delta] == [("a", 1), ("a", 2)]
    assert batch.panes.schema["delta"].dataType.elementType.names == ["ts", "k", "v"]  # type: ignore[attr-defined]
