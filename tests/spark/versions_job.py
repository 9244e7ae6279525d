"""A query that processes with different versions of PySpark run, one after the other.

Arguments: the directory of the input, the path of the checkpoint, the number of shards, and a file.
`begins=FILE` begins with its state, `exports=FILE` exports the state at the end.
"""

import sys

from pyspark.sql import SparkSession

import panewise as pw
from panewise import functions as F
from panewise.checkpoints.export import export_checkpoint
from panewise.spark import ParquetSink, configure, windowed


def run(spark: SparkSession, source: str, checkpoint: str, shards: int, begins: str | None = None) -> None:
    """Runs the query over all files that are there. The sink is beside the checkpoint."""
    stream = spark.readStream.schema("ts TIMESTAMP, k STRING, v BIGINT").option("maxFilesPerTrigger", 1)
    rows = stream.parquet(source).withWatermark("ts", "10 seconds")
    described = windowed(rows, event_time="ts").groupBy("k").window(pw.Session("15 seconds"))
    described = described.accumulation("retracting").allowed_lateness("20 seconds").shards(shards)
    described = described.trigger(pw.AfterWatermark(early=pw.Always(), late=pw.Always()))
    result = described.agg(F.sum("v").alias("s"), F.collect_list("v").alias("all"))
    sink = ParquetSink(f"{checkpoint}-panes")
    query = result.write(panes=sink, checkpoint=checkpoint, available_now=True, initial_state=begins)
    query.awaitTermination()


def main(source: str, checkpoint: str, shards: str, moves: str) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = configure(builder.getOrCreate(), local_checkpoints=True, shuffle_partitions=2)
    way, file = moves.split("=", 1)
    run(spark, source, checkpoint, int(shards), file if way == "begins" else None)
    if way == "exports":
        export_checkpoint(checkpoint, file)
    sys.stdout.write(f"{spark.version}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
