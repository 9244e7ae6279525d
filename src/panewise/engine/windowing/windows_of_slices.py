"""Expands slices to windows: returns the windows that contain each slice.

Rows and partials arrive with their slice (:mod:`panewise.engine.windowing.slicing`).
:func:`windows_of_slices` returns the windows of a batch's slices. The method `pieces` of the result turns the
partial of a slice into a partial of each unexpired window that contains the slice.

If no slice is in more than `MANY` windows, a :class:`SliceTable` lists the windows. Otherwise they are ranges
of window numbers (:class:`~panewise.engine.windowing.overlaps.Overlaps`).

Invariant: both return the same windows. Cost: a list is as long as the windows of the distinct slices of a
batch. A row or a partial costs two bisections in it, and its unexpired windows.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.columns import ALL_WINDOWS, END, EXPIRED_WINDOWS, KEY_WATERMARK, SLICE, START
from panewise.engine.kernels.small_frames import (
    constant_column,
    expand_ranges,
    filter_rows,
    sorted_distinct,
    take_rows,
)
from panewise.engine.progress.clocks import Clocks
from panewise.engine.windowing.overlaps import Overlaps, first_many
from panewise.engine.windowing.slicing import Slicing
from panewise.spec import WindowOperator

_SHUT = "__shut"
MANY = 64  # if a slice is in more windows than this, windows are ranges (Overlaps) and not a list


@dataclass(frozen=True)
class SliceTable:
    """The windows of a batch's slices: one row for each slice and window.

    A column says whether the window has expired by the watermark of the operator. If each key has its own
    watermark, :meth:`lost` decides that.
    """

    frame: pl.DataFrame

    @classmethod
    def of_windows(cls, frame: pl.DataFrame, spec: WindowOperator, clocks: Clocks) -> "SliceTable":
        """Returns the table of windows, which are given by slice, start and end, sorted by slice."""
        horizon = clocks.horizon(spec)
        expired = (
            constant_column(EXPIRED_WINDOWS, False, pl.Boolean(), frame.height)
            if horizon is None
            else frame[END] <= horizon
        )
        return cls(frame.hstack([expired.alias(EXPIRED_WINDOWS)]))

    @property
    def alive(self) -> pl.DataFrame:
        """Slice, start and end of the windows that have not expired, sorted by slice."""
        frame = filter_rows(self.frame, ~self.frame[EXPIRED_WINDOWS]) if self.any_expired else self.frame
        return frame[[SLICE, START, END]]

    @property
    def disjoint(self) -> bool:
        """Whether no window contains two of the slices."""
        return self.frame[END].n_unique() == self.frame.height

    def windows_of(self, keys: list[str], rows: pl.DataFrame) -> pl.DataFrame:
        """Returns the windows of the rows' keys and slices that have not expired, each once."""
        pairs = (
            rows.select(*keys, SLICE)
            .unique(maintain_order=True)
            .join(self.alive, on=SLICE, maintain_order="left_right")
        )
        return pairs.select([*keys, START, END]).unique(maintain_order=True)

    def pieces(self, keys: list[str], aggregation: Aggregation, partials: pl.DataFrame) -> pl.DataFrame:
        """Returns the partials of each unexpired window, given those of keys and slices.

        A window occurs once for each of its slices. The caller merges these.
        """
        return self.expanded(partials)

    def pieces_in_order(self, keys: list[str], aggregation: Aggregation, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns one partial for each key and window that has not expired, of rows in arrival order."""
        return aggregation.lift(self.expanded(rows), [*keys, START, END])

    def lost(
        self,
        slices: pl.DataFrame,
        keys: list[str],
        closed: pl.DataFrame,
        spec: WindowOperator,
        clocks: Clocks,
    ) -> pl.DataFrame:
        """Returns the windows for which rows of these keys and slices are late.

        ``__expired_windows`` is true for windows that have expired, and false for closed ones.
        ``__all_windows`` is the number of all windows of the slice.
        """
        pairs = slices.join(self.frame, on=SLICE, maintain_order="left_right")
        if KEY_WATERMARK in slices.columns:
            pairs = pairs.with_columns(clocks.expired(spec, pl.col(END)).alias(EXPIRED_WINDOWS))
        shut = closed.select(*keys, START, END, pl.lit(True).alias(_SHUT))
        pairs = pairs.join(shut, on=[*keys, START, END], how="left", nulls_equal=True, maintain_order="left")
        pairs = pairs.with_columns(pl.len().over([*keys, SLICE]).alias(ALL_WINDOWS))
        return pairs.filter(pl.col(EXPIRED_WINDOWS) | pl.col(_SHUT).fill_null(False))

    def listed(self, slices: pl.Series) -> pl.DataFrame:
        """Returns slice, start and end of all windows of the table. `slices` is not used."""
        return self.frame

    def expanded(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns each row once for each of its unexpired windows, with the bounds in place of the slice."""
        alive, of_rows = self.alive, rows[SLICE].to_numpy()
        slices = alive[SLICE].to_numpy()
        first, last = np.searchsorted(slices, of_rows), np.searchsorted(slices, of_rows, side="right")
        counts = last - first
        windows, rest = first, rows[[name for name in rows.columns if name != SLICE]]
        if (counts != 1).any():
            windows = expand_ranges(first, counts)
            rest = take_rows(rest, np.repeat(np.arange(len(counts)), counts))
        return rest.hstack([pl.Series(bound, alive[bound].to_numpy()[windows]) for bound in (START, END)])

    @property
    def any_expired(self) -> bool:
        """Whether a window has expired by the watermark of the operator."""
        return bool(self.frame[EXPIRED_WINDOWS].any())


def windows_of_slices(
    slicing: Slicing, slices: pl.Series, spec: WindowOperator, clocks: Clocks
) -> "SliceTable | Overlaps":
    """Returns the windows of the slices: as ranges if they have numbers and are many, otherwise in a list."""
    different = sorted_distinct(slices)
    numbered = slicing.numbered(different)
    # A slice is in at most size / step windows, rounded up.
    several = numbered is not None and numbered.size // numbered.step >= MANY
    if numbered is not None and several and first_many(numbered, different, MANY):
        return Overlaps(numbered, different, clocks.horizon(spec))
    return SliceTable.of_windows(slicing.table(different), spec, clocks)
