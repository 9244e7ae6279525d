"""Spark compiles the code of a query in its first micro-batches, and no other in later ones."""

from typing import Any

from pyspark.sql import DataFrame

import panewise as pw
from panewise import functions as F
from panewise.spark import windowed
from tests.spark.conftest import Feed

FIRST, FILES = 2, 5


def compilations(spark: Any) -> int:
    """Returns how often the JVM has compiled code of queries."""
    metrics = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics
    count: int = metrics.METRIC_COMPILATION_TIME().getCount()
    return count


def test_later_micro_batches_compile_nothing(feed: Feed) -> None:
    for number in range(FILES):
        feed.put((20 * number, "a", number), (20 * number, "b", number))
    counts = list[int]()

    def take(rows: DataFrame, _: int) -> None:
        rows.write.format("noop").mode("append").save()
        counts.append(compilations(feed.spark))

    stream = feed.stream().withWatermark("ts", "1 second")
    windows = windowed(stream, "ts").groupBy("k").window(pw.Tumbling("1 minute")).trigger(pw.Always())
    writer = windows.agg(F.count().alias("n")).panes.writeStream.foreachBatch(take)
    writer = writer.option("checkpointLocation", feed.sink("checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()
    # The last micro-batch, which has no rows, has another plan.
    assert len(set(counts[FIRST:FILES])) == 1
