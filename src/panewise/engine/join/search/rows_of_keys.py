"""Look-ups of the last rows of a key among stored rows.

Rows of one hash may have different keys, so keys are compared. Such rows are rare: the last rows of a slice
are compared first, and all of its rows only if one of these has another key.

Cost: a binary search for each key and part of the table, and one read of each of the last `count` rows. If
keys with equal hashes differ, all rows of the slices of that part are read.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from panewise.chrono import MIN_INSTANT
from panewise.engine.columns import NUMBER
from panewise.engine.kernels.hashing import Hashes, hash_order, row_hashes
from panewise.engine.kernels.instants import Instants
from panewise.engine.kernels.small_frames import Mask, equal_columns, expand_ranges, take_rows, vstack_frames
from panewise.engine.kernels.sorting import Places, order
from panewise.engine.tables.rows_by_key import FoundSlices, Ranges, RowsByKey


@dataclass(frozen=True)
class RowsOfKeys:
    """Rows that look-ups found.

    Attributes:
        which: the numbers of look-ups, ascending.
        rows: rows of the table.
        at: for each number in `which` the place of the row in `rows`.
    """

    which: Places
    rows: pl.DataFrame
    at: Places

    def chosen(self, mask: Mask) -> "RowsOfKeys":
        """Returns some of what was found."""
        return RowsOfKeys(self.which[mask], self.rows, self.at[mask])

    def column(self, name: str) -> Instants:
        """Returns a column of whole numbers of the found rows."""
        return self.rows[name].to_numpy()[self.at]


@dataclass(frozen=True)
class SortedKeys:
    """Keys to look up, in the order of their hashes.

    Attributes:
        rows: the rows that have the keys.
        names: the columns of the key.
        hashes: the hashes, ascending.
        places: for each hash the number of its row before they were sorted.
    """

    rows: pl.DataFrame
    names: Sequence[str]
    hashes: Hashes
    places: Places

    @classmethod
    def from_rows(cls, rows: pl.DataFrame, names: Sequence[str]) -> "SortedKeys":
        """Returns the keys of rows, which may be in any order."""
        hashes = row_hashes(rows, names)
        places = hash_order(hashes)
        return cls(take_rows(rows.select(names), places), names, hashes[places], places)

    def last(self, table: RowsByKey, until: Instants, count: int) -> RowsOfKeys:
        """Returns for each key up to `count` rows: the last ones whose time is at most `until`."""
        parts = self.slices(table, np.full(len(until), MIN_INSTANT), until)
        return self.rows_in(table, parts, count)

    def slices(self, table: RowsByKey, first: Instants, last: Instants) -> list[FoundSlices]:
        """Returns the slices with the rows of each hash whose time is from `first` to `last`.

        They have a slice for each key, in the order of the keys. They stay valid when the table changes.
        """
        return [*table.slices(Ranges(self.hashes, first[self.places], last[self.places]))]

    def chosen(self, places: Places) -> "SortedKeys":
        """Returns the keys at these places among the sorted ones, which are ascending."""
        return SortedKeys(take_rows(self.rows, places), self.names, self.hashes[places], self.places[places])

    def rows_in(self, table: RowsByKey, parts: Sequence[FoundSlices], count: int | None) -> RowsOfKeys:
        """Returns the rows of the keys in slices, one slice for each key; with `count` only the last ones."""
        matched = []
        for part in parts:
            which, at = self._all_of(table, part) if count is None else self._last_of(table, part, count)
            matched.append((part, which, at))
        return self._collected(table, matched, count)

    def _last_of(self, table: RowsByKey, part: FoundSlices, count: int) -> tuple[Places, Places]:
        lengths = np.minimum(part.lengths, count)
        which = np.repeat(np.arange(len(lengths)), lengths)
        at = expand_ranges(part.starts + part.lengths - lengths, lengths)
        if self._equal(table, which, part.rows, at).all():
            return which, at
        which, at = self._all_of(table, part)
        last = last_of_each(which, count)
        return which[last], at[last]

    def _all_of(self, table: RowsByKey, part: FoundSlices) -> tuple[Places, Places]:
        which = np.repeat(np.arange(len(part.lengths)), part.lengths)
        at = part.found_places()
        same = self._equal(table, which, part.rows, at)
        return (which, at) if same.all() else (which[same], at[same])

    def _equal(self, table: RowsByKey, which: Places, rows: pl.DataFrame, at: Places) -> Mask:
        return equal_columns(self.rows, which, self.names, rows, at, table.shape.by)

    def _collected(
        self, table: RowsByKey, parts: Sequence[tuple[FoundSlices, Places, Places]], count: int | None
    ) -> RowsOfKeys:
        """Returns the rows of all parts in the order of their time for each look-up, the last `count`."""
        names = list(table.shape.schema)
        frames, height = [table.shape.no_rows], 0
        which, at = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
        for part, mine, its in parts:
            taken, places = np.unique(its, return_inverse=True)
            frames.append(take_rows(part.rows[names], taken))
            which.append(self.places[mine])
            at.append(places + height)
            height += len(taken)
        collected = RowsOfKeys(np.concatenate(which), vstack_frames(frames).rechunk(), np.concatenate(at))
        places = order([collected.which, collected.column(table.time), collected.column(NUMBER)])
        collected = RowsOfKeys(collected.which[places], collected.rows, collected.at[places])
        if count is None or len(parts) < 2:
            return collected
        return collected.chosen(last_of_each(collected.which, count))


def last_of_each(which: Places, count: int) -> Mask:
    """Returns which of the found rows are among the last `count` of their look-up."""
    ends = np.searchsorted(which, which, side="right")
    return np.arange(len(which)) >= ends - count
