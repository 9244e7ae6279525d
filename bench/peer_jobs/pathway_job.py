"""Sums in tumbling windows with Pathway: `pathway_job.py WAY ROWS RESULT BATCH`.

It prints seconds as JSON, and writes the sums. `python -m bench.standalone_peers` runs it in .venv-peers,
whose libraries clash with those of panewise, so it imports nothing of panewise. WAY is

- csv: a connector written in Rust reads a file. It is faster than a table made of pandas;
- pandas: the table is made of columns of pandas, and this is a part of the time.

Both are static: Pathway computes each window once. Its reader of Delta Lake, which reads columns, needs a
licence key. BATCH
means nothing to it. The time that the same program takes for a few rows
is subtracted.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pathway as pw
import pyarrow as pa
import pyarrow.parquet as pq

WINDOW = 60_000_000
FEW = 1000


class Rows(pw.Schema):
    """The columns of the rows."""

    k: int
    event_time: int
    v: int


def _csv(frame: pd.DataFrame, folder: Path) -> Callable[[], pw.Table]:
    frame.to_csv(folder / "rows.csv", index=False)
    return lambda: pw.io.csv.read(folder / "rows.csv", schema=Rows, mode="static")


def _pandas(frame: pd.DataFrame, folder: Path) -> Callable[[], pw.Table]:
    return lambda: pw.debug.table_from_pandas(frame, schema=Rows)


WAYS = {"csv": _csv, "pandas": _pandas}


def run(read: Callable[[], pw.Table]) -> tuple[float, list[dict[str, Any]]]:
    """Returns the seconds of a program, and its sums."""
    out: list[dict[str, Any]] = []

    def receive(key: Any, row: dict[str, Any], time: int, is_addition: bool) -> None:
        assert is_addition, "a static table changes no sum"
        out.append(row)

    pw.internals.parse_graph.G.clear()
    began = time.perf_counter()
    rows = read()
    windows = rows.windowby(
        rows.event_time, window=pw.temporal.tumbling(duration=WINDOW), instance=rows.k
    ).reduce(k=pw.this._pw_instance, start=pw.this._pw_window_start, total=pw.reducers.sum(pw.this.v))
    pw.io.subscribe(windows, on_change=receive)
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    return time.perf_counter() - began, out


def main(way: str, rows: str, result: str, _: str) -> None:
    """Runs the program over a few rows, then over all of them, and writes the sums."""
    frame = pq.read_table(rows, columns=["k", "event_time", "v"]).to_pandas()
    seconds = []
    for part in (frame.head(FEW), frame):
        with tempfile.TemporaryDirectory(prefix="bench-pathway-") as folder:
            taken, sums = run(WAYS[way](part, Path(folder)))
        seconds.append(taken)
    pq.write_table(pa.Table.from_pylist(sums), result)
    print(json.dumps({"seconds": seconds[1] - seconds[0]}))


if __name__ == "__main__":
    main(*sys.argv[1:])
