"""Runs one query in a process of its own: ``python -m bench.cold_job RUNNER ROWS``.

Prints one line of JSON: the seconds and the CPU seconds from the start to the first pane, and for each later
row the seconds from the row to its pane. It also has when each row was written and its pane came, in seconds
since 1970, and the progress reports of the query.
"""

import json
import os
import queue
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
from pyspark.sql import DataFrame
from pyspark.sql import functions as SF

import panewise as pw
from bench import data, session
from panewise import functions as F
from panewise.spark import windowed

RUNNERS = ("native", "panes", "write")
_TRIGGER_S = 1.0
# The pause after a pane grows by this much with each row, modulo the trigger. So rows come at all times
# between two triggers. With few pauses the median could jump by a trigger if a micro-batch takes longer.
_PHASE_S = 0.37
_WAIT_S = 300
_START_US = 1_767_225_600_000_000  # 2026-01-01


@dataclass
class Job:
    """A directory that a stream reads, and the keys that its query has emitted."""

    folder: Path
    emitted: "queue.Queue[int]" = field(default_factory=queue.Queue)
    files: int = 0

    def put(self) -> int:
        """Adds a file of one row, first under a name that Spark does not read; returns the row's key."""
        self.files += 1
        row = pl.DataFrame({"ts": [_START_US + self.files], "k": [self.files], "v": [1]})
        hidden = self.folder / f".{self.files:05d}.parquet"
        row.with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC"))).write_parquet(hidden)
        hidden.rename(self.folder / f"{self.files:05d}.parquet")
        return self.files

    def take(self, rows: DataFrame, _: int) -> None:
        """Records the keys of one micro-batch. It is the sink of the query."""
        for row in rows.select("k").collect():
            self.emitted.put(row["k"])

    def wait_for(self, key: int) -> None:
        """Waits until the key has been emitted."""
        while self.emitted.get(timeout=_WAIT_S) != key:
            pass


Runner = Callable[[DataFrame, Job, str], Any]


def native(stream: DataFrame, job: Job, checkpoint: str) -> Any:
    """Starts a query with Spark's own windows, which emit each window that has changed."""
    counts = stream.groupBy("k", SF.window("ts", "1 hour")).agg(
        SF.count("*").alias("n"), SF.sum("v").alias("s")
    )
    writer = (
        counts.writeStream.outputMode("update")
        .foreachBatch(job.take)
        .option("checkpointLocation", checkpoint)
    )
    return writer.trigger(processingTime=f"{_TRIGGER_S} seconds").start()


def panes(stream: DataFrame, job: Job, checkpoint: str) -> Any:
    """Starts the same windows in panewise, with its panes in a query of the user."""
    writer = _result(stream).panes.writeStream.outputMode("append").foreachBatch(job.take)
    return (
        writer.option("checkpointLocation", checkpoint)
        .trigger(processingTime=f"{_TRIGGER_S} seconds")
        .start()
    )


def write(stream: DataFrame, job: Job, checkpoint: str) -> Any:
    """Starts the same windows in panewise by ``write``."""
    return _result(stream).write(
        panes=job.take, checkpoint=checkpoint, processing_time=f"{_TRIGGER_S} seconds"
    )


def _result(stream: DataFrame) -> Any:
    windows = (
        windowed(stream, event_time="ts").groupBy("k").window(pw.Tumbling("1 hour")).trigger(pw.Always())
    )
    return windows.agg(F.count().alias("n"), F.sum("v").alias("s"))


def run(runner: Runner, rows: int) -> dict[str, Any]:
    """Returns the times of one query: to its first pane, then from file to pane for each of `rows` rows."""
    spark = session.start()
    spark.conf.set("spark.sql.streaming.metricsEnabled", "false")
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch:
        folder = Path(scratch) / "in"
        folder.mkdir()
        job = Job(folder)
        stream = session.read(spark, data.Events(folder, 1, 1)).withWatermark("ts", "10 seconds")
        first = job.put()
        began, cpu = time.time(), _cpu_seconds()
        query = runner(stream, job, f"{scratch}/checkpoint")
        started = time.time()
        job.wait_for(first)
        came = time.time()
        measured: dict[str, Any] = {"cold_s": came - began, "cold_cpu_s": _cpu_seconds() - cpu}
        spans = [_span_of_row(job) for _ in range(rows)]
        measured["latency_s"] = [until - since for since, until in spans]
        measured |= {"started": started, "spans": [(began, came), *spans]}
        measured["progress"] = [json.loads(report.json) for report in query.recentProgress]
        query.stop()
    spark.stop()
    return measured


def _span_of_row(job: Job) -> tuple[float, float]:
    time.sleep(_PHASE_S * job.files % _TRIGGER_S)
    began = time.time()
    job.wait_for(job.put())
    return began, time.time()


def _cpu_seconds() -> float:
    """Returns the CPU time of this process and its descendants: the JVM and Spark's Python workers."""
    parents, ticks = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # a process that has just ended
            continue
        pid = int(stat.parent.name)
        parents[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    mine = {os.getpid()}
    while grown := {pid for pid, parent in parents.items() if parent in mine} - mine:
        mine |= grown
    return sum(ticks[pid] for pid in mine) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    print(json.dumps(run({"native": native, "panes": panes, "write": write}[sys.argv[1]], int(sys.argv[2]))))
