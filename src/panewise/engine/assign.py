"""Which fixed windows a row belongs to: slices, and the windows that hold a slice.

A *slice* is the longest stretch of time that no window bound cuts: the tumbling window itself, the cell of width gcd(size, hop) of a
hopping window, the step of a cumulating one. Rows are combined per slice; only slices, never rows, are expanded to windows.
Window arithmetic on slices is done in Python's unbounded integers, so that nothing wraps near the ends of time (semantics 6.3).
"""

import math
from dataclasses import dataclass

import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.validity import TIME
from panewise.spec import Cumulating, Global, Hopping, Tumbling, Window

SLICE, START, END = "__slice", "__start", "__end"
_SAFE = 2**61  # up to here int64 arithmetic on times cannot wrap


@dataclass(frozen=True)
class Slicing:
    """The fixed windows of a specification."""

    window: Tumbling | Hopping | Cumulating | Global

    @property
    def width(self) -> int:
        """Width of a slice in microseconds."""
        match self.window:
            case Tumbling():
                return self.window.size.us
            case Hopping():
                return math.gcd(self.window.size.us, self.window.hop.us)
            case Cumulating():
                return self.window.step.us
        return 0

    def slices(self, times: pl.DataFrame) -> pl.Series:
        """Start of each row's slice, in order of the rows. Null where it does not fit in 64 bits."""
        if isinstance(self.window, Global):
            return pl.repeat(MIN_INSTANT, times.height, dtype=pl.Int64, eager=True).alias(SLICE)
        origin, width = self.window.origin, self.width
        low, high = times.select(pl.col(TIME).min().alias("low"), pl.col(TIME).max().alias("high")).row(0)
        if low is None or (max(abs(low), abs(high), abs(origin), width) < _SAFE):
            floored = (pl.col(TIME) - origin).floordiv(width) * width + origin
            return times.select(floored.alias(SLICE)).to_series()
        starts = [origin + (t - origin) // width * width for t in times[TIME].to_list()]
        return pl.Series(SLICE, [s if s > MIN_INSTANT else None for s in starts], dtype=pl.Int64)

    def windows(self, slice_start: int) -> list[tuple[int, int]]:
        """The windows that hold a slice, in order of their start and end; only those whose bounds fit in 64 bits."""
        match self.window:
            case Tumbling():
                found = [(slice_start, slice_start + self.window.size.us)]
            case Hopping():
                found = _hopping(self.window, slice_start)
            case Cumulating():
                size, step = self.window.size.us, self.window.step.us
                cycle = self.window.origin + (slice_start - self.window.origin) // size * size
                found = [(cycle, end) for end in range(slice_start + step, cycle + size + 1, step)]
            case Global():
                return [(MIN_INSTANT, MAX_INSTANT)]
        return [(start, end) for start, end in found if start > MIN_INSTANT and end <= MAX_INSTANT]

    def missing_reason(self, slice_start: int | None) -> str:
        """Why a slice has no window (semantics 15)."""
        if isinstance(self.window, Hopping) and slice_start is not None and not _hopping(self.window, slice_start):
            return "gap"
        return "window out of range"


def _hopping(window: Hopping, slice_start: int) -> list[tuple[int, int]]:
    size, hop, origin = window.size.us, window.hop.us, window.origin
    last = origin + (slice_start - origin) // hop * hop
    count = max(0, -((slice_start - last - size) // hop))  # starts last, last - hop, ... above slice_start - size
    return [(start, start + size) for start in range(last - (count - 1) * hop, last + 1, hop)]


def slicing_of(window: Window) -> Slicing | None:
    """The slicing of fixed windows; None for sessions, whose windows the rows make."""
    return None if window.kind == "session" else Slicing(window)  # type: ignore[arg-type]
