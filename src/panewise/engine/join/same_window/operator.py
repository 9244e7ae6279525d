"""Window joins with any windows and triggers (semantics 37.10 to 37.13).

A window operator of the rows of both sides decides which rows are late, and when windows merge, fire and
expire. It stores only the windows. The rows are stored by side, and are read when their window fires.

Invariant: a row is stored as long as a window that contains it is live. Cost: a firing reads all rows of its
window, also those that it has emitted before.
"""

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace

import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT, Duration
from panewise.engine.columns import END, NUMBER, ONE_KEY, OWN_WINDOWS, START
from panewise.engine.ingest.output import Output
from panewise.engine.join import window_rows
from panewise.engine.join.clocks import JoinClocks, of_windows
from panewise.engine.join.same_window import first_panes, groups, last_emissions
from panewise.engine.join.same_window.content import emitted_rows, emitting
from panewise.engine.join.same_window.firings import Firings
from panewise.engine.join.same_window.groups import MERGED, PREVIOUS
from panewise.engine.join.same_window.last_emissions import NONSPECULATIVE, PANES, previous
from panewise.engine.join.same_window.rows import NEWEST, Members
from panewise.engine.join.same_window.same_window_engine import EMITTED, WINDOWS, SameWindowEngine
from panewise.engine.join.windows_of_sides import OutputsAndPanes
from panewise.engine.kernels.small_frames import vstack_frames
from panewise.engine.protocol import Schemas
from panewise.engine.tables.rows_by_key import RowsByKey
from panewise.engine.tables.rows_of_sessions import RowsOfSessions
from panewise.engine.tables.stored_table import StoredTable, Table, sealed_if_long
from panewise.engine.windows.operator import WindowEngine
from panewise.spec import AnyWindow, Custom, JoinOperator, Session, closed_at_end, merging
from panewise.spec.operators.join.columns import LEFT, TIMING
from panewise.spec.operators.join.same_window import SameWindow
from panewise.spec.operators.join.windowing import ROW_NUMBER, ROW_TIME, row_keys
from panewise.spec.operators.panes import BOUNDS


