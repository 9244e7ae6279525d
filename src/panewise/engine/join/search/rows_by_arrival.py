"""Rows in the order of their arrival for each key, in which a range of arrival is a range of places.

Invariant: the rows of a key are neighbours, in the order of their arrival. So bisection finds those that
arrived between two rows, and a condition on a second value makes them points of a rectangle
(:mod:`panewise.engine.kernels.rectangles`). Cost: one sort of the rows, and two bisections for each look-up.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from panewise.engine.kernels.bisection import bisect_left
from panewise.engine.kernels.instants import Instants
from panewise.engine.kernels.rectangles import in_rectangles
from panewise.engine.kernels.small_frames import vstack_frames
from panewise.engine.kernels.sorting import Places, codes, order
from panewise.engine.tables.rows_by_key import FoundSlices


@dataclass(frozen=True)
class ArrivalOrder:
    """Rows by key, then by arrival, and where the rows of each key that is looked up begin and end.

    Attributes:
        places: the places of the rows in this order.
        arrived: when each of them arrived: a number that rises with it.
        low: for each look-up the place of the first row of its key.
        high: the place after the last one.
    """

    places: Places
    arrived: Instants
    low: Places
    high: Places

    @classmethod
    def from_rows(cls, rows: pl.DataFrame, arrived: str, wanted: pl.DataFrame) -> Self:
        """Returns the order of rows by a column of arrival. `wanted` has the columns of the key."""
        keys = wanted.columns
        code = codes(vstack_frames([rows.select(keys), wanted]).rechunk(), keys)
        known, mine = code[: rows.height], code[rows.height :]
        places = order([known, rows[arrived].to_numpy()])
        low, high = (np.searchsorted(known[places], mine, side=end) for end in ("left", "right"))
        return cls(places, rows[arrived].to_numpy()[places], low, high)

    def between(self, first: Instants, last: Instants) -> tuple[Places, Places]:
        """Returns the half-open ranges of places of the rows that arrived from `first` to `last`."""
        begins = bisect_left(self.arrived, self.low, self.high, first)
        return begins, bisect_left(self.arrived, begins, self.high, last, past_equal=True)

    def slices(
        self,
        rows: pl.DataFrame,
        values: Instants,
        ranges: tuple[Places, Places],
        first: Instants,
        last: Instants,
    ) -> Iterator[tuple[Places, FoundSlices]]:
        """Yields the rows in ranges of places with a value in a range: look-ups, and a slice for each.

        `values` has the value of the row at each place, and `first` and `last` the range of each look-up.
        """
        for level in in_rectangles(values, *ranges, first, last):
            yield level.queries, FoundSlices(rows, level.starts, level.lengths, self.places[level.places])
