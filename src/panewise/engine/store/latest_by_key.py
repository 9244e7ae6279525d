"""Rows by key and time, of which only the latest at or before each later instant matter.

A row is superseded once so many later rows of its key are at or before the instant up to which nothing is
looked up any more. Superseded rows are dropped when runs are made or merged, so a key that is never updated
keeps its latest rows. The times may be arrival numbers.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import polars as pl

from panewise.chrono import MIN_INSTANT
from panewise.engine.columns import HASH
from panewise.engine.kernels.frames import Mask, equal_values, filter_rows
from panewise.engine.kernels.sorting import Places
from panewise.engine.store.rows_by_key import RowsByKey


@dataclass(frozen=True)
class LatestByKey(RowsByKey):
    """A table of which rows are looked up at instants after `settled` only.

    Attributes:
        settled: the instant, None if there is none yet.
        latest: how many of the latest rows of a key matter at each instant; None for any number.
        since: a column with the time of the first row of its key that matters as of the row. It does not
            decrease within a key.
        deletes: a column that says whether a row only deletes earlier rows of its key.
    """

    settled: int | None = None
    latest: int | None = 1
    since: str | None = None
    deletes: str | None = None

    def settled_until(self, instant: int | None) -> Self:
        """Returns the table, of which rows are looked up at instants after this one."""
        return self if instant == self.settled else replace(self, settled=instant)

    def _merging(self, rows: pl.DataFrame, *, bottom: bool) -> pl.DataFrame:
        """Returns the rows that are not superseded. They are sorted by hash, then by time."""
        if self.settled is None or rows.is_empty():
            return rows
        groups = self._groups(rows)
        if self.since is not None:
            return filter_rows(rows, pl.Series(self._needed(rows, groups, self.since)))
        if self.latest is None or (rows.height <= self.latest and self.deletes is None):
            return rows
        times = rows[self.time].to_numpy()
        superseded = groups[self.latest :] == groups[: -self.latest]
        superseded &= times[self.latest :] <= self.settled
        needed = np.append(~superseded, np.ones(self.latest, dtype=np.bool_))
        if self.deletes is not None and bottom:
            needed &= ~self._spent(rows, groups, self.deletes)
        return filter_rows(rows, pl.Series(needed))

    def _groups(self, rows: pl.DataFrame) -> Places:
        """Returns for each row the number of its group: neighbours with equal keys.

        Rows of equal hash and different keys may divide the rows of a key. Then fewer rows are dropped.
        """
        places = np.arange(rows.height - 1)
        same = rows[HASH].to_numpy()[1:] == rows[HASH].to_numpy()[:-1]
        for name in self.shape.by:
            same &= equal_values(rows[name], places, rows[name], places + 1)
        groups: Places = np.append(0, np.cumsum(~same))
        return groups

    def _spent(self, rows: pl.DataFrame, groups: Places, deletes: str) -> Mask:
        """Returns whether each row only deletes rows that the merge drops.

        There are no older runs. If rows of other keys have the same hash, rows of the key may stay.
        """
        hashes = rows[HASH].to_numpy()
        starts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
        alone = np.append(True, hashes[starts[1:]] != hashes[starts[1:] - 1])[groups]
        spent: Mask = rows[deletes].to_numpy() & alone & (rows[self.time].to_numpy() <= self.settled)
        return spent

    def _needed(self, rows: pl.DataFrame, groups: Places, since: str) -> Mask:
        """Returns whether each row matters as of the last row of its group at or before `settled`."""
        times = rows[self.time].to_numpy()
        firsts = np.where(times <= self.settled, rows[since].to_numpy(), MIN_INSTANT)
        starts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
        needed = times >= np.maximum.reduceat(firsts, starts)[groups]
        return np.asarray(needed, dtype=np.bool_)
