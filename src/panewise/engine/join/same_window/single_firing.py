"""Window joins whose windows fire once (semantics 37.10 to 37.13).

A tumbling or a calendar window that has neither early firings nor allowed lateness fires when it expires, and
not before. So no windows are stored.

Invariant: a stored row ends with its window. So the rows that end after the last horizon, up to the new one,
are all rows of the windows that fire. Cost: each row is stored once, and read once, when its window fires.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from panewise.engine.columns import END, MISSED_WINDOWS, NUMBER, PARTIAL, REASON, SLICE, TIME
from panewise.engine.ingest.late_output import late_columns, late_schema, reason_of
from panewise.engine.join.clocks import JoinClocks, of_windows
from panewise.engine.join.same_window.content import emitted_rows
from panewise.engine.join.same_window.firings import Firings
from panewise.engine.join.same_window.groups import NO_GROUP
from panewise.engine.join.same_window.rows import Members
from panewise.engine.join.same_window.same_window_engine import WINDOWS, SameWindowEngine
from panewise.engine.join.windows_of_sides import OutputsAndPanes, RowsBySide
from panewise.engine.kernels.instants import lowest
from panewise.engine.kernels.small_frames import Mask, filter_rows, ordered, output_key, take_rows
from panewise.engine.kernels.sorting import Line, Places, codes, order
from panewise.engine.protocol import Schemas
from panewise.engine.tables.stored_table import sealed_if_long
from panewise.engine.windowing.slicing import slicing_of
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import INDEX, IS_FIRST, IS_LAST, LEFT, NONSPECULATIVE_INDEX, RIGHT
from panewise.spec.operators.join.windowing import ROW_NUMBER
from panewise.spec.operators.panes import BOUNDS

_WINDOW = "__window"


class SingleFiringEngine(SameWindowEngine):
    """A window join whose windows fire once. The table of windows stays empty."""

    def __init__(self, spec: JoinOperator, schemas: Schemas) -> None:
        super().__init__(spec, schemas)
        slicing = slicing_of(self.match.window)
        assert slicing is not None
        self.slicing = slicing

    def next_due(self) -> int | None:
        """Returns an end at or before that of the first live window."""
        horizon = self._horizon(self.state.clocks)
        return lowest(self.state.rows(side).next_end(horizon) for side in self.rows)

    def live(self) -> pl.DataFrame:
        """Returns the live windows, with the keys of the left side."""
        rows = self._with_window_keys({side: self.state.rows(side).all() for side in self.rows})
        rows = rows.with_columns(self.slicing.slices(rows).alias("window_start"))
        names = zip(self.keys, self.spec.keys, strict=False)  # without keys there is one constant column
        keys = [output_key(mine, rows.schema[mine]).alias(name) for mine, name in names]
        windows = rows.select(*keys, "window_start", pl.col(END).alias("window_end"))
        pending, closed = pl.len().cast(pl.Int64).alias("pending"), pl.lit(False).alias("closed")
        counted = windows.group_by(windows.columns).agg(pending).with_columns(closed)
        return counted.sort(["window_end", "window_start", *self.spec.keys], nulls_last=False)

    def _horizon(self, clocks: JoinClocks) -> int | None:
        return of_windows(clocks).horizon(self.windows.spec)

    def _arrived(self, rows: RowsBySide, fresh: RowsBySide) -> OutputsAndPanes:
        """Stores rows that are neither replays nor late."""
        taken = self._open(fresh)
        late = pl.concat([self._late(frame) for frame in taken.values()]) if taken else None
        outputs, applied = self._outputs_and_applied(rows, fresh, late)
        tables = {side: self.state.rows(side).put(self.rows[side].stored(applied[side])) for side in taken}
        self.changed |= any(frame.height > 0 for frame in applied.values())
        self.state = self.state.with_tables(tables)
        return outputs, iter(())

    def _late(self, rows: pl.DataFrame) -> pl.DataFrame:
        clocks, horizon = of_windows(self.state.clocks), self._horizon(self.state.clocks)
        ends = self.slicing.last_ends(rows[SLICE]).alias(END)
        late = rows.clear() if horizon is None else filter_rows(rows, ends <= horizon)
        window = pl.struct(pl.col(SLICE).alias("start"), pl.col(END).alias("end"))
        values = {
            ROW_NUMBER: pl.col(NUMBER),
            REASON: reason_of(clocks, pl.lit("expired")),
            MISSED_WINDOWS: pl.concat_list(window),
            PARTIAL: pl.lit(False),
        }
        late = late.with_columns(self.slicing.last_ends(late[SLICE]).alias(END))
        return late.select(late_columns(late_schema({ROW_NUMBER: pl.Int64()}), values, clocks))

    def _advanced(self, clocks: JoinClocks) -> Iterator[pl.DataFrame]:
        before, after = self._horizon(self.state.clocks), self._horizon(clocks)
        panes: Iterator[pl.DataFrame] = iter(())
        if after is not None and after != before:
            due = {side: self.state.rows(side).due(before, after) for side in self.rows}
            if any(frame.height for frame in due.values()):
                self.changed, panes = True, emitted_rows(self.plan, self._firings(due))
        # Rows of windows that expire in the step in which they arrive are in no run.
        tables = {side: sealed_if_long(self.state.rows(side).expired(after)) for side in self.rows}
        windows = self.state.tables[WINDOWS].expired(after)
        self.state = replace(self.state.with_tables({**tables, WINDOWS: windows}), clocks=clocks)
        return panes

    def _firings(self, due: RowsBySide) -> Firings:
        """Returns the windows of rows, in the order in which they fire, without those that emit nothing."""
        rows = self._with_window_keys(due)
        window, firsts = _numbered(rows, list(self.keys))
        sides = dict(zip(due, np.split(window, [due[LEFT].height]), strict=True))
        chosen = np.flatnonzero(self._emitting(sides, len(firsts)))
        windows = take_rows(rows, firsts[chosen]).with_columns(pl.Series(_WINDOW, chosen))
        windows = ordered(windows, [END, *self.keys])
        places = np.full(len(firsts), -1, dtype=np.intp)
        places[windows[_WINDOW].to_numpy()] = np.arange(windows.height)
        members = {side: _members(due[side], places[sides[side]]) for side in due}
        panes = self._panes(windows)
        null = pl.any_horizontal(pl.col(key).is_null() for key in self.keys).alias("null")
        return Firings(
            panes,
            last=np.ones(windows.height, dtype=np.bool_),
            merged_away=np.zeros(windows.height, dtype=np.bool_),
            null_keys=windows.select(null)["null"].to_numpy(),
            members=members,
            groups={side: np.full(len(frame.window), NO_GROUP) for side, frame in members.items()},
            merged_from=windows.height,
            accumulation=self.match.accumulation,
            retracted=panes,
        )

    def _panes(self, windows: pl.DataFrame) -> pl.DataFrame:
        """Returns the columns of panes that say of which window and firing they are. Windows fire once."""
        bounds = [self.slicing.slices(windows), windows[END]]
        panes = pl.DataFrame([bound.alias(name) for bound, name in zip(bounds, BOUNDS, strict=True)])
        firing = {"timing": "ON_TIME", INDEX: 0, NONSPECULATIVE_INDEX: 0, IS_FIRST: True, IS_LAST: True}
        panes = panes.with_columns(pl.lit(value).alias(name) for name, value in firing.items())
        return panes.select(
            pl.col(name).cast(self.plan.pane_schema[name]) for name in self.spec.window_columns
        )

    def _with_window_keys(self, rows: RowsBySide) -> pl.DataFrame:
        """Returns keys, time and end of the rows of both sides, the left ones first."""
        frames = []
        for side, frame in rows.items():
            names = zip(self.plan.ports[side].keys, self.keys, strict=True)
            frames.append(frame.select(*(pl.col(name).alias(mine) for name, mine in names), TIME, END))
        return pl.concat(frames)

    def _emitting(self, window: Mapping[str, Places], count: int) -> Mask:
        """Returns which of the windows have rows that the type can emit."""
        left, right = (np.bincount(window[side], minlength=count) > 0 for side in (LEFT, RIGHT))
        match self.spec.how:
            case "inner" | "semi":
                return left & right
            case "left" | "anti":
                return left
            case "right":
                return right
        return left | right


def _numbered(rows: pl.DataFrame, keys: list[str]) -> tuple[Places, Places]:
    """Returns the number of the window of each row, from 0 on, and the place of a row of each window."""
    code, ends = codes(rows, keys), rows[END].to_numpy()
    of_window = Line.spanning(code, ends).points(code, ends)
    places = order([of_window])
    of_window = of_window[places]
    new = np.append(True, of_window[1:] != of_window[:-1])
    numbers = np.empty(len(places), dtype=np.intp)
    numbers[places] = np.cumsum(new) - 1
    return numbers, places[new]


def _members(rows: pl.DataFrame, window: Places) -> Members:
    """Returns the rows that have a window, sorted by window, then by number."""
    places = order([window, rows[NUMBER].to_numpy()])
    places = places[np.searchsorted(window[places], 0) :]
    return Members(take_rows(rows, places), window[places])
