"""Sliding windows: what the times of a key's rows make (semantics 7 to 7.3).

State is a table of *slices*, each the partials of the rows of one key and time: ``__start`` is the time, ``__end`` says until
when the slice is needed, as the end of a window does. A window is a span of slices, closed at both ends; in tables it is half-open
like all others, [s, e + 1 microsecond).
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import END, SLIDE_CODE, START
from panewise.engine.kernels.small_frames import picked
from panewise.engine.kernels.sorting import Line, Places, codes, order
from panewise.spec import Rows, Sliding, closed_at_end

BLOCKS = 64  # to a window


def later(time: pl.Expr, by: int) -> pl.Expr:
    """A time so much later, at most the last one of 64 bits."""
    if by > MAX_INSTANT:
        return later(later(time, MAX_INSTANT), by - MAX_INSTANT)
    return pl.when(time > MAX_INSTANT - by).then(pl.lit(MAX_INSTANT)).otherwise(time + by)


def earlier(time: pl.Expr, by: int) -> pl.Expr:
    """A time so much earlier, at least the first one of 64 bits."""
    return pl.when(time < MIN_INSTANT + by).then(pl.lit(MIN_INSTANT)).otherwise(time - by)


@dataclass(frozen=True)
class Slide:
    """The sliding windows of a specification."""

    window: Sliding
    keys: list[str]

    @property
    def size(self) -> int:
        """Distance of a window's last instant, or row, from its first."""
        size = self.window.size
        return size.n - 1 if isinstance(size, Rows) else size.us

    @property
    def reach(self) -> int:
        """No window that holds a row, or is made by one, begins or ends further from the row than this."""
        return self.size + 2

    def without_own(self, time: pl.Expr) -> pl.Expr:
        """Whether the window that a row makes for itself does not fit in 64 bits (semantics 6.3)."""
        if self.window.anchor == "start":
            return time > MAX_INSTANT - self.size - 1
        return (time < MIN_INSTANT + self.size) | (time == MAX_INSTANT)

    def own(self, time: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
        """Start and end of that window, if it fits."""
        return (time, time + self.size + 1) if self.window.anchor == "start" else (time - self.size, time + 1)

    def shown(self, start: pl.Expr, end: pl.Expr) -> pl.Expr:
        """A window as it is told: of one that is closed at its end its last instant (semantics 7.2)."""
        return pl.struct(start.alias("start"), (end - 1 if closed_at_end(self.window) else end).alias("end"))

    def right(self, time: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
        """Start and end of the window that begins right after a row, if it fits; see :meth:`without_right`."""
        return time + 1, time + self.size + 2

    def without_right(self, time: pl.Expr) -> pl.Expr:
        """Whether that one does not fit, or there is none."""
        return time > MAX_INSTANT - self.size - 2 if self.window.anchor == "both" else pl.lit(True)

    @property
    def _lasts(self) -> int:
        """How long a slice is needed: as long as a row may come that would be in a window that it made, or would share one with it."""
        return {"end": self.size + 1, "start": 2 * self.size + 1, "both": 2 * self.size + 2}[self.window.anchor]

    def needed_until(self, time: pl.Expr) -> pl.Expr:
        """When a slice may go."""
        return later(time, self._lasts)

    def needed(self, time: int) -> int:
        """The same of one time."""
        return min(MAX_INSTANT, time + self._lasts)

    @property
    def _stretch(self) -> int:
        """How long a block is (:mod:`panewise.engine.windows.sliding.slices`)."""
        return max(1, self.size // BLOCKS)

    def block(self, time: pl.Expr) -> pl.Expr:
        """Where the block begins that has the slice of a time."""
        return pl.when(time < MIN_INSTANT + self._stretch).then(pl.lit(MIN_INSTANT)).otherwise(time // self._stretch * self._stretch)

    def block_needed_until(self, start: pl.Expr) -> pl.Expr:
        """When a block may go: with the last of its slices."""
        return later(start, self._lasts + self._stretch - 1)

    def block_needed(self, start: int) -> int:
        """The same of one block."""
        return min(MAX_INSTANT, start + self._lasts + self._stretch - 1)

    def inside(self, before: int, now: int) -> tuple[int, int]:
        """From when until when (half-open) blocks lie inside all windows that end after one watermark and at or before another.

        The slices that make these windows lie outside. There is no such time where the second is not after the first.
        """
        return -(-(now - self.size) // self._stretch) * self._stretch, before // self._stretch * self._stretch

    def next_completion(self, next_end: Callable[[int | None], int | None], watermark: int | None) -> int | None:
        """A watermark at or before the first one above this at which a window is complete; `next_end` looks among the slices."""
        lengths = {"end": [1], "start": [self.size + 1], "both": [1, self.size + 2]}[self.window.anchor]
        found = []
        for length in lengths:  # how long after its slice a window ends
            rest = self._lasts - length
            end = next_end(None if watermark is None else min(MAX_INSTANT, watermark + rest))
            if end is not None:
                found.append(end - rest)
        return min(found, default=None)

    def made(self, slices: pl.DataFrame) -> pl.DataFrame:
        """The windows that slices make, with the slices' other columns; one may be there several times, and be empty."""
        at = pl.col(START)
        start, end = self.own(at)
        found = [slices.with_columns(start.alias(START), end.alias(END))]
        if self.window.anchor == "both":
            start, end = self.right(at)
            found.append(slices.filter(~self.without_right(at)).with_columns(start.alias(START), end.alias(END)))
        return pl.concat(found)


def coded(keys: list[str], *frames: pl.DataFrame) -> list[pl.DataFrame]:
    """Frames with a number for each key in ``__code``, the same in all of them: numbers are sorted and compared faster than keys."""
    numbers = pl.Series(SLIDE_CODE, codes(pl.concat([frame.select(keys) for frame in frames], rechunk=True), keys))
    ends = accumulate(frame.height for frame in frames)
    return [frame.with_columns(numbers.slice(end - frame.height, frame.height)) for frame, end in zip(frames, ends, strict=True)]


def in_order(pieces: pl.DataFrame) -> pl.DataFrame:
    """Slices, or windows, of each ``__code`` in order of their start."""
    return picked(pieces, order([pieces[SLIDE_CODE].to_numpy(), pieces[START].to_numpy()]))


def positions(pieces: pl.DataFrame, spans: pl.DataFrame) -> tuple[Places, Places]:
    """Where in pieces, which are in order, those of each span's ``__code`` from its start to before its end begin and end."""
    bounds = [pieces[START].to_numpy(), spans[START].to_numpy(), spans[END].to_numpy()]
    of_pieces, of_spans = pieces[SLIDE_CODE].to_numpy(), spans[SLIDE_CODE].to_numpy()
    line = Line.of(np.concatenate([of_pieces, of_spans]), *bounds)
    at = line.places(of_pieces, bounds[0])
    return np.searchsorted(at, line.places(of_spans, bounds[1])), np.searchsorted(at, line.places(of_spans, bounds[2]))
