"""The last rows of a retention by size, for rows that are released one after the other (37.18).

Each row finds the last rows by event time among those that were released before it. Invariant: rows have
ranks by event time, then by release. So the rows that it finds are those before it whose rank is in a range:
from the rank of the first of the last rows on, which is an order statistic of a range of releases.

Cost: the new rows and the last rows of their keys are read and sorted once. One query for all rows finds the
order statistics (:mod:`panewise.engine.kernels.wavelet`), and another one the rows that match
(:mod:`panewise.engine.kernels.rectangles`).
"""

from dataclasses import replace

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import NUMBER, TIME
from panewise.engine.join.by_arrival.arrived_rows import Inserted
from panewise.engine.join.search.lookups import Lookup
from panewise.engine.join.search.rows_by_arrival import ArrivalOrder
from panewise.engine.join.search.rows_of_keys import SortedKeys
from panewise.engine.kernels.instants import Instants
from panewise.engine.kernels.small_frames import take_rows, vstack_frames
from panewise.engine.kernels.sorting import order
from panewise.engine.kernels.wavelet import smallest


def last_rows(
    inserted: Inserted, keys: SortedKeys, rows: pl.DataFrame, first: Instants, last: Instants, count: int
) -> Lookup:
    """Returns a look-up that finds for each released row the last `count` rows of the other side before it.

    `first` and `last` are the event times that match each row, both included.
    """
    names, number = zip(keys.names, inserted.table.shape.by, strict=True), rows[NUMBER].to_numpy()
    wanted = rows.select(pl.col(mine).alias(name) for mine, name in names)
    others = _last_of_keys(inserted, wanted, count)
    rank = np.empty(others.height, dtype=np.int64)
    by_time = order([others[TIME].to_numpy(), others[NUMBER].to_numpy()])
    rank[by_time] = np.arange(others.height)
    arrivals = ArrivalOrder.from_rows(others, NUMBER, wanted)
    begins, ends = arrivals.between(np.full_like(number, MIN_INSTANT), number - 1)
    ranks, times = rank[arrivals.places], others[TIME].to_numpy()[by_time]
    low, high = np.searchsorted(times, first), np.searchsorted(times, last, side="right") - 1
    many = np.flatnonzero(ends - begins > count)
    some = ends[many] - begins[many] - count
    low[many] = np.maximum(low[many], smallest(ranks, begins[many], ends[many], some))
    parts = []
    for which, slices in arrivals.slices(others, ranks, (begins, ends), low, high):
        starts, lengths = np.zeros((2, len(number)), dtype=np.intp)
        starts[which], lengths[which] = slices.starts, slices.lengths
        parts.append(replace(slices, starts=starts, lengths=lengths).chosen(keys.places))
    return Lookup(inserted.table, keys, parts, None, lambda rows_found: rows_found)


def _last_of_keys(inserted: Inserted, keys: pl.DataFrame, count: int) -> pl.DataFrame:
    """Returns the last rows of each of the keys by event time before the step, and the new rows."""
    wanted, new = keys.unique(), inserted.rows
    last = SortedKeys.from_rows(wanted, keys.columns).last(
        inserted.before, np.full(wanted.height, MAX_INSTANT), count
    )
    return vstack_frames([new, take_rows(last.rows, last.at).select(new.columns)]).rechunk()
