"""Rows that are looked up by key and a range of time.

Rows are only added, and expire. A subclass may remove further rows when runs are made. Invariant: a run is
sorted by the hash of the key, then by time, then by arrival. So the rows of a key within a range of time are
a slice of each run. Bisection finds it, whose cost grows only with the logarithm of the rows of the key.

The columns of `shape.identity` are the time and the arrival number. No two rows have the same time and
number.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import END, HASH
from panewise.engine.kernels.bisection import bisect_left
from panewise.engine.kernels.hashing import Hashes, hash_order, row_hashes
from panewise.engine.kernels.small_frames import emptied, expand_ranges, take_rows, vstack_frames
from panewise.engine.kernels.sorting import Line, Places, order
from panewise.engine.tables.compaction import Merge
from panewise.engine.tables.run import RunRows, Shape, part_range
from panewise.engine.tables.stored_table import AddedRows
from panewise.state import Run

# Up to so many rows of a run for each look-up, one search in the times of all rows of the keys is faster than
# a bisection for each look-up.
_MANY = 4


@dataclass(frozen=True)
class Ranges:
    """Look-ups, sorted by hash: each has the hash of a key, and a range of time that includes both ends.

    Attributes:
        hashes: the hash of each look-up.
        first: the first time of its range. If it is after `last`, nothing is found.
        last: the last time of its range.
        at: an instant for each look-up. The rows of its range end at this instant or later, so runs that end
            earlier are not read. None if there are no such instants.
    """

    hashes: Hashes
    first: Places
    last: Places
    at: Places | None = None

    def in_run(self, run: Run) -> slice | Places:
        """Returns the places of the look-ups that may find rows in a run."""
        chosen = part_range(run.part, self.hashes)
        if self.at is None:
            return chosen
        reaches = self.at[chosen] <= run.high
        return chosen if reaches.all() else np.flatnonzero(reaches) + (chosen.start or 0)


@dataclass(frozen=True)
class FoundSlices:
    """The rows that look-ups found: a slice for each look-up.

    A slice may contain rows of other keys that have the same hash. The caller compares the keys.

    Attributes:
        rows: the rows that contain the slices.
        starts: where the slice of each look-up starts.
        lengths: how long it is.
        places: places in `rows`. If given, the slices are slices of this array, and not of `rows` itself.
    """

    rows: pl.DataFrame
    starts: Places
    lengths: Places
    places: Places | None = None

    def found_places(self) -> Places:
        """Returns the places in `rows` of the rows found, one slice after the other."""
        at = expand_ranges(self.starts, self.lengths)
        return at if self.places is None else self.places[at]

    def inside(self, start: int, length: int) -> slice | Places:
        """Returns the places in `rows` of a part of a slice, as a slice if there are no `places`."""
        part = slice(start, start + length)
        return part if self.places is None else self.places[part]

    def chosen(self, places: Places) -> "FoundSlices":
        """Returns the slices at these places."""
        return replace(self, starts=self.starts[places], lengths=self.lengths[places])

    def first(self, counts: Places) -> "FoundSlices":
        """Returns each slice cut to its first rows; `counts` has their number for each slice."""
        return replace(self, lengths=counts)

    def after(self, counts: Places) -> "FoundSlices":
        """Returns each slice without its first rows; `counts` has their number for each slice."""
        return replace(self, starts=self.starts + counts, lengths=self.lengths - counts)

    def cut(self, most: int) -> "Iterator[FoundSlices]":
        """Yields the slices in pieces of up to `most` rows. A long slice is divided among several pieces."""
        ends = np.cumsum(self.lengths)
        # A piece has the rows [low, low + most) of the slices, one after the other.
        for low in range(0, int(ends[-1]) if len(ends) else 0, most):
            counts = [np.clip(at - (ends - self.lengths), 0, self.lengths) for at in (low, low + most)]
            yield self.after(counts[0]).first(counts[1] - counts[0])


@dataclass(frozen=True)
class RowsByKey(AddedRows):
    """A table of rows by key and time."""

    LONG: ClassVar[int] = 1 << 12  # each step sorts the newest rows

    def slices(self, ranges: Ranges) -> Iterator[FoundSlices]:
        """Yields the rows that the look-ups find in each run, and in the newest rows.

        Expired rows are found, too, as long as they are stored.
        """
        for run in self._live_runs():
            chosen = ranges.in_run(run)
            if not isinstance(chosen, slice) and not len(chosen):
                continue
            rows = self.library.read(run, self.shape)
            starts, lengths = _found(rows, self.time, ranges, chosen)
            if lengths.any():
                yield FoundSlices(rows.frame, starts, lengths)
        if self.newest.height:
            yield slices_of(sorted_rows(self.newest, self.shape), self.shape, ranges)

    def due(self, after: int | None, until: int) -> pl.DataFrame:
        """Returns the rows with after < END <= until, in no particular order."""
        ends = pl.col(END) <= until
        if after is not None:
            ends &= pl.col(END) > after
        runs = [run for run in self.runs if run.low <= until and (after is None or run.high > after)]
        frames = [self.newest, *(self.library.read(run, self.shape).bare for run in runs)]
        frames = [rows.filter(ends) for rows in frames]
        return vstack_frames([rows[list(self.shape.schema)] for rows in frames])

    def all(self) -> pl.DataFrame:
        """Returns all rows that have not expired, in no particular order."""
        rows = [self.newest, *(self.library.read(run, self.shape).bare for run in self._live_runs())]
        return vstack_frames([self._unexpired(frame)[list(self.shape.schema)] for frame in rows])

    @property
    def time(self) -> str:
        """The column of the times."""
        return self.shape.identity[0]

    def sealed(self) -> Self:
        """Returns the table with the newest rows in a run, after the merges that are due."""
        newest = self._unexpired(self.newest)
        table = replace(self, newest=emptied(newest), runs=self._live_runs())
        if newest.is_empty():
            return table
        rows = self._merging(sorted_rows(newest, self.shape).frame, bottom=not table.runs)
        if rows.is_empty():
            return table
        return replace(table, runs=(*table.runs, table.write_run(RunRows(rows)))).compacted(newest.height)

    def _merged(self, merge: Merge) -> Self:
        """Returns the table after one merge. If keys and times are equal, rows of older runs come first."""
        frames = [self._unexpired(self.library.read(run, self.shape).frame) for run in merge.runs]
        rows = self._merging(_in_order(vstack_frames(frames), self.shape), bottom=merge.bottom)
        return self._with_merged(merge, rows)


def sorted_rows(rows: pl.DataFrame, shape: Shape) -> RunRows:
    """Returns rows, which may be in any order, as the rows of a run, in the order of a run."""
    number = shape.identity[1]
    if not rows[number].is_sorted():
        rows = rows.sort(number)
    return RunRows(_in_order(rows.hstack([pl.Series(HASH, row_hashes(rows, shape.by))]), shape))


def _in_order(rows: pl.DataFrame, shape: Shape) -> pl.DataFrame:
    """Returns rows with hashes, sorted by hash, then by time.

    Rows that are equal in both stay in the order of their numbers. A second sort, by hash and time, is needed
    only if the times are not in order within each hash.
    """
    rows = take_rows(rows, hash_order(rows[HASH].to_numpy()))
    hashes, times = rows[HASH].to_numpy(), rows[shape.identity[0]].to_numpy()
    same = hashes[1:] == hashes[:-1]
    if not (same & (times[1:] < times[:-1])).any():
        return rows
    code = np.concatenate([[0], np.cumsum(~same)])
    return take_rows(rows, order([code, times]))


def slices_of(rows: RunRows, shape: Shape, ranges: Ranges) -> FoundSlices:
    """Returns the slices that look-ups find in rows that are sorted as those of a run."""
    return FoundSlices(rows.frame, *_found(rows, shape.identity[0], ranges, slice(0, len(ranges.hashes))))


def _found(rows: RunRows, time: str, ranges: Ranges, chosen: slice | Places) -> tuple[Places, Places]:
    """Returns start and length of the slice of each look-up. Only the look-ups at `chosen` are made."""
    starts, lengths = np.zeros((2, len(ranges.hashes)), dtype=np.intp)
    wanted, stored = ranges.hashes[chosen], rows.hashes
    if not len(wanted) or not len(stored):
        return starts, lengths
    begins = np.flatnonzero(np.append(True, wanted[1:] != wanted[:-1]))
    counts = np.diff(np.append(begins, len(wanted)))
    low, high = (np.searchsorted(stored, wanted[begins], side=side) for side in ("left", "right"))
    times, first, last = rows.frame[time].to_numpy(), ranges.first[chosen], ranges.last[chosen]
    search = _by_line if len(stored) <= _MANY * len(wanted) else _by_bisection
    start, after = search(times, low, high, counts, first, last)
    starts[chosen], lengths[chosen] = start, np.maximum(after - start, 0)
    return starts, lengths


def _by_bisection(
    times: Places, low: Places, high: Places, counts: Places, first: Places, last: Places
) -> tuple[Places, Places]:
    """Returns the places where the rows of each look-up start and end, with two bisections for each.

    `low` and `high` are the places of the rows of each key, and `counts` the number of its look-ups.
    """
    low, high = np.repeat(low, counts), np.repeat(high, counts)
    start = bisect_left(times, low, high, first)
    return start, bisect_left(times, start, high, last, past_equal=True)


def _by_line(
    times: Places, low: Places, high: Places, counts: Places, first: Places, last: Places
) -> tuple[Places, Places]:
    """Returns the places that :func:`_by_bisection` returns; faster for about as many look-ups as rows.

    The rows of the keys and the look-ups become numbers that sort by key and time. So two searches in one
    sorted array answer all look-ups.
    """
    stored = times[expand_ranges(low, high - low)]
    if not len(stored):
        none = np.repeat(low, counts)
        return none, none
    # Times far from all rows would need numbers of many bits.
    first, last = (np.clip(instants, *_around(stored)) for instants in (first, last))
    keys = np.arange(len(low))
    code, wanted = np.repeat(keys, high - low), np.repeat(keys, counts)
    line = Line.spanning(keys, stored, first, last)
    points = line.points(code, stored)
    start = np.searchsorted(points, line.points(wanted, first))
    after = np.searchsorted(points, line.points(wanted, last), side="right")
    # From a place among the rows of these keys to the place among all rows.
    shift = np.repeat(low - (np.cumsum(high - low) - (high - low)), counts)
    return start + shift, after + shift


def _around(times: Places) -> tuple[int, int]:
    """Returns an instant before all of these and one after all, clipped to 64 bits."""
    return max(int(times.min()) - 1, MIN_INSTANT), min(int(times.max()) + 1, MAX_INSTANT)
