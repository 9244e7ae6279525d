"""Look-up of windows in runs: first by hash, then by the columns that identify them.

Invariant: equal rows have equal hashes, so rows with other hashes need no comparison. A look-up of m rows in
a run of n rows costs m bisections in n hashes, and one comparison for each row with an equal hash.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from panewise.engine.kernels.frames import equal
from panewise.engine.kernels.hashing import Hashes, row_hashes
from panewise.engine.kernels.sorting import Places
from panewise.engine.store.run import RunRows, part_range
from panewise.state import Run


@dataclass(frozen=True)
class Found:
    """The rows that a look-up found, and for each the position of the matching wanted row (`which`)."""

    rows: pl.DataFrame
    which: Places


@dataclass(frozen=True)
class Wanted:
    """The rows to look up, and which of them are still wanted.

    Attributes:
        rows: all rows of the look-up, with the columns by which rows are compared.
        places: the positions of the rows that are still wanted, in the order of their hashes.
        hashes: the hashes of these rows, ascending.
    """

    rows: pl.DataFrame
    places: Places
    hashes: Hashes

    @classmethod
    def of(cls, rows: pl.DataFrame, by: list[str]) -> "Wanted":
        """Returns a look-up of all rows. `by` are the columns from which hashes are made."""
        hashes = row_hashes(rows, by)
        order = np.argsort(hashes)
        return cls(rows, order, hashes[order])

    def without(self, which: Places) -> "Wanted":
        """Returns the look-up without the rows that were found, which are given by their positions."""
        left = np.ones(self.rows.height, dtype=np.bool_)
        left[which] = False
        left = left[self.places]
        return Wanted(self.rows, self.places[left], self.hashes[left])

    def places_in(self, run: Run, indexed: RunRows) -> tuple[Places, Places]:
        """Looks the wanted rows up in a run.

        Returns:
            The positions of the matching rows of the run, and for each the position of the wanted row. Two
            rows match if they are equal in all columns of the wanted row.
        """
        mine = part_range(run.part, self.hashes)
        at, found = indexed.at(self.hashes[mine])
        which = self.places[mine][found]
        if not len(at):
            return at, which
        same = equal(indexed.frame, at, self.rows, which, self.rows.columns)
        return (at, which) if same.all() else (at[same], which[same])
