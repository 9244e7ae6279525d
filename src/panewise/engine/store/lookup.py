"""Looking up windows in runs: by their hashes, then by what they are."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from panewise.engine.kernels.hashing import Hashes, row_hashes
from panewise.engine.kernels.small_frames import equal
from panewise.engine.kernels.sorting import Places
from panewise.engine.store.run import Indexed, part_range
from panewise.state import Run


@dataclass(frozen=True)
class Found:
    """Rows of windows that were looked up, and for each the place of the one asked for that it is."""

    rows: pl.DataFrame
    which: Places


@dataclass(frozen=True)
class Wanted:
    """What is looked up: rows of the columns that it is told by, and the places of those still wanted, in order of their hashes."""

    rows: pl.DataFrame
    places: Places
    hashes: Hashes

    @classmethod
    def of(cls, rows: pl.DataFrame, by: list[str]) -> "Wanted":
        """Everything that the rows tell; `by` is what the hash is made of."""
        hashes = row_hashes(rows, by)
        order = np.argsort(hashes)
        return cls(rows, order, hashes[order])

    def without(self, which: Places) -> "Wanted":
        """What is left when some are found, told by their places in the rows."""
        left = np.ones(self.rows.height, dtype=np.bool_)
        left[which] = False
        left = left[self.places]
        return Wanted(self.rows, self.places[left], self.hashes[left])

    def places_in(self, run: Run, indexed: Indexed) -> tuple[Places, Places]:
        """Places of the run's rows that equal one of the wanted in its columns, and the place of that one."""
        mine = part_range(run.part, self.hashes)
        at, found = indexed.at(self.hashes[mine])
        which = self.places[mine][found]
        if not len(at):
            return at, which
        same = equal(indexed.frame, at, self.rows, which, self.rows.columns)
        return (at, which) if same.all() else (at[same], which[same])
