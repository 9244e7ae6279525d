"""Assigns rows to fixed windows: each row to a slice, and each slice to the windows that contain it.

A *slice* is an interval that no window bound cuts. It is the window itself for tumbling and calendar windows,
a cell of width gcd(size, hop) for hopping windows, and a step for cumulating windows. All rows of a slice
belong to the same windows. So rows are combined per slice, and only slices are expanded to windows. With
windows of rows, times are row numbers.

The windows of many slices are computed together in int64 arithmetic. Near the ends of the 64-bit range, and
for calendars, each slice's windows are computed in Python integers, which cannot overflow (semantics 6.3).

Invariant: the windows of a slice are those of each row in it, and are neighbours in the order of their
starts. Cost: a pass over the rows, and a row for each window of each distinct slice.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import END, REASON, SLICE, START, TIME
from panewise.engine.ingest.validate import all_valid, split_by_reason
from panewise.engine.kernels.instants import Instants
from panewise.engine.kernels.small_frames import expand_ranges
from panewise.engine.windowing import calendars
from panewise.spec import (
    AnyWindow,
    Calendar,
    Cumulating,
    Custom,
    Global,
    Hopping,
    Session,
    Sliding,
    Tumbling,
    length,
)

N = TypeVar("N", int, Instants)  # one number or many
_FEW = 1 << 14  # rows, up to which numpy is faster than a query of Polars
_SAFE = 2**61  # int64 arithmetic on times up to here cannot overflow


@dataclass(frozen=True)
class NumberedWindows:
    """Fixed windows with consecutive numbers: the windows of a slice are a range of numbers.

    Invariant: neither start nor end decreases from one number to the next.

    Window n is [origin + n*step, origin + n*step + size). With `cumulating` it ends at origin + (n+1)*step,
    and starts at the last multiple of the size, counted from the origin, before that end. With `from_zero`,
    no window starts below 0 (semantics 8.9).
    """

    origin: int
    size: int
    step: int
    cumulating: bool = False
    from_zero: bool = False

    def ranges(self, slices: N) -> tuple[N, N]:
        """Returns the number of each slice's first window, and the number after its last one.

        The two are equal for a slice without windows.
        """
        highest: Any = max if isinstance(slices, int) else np.maximum
        last = (slices - self.origin) // self.step
        if self.cumulating:
            # A slice is a step. Its windows are those from this step on with the same start.
            steps = self.size // self.step
            return last, (last // steps + 1) * steps
        # The first window is the first one that ends after the start of the slice.
        first = (slices - self.origin - self.size) // self.step + 1
        if self.from_zero:
            first = highest(first, -(self.origin // self.step))
        return first, highest(first, last + 1)

    def bounds(self, numbers: N) -> tuple[N, N]:
        """Returns the starts and the ends of the windows with these numbers."""
        if self.cumulating:
            steps = self.size // self.step
            return self.origin + numbers // steps * self.size, self.origin + (numbers + 1) * self.step
        start = self.origin + numbers * self.step
        return start, start + self.size

    def first_after(self, horizon: Instants) -> Instants:
        """Returns the numbers of the first windows that end after the given instants."""
        reached = np.clip(horizon, -_SAFE, _SAFE) - self.origin
        # Cumulating window n ends at (n+1)*step, others at n*step + size, both from the origin on.
        return reached // self.step if self.cumulating else (reached - self.size) // self.step + 1

    def starting_at(self, start: Instants, end: Instants) -> Instants:
        """Returns the numbers of the windows with these bounds."""
        return (end - self.origin) // self.step - 1 if self.cumulating else (start - self.origin) // self.step


@dataclass(frozen=True)
class Slicing:
    """The slices and windows of a specification with fixed windows."""

    window: Tumbling | Hopping | Cumulating | Calendar | Global

    @cached_property
    def width(self) -> int:
        """The width of a slice, in microseconds or rows; 0 for calendar and global windows."""
        match self.window:
            case Tumbling():
                return length(self.window.size)
            case Hopping():
                return math.gcd(length(self.window.size), length(self.window.hop))
            case Cumulating():
                return self.window.step.us
        return 0

    def assign(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Returns the rows with their ``__slice``, and the unassignable rows with the reason."""
        rows = (rows.drop(SLICE) if SLICE in rows.columns else rows).hstack([self.slices(rows)])
        reasons = {at: self.missing_reason(at) for at in self.without_window(rows[SLICE])}
        if not reasons:
            return all_valid(rows)
        columns = {SLICE: list(reasons), REASON: list(reasons.values())}
        table = pl.DataFrame(columns, schema={SLICE: pl.Int64, REASON: pl.String})
        assigned, others = split_by_reason(rows.join(table, on=SLICE, how="left", maintain_order="left"))
        return assigned, others.drop(SLICE)

    def slices(self, times: pl.DataFrame) -> pl.Series:
        """Returns the start of each row's slice, in the order of the rows.

        A start that does not fit in 64 bits is returned as -2^63, which lies in that slice. So is the start
        of a calendar slice that has no window.
        """
        if isinstance(self.window, Calendar):
            return calendars.starts(self.window, times[TIME]).alias(SLICE)
        if isinstance(self.window, Global):
            return pl.repeat(MIN_INSTANT, times.height, dtype=pl.Int64, eager=True).alias(SLICE)
        origin, width = self.window.origin, self.width
        low, high = times[TIME].min(), times[TIME].max()
        if (
            not (isinstance(low, int) and isinstance(high, int))
            or max(abs(low), abs(high), abs(origin), width) < _SAFE
        ):
            if times.height < _FEW and not times[TIME].has_nulls():
                at = times[TIME].to_numpy()
                return pl.Series(SLICE, (at - origin) // width * width + origin)
            floored = (pl.col(TIME) - origin).floordiv(width) * width + origin
            return times.select(floored.alias(SLICE)).to_series()
        starts = (origin + (t - origin) // width * width for t in times[TIME].to_list())
        return pl.Series(SLICE, [max(MIN_INSTANT, start) for start in starts], dtype=pl.Int64)

    def windows(self, instant: int) -> list[tuple[int, int]]:
        """Returns the windows that contain an instant, in the order of (start, end).

        Windows whose bounds do not fit in 64 bits are left out.
        """
        return [
            (start, end)
            for start, end in self._windows_containing(instant)
            if start >= MIN_INSTANT and end <= MAX_INSTANT
        ]

    def _windows_containing(self, instant: int) -> list[tuple[int, int]]:
        """Returns all windows that contain an instant, in Python integers, which cannot overflow."""
        if isinstance(self.window, Calendar):
            return calendars.windows_containing(self.window, instant)
        if self._numbered is None:
            return [(MIN_INSTANT, MAX_INSTANT)]
        first, stop = self._numbered.ranges(instant)
        return [self._numbered.bounds(number) for number in range(first, stop)]

    def numbered(self, slices: Instants) -> NumberedWindows | None:
        """Returns the windows of slices as ranges of window numbers.

        Returns None for calendar and global windows, which have no numbers, and near the ends of the 64-bit
        range.
        """
        numbered = self._numbered
        if numbered is None:
            return None
        furthest = max(abs(int(slices.min())), abs(int(slices.max()))) if len(slices) else 0
        return numbered if max(furthest, abs(numbered.origin), numbered.size, numbered.step) < _SAFE else None

    @cached_property
    def _numbered(self) -> NumberedWindows | None:
        window = self.window
        if isinstance(window, (Calendar, Global)):
            return None
        if isinstance(window, Cumulating):
            return NumberedWindows(window.origin, window.size.us, window.step.us, cumulating=True)
        size = length(window.size)
        if isinstance(window, Tumbling):
            return NumberedWindows(window.origin, size, size)
        return NumberedWindows(window.origin, size, length(window.hop), from_zero=window.only_when_full)

    def without_window(self, slices: pl.Series) -> list[int]:
        """Returns those of the slices that are in no window, each once."""
        if self.numbered(slices.to_numpy()) is not None and not self._has_gaps:
            return []
        different = slices.unique().sort()
        numbered = self.numbered(different.to_numpy())
        if numbered is None:
            return [at for at in different.to_list() if not self.windows(at)]
        first, stop = numbered.ranges(different.to_numpy())
        return different.filter(pl.Series(first >= stop)).to_list()

    @cached_property
    def _has_gaps(self) -> bool:
        """Whether there are instants in no window, although windows have numbers."""
        numbered = self._numbered
        return (
            numbered is None
            or numbered.from_zero
            or (not numbered.cumulating and numbered.step > numbered.size)
        )

    def table(self, different: Instants) -> pl.DataFrame:
        """Returns slice, start and end of the windows of different slices, sorted by these columns.

        The slices are in ascending order.
        """
        numbered = self.numbered(different)
        if numbered is not None:
            return _table(numbered, different)
        bounds = [(at, start, end) for at in different.tolist() for start, end in self.windows(at)]
        columns = zip(*bounds, strict=True) if bounds else ((), (), ())
        return pl.DataFrame(
            [
                pl.Series(name, values, dtype=pl.Int64)
                for name, values in zip((SLICE, START, END), columns, strict=True)
            ]
        )

    def last_ends(self, slices: pl.Series) -> pl.Series:
        """Returns for each of the slices the end of its last window. Each slice has a window."""
        different = slices.unique().sort()
        numbered = self.numbered(different.to_numpy())
        if numbered is not None:
            of_rows = slices.to_numpy()
            return pl.Series(END, numbered.bounds(numbered.ranges(of_rows)[1] - 1)[1], dtype=pl.Int64)
        last = self.table(different.to_numpy()).group_by(SLICE).agg(pl.col(END).max())
        return slices.alias(SLICE).to_frame().join(last, on=SLICE, how="left", maintain_order="left")[END]

    def missing_reason(self, instant: int) -> str:
        """Returns the reason why no window contains an instant (semantics 15)."""
        gap = isinstance(self.window, Hopping) and not self._windows_containing(instant)
        return "gap" if gap else "window out of range"


def _table(numbered: NumberedWindows, slices: Instants) -> pl.DataFrame:
    first, stop = numbered.ranges(slices)
    counts = np.maximum(0, stop - first)
    start, end = numbered.bounds(expand_ranges(first, counts))
    columns = {SLICE: np.repeat(slices, counts), START: start, END: end}
    return pl.DataFrame([pl.Series(name, column, dtype=pl.Int64) for name, column in columns.items()])


def slicing_of(window: AnyWindow) -> Slicing | None:
    """Returns the slicing of fixed windows; None if rows or a function make the windows."""
    return None if isinstance(window, (Session, Sliding, Custom)) else Slicing(window)
