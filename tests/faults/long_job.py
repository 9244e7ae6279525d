"""Runs hundreds of micro-batches of one row each, and reports the JVM's memory and the number of files.

``python -m tests.faults.long_job FOLDER BATCHES EVERY OPERATOR [KEY=VALUE ...]``, with settings of Spark. It
prints a line of JSON every EVERY micro-batches. OPERATOR is "ours" for panewise, or "native" for Spark's own
windows over the same input into the same sink.
"""

import json
import os
import sys
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as SF
from pyspark.sql.streaming.query import StreamingQuery

import panewise as pw
from panewise import functions as F
from panewise.spark import ParquetSink, configure, windowed
from tests.faults.job import CONF
from tests.faults.stream_files import START

DDL = "ts TIMESTAMP, k STRING, v BIGINT"


@dataclass(frozen=True)
class Watching:
    """A sink that, before it writes, reports the memory of the process and the number of its files."""

    sink: ParquetSink
    folder: Path
    every: int

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Writes one micro-batch."""
        if batch_id % self.every == 0:
            seen = {
                "batch": batch_id,
                **memory(rows.sparkSession),
                "state": files(self.folder / "checkpoint" / "state"),
            }
            sys.stdout.write(json.dumps(seen | {"local": files(self.folder / "local")}) + "\n")
            sys.stdout.flush()
        self.sink(rows, batch_id)

    def prepare(self, empty: DataFrame) -> None:
        """Prepares the wrapped sink."""
        self.sink.prepare(empty)


def memory(spark: SparkSession) -> dict[str, float]:
    """Returns megabytes of the JVM after garbage collection: live objects, non-heap and resident memory."""
    jvm: Any = spark._jvm
    for _ in range(3):  # the next collection frees what a finalizer or a cleaner released
        jvm.System.gc()
    bean = jvm.java.lang.management.ManagementFactory.getMemoryMXBean()
    pid = jvm.java.lang.ProcessHandle.current().pid()
    (resident,) = [
        line
        for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
        if line.startswith("VmRSS")
    ]
    heap, beside = bean.getHeapMemoryUsage().getUsed(), bean.getNonHeapMemoryUsage().getUsed()
    return {"live": heap / 2**20, "beside": beside / 2**20, "resident": int(resident.split()[1]) / 2**10}


def files(folder: Path) -> int:
    """Returns the number of files under a folder. Files may be created and deleted there meanwhile."""
    return sum(len(names) for _, _, names in os.walk(folder))


def write_input(source: Path, batches: int) -> None:
    """Writes a file of one row for each micro-batch. The rows are ten seconds of event time apart."""
    source.mkdir(parents=True)
    for number in range(batches):
        path = source / f"{number:04}.parquet"
        row = {"ts": [START + timedelta(seconds=10 * number)], "k": ["abcd"[number % 4]], "v": [number]}
        pl.DataFrame(
            row, schema={"ts": pl.Datetime("us", "UTC"), "k": pl.String, "v": pl.Int64}
        ).write_parquet(path)
        os.utime(path, (number + 1, number + 1))


def ours(stream: DataFrame, sink: Watching) -> StreamingQuery:
    described = (
        windowed(stream, "ts")
        .groupBy("k")
        .window(pw.Tumbling("1 minute"))
        .trigger(pw.AfterWatermark(early=pw.Always()))
    )
    result = described.agg(F.count().alias("n"), F.sum("v").alias("s"))
    return result.write(panes=sink, checkpoint=f"{sink.folder}/checkpoint", available_now=True).query


def native(stream: DataFrame, sink: Watching) -> StreamingQuery:
    result = stream.groupBy("k", SF.window("ts", "1 minute")).agg(
        SF.count("*").alias("n"), SF.sum("v").alias("s")
    )
    writer = result.writeStream.outputMode("update").foreachBatch(sink).trigger(availableNow=True)
    return writer.option("checkpointLocation", f"{sink.folder}/checkpoint").start()


def main(folder: str, batches: str, every: str, operator: str, *settings: str) -> None:
    out = Path(folder)
    write_input(out / "in", int(batches))
    builder = SparkSession.builder.master("local[2]").appName("panewise for long")
    given = dict(setting.split("=", 1) for setting in settings)
    for key, value in {**CONF, **given, "spark.local.dir": f"{out}/local"}.items():
        builder = builder.config(key, value)
    spark = configure(builder.getOrCreate(), local_checkpoints=True)
    stream = (
        spark.readStream.schema(DDL)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(out / "in"))
        .withWatermark("ts", "20 seconds")
    )
    sink = Watching(ParquetSink(f"{out}/panes"), out, int(every))
    (ours if operator == "ours" else native)(stream, sink).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
