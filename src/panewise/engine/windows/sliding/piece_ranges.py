"""Windows as ranges of sorted pieces.

*Pieces* are slices, or blocks in place of many slices (:mod:`panewise.engine.windows.sliding.slices`).
Invariant: pieces are sorted by key and time, so each window contains a range of places. The partials of
all ranges are range aggregates. So w windows over n pieces cost a sort of the pieces, and for each window the
logarithm of the number of its pieces.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from panewise.engine.aggregate import range_aggregate
from panewise.engine.columns import PENDING, ROWS
from panewise.engine.kernels.small_frames import take_rows
from panewise.engine.kernels.sorting import Places
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windowing.sliding_bounds import places_of_pieces


@dataclass(frozen=True)
class PieceRanges:
    """Windows, each with the half-open range of places of its pieces among sorted pieces."""

    windows: pl.DataFrame
    pieces: pl.DataFrame
    low: Places
    high: Places

    @classmethod
    def locate(cls, windows: pl.DataFrame, ordered: pl.DataFrame) -> "PieceRanges":
        """Returns the ranges of windows among sorted pieces."""
        return cls(windows, ordered, *places_of_pieces(ordered, windows))

    def where(self, mask: pl.Series) -> "PieceRanges":
        """Returns the windows for which the mask is true."""
        places = np.flatnonzero(mask.to_numpy())
        return PieceRanges(take_rows(self.windows, places), self.pieces, self.low[places], self.high[places])

    @property
    def filled(self) -> pl.Series:
        """Whether each window contains a piece."""
        return pl.Series(self.high > self.low)

    @property
    def rows(self) -> pl.Series:
        """The number of rows in each window: the difference of two prefix sums."""
        sums = np.concatenate([[0], self.pieces[ROWS].cum_sum().to_numpy()])
        return pl.Series(PENDING, sums[self.high] - sums[self.low], dtype=pl.Int64)

    def contents(self, plan: WindowPlan) -> pl.DataFrame:
        """Returns the windows with the merged partials of their pieces. No window may be empty."""
        return self.windows.hstack(
            range_aggregate.aggregate_ranges(
                plan.aggregation, self.pieces, pl.Series(self.low), pl.Series(self.high)
            )
        )
