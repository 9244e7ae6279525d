"""The released rows of a side, and which of them a row finds that is released later (37.17, 37.18).

Rows have the numbers of their release. So a row finds the rows with lower numbers: of a window of rows the
last ones, else those in a range of event times. The range begins with what the window of the side and its
retention contain, and ends with what the window of the new row's own side does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import NUMBER, TIME
from panewise.engine.join.plan import JoinPlan, SidePort
from panewise.engine.join.search.candidate_slices import CandidateSlices, of_one_row, range_of
from panewise.engine.join.search.rows_of_keys import Found, Keys
from panewise.engine.kernels.frames import Mask
from panewise.engine.kernels.instants import Instants
from panewise.engine.store.latest_by_key import LatestByKey
from panewise.engine.store.rows_by_key import RowsByKey, Slices
from panewise.engine.store.run import MemoryLibrary, Shape
from panewise.engine.store.stored_table import StoredTable
from panewise.spec import JoinWindow


def nothing(port: SidePort, window: JoinWindow) -> RowsByKey:
    """Returns the table of the released rows of a side, without rows."""
    time = TIME if window.count is None else NUMBER
    shape, limit = Shape(dict(port.stored), [time, NUMBER], port.keys), limit_of(window)
    if limit is None:
        return RowsByKey.nothing(shape, MemoryLibrary())
    return replace(LatestByKey.nothing(shape, MemoryLibrary()), latest=limit)


def limit_of(window: JoinWindow) -> int | None:
    """Returns how many released rows of a key are stored; None for any number."""
    return window.retention_rows if window.count is None else window.count


def stored(table: StoredTable, rows: pl.DataFrame) -> StoredTable:
    """Returns the table with released rows. A run that is made has no row that a later one supersedes."""
    put = cast(RowsByKey, table).put(rows)
    return put.settled_until(MAX_INSTANT) if isinstance(put, LatestByKey) else put


def listed(rows: pl.DataFrame, window: JoinWindow, keys: list[str], first: int | None) -> pl.DataFrame:
    """Returns the stored rows that can match: from an event time on, and not superseded.

    `first` is that of :meth:`panewise.engine.join.streams.clocks.StreamsClocks.listed_from`.
    """
    limit = limit_of(window)
    if limit is not None:
        by = [NUMBER] if window.count is not None else [TIME, NUMBER]
        from_end = pl.int_range(pl.len(), dtype=pl.Int64).reverse().over(keys)
        rows = rows.sort(by).filter(from_end < limit)
    if first is None or first > MAX_INSTANT:
        return rows if first is None else rows.clear()
    return rows.filter(pl.col(TIME) >= first)


@dataclass(frozen=True)
class Lookup:
    """A search of rows that are released among the released rows of the other side.

    The slices of rows that may match are found at once, as the tables change before the pairs are emitted.

    Attributes:
        side: the side of the rows that search.
        table: the released rows of the other side, old and new.
        window: the window of the other side.
        count: how many of the last rows of its key each row finds; None for any number.
        rows: the rows that search.
        first: for each of them the least event time that matches.
        last: the last event time that matches.
        keys: their keys.
        parts: the slices that may match, by key.
    """

    side: str
    table: RowsByKey
    window: JoinWindow
    count: int | None
    rows: pl.DataFrame
    first: Instants
    last: Instants
    keys: Keys
    parts: Sequence[Slices]

    @classmethod
    def of(
        cls,
        plan: JoinPlan,
        side: str,
        windows: tuple[JoinWindow, JoinWindow],
        table: RowsByKey,
        rows: pl.DataFrame,
        retained_from: Instants,
        *,
        together: bool = False,
    ) -> "Lookup":
        """Returns the search.

        Args:
            plan: the plan.
            side: the side of the rows that search.
            windows: the windows of this side and of the other side.
            table: the released rows of the other side, old and new.
            rows: the rows that search.
            retained_from: the least event time in the retention of the other side when each is released.
            together: whether all rows of the table were released before each of the rows that search.
        """
        own, other = windows
        keys, (first, last) = Keys.of(rows, plan.ports[side].keys), ranges(rows, own, other)
        first, count = np.maximum(first, retained_from), other.count
        if count is not None:
            parts = keys.slices(table, np.full_like(first, MIN_INSTANT), rows[NUMBER].to_numpy())
        else:
            # The last rows by event time are chosen before the range ends.
            ends = last if other.retention_rows is None else np.full_like(last, MAX_INSTANT)
            parts, count = keys.slices(table, first, ends), other.retention_rows if together else None
        return cls(side, table, other, count, rows, first, last, keys, parts)

    @property
    def counts(self) -> Instants:
        """How many rows each row may match."""
        counts = np.zeros(self.rows.height, dtype=np.int64)
        most = MAX_INSTANT if self.count is None else self.count
        for part in self.parts:
            counts[self.keys.places] += np.minimum(part.lengths, most)
        return counts

    def found(self, chosen: Mask, *, cut: bool) -> Iterator[Found]:
        """Yields the rows that some of the rows match: all at once or, with `cut`, of one row in pieces."""
        places = np.flatnonzero(chosen[self.keys.places])
        keys, parts = self.keys.chosen(places), [part.chosen(places) for part in self.parts]
        for some in in_pieces(parts) if cut and limit_of(self.window) is None else [parts]:
            yield self._matching(keys.found_in(self.table, some, self.count))

    def _matching(self, found: Found) -> Found:
        found = found.chosen(found.column(NUMBER) < self.rows[NUMBER].to_numpy()[found.which])
        found = _last(found, self.window.retention_rows)
        times = found.column(TIME)
        return found.chosen((times >= self.first[found.which]) & (times <= self.last[found.which]))


def in_pieces(parts: Sequence[Slices]) -> Iterator[list[Slices]]:
    """Yields the slices of one row in pieces of about `PIECE` rows, by time and number of its candidates."""
    found = [CandidateSlices("", np.zeros(1, dtype=np.intp), part, own=False) for part in parts]
    for some in of_one_row([one for one in found if one.slices.lengths[0]]):
        yield [one.slices for one in some]


def ranges(rows: pl.DataFrame, own: JoinWindow, other: JoinWindow) -> tuple[Instants, Instants]:
    """Returns the first and the last event time that the windows of both sides allow for each row."""
    times = rows[TIME].to_numpy()
    first, last = np.full(len(times), MIN_INSTANT), np.full(len(times), MAX_INSTANT)
    if other.size is not None and len(times):
        first = range_of(times, -other.size, 0)[0]
    if own.size is not None and len(times):
        last = range_of(times, 0, own.size)[1]
    return first, last


def _last(found: Found, count: int | None) -> Found:
    """Returns the last rows of each look-up, which are in the order of their event times."""
    if count is None:
        return found
    ends = np.searchsorted(found.which, found.which, side="right")
    return found.chosen(np.arange(len(found.which)) >= ends - count)


def least_retained(window: JoinWindow, watermarks: Instants) -> Instants:
    """Returns the least event times in the retention of a side at these watermarks."""
    if window.retention is None:
        return np.full_like(watermarks, MIN_INSTANT)
    us = window.retention.us
    return np.where(watermarks < MIN_INSTANT + us, MIN_INSTANT, watermarks - us)