class WindowJoinEngine(SameWindowEngine):
    """A window join whose windows may fire several times, or merge.

    The window operator is made once. Each step begins with the windows and clocks of the state.
    """

    def __init__(self, spec: JoinOperator, schemas: Schemas) -> None:
        super().__init__(spec, schemas)
        self._columns = {side: self._input_columns(side) for side in spec.sides}
        self._engine = WindowEngine(self.windows.spec, {}, self.windows)
        self._initial = self._engine.state

    def __copy__(self) -> "WindowJoinEngine":
        """Returns an operator with a window operator of its own, as steps change that one's state."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, _engine=copy(self._engine))
        return other

    def _emissions(self, spec: JoinOperator) -> StoredTable | None:
        """Returns an empty table of what windows have emitted, if retractions or numbers need it."""
        if self.match.accumulation in last_emissions.STORED:
            return last_emissions.nothing(self.windows, self.match.accumulation)
        early = self.match.accumulation == "discarding" and spec.unmatched == "early"
        return first_panes.nothing(self.windows) if early else None

    def next_due(self) -> int | None:
        """Returns a watermark at or before the first one at which a window fires or expires."""
        return self._operator().next_due()

    def live(self) -> pl.DataFrame:
        """Returns the live windows, with the keys of the left side."""
        return self._operator().live().rename(row_keys(self.spec.keys))

    def evaluate_all(self) -> Output:
        """Evaluates all windows once, after a change of the specification (semantics 47.19)."""
        operator, nothing = self._operator(), self._nothing[LEFT]
        panes = self._settled(operator, operator.evaluate_all(), self.state.clocks)
        return replace(nothing, panes=vstack_frames([nothing.panes, *panes]))

    def _arrived(
        self, rows: Mapping[str, pl.DataFrame], fresh: Mapping[str, pl.DataFrame]
    ) -> OutputsAndPanes:
        """Adds rows that are no replays to their windows, stores them, and emits what fires."""
        open_rows, operator = self._open(fresh), self._operator()
        if not open_rows:
            return self._outputs_and_applied(rows, fresh, None)[0], iter(())
        both = window_rows.of_both(open_rows, self._columns)
        output = operator.add_valid(both)
        if merging(self.match.window):
            self._remove_expired(operator, both, output.late)
        outputs, applied = self._outputs_and_applied(rows, fresh, output.late)
        self.changed |= any(frame.height > 0 for frame in applied.values())
        windows = operator.state.windows
        tables = {side: self._stored(side, applied[side], windows) for side in open_rows}
        self.state = self.state.with_tables(tables)
        return outputs, self._settled(operator, output, self.state.clocks)

    def _remove_expired(self, operator: WindowEngine, rows: pl.DataFrame, late: pl.DataFrame) -> None:
        """Removes stored rows of expired sessions that a session of this batch would contain.

        With one gap for all rows, only a row that would be late alone can make such a session: it is applied
        because it overlaps a live one (13.2). With other merging windows it may be any row whose window
        starts before the horizon. Such stored rows are rare, so a table is then written again as a whole.
        """
        horizon = of_windows(self.state.clocks).horizon(self.windows.spec)
        if horizon is None:
            return
        reaching = rows.filter(_reaches(self.match.window, horizon))
        reaching = reaching.join(late.select(ROW_NUMBER), on=ROW_NUMBER, how="anti")
        if reaching.is_empty():
            return
        any_row = pl.lit(MAX_INSTANT, dtype=pl.Int64).alias(NEWEST)
        before, after = (
            windows.of_keys(reaching, list(self.keys)).select(*self.keys, START, END, any_row)
            for windows in (self.state.tables[WINDOWS], operator.state.windows)
        )
        for side in self.rows:
            reached, live = (self._members(side, windows).rows[NUMBER] for windows in (after, before))
            expired = reached.filter(~reached.is_in(live.implode()))
            table = self.state.tables[side]
            if expired.len() and isinstance(table, RowsOfSessions):
                self.state = self.state.with_tables({side: table.without(expired)})

    def _stored(self, side: str, applied: pl.DataFrame, windows: StoredTable) -> RowsByKey:
        return self._with_sessions(self.state.rows(side), windows).put(self.rows[side].stored(applied))

    def _with_sessions(self, table: Table, windows: StoredTable) -> Table:
        """Returns a table. If its rows expire with their session, it knows which sessions there are now."""
        return table.of_sessions(windows, self.keys) if isinstance(table, RowsOfSessions) else table

    def _advanced(self, clocks: JoinClocks) -> Iterator[pl.DataFrame]:
        before, operator = self.state.clocks, self._operator()
        panes: Iterator[pl.DataFrame] = iter(())
        if clocks.finished:
            panes = self._settled(operator, operator.finish(), clocks)
        elif (clocks.processing_time, clocks.watermark) != (before.processing_time, before.watermark):
            output = operator.advance(clocks.processing_time, clocks.watermark)
            panes = self._settled(operator, output, clocks)
        # Rows of windows that expire in the step in which they arrive are in no run.
        rows = {side: sealed_if_long(self.state.tables[side]) for side in self.rows}
        self.state = replace(self.state.with_tables(rows), clocks=clocks)
        return panes

    def _settled(self, operator: WindowEngine, output: Output, clocks: JoinClocks) -> Iterator[pl.DataFrame]:
        """Stores the windows of the window operator, and returns the rows that its panes emit.

        Rows expire only after that, because those of the last firing of a window are emitted with it.
        """
        panes = self._emitted(output.panes) if output.panes.height else iter(())
        self.changed |= operator.changed or output.panes.height > 0
        windows, horizons = operator.state.windows, self.horizons(clocks)
        tables = {**self.state.tables, WINDOWS: windows}
        tables = {name: self._with_sessions(table, windows) for name, table in tables.items()}
        self.state = self.state.with_tables({n: table.expired(horizons[n]) for n, table in tables.items()})
        return panes

    def _emitted(self, panes: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """Returns the rows that the panes of the window operator emit. Stored rows are read at once."""
        windows, firings_of = _with_bounds(panes, list(self.windows.spec.keys), self.match), self._discarding
        if self.match.accumulation in last_emissions.STORED:
            windows = windows.hstack(last_emissions.known(self.state.tables[EMITTED], windows))
            firings_of = self._retracting if self.match.accumulation == "retracting" else self._accumulating
        return emitted_rows(self.plan, firings_of(windows))

    def _retracting(self, windows: pl.DataFrame) -> Firings:
        """Returns the firings of windows that retract what they emitted last."""
        last = windows.select(*BOUNDS, pl.col(last_emissions.LAST_TIMING).alias(TIMING))
        firings = replace(self._firings(windows, None), retracted=last)
        emits = pl.Series(emitting(self.plan, firings))
        self._store_emissions(windows.filter(emits | windows["is_last"] | (windows["op"] == "-")))
        return firings

    def _accumulating(self, windows: pl.DataFrame) -> Firings:
        """Returns the firings of windows that emit all that they contain, with their numbers."""
        windows, away, merged = self._merged(windows)
        firings = self._firings(last_emissions.with_pane_numbers(windows), merged)
        counted = last_emissions.counted(windows, emitting(self.plan, firings))
        self._store_emissions(pl.concat([counted, away]))
        return firings

    def _discarding(self, windows: pl.DataFrame) -> Firings:
        """Returns the firings of discarding windows: they emit new content, and retract lost content."""
        windows, away, merged = self._merged(windows)
        firings = self._firings(windows, merged)
        if EMITTED not in self.state.tables:
            return firings
        table = self.state.tables[EMITTED]
        table = first_panes.merged_away(table, away) if away.height else table
        table, origins = first_panes.origins_of(table, windows, self.windows)
        self.state = self.state.with_tables({EMITTED: table})
        return replace(firings, origins=origins)

    def _merged(self, windows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame | None]:
        """Returns the windows that fire, and the sessions that this step has merged into others.

        The third frame has the stored panes of all sessions that have merged into the windows that fire. It
        is None if the match stores none.
        """
        away, fired = windows.filter(op="-"), windows.filter(op="+")
        if MERGED not in self.state.tables:
            return fired, away, None
        table = groups.put(self.state.tables[MERGED], away)
        table, merged = groups.taken(table, fired, list(self.keys))
        self.state = self.state.with_tables({MERGED: table})
        return fired, away, merged

    def _store_emissions(self, windows: pl.DataFrame) -> None:
        """Stores the emissions of the windows, except those of windows that have merged away."""
        table = last_emissions.stored(self.state.tables[EMITTED], windows, self.windows)
        self.state = self.state.with_tables({EMITTED: table})

    def _firings(self, windows: pl.DataFrame, merged: pl.DataFrame | None) -> Firings:
        members = {side: self._members(side, windows) for side in self.rows}
        null = pl.any_horizontal(pl.col(key).is_null() for key in self.keys)
        last = windows.select(*BOUNDS, pl.col(previous(TIMING)).alias(TIMING))
        return Firings(
            windows.select(*self.spec.window_columns),
            (windows["is_last"] & (windows["op"] == "+")).to_numpy(),
            (windows["op"] == "-").to_numpy(),
            windows.select(null.alias("null"))["null"].to_numpy(),
            members,
            groups.groups_of(members, windows, merged),
            windows.height,
            self.match.accumulation,
            retracted=last,
        )

    def _members(self, side: str, windows: pl.DataFrame) -> Members:
        return self.rows[side].members(self.state.rows(side), self._keyed(side, windows))

    def _keyed(self, side: str, windows: pl.DataFrame) -> pl.DataFrame:
        """Returns keys and bounds of windows, with the names that the side gives to the keys."""
        names = self.plan.ports[side].keys
        keys = [pl.col(mine).alias(name) for mine, name in zip(self.keys, names, strict=True)]
        return windows.select(*keys, START, END, *{NEWEST} & set(windows.columns))

    def _input_columns(self, side: str) -> list[pl.Expr]:
        """Returns the columns that the window operator takes, made from rows of a side."""
        own = window_rows.own_columns(self.spec.sides[side].keys)
        shared = {name: pl.col(name) for name in self.match.columns_read}
        return [value.alias(name) for name, value in (own | shared).items()]

    def _operator(self) -> WindowEngine:
        """Returns the window operator, with the windows and clocks of the state.

        There is one, so the next call of this method discards a step whose result has not been taken.
        """
        windows, clocks = self.state.tables[WINDOWS], of_windows(self.state.clocks)
        self._engine.restart(replace(self._initial, windows=windows, clocks=clocks))
        return self._engine


def _reaches(window: AnyWindow, horizon: int) -> pl.Expr:
    """Returns which rows may make a session that contains the time of an expired row."""
    if isinstance(window, Custom):
        return pl.col(OWN_WINDOWS).list.first().struct.field("start") < horizon
    gap = window.gap if isinstance(window, Session) else None
    return pl.col(ROW_TIME) <= horizon - gap.us if isinstance(gap, Duration) else pl.col(ROW_TIME) < horizon


def _with_bounds(panes: pl.DataFrame, keys: list[str], match: SameWindow) -> pl.DataFrame:
    """Returns one row for each window of the panes, with START, END (exclusive) and its last emission.

    A retraction without a new pane, of a session that has merged, is a row with the op "-".
    """
    identity = [*keys, *BOUNDS]
    plus, minus = panes.filter(op="+"), panes.filter(op="-")
    of_last = pl.col(NEWEST).alias(PREVIOUS), *last_emissions.of_pane()
    before = minus.select(*identity, *of_last)
    known = plus.join(before, on=identity, how="left", nulls_equal=True, maintain_order="left")
    merged_away = minus.join(plus, on=identity, how="anti", nulls_equal=True, maintain_order="left")
    windows = pl.concat([merged_away.with_columns(of_last), known])
    end = pl.col("window_end") + 1 if closed_at_end(match.window) else pl.col("window_end")
    return windows.with_columns(
        pl.col(PREVIOUS).fill_null(-1),
        pl.col(previous(PANES), previous(NONSPECULATIVE)).fill_null(0),
        pl.col("window_start").fill_null(MIN_INSTANT).alias(START),
        end.fill_null(MAX_INSTANT).alias(END),
        *([] if keys else [pl.lit(0, dtype=pl.Int8).alias(ONE_KEY)]),
    )
