"""The last rows of a retention by size, for rows that are released one after the other (37.18).

Each row finds the last rows by event time among those that were released before it. Invariant: rows have
ranks by event time, then by release. So the rows that it finds are those before it whose rank is in a range:
from the rank of the first of the last rows on, which is an order statistic of a range of releases.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import NUMBER, TIME
from panewise.engine.join.by_arrival.windows import Inserted
from panewise.engine.join.plan import SidePort
from panewise.engine.join.search.arrival_order import ArrivalOrder
from panewise.engine.join.search.rows_of_keys import Found, Keys
from panewise.engine.kernels.frames import Mask, take_rows, vstack_frames
from panewise.engine.kernels.instants import Instants
from panewise.engine.kernels.sorting import Places, order
from panewise.engine.kernels.wavelet import smallest
from panewise.engine.store.rows_by_key import Slices


@dataclass(frozen=True)
class LastRowsLookup:
    """A search of a bounded number of rows each: :class:`panewise.engine.join.search.lookups.Search`.

    Attributes:
        side: the side of the new rows.
        rows: the new rows.
        parts: the numbers of some of these rows, and a slice with rows that each of them finds.
        others: the rows of the other side of which they are slices.
    """

    side: str
    rows: pl.DataFrame
    parts: Sequence[tuple[Places, Slices]]
    others: pl.DataFrame

    @classmethod
    def of(cls, side: SidePort, rows: pl.DataFrame, inserted: Inserted, window: "Range") -> Self:
        """Returns the search among rows of the other side: the last stored ones, and those of the step."""
        names = zip(side.keys, inserted.table.shape.by, strict=True)
        keys = rows.select(pl.col(mine).alias(name) for mine, name in names)
        others = _last_of_keys(inserted, keys, window.count)
        rank = np.empty(others.height, dtype=np.int64)
        by_time = order([others[TIME].to_numpy(), others[NUMBER].to_numpy()])
        rank[by_time] = np.arange(others.height)
        arrivals = ArrivalOrder.of(others, NUMBER, keys)
        number = rows[NUMBER].to_numpy()
        begins, ends = arrivals.between(np.full_like(number, MIN_INSTANT), number - 1)
        ranks, times = rank[arrivals.places], others[TIME].to_numpy()[by_time]
        first = np.searchsorted(times, window.first)
        last = np.searchsorted(times, window.last, side="right") - 1
        many = np.flatnonzero(ends - begins > window.count)
        some = ends[many] - begins[many] - window.count
        first[many] = np.maximum(first[many], smallest(ranks, begins[many], ends[many], some))
        parts = [*arrivals.slices(others, ranks, (begins, ends), first, last)]
        return cls(side.name, rows, parts, others)

    @property
    def counts(self) -> Instants:
        """How many rows each row finds."""
        counts = np.zeros(self.rows.height, dtype=np.int64)
        for which, slices in self.parts:
            counts[which] += slices.lengths
        return counts

    def all(self) -> Found:
        """Returns the rows that the new rows find."""
        return self._found(np.ones(self.rows.height, dtype=np.bool_))

    def found(self, chosen: Mask, *, cut: bool) -> Iterator[Found]:
        """Yields the rows that some of the rows find, all at once: with `cut` one row, which finds few."""
        yield self._found(chosen)

    def _found(self, chosen: Mask) -> Found:
        which, at = [np.empty(0, dtype=np.intp)], [np.empty(0, dtype=np.intp)]
        for queries, slices in self.parts:
            mine = np.flatnonzero(chosen[queries])
            some = slices.chosen(mine)
            which.append(np.repeat(queries[mine], some.lengths))
            at.append(some.positions())
        taken, places = np.unique(np.concatenate(at), return_inverse=True)
        by_row = order([np.concatenate(which)])
        return Found(np.concatenate(which)[by_row], take_rows(self.others, taken), places[by_row])


@dataclass(frozen=True)
class Range:
    """The event times that match each row, which include both ends, and how many rows it finds at most."""

    first: Instants
    last: Instants
    count: int


def _last_of_keys(inserted: Inserted, keys: pl.DataFrame, count: int) -> pl.DataFrame:
    """Returns the last rows of each of the keys by event time before the step, and the new rows."""
    wanted, new = keys.unique(), inserted.rows
    found = Keys.of(wanted, keys.columns).last(inserted.before, np.full(wanted.height, MAX_INSTANT), count)
    return vstack_frames([new, take_rows(found.rows, found.at).select(new.columns)]).rechunk()
