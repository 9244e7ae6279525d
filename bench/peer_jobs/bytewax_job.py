"""Sums in tumbling windows with Bytewax: `bytewax_job.py WAY ROWS RESULT BATCH`.

It prints seconds as JSON, and writes the sums. `python -m bench.standalone_peers` runs it in .venv-peers,
whose libraries clash with those of panewise, so it imports nothing of panewise. WAY is

- fold: `fold_window`, as Bytewax's documentation shows it;
- batch: `stateful_batch`, the fastest way that Bytewax documents, with windows written by hand. It knows
  neither watermarks nor late rows, and emits a window when the input ends.

The rows are objects of Python before the clock starts, and the source gives batches of BATCH rows. Both ways
take a call for each key and batch, so large batches are faster. The output is a list.
"""

import json
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import bytewax.operators as op
import bytewax.operators.windowing as win
import pyarrow as pa
import pyarrow.parquet as pq
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, TestingSource, run_main

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)
WINDOW = 60_000_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def folded(flow: Dataflow, source: TestingSource, out: list[Any]) -> None:
    """Builds the dataflow with `fold_window`. Rows are (key, (time, value)); no row is late."""
    clock = win.EventClock(lambda row: row[0], wait_for_system_duration=DAY)
    windower = win.TumblingWindower(length=MINUTE, align_to=EPOCH)
    rows = op.input("rows", flow, source)
    sums = win.fold_window(
        "sums", rows, clock, windower, int, lambda s, row: s + row[1], int.__add__, ordered=False
    )
    op.output("out", sums.down, TestingSink(out))


class Sums(op.StatefulBatchLogic):
    """The sums of a key by window number."""

    def __init__(self, state: dict[int, int] | None) -> None:
        self.state = state or {}

    def on_batch(self, values: list[tuple[int, int]]) -> tuple[list[Any], bool]:
        """Adds the values of a batch of the source."""
        state = self.state
        for at, value in values:
            number = at // WINDOW
            state[number] = state.get(number, 0) + value
        return [], False

    def on_eof(self) -> tuple[list[Any], bool]:
        """Emits all windows."""
        return list(self.state.items()), True

    def snapshot(self) -> dict[int, int]:
        """Returns the state for a recovery."""
        return dict(self.state)


def batched(flow: Dataflow, source: TestingSource, out: list[Any]) -> None:
    """Builds the dataflow with `stateful_batch`."""
    rows = op.input("rows", flow, source)
    op.output("out", op.stateful_batch("sums", rows, Sums), TestingSink(out))


def _times(way: str, times: list[int]) -> list[Any]:
    return [EPOCH + timedelta(microseconds=at) for at in times] if way == "fold" else times


WAYS: dict[str, Callable[[Dataflow, TestingSource, list[Any]], None]] = {"fold": folded, "batch": batched}


def main(way: str, rows: str, result: str, batch: str) -> None:
    """Runs the dataflow once, and writes the sums."""
    table = pq.read_table(rows)
    keys = [str(key) for key in table["k"].to_pylist()]
    times = _times(way, table["event_time"].to_pylist())
    given = list(zip(keys, zip(times, table["v"].to_pylist(), strict=True), strict=True))
    flow, out = Dataflow("sums"), list[Any]()
    WAYS[way](flow, TestingSource(given, batch_size=int(batch)), out)
    began = time.perf_counter()
    run_main(flow)
    seconds = time.perf_counter() - began
    sums = {
        "k": [int(key) for key, _ in out],
        "start": [number * WINDOW for _, (number, _) in out],
        "total": [total for _, (_, total) in out],
    }
    pq.write_table(pa.table(sums), result)
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
