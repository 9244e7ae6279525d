"""Tests of queries whose number of shards is not that of their checkpoint."""

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming import StreamingQuery

import panewise as pw
from panewise import functions as F
from panewise.spark import windowed
from tests.spark.conftest import Feed


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
