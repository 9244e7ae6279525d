"""One left row matches many stored right rows: prints by how many megabytes that raises the memory.

The state is in a run store in memory, and each batch of outputs is encoded and dropped, as a worker of Spark
sends it.
"""

import ctypes
import gc
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from panewise import Interval, JoinOperator, Side
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.run_library import Cache, RunLibrary
from panewise.spark.shuffle.envelope import encode, pieces
from panewise.spark.workers.step import OutputBuffer, PortBatch, ShardBatch, step
from panewise.state import MemoryRunStore
from tests.engine.collect_memory_job import status

LONG = pl.Int64()
SCHEMAS = {"left": {"k": LONG, "t": LONG, "v": LONG}, "right": {"k": LONG, "t": LONG, "w": LONG}}
BATCH = 250_000


class Worker:
    """Runs micro-batches of a join."""

    def __init__(self, how: Any) -> None:
        side, far = Side(keys=["k"], event_time="t"), 10**9
        other = side if how in ("semi", "anti") else replace(side, prefix="r_")
        self.spec = JoinOperator(left=side, right=other, match=Interval(-far, far), how=how)
        self.store, self.cache = MemoryRunStore(), Cache()

    def step(self, side: str, rows: pl.DataFrame) -> int:
        """Returns the number of emitted rows of a micro-batch."""
        stored = StoredOperator.load(self.spec, SCHEMAS, RunLibrary(self.store, self.cache))
        given, outputs, count = ShardBatch({side: PortBatch(rows=[rows])}), OutputBuffer(), 0
        for panes in outputs.many_panes(step(stored.operator, given, None, None)):
            count += sum(piece.height for piece in pieces(panes) if encode(piece))
        panes = outputs.rest().panes
        count += sum(piece.height for piece in pieces(panes) if encode(piece))
        stored.commit()
        return count


def right(first: int, count: int) -> pl.DataFrame:
    number = pl.int_range(first, first + count, dtype=pl.Int64, eager=True)
    return pl.DataFrame({"k": number * 0, "t": number % 1000, "w": number}, schema=SCHEMAS["right"])


def main(how: str, many: int) -> None:
    one = pl.DataFrame({"k": [0], "t": [5], "v": [1]}, schema=SCHEMAS["left"])
    warm, worker = Worker(how), Worker(how)
    warm.step("right", right(0, 1000))
    warm.step("left", one)  # imports and compiles everything before the measurement
    for first in range(0, many, BATCH):
        worker.step("right", right(first, BATCH))
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # the environment makes the allocator of Polars return memory at once
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    before = status("VmRSS")
    emitted = worker.step("left", one)
    assert emitted == (1 if how == "semi" else 0 if how == "anti" else many)
    sys.stdout.write(str((status("VmHWM") - before) >> 20))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
