"""Rows of windows that fire once, as the input of a second operator (semantics 46.38, 46.100)."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sqlglot import exp

from panewise.chrono import Duration
from panewise.families import INPUT
from panewise.spec import AfterWatermark, Chain, Global, Tumbling, WindowOperator, counted
from panewise.sql.chained import TIMESTAMP, passing, respecified
from panewise.sql.stages import RowsStage, Stage, WindowsStage
from panewise.sql.syntax import Expr, TextSpan
from panewise.sql.window_functions import WindowSyntax, identifies
from panewise.sql.windows import is_first


def instant_window(function: str, span: TextSpan) -> WindowSyntax:
    """Returns the windows of a second operator: one for each last instant of a window."""
    return WindowSyntax(Tumbling(1), Expr(exp.column(TIMESTAMP, quoted=True), span), function, span)


def rows_once(stage: Stage, bounds: Iterable[str]) -> Stage | None:
    """Returns rows of windows with an event time, if these bounds in a query over them name their windows.

    None if the bounds do not, or if :func:`with_timestamp` returns None.
    """
    windows = stage
    while isinstance(windows, RowsStage):
        windows = windows.input
    if not isinstance(windows, WindowsStage) or not identifies(windows.spec.ports[INPUT].window, bounds):
        return None
    return with_timestamp(stage)


def with_timestamp(stage: Stage) -> Stage | None:
    """Returns rows of windows with the last instant of their window as event time.

    None if they are no rows of windows, or if a window may fire more than once: its rows would then be in the
    second operator twice.
    """
    if isinstance(stage, RowsStage):
        rows = with_timestamp(stage.input)
        if rows is None:
            return None
        following = replace(stage, input=rows)
        named: Stage = following if stage.outputs is None else passing(following)
        return named
    if not isinstance(stage, WindowsStage) or not _fires_once(stage.spec):
        return None
    stamped = replace(stage, spec=_stamped(stage.spec))
    if stage.ranked is None:
        panes: Stage = passing(stamped)
        return panes
    bounds = {name.lower() for name, _ in stage.ranked.others}
    if not {"window_start", "window_end"} <= bounds:
        return None
    return replace(
        stamped, ranked=replace(stage.ranked, others=(*stage.ranked.others, (TIMESTAMP, TIMESTAMP)))
    )


def _fires_once(spec: WindowOperator | Chain) -> bool:
    """Returns whether each window of time emits one pane, when the watermark passes its end."""
    first: Any = spec.ports[INPUT]
    if counted(first.window) or isinstance(first.window, Global) or first.accumulation == "retracting":
        return False
    once = isinstance(first.trigger, AfterWatermark) and first.trigger.early is None
    return once and first.allowed_lateness == Duration(0)


def _stamped(spec: WindowOperator | Chain) -> Any:
    if is_first(spec):
        return respecified(spec, timestamp="window_time")
    chain: Any = spec
    return replace(chain, first=respecified(chain.first, timestamp="window_time"))
