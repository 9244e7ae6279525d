"""The Spark query of the demo."""

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import panewise as pw
from panewise import functions as F
from panewise.demo.check import LATENESS, SIZE
from panewise.spark import WindowQuery, configure, windowed
from panewise.spark.session.standard_error import log_to

AwaitSession = Callable[[], SparkSession]  # waits for a session that is starting
DELAY = "30 minutes"  # how far the watermark is behind the latest scheduled departure so far
EARLY = 3  # the number of new flights in a window for an early pane

_CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # A minute is too short for the second compiler of the JVM to pay, and for checks of Spark's bytecode.
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
        "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
    ),
    "spark.sql.adaptive.enabled": "false",  # it plans each small write anew
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.unix.domain.socket.enabled": "true",  # saves 40 ms a Python stage (docs/decisions/0075)
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.log.level": "ERROR",
}


def session() -> SparkSession:
    """Returns a local session that needs no network and listens only on 127.0.0.1."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2]").appName("panewise demo").config(map={**_CONF})
    return configure(builder.getOrCreate(), local_checkpoints=True)


@contextmanager
def starting(log: Path) -> Iterator[AwaitSession]:
    """Starts a session beside the caller, and yields a function that waits for it. It ends with the block.

    The log has what Spark writes to standard error. The demo does not show the counts in progress reports, so
    there are none.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log_to(log), ThreadPoolExecutor(1) as thread:
        started = thread.submit(lambda: configure(session(), metrics=None))
        try:
            yield started.result
        finally:
            if started.exception() is None:
                started.result().stop()


def run(spark: SparkSession, source: Path, out: Path, on_batch: Callable[[int], None]) -> None:
    """Runs the query over the files of `source` one by one, and writes its four outputs below `out`.

    The outputs are panes, late, invalid and counts. It returns when all files are processed. About once a
    second it calls `on_batch` with the number of the last finished micro-batch.
    """
    result = (
        windowed(stream(spark, source).withWatermark("scheduled", DELAY), event_time="scheduled")
        .groupBy("origin")
        .window(pw.Tumbling(SIZE))
        .trigger(pw.AfterWatermark(early=pw.AfterCount(EARLY), late=pw.Always()))
        .accumulation("retracting")
        .allowed_lateness(LATENESS)
        .finish("at_end")
        .agg(F.count().alias("flights"), F.avg("dep_delay").alias("mean_delay"))
    )
    sinks = {name: out / name for name in ("panes", "late", "invalid", "counts")}
    follow(result.write(sinks, checkpoint=out / "checkpoint", available_now=True), on_batch)


def stream(spark: SparkSession, source: Path) -> DataFrame:
    """Returns the rows of a folder of Parquet files as a stream, one file in each micro-batch."""
    schema = spark.read.parquet(str(source)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))


def follow(query: WindowQuery, on_batch: Callable[[int], None]) -> None:
    """Waits for the end of a query, and calls `on_batch` as `run` does."""
    while not query.awaitTermination(1):
        if query.lastProgress is not None:
            on_batch(int(query.lastProgress.batchId))
