"""One left row matches many stored right rows in a query on Spark.

Prints by how many megabytes the micro-batch of that row raises the memory of a Python worker, at most. Files
that a worker has mapped do not count.
"""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import polars as pl
from pyspark.sql import DataFrame, SparkSession

from panewise import Interval, JoinOperator, Side
from panewise.spark import apply, configure

BATCH = 1_000_000
AT_US = 1_700_000_000_000_000
SCHEMA = "ts TIMESTAMP, k BIGINT, v BIGINT"
_EVERY_S = 0.05


def anonymous_mb(process: Path) -> int:
    """Returns the megabytes of memory of a process without mapped files, 0 if it has ended."""
    try:
        lines = (process / "status").read_text().splitlines()
    except OSError:
        return 0
    found = (line for line in lines if line.startswith("RssAnon"))
    return int(next(found, "RssAnon: 0").split()[1]) >> 10


def workers() -> list[Path]:
    """Returns the processes that Spark's Python daemon has started for this job."""
    children: dict[str, list[str]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            after_name = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(after_name[1], []).append(stat.parent.name)
    found, todo = [], [str(Path("/proc/self").resolve().name)]
    while todo:
        todo.extend(one := children.get(todo.pop(), []))
        found.extend(one)
    return [
        Path("/proc") / one for one in found if "pyspark" in _command(one) and "java" not in _command(one)
    ]


def _command(process: str) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text()
    except OSError:
        return ""


class Watch:
    """Watches the memory of the workers until it is asked for the most that one has gained."""

    def __init__(self) -> None:
        self.before = {one: anonymous_mb(one) for one in workers()}
        self.most: dict[Path, int] = {}
        self.ended = Event()
        self.thread = Thread(target=self._look, daemon=True)
        self.thread.start()

    def _look(self) -> None:
        while not self.ended.wait(_EVERY_S):
            for one in workers():
                self.most[one] = max(self.most.get(one, 0), anonymous_mb(one))

    def gained(self) -> int:
        """Returns by how many megabytes the memory of one worker has risen, at most."""
        self.ended.set()
        self.thread.join()
        return max(mb - self.before.get(one, 0) for one, mb in self.most.items())


class Sides:
    """The files of both sides, one for each micro-batch."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.written = folder, 0
        for side in ("left", "right"):
            (folder / side).mkdir()

    def write(self, left: tuple[int, int], right: tuple[int, int]) -> None:
        """Writes a file of each side, with this key and number of rows."""
        for side, (key, count) in (("left", left), ("right", right)):
            instant = pl.repeat(AT_US, count, dtype=pl.Int64, eager=True).cast(pl.Datetime("us", "UTC"))
            rows = pl.DataFrame({"ts": instant, "k": [key] * count, "v": range(count)})
            rows.write_parquet(self.folder / side / f"{self.written:04d}.parquet")
        self.written += 1

    def read(self, spark: SparkSession, side: str) -> DataFrame:
        """Returns a side as a stream."""
        stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return stream.parquet(str(self.folder / side)).withWatermark("ts", "1 hour")


def nothing(rows: DataFrame, _batch_id: int) -> None:
    """Computes the rows, and discards them."""
    rows.write.format("noop").mode("overwrite").save()


def started(spark: SparkSession, sides: Sides, folder: Path, way: str) -> Any:
    """Starts the query, through `result.rows` or `write`."""
    side = Side(keys=["k"], event_time="ts")
    other = Side(keys=["k"], event_time="ts", prefix="r_")
    spec = JoinOperator(left=side, right=other, match=Interval("-1 s", "1 s"))
    result: Any = apply({name: sides.read(spark, name) for name in ("left", "right")}, spec)
    if way == "write":
        return result.write(rows=nothing, checkpoint=str(folder / "checkpoint"))
    writer = result.rows.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
    return writer.start()


def measured(spark: SparkSession, folder: Path, way: str, pairs: int) -> int:
    """Returns the megabytes."""
    sides = Sides(folder)
    sides.write((2, 1), (3, 1))
    query = started(spark, sides, folder, way)
    steps: list[Callable[[], None]] = [lambda: sides.write((2, 1), (1, BATCH))] * (pairs // BATCH)
    # A row of the key without a partner: the workers that serve the key have loaded its state.
    steps += [lambda: sides.write((2, 1), (1, 1))] * 2
    for write in steps:
        write()
        query.processAllAvailable()
    watch = Watch()
    sides.write((1, 1), (3, 1))
    query.processAllAvailable()
    gained = watch.gained()
    query.stop()
    return gained


def main(way: str, pairs: int) -> None:
    """Prints the megabytes."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", "4g").config("spark.driver.host", "127.0.0.1")
    spark = configure(builder.getOrCreate(), local_checkpoints=True, shuffle_partitions=2)
    with tempfile.TemporaryDirectory() as folder:
        gained = measured(spark, Path(folder), way, pairs)
    spark.stop()
    sys.stdout.write(f"\n{gained}\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
