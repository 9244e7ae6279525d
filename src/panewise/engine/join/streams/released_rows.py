"""The windows of released rows, one for each key of a side, in which rows look for partners (37.17, 37.18).

A row is inserted when it is released, and has the number of its release. So these are windows by arrival:

- `rows(n)` contains the last n rows;
- a retention by size contains the n rows with the latest event times;
- all others contain all rows.

A row with the event time t matches rows of the other side from t - s to t + o. Here s is the size of the
window of the other side, and o that of the window of the row's own side; a side without a size has no such
bound. A retention of the other side may move the start of the range to a later time.

Invariant: a row finds the rows of its key that have a lower number, so were released before it, and are in
the window and the range. So each pair is found once.

Cost: a look-up takes a binary search for each row and part of the table
(:mod:`panewise.engine.join.search.candidate_slices`), and a read of the rows between. With a retention by
size, rows with the same last rows are looked up together, in up to `FEW` look-ups. If there would be more,
:mod:`panewise.engine.join.streams.retained_by_size` finds the last rows of all of them together.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import NUMBER, TIME
from panewise.engine.join.batch.join_batch import JoinBatch
from panewise.engine.join.by_arrival.arrived_rows import ArrivalWindow, ArrivedRows, Inserted
from panewise.engine.join.plan import SidePort
from panewise.engine.join.search.candidate_slices import range_of
from panewise.engine.join.search.lookups import Lookup
from panewise.engine.join.search.rows_of_keys import RowsOfKeys, SortedKeys
from panewise.engine.join.streams.retained_by_size import last_rows
from panewise.engine.kernels.instants import Instants, shifted_instants
from panewise.engine.tables.latest_by_key import LatestByKey
from panewise.engine.tables.run import Shape
from panewise.spec.operators.join.columns import OTHER
from panewise.spec.operators.join.streams import JoinWindow, WindowedStreams

FEW = 4  # into so many look-ups the rows of a side are divided at most


@dataclass(frozen=True)
class ReleasedRows(ArrivedRows):
    """How the released rows of a side are stored and found.

    Attributes:
        join_window: the window of the side.
        reach: how far after a row of the other side the first and the last row of this side lie that match
            it, in microseconds; None for any distance.
    """

    join_window: JoinWindow
    reach: tuple[int | None, int | None]

    @property
    def shape(self) -> Shape:
        """The columns of the table."""
        return Shape(dict(self.port.stored), order_of_key(self.join_window), self.port.keys)

    def arriving(self, rows: pl.DataFrame | None, now: int) -> pl.DataFrame:
        """Returns released rows with the columns of the table, which they have; no rows for None."""
        return self.shape.no_rows if rows is None else rows

    def lookups(
        self, inserted: Inserted, keys: SortedKeys, rows: pl.DataFrame, batch: JoinBatch
    ) -> Iterator[Lookup]:
        """Yields the look-ups of released rows of the other side.

        With a retention by size only the last rows of each key are read. The rows that find the same rows are
        looked up together, unless each row is released alone.
        """
        first, last = self._range(rows, batch)
        count = self.join_window.retention_rows
        if count is None:
            yield self._among_released(inserted.table, keys, rows, first, last)
            return
        before = np.searchsorted(inserted.rows[NUMBER].to_numpy(), rows[NUMBER].to_numpy())
        limits = np.unique(before)
        if len(limits) > FEW:
            yield last_rows(inserted, keys, rows, first, last, count)
            return
        for limit in limits.tolist():
            table = inserted.before.put(inserted.rows[:limit])
            yield self._among_released(table, keys, rows, first, last).chosen(before == limit)

    def _among_released(
        self, table: LatestByKey, keys: SortedKeys, rows: pl.DataFrame, first: Instants, last: Instants
    ) -> Lookup:
        """Returns the look-up in a table. If the last rows are those by event time, all were released before.

        These are chosen before the range ends.
        """
        before, begin, end = rows[NUMBER].to_numpy(), first, last
        if self.join_window.count is not None:
            begin, end = np.full_like(first, MIN_INSTANT), before - 1
        elif self.window.latest is not None:
            end = np.full_like(last, MAX_INSTANT)
        inside = partial(_matching, before, first, last)
        return Lookup(table, keys, keys.slices(table, begin, end), self.window.latest, inside)

    def _range(self, rows: pl.DataFrame, batch: JoinBatch) -> tuple[Instants, Instants]:
        """Returns the first and the last event time that match each row."""
        first, last = range_of(rows[TIME].to_numpy(), *self.reach)
        if self.join_window.retention is None:
            return first, last
        watermarks = batch.watermarks.before[self.port.name][rows[NUMBER].to_numpy() - batch.first_number]
        return np.maximum(first, shifted_instants(watermarks, -self.join_window.retention.us)), last


def order_of_key(window: JoinWindow) -> list[str]:
    """Returns the order of the released rows of a key. Only windows of rows are in that of release."""
    return [TIME if window.count is None else NUMBER, NUMBER]


def most_rows(window: JoinWindow) -> int | None:
    """Returns how many released rows of a key are in the window, the last ones; None for any number."""
    return window.retention_rows if window.count is None else window.count


def rows_that_match(
    rows: pl.DataFrame, window: JoinWindow, keys: list[str], first: int | None
) -> pl.DataFrame:
    """Returns those of the stored rows that can match: from an event time on, and among the last ones.

    `first` is that of :meth:`panewise.engine.join.streams.clocks.StreamsClocks.listed_from`.
    """
    count = most_rows(window)
    if count is not None:
        from_end = pl.int_range(pl.len(), dtype=pl.Int64).reverse().over(keys)
        rows = rows.sort(order_of_key(window)).filter(from_end < count)
    if first is None or first > MAX_INSTANT:
        return rows if first is None else rows.clear()
    return rows.filter(pl.col(TIME) >= first)


def released_rows(ports: Mapping[str, SidePort], match: WindowedStreams) -> dict[str, ReleasedRows]:
    """Returns the windows of both sides."""
    windows = {}
    for side, window in match.windows.items():
        size, other = window.size, match.windows[OTHER[side]].size
        reach = None if size is None else -size, other
        windows[side] = ReleasedRows(ports[side], ArrivalWindow(most_rows(window)), False, window, reach)
    return windows


def _matching(before: Instants, first: Instants, last: Instants, rows: RowsOfKeys) -> RowsOfKeys:
    """Returns those of the rows found that were released before each row, and are in its range."""
    which, times = rows.which, rows.column(TIME)
    near = (times >= first[which]) & (times <= last[which])
    return rows.chosen(near & (rows.column(NUMBER) < before[which]))
