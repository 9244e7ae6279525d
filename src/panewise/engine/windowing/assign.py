"""Which fixed windows a row belongs to: slices, and the windows that hold a slice.

A *slice* is the longest stretch of time that no window bound cuts: the tumbling or calendar window itself, the cell of width
gcd(size, hop) of a hopping window, the step of a cumulating one. Rows are combined per slice; only slices, never rows, are
expanded to windows. Where windows are measured in rows, times are the numbers of rows.
Windows of many slices are computed at once in 64 bits. Near the ends of time, and for calendars, each slice's windows are computed in
Python's unbounded integers, so that nothing wraps (semantics 6.3).
"""

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import END, SLICE, START, TIME
from panewise.engine.kernels.small_frames import spread
from panewise.engine.windowing import calendars
from panewise.spec import Calendar, Cumulating, Custom, Global, Hopping, Session, Sliding, Tumbling, Window, length

Instants: TypeAlias = npt.NDArray[np.int64]  # microseconds, numbers of rows, or numbers of windows

_SAFE = 2**61  # up to here int64 arithmetic on times cannot wrap


@dataclass(frozen=True)
class Numbered:
    """Fixed windows that have numbers, ascending with their start and end: the windows of a slice are a range of numbers.

    Window n is [origin + n*step, origin + n*step + size). With `cumulating` it ends at origin + (n+1)*step, and starts at the last
    multiple of the size before that. With `from_zero` windows that start below 0 do not exist (semantics 8.9).
    """

    origin: int
    size: int
    step: int
    cumulating: bool = False
    from_zero: bool = False

    def ranges(self, slices: Instants) -> tuple[Instants, Instants]:
        """The number of each slice's first window, and the number after its last one."""
        last = (slices - self.origin) // self.step
        if self.cumulating:
            steps = self.size // self.step
            return last, (last // steps + 1) * steps
        first = (slices - self.origin - self.size) // self.step + 1
        if self.from_zero:
            first = np.maximum(first, -(self.origin // self.step))
        return first, np.maximum(first, last + 1)

    def bounds(self, numbers: Instants) -> tuple[Instants, Instants]:
        """Start and end of windows."""
        if self.cumulating:
            steps = self.size // self.step
            return self.origin + numbers // steps * self.size, self.origin + (numbers + 1) * self.step
        start = self.origin + numbers * self.step
        return start, start + self.size

    def first_after(self, horizon: Instants) -> Instants:
        """The number of the first window that ends after an instant."""
        reached = np.clip(horizon, -_SAFE, _SAFE) - self.origin
        return reached // self.step if self.cumulating else (reached - self.size) // self.step + 1

    def starting_at(self, start: Instants, end: Instants) -> Instants:
        """The numbers of windows with these bounds."""
        return (end - self.origin) // self.step - 1 if self.cumulating else (start - self.origin) // self.step


@dataclass(frozen=True)
class Slicing:
    """The fixed windows of a specification."""

    window: Tumbling | Hopping | Cumulating | Calendar | Global

    @property
    def width(self) -> int:
        """Width of a slice, in microseconds or rows; 0 where they differ, or there is one only."""
        match self.window:
            case Tumbling():
                return length(self.window.size)
            case Hopping():
                return math.gcd(length(self.window.size), length(self.window.hop))
            case Cumulating():
                return self.window.step.us
        return 0

    def slices(self, times: pl.DataFrame) -> pl.Series:
        """Start of each row's slice, in order of the rows. A start below 64 bits is told as -2^63, which lies in that slice.

        So is the start of a slice of a calendar that has no window there.
        """
        if isinstance(self.window, Calendar):
            return calendars.starts(self.window, times[TIME]).alias(SLICE)
        if isinstance(self.window, Global):
            return pl.repeat(MIN_INSTANT, times.height, dtype=pl.Int64, eager=True).alias(SLICE)
        origin, width = self.window.origin, self.width
        low, high = times[TIME].min(), times[TIME].max()
        if not (isinstance(low, int) and isinstance(high, int)) or max(abs(low), abs(high), abs(origin), width) < _SAFE:
            floored = (pl.col(TIME) - origin).floordiv(width) * width + origin
            return times.select(floored.alias(SLICE)).to_series()
        starts = (origin + (t - origin) // width * width for t in times[TIME].to_list())
        return pl.Series(SLICE, [max(MIN_INSTANT, start) for start in starts], dtype=pl.Int64)

    def windows(self, instant: int) -> list[tuple[int, int]]:
        """The windows that hold an instant, in order of their start and end; only those whose bounds fit in 64 bits."""
        return [(start, end) for start, end in self._holding(instant) if start >= MIN_INSTANT and end <= MAX_INSTANT]

    def _holding(self, instant: int) -> list[tuple[int, int]]:
        match self.window:
            case Tumbling():
                size, origin = length(self.window.size), self.window.origin
                start = origin + (instant - origin) // size * size
                return [(start, start + size)]
            case Hopping():
                return _hopping(self.window, instant)
            case Calendar():
                return calendars.holding(self.window, instant)
            case Cumulating():
                size, step, origin = self.window.size.us, self.window.step.us, self.window.origin
                start = origin + (instant - origin) // size * size
                first = start + (instant - start) // step * step + step
                return [(start, end) for end in range(first, start + size + 1, step)]
        return [(MIN_INSTANT, MAX_INSTANT)]

    def numbered(self, slices: Instants) -> Numbered | None:
        """The windows of slices as ranges of window numbers; None where windows have no numbers, or lie near the ends of time."""
        window = self.window
        if isinstance(window, (Calendar, Global)):
            return None
        furthest = max(abs(int(slices.min())), abs(int(slices.max()))) if len(slices) else 0
        if isinstance(window, Cumulating):
            size, step = window.size.us, window.step.us
            numbered = Numbered(window.origin, size, step, cumulating=True)
        else:
            size = length(window.size)
            hop = length(window.hop) if isinstance(window, Hopping) else size
            full = isinstance(window, Hopping) and window.only_when_full
            numbered = Numbered(window.origin, size, hop, from_zero=full)
        return numbered if max(furthest, abs(window.origin), size, numbered.step) < _SAFE else None

    def without_window(self, slices: pl.Series) -> list[int]:
        """Those of the slices that are in no window."""
        different = slices.unique().sort()
        numbered = self.numbered(different.to_numpy())
        if numbered is None:
            return [at for at in different.to_list() if not self.windows(at)]
        first, stop = numbered.ranges(different.to_numpy())
        return different.filter(pl.Series(first >= stop)).to_list()

    def table(self, slices: pl.Series) -> pl.DataFrame:
        """Slice, start and end of the windows of these slices, in this order."""
        different = slices.unique().sort()
        numbered = self.numbered(different.to_numpy())
        if numbered is not None:
            return _table(numbered, different.to_numpy())
        found = [(at, start, end) for at in different.to_list() for start, end in self.windows(at)]
        columns = zip(*found, strict=True) if found else ((), (), ())
        return pl.DataFrame([pl.Series(name, told, dtype=pl.Int64) for name, told in zip((SLICE, START, END), columns, strict=True)])

    def missing_reason(self, instant: int) -> str:
        """Why no window holds an instant (semantics 15)."""
        gap = isinstance(self.window, Hopping) and not self._holding(instant)
        return "gap" if gap else "window out of range"


def _hopping(window: Hopping, instant: int) -> list[tuple[int, int]]:
    size, hop, origin = length(window.size), length(window.hop), window.origin
    last = origin + (instant - origin) // hop * hop
    count = max(0, -((instant - last - size) // hop))  # starts last, last - hop, ... above instant - size
    found = [(start, start + size) for start in range(last - (count - 1) * hop, last + 1, hop)]
    return [bounds for bounds in found if bounds[0] >= 0] if window.only_when_full else found


def _table(numbered: Numbered, slices: Instants) -> pl.DataFrame:
    first, stop = numbered.ranges(slices)
    counts = np.maximum(0, stop - first)
    start, end = numbered.bounds(spread(first, counts))
    columns = {SLICE: np.repeat(slices, counts), START: start, END: end}
    return pl.DataFrame([pl.Series(name, column, dtype=pl.Int64) for name, column in columns.items()])


def slicing_of(window: Window) -> Slicing | None:
    """The slicing of fixed windows; None where the rows make the windows."""
    return None if isinstance(window, (Session, Sliding, Custom)) else Slicing(window)
