"""Runs the query of a demo, and shows its progress through the year."""

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic

import polars as pl

from panewise.demo.flights import ZONE
from panewise.demo.show import Terminal


def run(
    query: Callable[[Callable[[int], None]], None],
    ends: pl.Series,
    outputs: Iterable[Path],
    log: Path,
    terminal: Terminal,
) -> None:
    """Removes earlier outputs, runs the query, and shows its progress.

    Args:
        query: runs the query, and calls a function with the number of the last finished micro-batch.
        ends: the instant at which each input file ends, in the order of the files.
        outputs: the folders that the query writes.
        log: the file that takes what Spark writes to standard error, which the caller redirects.
        terminal: shows the progress.
    """
    for folder in outputs:
        shutil.rmtree(folder, ignore_errors=True)
    local = ends.dt.convert_time_zone(ZONE.key)
    start = monotonic()

    def on_batch(number: int) -> None:
        done = min(number + 1, local.len())
        terminal.progress(done, local.len(), f"{local[done - 1]:%d %B %H:%M}  {monotonic() - start:.0f} s")

    terminal.say(f"Spark runs, each file is a micro-batch; Spark's own log is {log}")
    query(on_batch)
    terminal.say(f"done in {monotonic() - start:.0f} s")
