"""The job of test_connect that moves the state of a query with several operators to another query.

Arguments: the address of a server, and a folder. In it `before` and `after` have both inputs before and
after the move. Like every job through Connect it has a process of its own.
"""

import json
import sys

import pytest
from pyspark.sql import DataFrame, SparkSession

import panewise as pw
from panewise import functions as F
from panewise.cli import main as command
from panewise.errors import StateError
from panewise.spark import JoinResult, ParquetSink, configure, joined, windowed

SCHEMA = "ts TIMESTAMP, k STRING, v BIGINT"


def pairs(left: DataFrame, right: DataFrame, shards: int, idle: str | None) -> JoinResult:
    """Returns a join of the windows of two streams, which have equal specifications."""
    sides = []
    for place, side in enumerate((left, right)):
        described = windowed(side.withWatermark("ts", "4 seconds"), event_time="ts").groupBy("k")
        described = described.window(pw.Tumbling("10 seconds")).options(timestamp="window_time")
        summed = described.shards(shards + place).agg(F.sum("v").alias("v"))
        sides.append(summed.select("k", "timestamp", "v"))
    both = joined(*sides, event_time="timestamp").on("k").within("-10 seconds", "0 seconds")
    both = both.prefix(right="r_").shards(shards)
    return (both if idle is None else both.idle_after(idle)).how("left")


def main(server: str, out: str) -> None:
    spark = configure(SparkSession.builder.remote(server).getOrCreate(), shuffle_partitions=2)

    def run(name: str, source: str, shards: int, file: str | None = None, idle: str | None = None) -> None:
        reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        both = pairs(
            *(reader.parquet(f"{out}/{source}/{side}/in") for side in ("left", "right")), shards, idle
        )
        rows, checkpoint = ParquetSink(f"{out}/{name}-rows"), f"{out}/{name}"
        both.write(
            rows=rows, checkpoint=checkpoint, available_now=True, initial_state=file
        ).awaitTermination()

    run("first", "before", 2)
    assert command(["state", "export", f"{out}/first", f"{out}/exported"]) == 0
    # The later starts continue what the first one has imported, the last one with a changed specification.
    for idle in (None, None, "1 hour"):
        run("second", "after", 3, f"{out}/exported", idle)
    described = windowed(spark.readStream.schema(SCHEMA).parquet(f"{out}/after/left/in"), event_time="ts")
    alone = described.watermark(pw.StreamTime()).window(pw.Tumbling("10 seconds")).agg(F.count())
    panes, checkpoint = ParquetSink(f"{out}/alone-panes"), f"{out}/alone"
    with pytest.raises(StateError) as refused:
        alone.write(panes=panes, checkpoint=checkpoint, initial_state=f"{out}/exported")
    found = [spark.read.parquet(f"{out}/{name}-rows") for name in ("first", "second")]
    columns = ("k", "timestamp", "v", "r_timestamp", "r_v")
    rows = [[str(value) for value in row] for df in found for row in df.select(*columns).collect()]
    records = spark.read.text(f"{out}/second/panewise/operator", wholetext=True).count()
    told = [type(spark).__module__, sorted(rows), str(refused.value), records]
    sys.stdout.write("told " + json.dumps(told) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
