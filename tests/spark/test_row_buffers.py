"""Tests of evictors and deltas on Spark: row buffers keep rows and their order (semantics 11.1, 21.7)."""

import panewise as pw
from panewise import functions as F
from panewise.spark import windowed
from tests.spark.conftest import Feed


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
