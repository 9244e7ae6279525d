"""Runs windows of millions of keys. The test kills this process and starts it again.

``python -m tests.faults.many_keys_job FOLDER``, with the input in FOLDER/in.
"""

import sys

from pyspark.sql import SparkSession

import panewise as pw
from panewise import functions as F
from panewise.spark import ParquetSink, configure, windowed
from tests.faults.job import CONF

DDL = "ts TIMESTAMP, k BIGINT, v BIGINT"
CACHE = 128  # MB of cached state in a worker, less than its share of the state
HEAP = "1g"


def main(folder: str) -> None:
    builder = SparkSession.builder.master("local[2]").appName("panewise with many keys")
    for key, value in {**CONF, "spark.driver.memory": HEAP, "spark.local.dir": f"{folder}/local"}.items():
        builder = builder.config(key, value)
    spark = configure(builder.getOrCreate(), local_checkpoints=True, cache_mb=CACHE, shuffle_partitions=4)
    stream = (
        spark.readStream.schema(DDL)
        .option("maxFilesPerTrigger", 1)
        .parquet(f"{folder}/in")
        .withWatermark("ts", "1 day")
    )
    described = (
        windowed(stream, "ts")
        .groupBy("k")
        .window(pw.Tumbling("1 day"))
        .trigger(pw.AfterWatermark())
        .finish("at_end")
    )
    result = described.agg(F.count().alias("n"), F.sum("v").alias("s"), F.max("v").alias("most"))
    sinks = {kind: ParquetSink(f"{folder}/{kind}") for kind in ("panes", "counts")}
    result.write(**sinks, checkpoint=f"{folder}/checkpoint", available_now=True).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
