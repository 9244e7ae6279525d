"""The cost, in runs and rows, of a micro-batch with a watermark for each key (semantics 7, 12.8)."""

from typing import Final

import polars as pl

import panewise as pw
from panewise import functions as F
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.run_library import Cache, RunLibrary
from panewise.state import MemoryRunStore


class Counting(MemoryRunStore):
    """A run store that counts the runs that are read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def run(self, name: str) -> bytes:
        self.reads += 1
        return super().run(name)


SLIDING: Final = pw.WindowOperator(
    window=pw.Sliding(20, "both"),
    keys=["k"],
    event_time="t",
    aggregates=[F.sum("v").alias("total")],
    watermark=pw.StreamTime(2),
)
SLIDING_SCHEMA: Final[dict[str, pl.DataType]] = dict.fromkeys(("k", "t", "v"), pl.Int64())


def stepped(store: MemoryRunStore, now: int, rows: list[tuple[int, int]]) -> StoredOperator:
    """Returns the state after a micro-batch with these rows (key, time), in a process with an empty cache."""
    stored = StoredOperator.load(SLIDING, SLIDING_SCHEMA, RunLibrary(store, Cache()))
    stored.operator.advance(now)
    stored.operator.add(pl.DataFrame([(k, t, 1) for k, t in rows], schema=SLIDING_SCHEMA, orient="row"))
    stored.commit()
    return stored


def test_a_reading_of_the_clock_reads_no_runs() -> None:
    """The watermarks of all keys are read only at the end of input."""
    store = Counting()
    for batch in range(12):
        stepped(store, batch, [(10 * batch + key, batch) for key in range(10)])
    store.reads = 0
    operator = StoredOperator.load(SLIDING, SLIDING_SCHEMA, RunLibrary(store, Cache())).operator
    operator.advance(100)
    assert store.reads == 0
    assert operator.finish().panes.height == 120


def test_what_is_stored_of_sliding_windows_does_not_grow() -> None:
    """The tombstone of a slice that is no longer needed hides it, and a merge purges both."""
    store, rows_stored, needed = MemoryRunStore(), list[int](), list[int]()
    for batch in range(60):
        stored = stepped(store, batch, [(key, 4 * batch + key % 4) for key in range(8)])
        rows_stored.append(sum(run.rows for run in stored.manifest.runs))
        if batch % 10 == 0:
            slices = stored.operator.state.slices
            needed.append(0 if slices is None else slices.all().height)
    assert max(needed[2:]) == min(needed[2:])
    assert max(rows_stored[30:]) <= max(rows_stored[:30]) <= 8 * max(needed)
