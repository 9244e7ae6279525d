"""Which pane emitted a row without a partner that a discarding window retracts (semantics 37.20).

A row without a partner is emitted by the first pane that contains it. The panes of a window are EARLY, then
ON_TIME, then LATE (20.1), and contain more and more rows. So three numbers of a window decide the timing:
those of the last row in its last EARLY pane, in its last pane that is not LATE, and in its last pane of all.
A session has such numbers for each of the bounds with which it, or a session that merged into it, has fired.
The bounds of a row's first pane are those with the fewest rows, among the bounds that contain the row.

Cost: three numbers are stored for each window, for a session for each of its bounds. A retracted row is
compared with all bounds of its window, in pieces of about `PIECE`.
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import END, START, TIME
from panewise.engine.join.same_window import groups
from panewise.engine.join.same_window.groups import PREVIOUS, UNTIL, WINDOW, inside
from panewise.engine.join.same_window.last_emissions import previous
from panewise.engine.join.same_window.rows import NEWEST, Members
from panewise.engine.join.search.candidate_slices import steps
from panewise.engine.kernels.small_frames import expand_ranges, take_rows, without
from panewise.engine.kernels.sorting import Places
from panewise.engine.tables.stored_table import StoredTable, sealed_if_long
from panewise.engine.windowing.plan import WindowPlan
from panewise.spec import closed_at_end, merging
from panewise.spec.operators.join.columns import TIMING

EARLY, IN_TIME = "early", "in_time"  # the last row in an EARLY pane, and in a pane that is not LATE
_NUMBERS: Final = (EARLY, IN_TIME, NEWEST)


@dataclass(frozen=True)
class Origins:
    """The panes that some windows have had.

    Attributes:
        known: the bounds and the numbers of the panes, sorted by window, then by `NEWEST`.
        window: the window of each.
        merges: whether the windows merge, so that the bounds of panes differ from those of their window.
        closed: whether the windows are closed at the end.
    """

    known: pl.DataFrame
    window: Places
    merges: bool
    closed: bool

    def chosen(self, first: int, after: int) -> "Origins":
        """Returns the panes of the windows from `first` until before `after`."""
        places = slice(*np.searchsorted(self.window, [first, after]).tolist())
        return replace(self, known=self.known[places], window=self.window[places] - first)

    def first_panes(self, rows: Members, panes: pl.DataFrame) -> pl.DataFrame:
        """Returns the bounds and the timing of the first pane of each row.

        `panes` has what is returned for rows whose first pane is not known. Those are rows that releases
        emitted which did not store it.
        """
        places = self._first_panes(rows)
        is_known, first = pl.lit(pl.Series(places >= 0)), take_rows(self.known, np.maximum(places, 0))
        if first.is_empty():
            return panes
        number, early, in_time = (
            pl.lit(numbers_of) for numbers_of in (pl.Series(rows.numbers), *first[_NUMBERS[:2]])
        )
        late = pl.when(number <= in_time).then(pl.lit("ON_TIME")).otherwise(pl.lit("LATE"))
        values = {TIMING: pl.when(number <= early).then(pl.lit("EARLY")).otherwise(late)}
        if self.merges:
            end = first[UNTIL] - 1 if self.closed else first[UNTIL]
            values |= {"window_start": pl.lit(first[START]), "window_end": pl.lit(end)}
        return panes.with_columns(
            pl.when(is_known).then(value).otherwise(name).alias(name) for name, value in values.items()
        )

    def _first_panes(self, rows: Members) -> Places:
        """Returns the place of the first pane of each row, -1 if there is none."""
        starts, ends = (np.searchsorted(self.window, rows.window, side) for side in ("left", "right"))
        places = np.full(len(starts), -1, dtype=np.intp)
        newest, start, until = (self.known[name].to_numpy() for name in (NEWEST, START, UNTIL))
        numbers, times = rows.numbers, rows.rows[START if START in rows.rows.columns else TIME].to_numpy()
        counts = ends - starts
        for first, after in steps(np.cumsum(counts)):
            which = np.repeat(np.arange(first, after), counts[first:after])
            at = expand_ranges(starts[first:after], counts[first:after])
            contains = newest[at] >= numbers[which]
            if self.merges:
                contains &= (start[at] <= times[which]) & (times[which] < until[at])
            chosen, firsts = np.unique(which[contains], return_index=True)
            places[chosen] = at[contains][firsts]
        return places


def nothing(plan: WindowPlan) -> StoredTable:
    """Returns an empty table of panes. `plan` is that of the windows."""
    return groups.nothing(plan, dict.fromkeys(_NUMBERS, pl.Int64()), by_key=merging(plan.spec.window))


def origins_of(table: StoredTable, windows: pl.DataFrame, plan: WindowPlan) -> tuple[StoredTable, Origins]:
    """Returns the table after some windows have fired, and the panes that they had before.

    `windows` are those that fire, with their bounds, `timing`, `NEWEST`, `PREVIOUS` and `is_last`.
    """
    merges, names = merging(plan.spec.window), list(table.shape.schema)
    own = _as_rows(windows.with_row_index(WINDOW), merges)
    of_windows = inside(table, windows, list(plan.keys)) if merges else _of_windows(table, own)
    identity = [WINDOW, START, UNTIL]
    # Only releases that stored no panes have left windows whose last pane is unknown.
    unknown = own.filter(pl.col(PREVIOUS) >= 0).join(of_windows, on=identity, how="anti")
    known = pl.concat([panes.select(WINDOW, *names) for panes in (of_windows, _last_pane(unknown))])
    known = known.sort(WINDOW, NEWEST)
    fired = own.join(known.select(*identity, EARLY, IN_TIME), on=identity, how="left")
    last = pl.col("is_last")
    put = fired.filter(~last).with_columns(_numbers(TIMING, pl.col(EARLY), pl.col(IN_TIME)))
    deleted = known.join(own.filter(last), on=WINDOW, how="semi") if merges else known.clear()
    origins = Origins(
        known, known[WINDOW].to_numpy().astype(np.intp), merges, closed_at_end(plan.spec.window)
    )
    return sealed_if_long(table.changed(put.select(names), deleted.select(names))), origins


def merged_away(table: StoredTable, sessions: pl.DataFrame) -> StoredTable:
    """Returns the table with the last panes of sessions that have merged, where they are unknown."""
    own = _as_rows(sessions, merges=True)
    unknown = _last_pane(without(own, table.find(own.select(table.shape.identity)), table.shape.identity))
    return table.changed(unknown.select(*table.shape.schema))


def _as_rows(windows: pl.DataFrame, merges: bool) -> pl.DataFrame:
    """Returns windows with the bounds of the table. Those of sessions are deleted after the last pane."""
    ends = pl.lit(MAX_INSTANT, dtype=pl.Int64) if merges else pl.col(END)
    return windows.with_columns(pl.col(END).alias(UNTIL), ends.alias(END))


def _of_windows(table: StoredTable, windows: pl.DataFrame) -> pl.DataFrame:
    """Returns the panes of windows that do not merge, each with the place of its window."""
    stored = table.look_up(windows.select(table.shape.identity))
    return stored.rows.with_columns(pl.Series(WINDOW, stored.which, dtype=pl.UInt32))


def _last_pane(windows: pl.DataFrame) -> pl.DataFrame:
    """Returns windows with the numbers of which the last pane is sure."""
    none = pl.lit(-1, dtype=pl.Int64)
    return windows.with_columns(pl.col(PREVIOUS).alias(NEWEST)).with_columns(
        _numbers(previous(TIMING), none, none)
    )


def _numbers(timing: str, early: pl.Expr, in_time: pl.Expr) -> list[pl.Expr]:
    """Returns the numbers of a window after a pane with this timing whose last row is `NEWEST`."""
    is_early, is_late = pl.col(timing) == "EARLY", pl.col(timing) == "LATE"
    return [
        pl.when(is_early).then(NEWEST).otherwise(early.fill_null(-1)).alias(EARLY),
        pl.when(is_late).then(in_time.fill_null(-1)).otherwise(NEWEST).alias(IN_TIME),
    ]
