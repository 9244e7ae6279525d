"""Rows of windows that fire once, as the input of a second operator (semantics 46.38, 46.100)."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sqlglot import exp

from panewise.chrono import Duration
from panewise.families import INPUT
from panewise.spec import AfterWatermark, Chain, Global, Tumbling, WindowOperator, counted
from panewise.spec.operators.join.match_parts import match_parts
from panewise.sql.bound_columns import STRUCT, bound_columns
from panewise.sql.chained import JOIN_TIME, TIMESTAMP, passing, respecified, with_join_time
from panewise.sql.stages import JoinStage, RowsStage, Stage, WindowsStage
from panewise.sql.syntax import Expr, TextSpan
from panewise.sql.window_functions import WindowSyntax, identifies
from panewise.sql.windows import is_first


def instant_window(time: str, function: str, span: TextSpan) -> WindowSyntax:
    """Returns the windows of a second operator: one for each last instant of a window, in this column."""
    return WindowSyntax(Tumbling(1), Expr(exp.column(time, quoted=True), span), function, span)


def rows_once(stage: Stage, bounds: Iterable[str]) -> tuple[Stage, str] | None:
    """Returns rows of windows with an event time, and its column.

    `bounds` are the names of columns in a query over the rows, in lower case. None if they do not name the
    windows, or if :func:`with_timestamp` returns None.
    """
    known, window = bound_columns(stage), window_of_rows(stage)
    named = {known[name] for name in bounds if name in known}
    if window is None or not (STRUCT in named or identifies(window, named)):
        return None
    return with_timestamp(stage)


def window_of_rows(stage: Stage) -> Any:
    """Returns the windows of the operator whose rows these are, None if they have no bounds."""
    while isinstance(stage, RowsStage):
        stage = stage.input
    if isinstance(stage, WindowsStage):
        return stage.spec.ports[INPUT].window
    if isinstance(stage, JoinStage) and match_parts(stage.match).windows_end(stage.match):
        return stage.match.window
    return None


def with_timestamp(stage: Stage) -> tuple[Stage, str] | None:
    """Returns rows of windows with the last instant of their window as event time, and its column.

    None if they are no rows of windows, or if a window may fire more than once: its rows would then be in the
    second operator twice.
    """
    if isinstance(stage, RowsStage):
        timed = with_timestamp(stage.input)
        if timed is None:
            return None
        following = replace(stage, input=timed[0])
        return following if stage.outputs is None else passing(following, timed[1]), timed[1]
    if isinstance(stage, JoinStage):
        return _timed_join(stage)
    if not isinstance(stage, WindowsStage) or not _fires_once(stage.spec.ports[INPUT]):
        return None
    stamped = replace(stage, spec=_stamped(stage.spec))
    if stage.ranked is None:
        return passing(stamped), TIMESTAMP
    if not identifies(stage.spec.ports[INPUT].window, {*bound_columns(stage).values()} - {STRUCT}):
        return None
    others, order = (*stage.ranked.others, (TIMESTAMP, TIMESTAMP)), stage.ranked.order
    ranked = replace(stage.ranked, others=others, order=(*order, TIMESTAMP) if order else ())
    return replace(stamped, ranked=ranked), TIMESTAMP


def _timed_join(stage: JoinStage) -> tuple[Stage, str] | None:
    """Returns a window join whose rows also have the last instant of their window; None for other joins."""
    if not match_parts(stage.match).windows_end(stage.match) or not _fires_once(stage.match):
        return None
    return with_join_time(stage), JOIN_TIME


def _fires_once(windows: Any) -> bool:
    """Returns whether each window of time emits its rows once, when the watermark passes its end."""
    if counted(windows.window) or isinstance(windows.window, Global) or windows.accumulation == "retracting":
        return False
    once = isinstance(windows.trigger, AfterWatermark) and windows.trigger.early is None
    return once and windows.allowed_lateness == Duration(0)


def _stamped(spec: WindowOperator | Chain) -> Any:
    if is_first(spec):
        return respecified(spec, timestamp="window_time")
    chain: Any = spec
    return replace(chain, first=respecified(chain.first, timestamp="window_time"))
