"""The stored rows of a window join, and the rows of a window among them (semantics 37.11, 41.4).

A row is stored once, by key and event time: the rows of a window are those of its key within its bounds.
Custom windows need not contain the time of their rows, so a row is stored once for each of them, by key and
window.

Cost: a row is written once, in however many windows it is. A window that fires reads its rows and no others:
they are a slice of each run, which bisections find.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import END, NUMBER, OWN_WINDOWS, SLICE, START, TIME
from panewise.engine.join.plan import SidePort
from panewise.engine.kernels.hashing import hash_order, row_hashes
from panewise.engine.kernels.small_frames import equal, expand_ranges, filter_rows, take_rows, vstack_frames
from panewise.engine.kernels.sorting import Places, order
from panewise.engine.tables.rows_by_key import Ranges, RowsByKey
from panewise.engine.tables.rows_of_sessions import RowsOfSessions
from panewise.engine.tables.run import Shape
from panewise.engine.windowing.slicing import slicing_of
from panewise.spec import AnyWindow, Custom, merging

NEWEST: Final = "newest"  # of a window: the number of the last row in its pane


@dataclass(frozen=True)
class Members:
    """The rows of some windows, sorted by window, then by number.

    Attributes:
        rows: the rows, with the columns of the table. A row occurs once for each of the windows.
        window: the place of the window of each row.
    """

    rows: pl.DataFrame
    window: Places

    @property
    def numbers(self) -> Places:
        """The number of each row."""
        return self.rows[NUMBER].to_numpy()

    def counts(self, windows: int) -> Places:
        """Returns how many rows each window has."""
        return np.bincount(self.window, minlength=windows)

    def at(self, places: Places) -> "Members":
        """Returns the rows at these places."""
        return Members(take_rows(self.rows, places), self.window[places])

    def chosen(self, places: slice, first: int) -> "Members":
        """Returns the rows at these places. The windows are counted from `first`."""
        return Members(self.rows[places], self.window[places] - first)

    def starts(self, windows: int) -> Places:
        """Returns where the rows of each window start."""
        counts = self.counts(windows)
        return np.cumsum(counts) - counts


class SideRows:
    """How the rows of one side are stored."""

    def __init__(self, port: SidePort, window: AnyWindow) -> None:
        self.port, self.window, self.slicing = port, window, slicing_of(window)
        # Whether the rows of a window have its bounds; else they are in it from its start to its end.
        self.exact = isinstance(self.window, Custom) and not merging(self.window)
        if isinstance(self.window, Custom):
            schema = {**self.port.stored, START: pl.Int64()}
            by = [*self.port.keys, END] if self.exact else self.port.keys
            self.shape = Shape(schema, [START, NUMBER], by)
        else:
            self.shape = Shape(dict(self.port.stored), [TIME, NUMBER], self.port.keys)

    def nothing(self) -> RowsByKey:
        """Returns an empty table."""
        kind = RowsOfSessions if merging(self.window) else RowsByKey
        return kind.nothing(self.shape)

    def stored(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Returns applied rows as the table stores them. They expire with the last of their windows."""
        if isinstance(self.window, Custom):
            each, bounds = rows.explode(OWN_WINDOWS), pl.col(OWN_WINDOWS).struct
            end = bounds.field("end") if self.exact else pl.lit(MAX_INSTANT, dtype=pl.Int64)
            each = each.with_columns(bounds.field("start").alias(START), end.alias(END))
            return each.select(*self.shape.schema)
        if self.slicing is None:
            ends = pl.repeat(MAX_INSTANT, rows.height, dtype=pl.Int64, eager=True)  # its session decides
        else:
            ends = self.slicing.last_ends(rows[SLICE])
        return rows.with_columns(ends.alias(END)).select(*self.shape.schema)

    def members(self, table: RowsByKey, windows: pl.DataFrame) -> Members:
        """Returns the rows of windows that arrived until the last pane of the window, up to `NEWEST`."""
        hashes = row_hashes(windows, self.shape.by)
        places = hash_order(hashes)
        first = windows[START].to_numpy()[places]
        last = first if self.exact else _last_instants(windows)[places]
        frames, which = [self.shape.no_rows], [np.empty(0, dtype=np.intp)]
        for rows, at, window in self._found(table, windows, places, Ranges(hashes[places], first, last)):
            frames.append(take_rows(rows, at))
            which.append(window)
        return _in_order(vstack_frames(frames), np.concatenate(which), windows[NEWEST].to_numpy())

    def _found(
        self, table: RowsByKey, windows: pl.DataFrame, places: Places, ranges: Ranges
    ) -> Iterator[tuple[pl.DataFrame, Places, Places]]:
        """Yields rows of each part of the table, the places of members among them, and their windows."""
        for part in table.slices(ranges):
            which = places[np.repeat(np.arange(len(places)), part.lengths)]
            at = expand_ranges(part.starts, part.lengths)
            same = equal(windows, which, part.rows, at, self.shape.by)
            yield part.rows[list(self.shape.schema)], at[same], which[same]


def _last_instants(windows: pl.DataFrame) -> Places:
    """Returns the last instant of each window. The global window ends at the last instant of all."""
    last = windows.select(pl.when(pl.col(END) == MAX_INSTANT).then(END).otherwise(pl.col(END) - 1))
    return last.to_series().to_numpy()


def _in_order(rows: pl.DataFrame, window: Places, newest: Places) -> Members:
    numbers = rows[NUMBER].to_numpy()
    known = numbers <= newest[window]
    if not known.all():
        rows, window, numbers = filter_rows(rows, pl.Series(known)), window[known], numbers[known]
    places = order([window, numbers])
    return Members(take_rows(rows, places), window[places])
