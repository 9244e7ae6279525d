"""Rows by key and time, of which only the latest at or before each later instant matter.

A row is superseded once a later row of its key is at or before the instant up to which nothing is looked up
any more. Superseded rows are dropped when runs are merged, so a key that is never updated keeps one row.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import polars as pl

from panewise.engine.columns import HASH
from panewise.engine.kernels.frames import equal_values, filter_rows
from panewise.engine.store.rows_by_key import RowsByKey


@dataclass(frozen=True)
class LatestByKey(RowsByKey):
    """A table of which rows are looked up at instants after `settled` only.

    Attributes:
        settled: the instant, None if there is none yet.
    """

    settled: int | None = None

    def settled_until(self, instant: int | None) -> Self:
        """Returns the table, of which rows are looked up at instants after this one."""
        return self if instant == self.settled else replace(self, settled=instant)

    def _merging(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows that are not superseded. They are sorted by hash, then by time."""
        if self.settled is None or rows.height < 2:
            return rows
        places = np.arange(rows.height - 1)
        same = rows[HASH].to_numpy()[1:] == rows[HASH].to_numpy()[:-1]
        for name in self.shape.by:
            same &= equal_values(rows[name], places, rows[name], places + 1)
        superseded = same & (rows[self.time].to_numpy()[1:] <= self.settled)
        return filter_rows(rows, pl.Series(np.append(~superseded, True)))
