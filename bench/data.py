"""The events: Parquet files of (ts, k, v), 24 bytes an event, one file for each micro-batch.

A million events cover about a minute for every size of the batches, so windows become complete during a run.
Events are up to two seconds out of order. This is less than the watermark delay, so no row is late.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from bench.shapes import KEYS

CACHE = Path(__file__).parent / ".data"
_ROWS_PER_MINUTE = 1_000_000
START_US = 1_767_225_600_000_000  # 2026-01-01
DISORDER_US = 2_000_000
_ROW_GROUPS = 8  # several per file, so that both cores read half of it


@dataclass(frozen=True, slots=True)
class Events:
    """A directory of event files that is read file by file."""

    directory: Path
    batch_rows: int
    batches: int

    @property
    def rows(self) -> int:
        """The number of rows in all files."""
        return self.batch_rows * self.batches


def cached(batch_rows: int, batches: int, cache: Path = CACHE) -> Events:
    """Returns the events of this size, and creates them if they do not exist. They are always the same."""
    events = Events(cache / f"{batches}x{batch_rows}", batch_rows, batches)
    make(events.directory, lambda staging: write(staging, batch_rows, batches))
    return events


def make(folder: Path, fill: Callable[[Path], object]) -> None:
    """Creates a folder of files if it does not exist. It appears when `fill` has written all of them."""
    if folder.exists():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(dir=folder.parent))
    fill(staging)
    try:
        staging.rename(folder)
    except OSError:  # another run made the same files meanwhile
        shutil.rmtree(staging)


def write(
    directory: Path, batch_rows: int, batches: int, keys: int = KEYS, rows_per_minute: int = _ROWS_PER_MINUTE
) -> Events:
    """Writes the files, in the order in which Spark is to read them."""
    for batch in range(batches):
        put(_frame(batch, batch_rows, keys, rows_per_minute), directory, batch)
    return Events(directory, batch_rows, batches)


def put(frame: pl.DataFrame, directory: Path, number: int) -> None:
    """Writes the events of one micro-batch."""
    path = directory / f"{number:05d}.parquet"
    frame.write_parquet(path, compression="snappy", row_group_size=-(-frame.height // _ROW_GROUPS))
    os.utime(
        path, (1_700_000_000 + number, 1_700_000_000 + number)
    )  # Spark's file source orders files by modification time


def _frame(batch: int, rows: int, keys: int, rows_per_minute: int) -> pl.DataFrame:
    random = np.random.default_rng(batch)
    order = np.arange(batch * rows, (batch + 1) * rows, dtype=np.int64)
    ts = START_US + order * 60_000_000 // rows_per_minute + random.integers(0, DISORDER_US, rows)
    columns = {"ts": ts, "k": random.integers(0, keys, rows), "v": random.integers(0, 1_000_000, rows)}
    return pl.DataFrame(columns).with_columns(pl.col("ts").cast(pl.Datetime("us", "UTC")))
