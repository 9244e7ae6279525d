"""Measures the peak memory of steps that collect long strings.

test_collect_memory runs this script in a process of its own.
"""

import base64
import json
import random
import sys
from pathlib import Path

import polars as pl

import panewise as pw
from panewise import functions as F
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.run_library import Cache, RunLibrary
from panewise.spark.shuffle.envelope import encode
from panewise.spark.workers.step import StepOutput
from panewise.state import Mirror
from tests.engine.memory_job import DiskStore

SCHEMA: dict[str, pl.DataType] = {"key": pl.Int64(), "event_time": pl.Int64(), "v": pl.String()}
LENGTH, BATCHES = 1000, 10
END = 1 << 40


def spec(*, early: bool) -> pw.WindowOperator:
    return pw.WindowOperator(
        window=pw.Tumbling("1 hour"),
        aggregates=[F.collect_list("v").alias("texts")],
        keys=["key"],
        trigger=pw.Always() if early else pw.AfterWatermark(),
        accumulation="accumulating",
    )


def texts(rows: int, keys: int, seed: int) -> pl.DataFrame:
    """Returns rows with random strings of LENGTH bytes, spread over the keys."""
    draw = random.Random(seed)
    drawn = [base64.b64encode(draw.randbytes(LENGTH * 3 // 4)).decode() for _ in range(rows)]
    return pl.DataFrame(
        {"key": [row % keys for row in range(rows)], "event_time": [1] * rows, "v": drawn}, schema=SCHEMA
    )


def status(field: str) -> int:
    """Returns the bytes of a field of /proc/self/status: VmRSS is the resident memory, VmHWM its peak."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(field)).split()[1]) << 10


class Worker:
    """The worker of a shard. After a restart it has the store, but neither cache nor mirror."""

    def __init__(self, folder: Path, early: bool) -> None:
        self.folder, self.spec, self.started = folder, spec(early=early), 0
        (folder / "durable").mkdir(parents=True)
        self.start()

    def start(self) -> None:
        self.started += 1
        self.parts = (
            DiskStore(self.folder / "durable"),
            Cache(),
            Mirror(self.folder / f"mirror{self.started}"),
        )

    def step(self, rows: pl.DataFrame | None) -> int:
        """Returns the bytes of the encoded panes of one micro-batch.

        Adds the rows, or advances the watermark if `rows` is None. Encodes the panes, then commits.
        """
        stored = StoredOperator.load(self.spec, SCHEMA, RunLibrary(*self.parts))
        sent = self._sent(stored, rows)
        stored.commit()
        return sum(map(len, sent))

    def _sent(self, stored: StoredOperator, rows: pl.DataFrame | None) -> list[bytes]:
        output = stored.operator.advance(watermark=END) if rows is None else stored.operator.add(rows)
        tables = StepOutput.concatenated([output]).tables(0, 0, None)
        return [encode(table) for kind, table in tables if kind == "panes"]


def main(folder: str, case: str, keys: int, megabytes: int) -> None:
    early, rows = case == "early", (megabytes << 20) // LENGTH // BATCHES
    warm = Worker(Path(folder) / "warm", early)
    for given in (texts(2 * keys, keys, 0), None):  # imports and compiles everything before the measurement
        warm.step(given)
    worker, sent = Worker(Path(folder) / "measured", early), 0
    before, most = status("VmRSS"), 0
    for number in range(BATCHES):
        if case == "restart" and number == BATCHES // 2:
            worker.start()
        sent = worker.step(texts(rows, keys, number))
    sent = max(sent, worker.step(None))
    most = status("VmHWM") - before
    data = rows * BATCHES * LENGTH
    assert sent > data
    sys.stdout.write(json.dumps({"data": data, "most": most, "times": round(most / data, 2)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
