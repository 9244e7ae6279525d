"""Tests that the number of shards changes no output (semantics 3.1).

The same events go through a query of one shard, a query of five, and the oracle.
"""

from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming import StreamingQuery

import panewise as pw
from panewise import functions as F
from panewise.spark import windowed
from panewise.testing import run
from tests.spark.conftest import Feed

ROWS = [
    [("a", 1, 0, 0), ("b", 3, 1, 0), ("c", 12, 0, 1), ("d", 25, 1, 1)],
    [
        ("a", 14, 0, 2),
        ("b", 2, 0, 1),
        ("e", 31, 1, 2),
        ("a", 1, 1, 3),
    ],  # (0, 1) comes again, with another key
    [("f", 5, 0, 3), ("a", 33, 0, 4), ("c", 12, 1, 3), ("g", 40, 1, 4)],
]
WATERMARKS = [8, 20, 30]


def events() -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []
    for batch, watermark in zip(ROWS, WATERMARKS, strict=True):
        rows = [
            {"key": k, "event_time": t, "v": n, "position": [p, o]} for n, (k, t, p, o) in enumerate(batch)
        ]
        told += [{"op": "add", "rows": rows}, {"op": "watermark", "to": watermark}, {"op": "restart"}]
    return [*told, {"op": "finish"}]


def sorted_outputs(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {name: value if name == "counts" else sorted(value, key=str) for name, value in output.items()}
        for output in outputs
    ]


def of_ones_own(feed: Feed, partitions: int) -> StreamingQuery:
    """Starts a query without `write`, under a number of shuffle partitions."""
    feed.spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
    try:
        windows = windowed(feed.stream().withWatermark("ts", "1 second"), "ts").groupBy("k")
        panes = windows.window(pw.Tumbling("10 seconds")).agg(F.count().alias("n")).panes
        writer = panes.writeStream.option("checkpointLocation", feed.sink("checkpoint"))
        return writer.format("noop").trigger(availableNow=True).start()
    finally:
        feed.spark.conf.set("spark.sql.shuffle.partitions", "2")


@pytest.mark.nightly
def test_a_query_of_ones_own_under_other_shuffle_partitions(feed: Feed) -> None:
    """It is refused by the numbers of shards, as README says."""
    feed.put((0, "a", 1), (20, "b", 1))
    of_ones_own(feed, 2).awaitTermination()
    feed.put((40, "a", 1))
    with pytest.raises(StreamingQueryException, match=r"shards=3 \| this state was made with 2 shards"):
        of_ones_own(feed, 3).awaitTermination()


@pytest.mark.nightly
@pytest.mark.parametrize(
    "window", [pytest.param(pw.Hopping(20, 10), marks=pytest.mark.soak), pw.Session(10)], ids=lambda w: w.kind
)
def test_the_number_of_shards_changes_nothing(spark: SparkSession, window: Any) -> None:
    spec = pw.WindowOperator(
        window=window,
        keys=["key"],
        aggregates=[F.sum("v").alias("s"), F.collect_list("v").alias("l")],
        trigger=pw.AfterWatermark(early=pw.Always(), late=pw.Always()),
        accumulation="retracting",
        allowed_lateness=5,
    )
    expected = run(spec, events(), "oracle", windows=True)
    assert sum(output["counts"]["replays"] for output in expected) == 2
    for shards in (5,) if window.kind == "session" else (1, 5):  # one shard is what other tests have
        assert sorted_outputs(run(spec, events(), "spark", windows=True, shards=shards)) == sorted_outputs(
            expected
        )
