"""Rows that wait until the watermark has passed them.

Invariant: each run is sorted by time. So the rows of a run that are due are a slice of it, which two
bisections find. Nothing is looked up by key, so nothing is hashed. Due rows cost a merge of the slices of the
runs. Apart from merges of runs, a row is written once and read once. A row expires when the horizon reaches
it. A subclass may remove further rows when runs are made.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import END, HASH
from panewise.engine.kernels.small_frames import emptied, filter_rows, ordered, vstack_frames
from panewise.engine.tables.compaction import FAN_IN, allowance, similar
from panewise.engine.tables.run import RunRows
from panewise.engine.tables.stored_table import AddedRows


@dataclass(frozen=True)
class TimeQueue(AddedRows):
    """A queue of rows in the order of `shape.identity`. Rows that are equal in it keep the order of arrival.

    Rows of a run are in this order, too. Runs are in order of age.
    """

    def between(self, low: int | None, high: int) -> pl.DataFrame:
        """Returns the rows with low < time <= high, in order. If `low` is None there is no lower bound.

        Runs are sorted. The newest rows are sorted here, and then all are merged with a stable sort. The runs
        are in order of age, so equal rows stay in the order of arrival.
        """
        between = []
        for run in self.runs:
            if run.low <= high and (low is None or run.high > low):
                rows = self.library.read(run, self.shape).bare
                ends = rows[END].to_numpy()
                first = 0 if low is None else int(np.searchsorted(ends, low, side="right"))
                between.append(rows[first : int(np.searchsorted(ends, high, side="right"))])
        inside = self.newest[END] <= high
        inside &= True if low is None else self.newest[END] > low
        between.append(self._ordered(filter_rows(self.newest, inside)))
        filled = [rows for rows in between if rows.height] or between[-1:]
        rows = vstack_frames(filled) if len(filled) == 1 else self._ordered(vstack_frames(filled))
        return rows[list(self.shape.schema)]

    def all(self) -> pl.DataFrame:
        """Returns all rows that have not expired, in order."""
        return self.between(self.horizon, MAX_INSTANT)

    def sealed(self) -> Self:
        """Returns the queue with the newest rows in a run, after the merges that are due."""
        newest = self._merging(self._ordered(self._unexpired(self.newest)), bottom=False)
        table = replace(self, newest=emptied(newest), runs=self._live_runs())
        if newest.is_empty():
            return table
        table = replace(table, runs=(*table.runs, table.write_run(_indexed(newest))))
        spent = 0
        while len(group := similar(table.runs)) >= FAN_IN:
            if spent and spent + sum(run.rows for run in group) > allowance(newest.height):
                break
            rows = vstack_frames([self.library.read(run, self.shape).bare for run in group])
            together = self._merging(self._ordered(self._unexpired(rows)), bottom=False)
            spent += rows.height
            new_runs = [table.write_run(_indexed(together))] if together.height else []
            table = replace(table, runs=(*table.runs[: len(table.runs) - len(group)], *new_runs))
        self.library.keep(table.runs)
        return table

    def _ordered(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows if rows.height < 2 else ordered(rows, self.shape.identity)


def _indexed(rows: pl.DataFrame) -> RunRows:
    """Returns a run of the rows in their order. Its hashes are 0, because nothing is looked up by hash."""
    return RunRows(rows.with_columns(pl.lit(0, dtype=pl.UInt64).alias(HASH)))
