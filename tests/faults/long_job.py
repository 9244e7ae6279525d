"""Hundreds of micro-batches of one row each, in a process of its own that watches its JVM's memory and its files.

``python -m tests.faults.long_job FOLDER BATCHES LOOK LOOK ...``: in the micro-batch of each LOOK it prints a line of JSON.
"""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
from pyspark.sql import DataFrame, SparkSession

import panewise as pw
from panewise import functions as F
from panewise.spark import ParquetSink, configure, windowed
from tests.faults.job import CONF
from tests.faults.stream_files import START

DDL = "ts TIMESTAMP, k STRING, v BIGINT"
# What Spark keeps of finished jobs, stages and queries for its pages (docs/performance.md): by default of a thousand each.
RETAINED = {"spark.ui.retainedJobs": "50", "spark.ui.retainedStages": "50", "spark.sql.ui.retainedExecutions": "50"}


@dataclass(frozen=True)
class Watching:
    """A sink that looks at the process and at its files before it writes."""

    sink: ParquetSink
    folder: Path
    looks: Sequence[int]

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Writes one micro-batch."""
        if batch_id in self.looks:
            seen = {"batch": batch_id, **memory(rows.sparkSession), "files": files(self.folder / "checkpoint")}
            sys.stdout.write(json.dumps(seen | {"local": files(self.folder / "local")}) + "\n")
            sys.stdout.flush()
        self.sink(rows, batch_id)

    def prepare(self, empty: DataFrame) -> None:
        """As the sink itself."""
        self.sink.prepare(empty)


def memory(spark: SparkSession) -> dict[str, float]:
    """Megabytes of the JVM after a collection: live objects, what is beside the heap, and what the process has resident."""
    jvm: Any = spark._jvm
    for _ in range(3):  # what a finalizer or a cleaner frees goes with the next
        jvm.System.gc()
    bean = jvm.java.lang.management.ManagementFactory.getMemoryMXBean()
    pid = jvm.java.lang.ProcessHandle.current().pid()
    (resident,) = [line for line in Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines() if line.startswith("VmRSS")]
    heap, beside = bean.getHeapMemoryUsage().getUsed(), bean.getNonHeapMemoryUsage().getUsed()
    return {"live": heap / 2**20, "beside": beside / 2**20, "resident": int(resident.split()[1]) / 2**10}


def files(folder: Path) -> int:
    """Files under a folder, while others are made and removed there."""
    return sum(len(names) for _, _, names in os.walk(folder))


def main(folder: str, batches: str, *looks: str) -> None:
    source, out = Path(folder) / "in", Path(folder)
    source.mkdir(parents=True)
    for number in range(int(batches)):
        path = source / f"{number:04}.parquet"
        row = {"ts": [START + timedelta(seconds=10 * number)], "k": ["abcd"[number % 4]], "v": [number]}
        pl.DataFrame(row, schema={"ts": pl.Datetime("us", "UTC"), "k": pl.String, "v": pl.Int64}).write_parquet(path)
        os.utime(path, (number + 1, number + 1))
    builder = SparkSession.builder.master("local[2]").appName("panewise for long")
    for key, value in {**CONF, **RETAINED, "spark.local.dir": f"{out}/local"}.items():
        builder = builder.config(key, value)
    spark = configure(builder.getOrCreate(), local_checkpoints=True)
    stream = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(str(source)).withWatermark("ts", "20 seconds")
    described = windowed(stream, "ts").groupBy("k").window(pw.Tumbling("1 minute"))
    described = described.trigger(pw.AfterWatermark(early=pw.Always())).accumulation("accumulating")
    sink = Watching(ParquetSink(f"{out}/panes"), out, tuple(map(int, looks)))
    result = described.agg(F.count().alias("n"), F.sum("v").alias("s"))
    result.write(panes=sink, checkpoint=f"{out}/checkpoint", available_now=True).awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
