"""Rows by key and time. A look-up at an instant reads only the latest rows of its key at or before it.

All further look-ups are at instants after `settled`, except with `before`. So a row is *superseded* once
`latest` later rows of its key are at or before `settled`: each look-up finds these instead. A key that is
never updated stays, with its latest rows. The times may be arrival numbers. A look-up *before* an instant
skips rows at it, however many they are. So with `before` a row up to `settled` is superseded by a later one
of the same time, or by rows of two later times up to `settled`.

Superseded rows are removed when runs are made or merged. In a run the rows of a key are neighbours, in the
order of time. So one comparison of each row with the row `latest` places after it finds the superseded rows.

Invariant: no row is removed that a look-up after `settled` reads. Rows may stay that none reads: until their
run is merged, or if keys have equal hashes. Cost: a merge is linear in its rows.
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import polars as pl

from panewise.chrono import MIN_INSTANT
from panewise.engine.columns import HASH
from panewise.engine.kernels.small_frames import Mask, equal, filter_rows
from panewise.engine.kernels.sorting import Places
from panewise.engine.tables.rows_by_key import RowsByKey


@dataclass(frozen=True)
class LatestByKey(RowsByKey):
    """A table in which all look-ups are at instants after `settled`.

    Attributes:
        settled: the instant, None if there is none yet.
        latest: how many of the latest rows of a key a look-up reads; None for any number.
        before: whether a look-up reads the last row strictly before its instant. The instant may then also be
            `settled` or earlier, if no row of the key is after it and up to `settled`. `latest` is 1 then.
        since: a column. Its value in a row is the time of the oldest row of the key that a look-up at the
            time of the row reads. It does not decrease within a key. None if there is no such column.
        deletes: a Boolean column that marks rows that only delete earlier rows of their key. None if there
            are no such rows.
    """

    settled: int | None = None
    latest: int | None = 1
    before: bool = False
    since: str | None = None
    deletes: str | None = None

    def settled_until(self, instant: int | None) -> Self:
        """Returns the table with this instant as `settled`."""
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
        if self.before:
            return self._before_settled(rows, groups)
        times = rows[self.time].to_numpy()
        # If the row `latest` places later has the same key, and is at or before `settled`, so are all rows
        # between.
        superseded = groups[self.latest :] == groups[: -self.latest]
        superseded &= times[self.latest :] <= self.settled
        needed = np.append(~superseded, np.ones(self.latest, dtype=np.bool_))
        if self.deletes is not None and bottom:
            needed &= ~self._spent(rows, groups, self.deletes)
        return filter_rows(rows, pl.Series(needed))

    def _before_settled(self, rows: pl.DataFrame, groups: Places) -> pl.DataFrame:
        """Returns the last row of each time, of those up to `settled` only of the last two times of a key."""
        times = rows[self.time].to_numpy()
        last = np.append((groups[1:] != groups[:-1]) | (times[1:] != times[:-1]), True)
        needed = last | (times > self.settled)
        rows, groups, times = filter_rows(rows, pl.Series(needed)), groups[needed], times[needed]
        superseded = (groups[2:] == groups[:-2]) & (times[2:] <= self.settled)
        newest = np.ones(rows.height - len(superseded), dtype=np.bool_)
        return filter_rows(rows, pl.Series(np.append(~superseded, newest)))

    def _groups(self, rows: pl.DataFrame) -> Places:
        """Returns for each row the number of its group: neighbours with equal keys.

        If two keys have the same hash, their rows may alternate, so that a key has several groups. Then fewer
        rows are removed, which is harmless.
        """
        places = np.arange(rows.height - 1)
        same = rows[HASH].to_numpy()[1:] == rows[HASH].to_numpy()[:-1]
        same &= equal(rows, places, rows, places + 1, self.shape.by)
        return np.append(0, np.cumsum(~same))

    def _spent(self, rows: pl.DataFrame, groups: Places, deletes: str) -> Mask:
        """Returns for each row whether it only deletes rows, all of which the merge removes.

        The merge has no older runs below it. If another key has the same hash, rows of the key may remain, so
        the deleting row remains, too.
        """
        hashes = rows[HASH].to_numpy()
        starts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
        alone = np.append(True, hashes[starts[1:]] != hashes[starts[1:] - 1])[groups]
        spent: Mask = rows[deletes].to_numpy() & alone & (rows[self.time].to_numpy() <= self.settled)
        return spent

    def _needed(self, rows: pl.DataFrame, groups: Places, since: str) -> Mask:
        """Returns for each row whether a look-up after `settled` can read it.

        The last row of the group at or before `settled` decides, as its `since` is the greatest until then.
        """
        times = rows[self.time].to_numpy()
        firsts = np.where(times <= self.settled, rows[since].to_numpy(), MIN_INSTANT)
        starts = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
        needed = times >= np.maximum.reduceat(firsts, starts)[groups]
        return np.asarray(needed, dtype=np.bool_)
