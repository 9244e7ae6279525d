"""Sliding windows: the windows that the times of a key's rows make (semantics 7 to 7.3).

State is a table of *slices*, each with the partials of the rows of one key and time. ``__start`` is that
time. ``__end`` says until when the slice is needed: a slice expires as a window with this end does. A window
is a range of slices, closed at both ends. In tables it is half-open like all others, [s, e + 1 microsecond).

Invariant: when slices are sorted by key and time, the slices of a window are contiguous. So a window is found
by two binary searches, and is represented by two places (:func:`places_of_pieces`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import END, SLIDE_CODE, START
from panewise.engine.kernels.small_frames import take_rows
from panewise.engine.kernels.sorting import Line, Places, codes, order
from panewise.spec import Rows, Sliding, closed_at_end

BLOCKS = 64  # blocks per window length


@dataclass(frozen=True)
class Slide:
    """The sliding windows of a specification."""

    window: Sliding
    keys: list[str]

    @property
    def size(self) -> int:
        """The distance from the first instant, or row, of a window to its last one."""
        size = self.window.size
        return size.n - 1 if isinstance(size, Rows) else size.us

    @property
    def reach(self) -> int:
        """The greatest distance of a bound of a window from a row that it contains or that makes it."""
        return self.size + 2

    def without_own(self, time: pl.Expr) -> pl.Expr:
        """Returns whether the window that a row makes for itself does not fit in 64 bits (semantics 6.3)."""
        if self.window.anchor == "start":
            return time > MAX_INSTANT - self.size - 1
        return (time < MIN_INSTANT + self.size) | (time == MAX_INSTANT)

    def own(self, time: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
        """Returns start and end of the window that a row makes for itself; see :meth:`without_own`."""
        return (time, time + self.size + 1) if self.window.anchor == "start" else (time - self.size, time + 1)

    def output_bounds(self, start: pl.Expr, end: pl.Expr) -> pl.Expr:
        """Returns a window as outputs show it: with its last instant if closed at its end (semantics 7.2)."""
        return pl.struct(start.alias("start"), (end - 1 if closed_at_end(self.window) else end).alias("end"))

    def right(self, time: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
        """Returns start and end of the window that begins right after a row; see :meth:`without_right`."""
        return time + 1, time + self.size + 2

    def without_right(self, time: pl.Expr) -> pl.Expr:
        """Returns whether there is no such window, or it does not fit in 64 bits."""
        return time > MAX_INSTANT - self.size - 2 if self.window.anchor == "both" else pl.lit(True)

    @property
    def lasts(self) -> int:
        """The length of time for which a slice is needed after its own time.

        Until then a row can arrive that is in a window made by the slice, or that makes a window with the
        slice in it.
        """
        return {"end": 1, "start": self.size + 1, "both": self.size + 2}[self.window.anchor] + self.size

    @property
    def _stretch(self) -> int:
        """The length of a block (:mod:`panewise.engine.windows.sliding.slices`)."""
        return max(1, self.size // BLOCKS)

    def block(self, time: pl.Expr) -> pl.Expr:
        """Returns the start of the block that contains the slice of each time."""
        return (
            pl.when(time < MIN_INSTANT + self._stretch)
            .then(pl.lit(MIN_INSTANT))
            .otherwise(time // self._stretch * self._stretch)
        )

    @property
    def block_lasts(self) -> int:
        """The length of time for which a block is needed after its start: as its last possible slice is."""
        return self.lasts + self._stretch - 1

    def inside(self, before: int, now: int) -> tuple[int, int]:
        """Returns an interval of whole blocks that all windows with before < end <= now contain.

        It is half-open, and empty if its end is not after its start. The slices that make these windows lie
        outside it.
        """
        return -(-(now - self.size) // self._stretch) * self._stretch, before // self._stretch * self._stretch

    def next_completion(
        self, next_end: Callable[[int | None], int | None], watermark: int | None
    ) -> int | None:
        """Returns a watermark at or before the first one above `watermark` at which a window is complete.

        `next_end` returns the next ``__end`` of a slice. Returns None if no slice makes such a window.
        """
        lengths = {"end": [1], "start": [self.size + 1], "both": [1, self.size + 2]}[self.window.anchor]
        ends = []
        # `length` is the distance of the end of a window from the slice that makes it. The table knows the
        # ends of slices only, which are later by `rest`.
        for length in lengths:
            rest = self.lasts - length
            end = next_end(None if watermark is None else min(MAX_INSTANT, watermark + rest))
            if end is not None:
                ends.append(end - rest)
        return min(ends, default=None)

    def windows_of(self, slices: pl.DataFrame) -> pl.DataFrame:
        """Returns the windows that slices make, with the other columns of the slices.

        A window occurs once for each of the slices that make it. With `anchor="both"` it can be empty.
        """
        at = pl.col(START)
        start, end = self.own(at)
        windows = [slices.with_columns(start.alias(START), end.alias(END))]
        if self.window.anchor == "both":
            start, end = self.right(at)
            windows.append(
                slices.filter(~self.without_right(at)).with_columns(start.alias(START), end.alias(END))
            )
        return pl.concat(windows)


def coded(keys: list[str], *frames: pl.DataFrame) -> list[pl.DataFrame]:
    """Adds ``__code`` to frames: a number for each key, the same in all frames.

    Numbers are sorted and compared faster than keys.
    """
    numbers = pl.Series(
        SLIDE_CODE, codes(pl.concat([frame.select(keys) for frame in frames], rechunk=True), keys)
    )
    ends = accumulate(frame.height for frame in frames)
    return [
        frame.with_columns(numbers.slice(end - frame.height, frame.height))
        for frame, end in zip(frames, ends, strict=True)
    ]


def in_order(pieces: pl.DataFrame) -> pl.DataFrame:
    """Returns slices or windows sorted by ``__code`` and start."""
    return take_rows(pieces, order([pieces[SLIDE_CODE].to_numpy(), pieces[START].to_numpy()]))


def places_of_pieces(pieces: pl.DataFrame, ranges: pl.DataFrame) -> tuple[Places, Places]:
    """Returns for each range of time the places of the first piece in it and after the last piece in it.

    `pieces` are sorted by ``__code`` and start. A piece is in a range if it has the same ``__code`` and
    starts at or after the start of the range and before its end.
    """
    bounds = [pieces[START].to_numpy(), ranges[START].to_numpy(), ranges[END].to_numpy()]
    of_pieces, of_ranges = pieces[SLIDE_CODE].to_numpy(), ranges[SLIDE_CODE].to_numpy()
    line = Line.spanning(np.concatenate([of_pieces, of_ranges]), *bounds)
    at = line.points(of_pieces, bounds[0])
    return np.searchsorted(at, line.points(of_ranges, bounds[1])), np.searchsorted(
        at, line.points(of_ranges, bounds[2])
    )
