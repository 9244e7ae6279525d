"""The job of test_first_start: the first start of a query, in its own process with Spark's default log."""

import sys

from pyspark.sql import SparkSession

import panewise as pw
from panewise import functions as F
from panewise.spark import ParquetSink, configure, windowed


def main(source: str, out: str) -> None:
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
    )
    spark = configure(
        builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate(), shuffle_partitions=1
    )
    stream = (
        spark.readStream.schema("ts TIMESTAMP, k STRING, v BIGINT")
        .parquet(source)
        .withWatermark("ts", "1 second")
    )
    result = windowed(stream, "ts").window(pw.Tumbling("1 minute")).agg(F.count().alias("n"))
    sinks = {name: ParquetSink(f"{out}/{name}") for name in ("panes", "late")}
    result.write(**sinks, checkpoint=f"{out}/checkpoint", available_now=True).awaitTermination()
    sys.stdout.write("ended well\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
