"""Windows of both sides, as :class:`panewise.engine.join.match_engine.MatchEngine`."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import polars as pl

from panewise.engine.columns import END, NUMBER, START, TIME, key_columns, live_column
from panewise.engine.family_parts import Inspection, TableReader
from panewise.engine.join.clocks import JoinClocks, of_windows
from panewise.engine.join.match_engine import MatchEngine, MatchTakeOver, keys_of_side
from panewise.engine.join.same_window.first_panes import EARLY, IN_TIME
from panewise.engine.join.same_window.operator import WindowJoinEngine
from panewise.engine.join.same_window.rows import NEWEST
from panewise.engine.join.same_window.same_window_engine import WINDOWS, SameWindowEngine, window_operator_of
from panewise.engine.join.same_window.single_firing import SingleFiringEngine
from panewise.engine.join.two_sides import FLOOR, NEXT_NUMBER, inspected_windows, read_clocks
from panewise.engine.protocol import Operator, Schemas
from panewise.engine.windowing.slicing import slicing_of
from panewise.engine.windows.evolution import converted_windows
from panewise.engine.windows.inspection import stored_windows
from panewise.spec import JoinOperator
from panewise.spec.operators.join.columns import LEFT, RIGHT, SIDES
from panewise.spec.operators.join.same_window import SameWindow, fires_once
from panewise.spec.operators.join.windowing import ROW_NUMBER

_NEWEST_SO_FAR: Final = f"__max:{ROW_NUMBER}"  # the partial of `NEWEST`


def _operator(spec: JoinOperator, schemas: Schemas) -> SameWindowEngine:
    return (SingleFiringEngine if fires_once(_match(spec)) else WindowJoinEngine)(spec, schemas)


def _inspect(spec: JoinOperator, header: Mapping[str, Any], read: TableReader) -> Inspection:
    clocks, windows = read_clocks(header), window_operator_of(spec)
    own = of_windows(clocks)
    if fires_once(_match(spec)):
        rows = _windows_of_rows(spec, read, own.horizon(windows))
        return Inspection(clocks, rows, key_columns(spec.keys))
    return inspected_windows(spec, clocks, stored_windows(windows, own, read))


def _match(spec: JoinOperator) -> SameWindow:
    assert isinstance(spec.match, SameWindow)
    return spec.match


def _windows_of_rows(spec: JoinOperator, read: TableReader, horizon: int | None) -> pl.DataFrame:
    """Returns the windows of the stored rows of both sides, for windows that fire once."""
    slicing, keys, windows = slicing_of(_match(spec).window), key_columns(spec.keys), []
    assert slicing is not None
    for side in (LEFT, RIGHT):
        names = keys_of_side(spec, side)
        rows = read(side, [*names, TIME, END], [], horizon, names)
        if rows.width:
            start = slicing.slices(rows).alias(START)
            windows.append(rows.rename(dict(zip(names, keys, strict=True))).with_columns(start))
    if not windows:
        return pl.DataFrame()
    return pl.concat(windows).select(*keys, START, END).unique(maintain_order=True)


def _take_over(operator: Operator, old: JoinOperator, clocks: JoinClocks) -> MatchTakeOver:
    """Returns the horizons of the tables, how that of the windows is converted, and the floor (47.19).

    The windows are converted as those of window operators are. The rows, and what windows have emitted, stay.
    The horizon is that of before until the windows are evaluated, so those that expire emit their last rows.
    It stays in the header as a floor, so windows that have expired stay expired under a higher lateness.
    """
    assert isinstance(operator, SameWindowEngine)
    before, own = window_operator_of(old), of_windows(clocks)
    horizon = own.horizon(before)
    tables = {WINDOWS: partial(converted_windows, operator.windows, before, own)}
    changes = operator.windows.spec.allowed_lateness != before.allowed_lateness
    fields = {FLOOR: horizon} if changes and horizon is not None and not own.finished else {}
    return operator.horizons_at(horizon), tables, fields


def _numbers(table: str) -> Mapping[str, str]:
    """Returns the columns with numbers. Windows have those of their rows."""
    columns = (NUMBER,) if table in SIDES else (NEWEST, EARLY, IN_TIME, live_column(NEWEST), _NEWEST_SO_FAR)
    return dict.fromkeys(columns, NEXT_NUMBER)


PARTS = MatchEngine(
    operator=_operator,
    tables=lambda spec: (LEFT, RIGHT, WINDOWS),
    inspect=_inspect,
    take_over=_take_over,
    numbers=_numbers,
)
