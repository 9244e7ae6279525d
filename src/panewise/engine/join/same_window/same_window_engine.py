"""What the operators of window joins have in common: their tables, horizons and output watermark.

Invariant: the tables of rows have the horizon of the windows. So rows are stored until their windows expire.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import polars as pl

from panewise.chrono import MAX_INSTANT, Duration, saturating_add
from panewise.engine.join.clocks import JoinClocks, of_windows
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.same_window import groups
from panewise.engine.join.same_window.groups import MERGED
from panewise.engine.join.same_window.rows import NEWEST, SideRows
from panewise.engine.join.two_sides import JoinState
from panewise.engine.join.windows_of_sides import WindowsOfSides
from panewise.engine.protocol import Schemas
from panewise.engine.tables.stored_table import StoredTable
from panewise.engine.windowing.plan import WindowPlan
from panewise.spec import (
    AnyWindow,
    Calendar,
    Cumulating,
    Hopping,
    JoinOperator,
    Tumbling,
    WindowOperator,
    merging,
)
from panewise.spec.aggregates.functions import max as max_
from panewise.spec.operators.join.columns import LEFT
from panewise.spec.operators.join.same_window import SameWindow
from panewise.spec.operators.join.windowing import ROW_NUMBER, ROW_TIME, row_keys, window_operator
from panewise.spec.windows.kinds import LONGEST_DAYS
from panewise.spec.windows.size_in_rows import length

WINDOWS: Final = "windows"  # the name of the table of windows
EMITTED: Final = "emitted"  # that of what windows have emitted, for retractions and numbers
_DAY: Final = 86_400_000_000


class SameWindowEngine(WindowsOfSides):
    """A window join on Polars frames."""

    spec: JoinOperator
    plan: JoinPlan
    state: JoinState

    def __init__(self, spec: JoinOperator, schemas: Schemas) -> None:
        plan, match = JoinPlan.compile(spec, schemas), spec.match
        assert isinstance(match, SameWindow)
        self.match = match
        self.windows = WindowPlan(window_operator_of(spec), _schema(plan, match))
        self.keys = tuple(self.windows.keys)
        self.rows = {side: SideRows(port, match.window) for side, port in plan.ports.items()}
        # A commit seals the tables in this order. Those of the sides read the windows, so they come first.
        tables: dict[str, StoredTable] = {side: rows.nothing() for side, rows in self.rows.items()}
        tables[WINDOWS] = StoredTable.nothing(self.windows.shape)
        if merging(match.window) and match.accumulation != "retracting":
            tables[MERGED] = groups.nothing(self.windows)
        if (emissions := self._emissions(spec)) is not None:
            tables[EMITTED] = replace(emissions, optional=True)
        super().__init__(spec, plan, JoinState(tables))
        self._behind = self.furthest_behind()

    def horizons(self, clocks: JoinClocks) -> Mapping[str, int | None]:
        """Returns the horizon of each table."""
        return self.horizons_at(of_windows(clocks).horizon(self.windows.spec))

    def horizons_at(self, horizon: int | None) -> Mapping[str, int | None]:
        """Returns the horizon of each table, given that of windows. The table of merged sessions has none."""
        without = {MERGED, EMITTED} if merging(self.match.window) else {MERGED}
        return {name: None if name in without else horizon for name in self.state.tables}

    def _emissions(self, spec: JoinOperator) -> StoredTable | None:
        """Returns an empty table for the emissions of windows; None if none is needed later."""
        return None

    @abstractmethod
    def next_due(self) -> int | None:
        """Returns a watermark at or before the first one at which a window fires or expires."""

    def output_watermark(self) -> int | None:
        """Returns the watermark of the emitted rows (semantics 40.4)."""
        if self.state.clocks.finished:
            return MAX_INSTANT
        watermark, behind = self.state.clocks.watermark, self._behind
        if watermark is None or behind is None:
            return None
        # A higher lateness does not lower it: no window that ends at the floor emits a row.
        at, floor = saturating_add(watermark, -behind), self.state.clocks.floor
        lateness = self.windows.spec.lateness_us
        if floor is None or lateness is None:
            return at
        return max(at, saturating_add(floor, lateness - behind))

    def furthest_behind(self) -> int | None:
        """Returns how far `join_time` of an emitted row may lie behind the watermark (semantics 40.4).

        None: there is no bound, or lateness is unlimited.
        """
        lateness = self.match.allowed_lateness
        if not isinstance(lateness, Duration):
            return None
        if self.spec.timestamp == "window":
            return lateness.us
        span = _longest(self.match.window)
        return None if span is None else lateness.us + span

    @abstractmethod
    def live(self) -> pl.DataFrame:
        """Returns the live windows, with the keys of the left side."""


def window_operator_of(spec: JoinOperator) -> WindowOperator:
    """Returns the window operator of the rows of both sides. Its panes have the number of the newest row."""
    return window_operator(spec, max_(ROW_NUMBER).alias(NEWEST))


def _longest(window: AnyWindow) -> int | None:
    """Returns the length of the longest window, None if there is none."""
    match window:
        case Tumbling() | Hopping() | Cumulating():
            return length(window.size)
        case Calendar():
            return window.n * LONGEST_DAYS[window.unit] * _DAY + 2 * _DAY  # a zone may skip or repeat a day
    return None


def _schema(plan: JoinPlan, match: SameWindow) -> dict[str, pl.DataType]:
    left = plan.ports[LEFT]
    keys = {mine: left.schema[name] for mine, name in row_keys(plan.spec.keys).items()}
    others = {name: left.schema[name] for name in match.columns_read}
    return {**keys, ROW_TIME: pl.Int64(), ROW_NUMBER: pl.Int64(), **others}
