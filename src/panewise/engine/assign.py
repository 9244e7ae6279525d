"""Which fixed windows a row belongs to: slices, and the windows that hold a slice.

A *slice* is the longest stretch of time that no window bound cuts: the tumbling or calendar window itself, the cell of width
gcd(size, hop) of a hopping window, the step of a cumulating one. Rows are combined per slice; only slices, never rows, are
expanded to windows. Where windows are measured in rows, times are the numbers of rows.
Window arithmetic on slices is done in Python's unbounded integers, so that nothing wraps near the ends of time (semantics 6.3).
"""

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine import calendars
from panewise.engine.validity import TIME
from panewise.spec import Calendar, Cumulating, Custom, Global, Hopping, Session, Sliding, Tumbling, Window, counted, length

SLICE, START, END = "__slice", "__start", "__end"
_SAFE = 2**61  # up to here int64 arithmetic on times cannot wrap


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

    def table(self, slices: pl.Series) -> pl.DataFrame:
        """Slice, start and end of the windows of these slices, in this order."""
        if counted(self.window):
            return _counted_windows(self.window, slices.unique().sort())
        found = [(at, start, end) for at in slices.unique().sort().to_list() for start, end in self.windows(at)]
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
    return [(start, start + size) for start in range(last - (count - 1) * hop, last + 1, hop)]


def _counted_windows(window: Window, slices: pl.Series) -> pl.DataFrame:
    """Of windows of rows there are many slices, as every key has got to another number; and no number is near the ends of 64 bits."""
    assert isinstance(window, (Tumbling, Hopping))
    size = length(window.size)
    hop = length(window.hop) if isinstance(window, Hopping) else size
    at = slices.to_numpy()
    last = window.origin + (at - window.origin) // hop * hop
    counts = np.maximum(0, -((at - last - size) // hop))  # starts last, last - hop, ... above the slice less size
    each = np.repeat(np.arange(len(at)), counts)
    nth = np.arange(len(each)) - np.repeat(np.cumsum(counts) - counts, counts)
    start = (last - (counts - 1) * hop)[each] + nth * hop
    return pl.DataFrame({SLICE: at[each], START: start, END: start + size}, schema={SLICE: pl.Int64, START: pl.Int64, END: pl.Int64})


def slicing_of(window: Window) -> Slicing | None:
    """The slicing of fixed windows; None where the rows make the windows."""
    return None if isinstance(window, (Session, Sliding, Custom)) else Slicing(window)
