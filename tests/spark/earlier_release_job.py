"""A query that also an earlier release of panewise runs: its process has the sources of that release.

Arguments: the directory of the input, the checkpoint, and the sink.
"""

import sys

from pyspark.sql import SparkSession

import panewise as pw
from panewise import functions as F
from panewise.spark import ParquetSink, configure, windowed


def main() -> None:
    """Runs the query over all files that are there."""
    source, checkpoint, sink = sys.argv[1:]
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = configure(builder.getOrCreate(), local_checkpoints=True, shuffle_partitions=2)
    stream = spark.readStream.schema("ts TIMESTAMP, k STRING, v BIGINT").option("maxFilesPerTrigger", 1)
    described = windowed(stream.parquet(source).withWatermark("ts", "10 seconds"), event_time="ts").groupBy(
        "k"
    )
    described = described.window(pw.Session("15 seconds"))
    described = described.accumulation("retracting")
    described = described.allowed_lateness("20 seconds").trigger(pw.AfterWatermark(early=pw.Always()))
    result = described.agg(F.sum("v").alias("s"), F.collect_list("v").alias("all"))
    result.write(panes=ParquetSink(sink), checkpoint=checkpoint, available_now=True).awaitTermination()


if __name__ == "__main__":
    main()
