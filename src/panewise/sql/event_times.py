"""The event time that rows of an operator have for the operator that reads them.

A query names a column of the rows (:func:`timed`, semantics 46.18), or none: then rows of windows that fire
once have the last instant of their window (:func:`with_timestamp`, semantics 46.38, 46.100).
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from sqlglot import exp

from panewise.chrono import Duration
from panewise.errors import SqlError
from panewise.families import INPUT
from panewise.spec import AfterWatermark, Global, Tumbling, counted
from panewise.spec.operators.chain import respecified
from panewise.spec.operators.join.match_parts import match_parts
from panewise.sql.parsing.syntax import Expr, TextSpan
from panewise.sql.stage_columns import is_star
from panewise.sql.stages import JoinStage, OutputColumn, QueryStage, Referring, RowsStage, WindowsStage
from panewise.sql.windows.bound_columns import STRUCT, bound_columns
from panewise.sql.windows.panes import END
from panewise.sql.windows.window_functions import WindowSyntax, identifies

_TIMES = {END: "window_time", "window_end": "end"}
TIMESTAMP = "timestamp"
JOIN_TIME = "join_time"


def timed(stage: QueryStage, name: str) -> tuple[QueryStage, str]:
    """Returns a stage whose rows have an event time for another operator, and the name of its column.

    `name` is the column that the query names. If it is a bound of a window, the panes get a `timestamp`.
    """
    if isinstance(stage, (RowsStage, WindowsStage)) and stage.outputs is not None:
        return _timed_output(stage, name)
    if isinstance(stage, JoinStage):
        return _timed_join(stage, name)
    if isinstance(stage, RowsStage):
        inner, time = timed(stage.input, name)
        return (stage, name) if inner is stage.input else (replace(stage, input=inner), time)
    return stage, name


def _timed_output(stage: RowsStage | WindowsStage, name: str) -> tuple[QueryStage, str]:
    """Returns a stage with a SELECT list whose rows have an event time, and its column."""
    outputs = stage.outputs or ()
    output = next((output for output in outputs if (output.name or "").lower() == name.lower()), None)
    if output is None:
        return stage, name
    if isinstance(stage, RowsStage):
        inner, time = timed(stage.input, output.text.strip("`"))
        unchanged = inner is stage.input
        return (stage, name) if unchanged else (_passing(replace(stage, input=inner), time), time)
    timestamp = "window_time" if output.text.strip("`") == stage.struct else _TIMES.get(output.text)
    if timestamp is None:
        return stage, name
    return _passing(replace(stage, spec=respecified(stage.spec, timestamp=timestamp))), TIMESTAMP


def _timed_join(stage: JoinStage, name: str) -> tuple[QueryStage, str]:
    """Returns a join whose rows have the event time of the side that this column is of."""
    item = next((item for item in stage.items if (item.name or "").lower() == name.lower()), None)
    if item is None or len(item.columns) != 1 or item.parts != ("", ""):
        return stage, name
    table, column = item.columns[0]
    for side, known, time in zip(("left", "right"), stage.names, stage.times, strict=True):
        same = table is None or table.lower() == known.lower()
        if same and (time or "").lower() == column.lower() and stage.how not in ("semi", "anti"):
            kind: Any = side
            return replace(with_join_time(stage), timestamp=kind), JOIN_TIME
    return stage, name


def with_join_time(stage: JoinStage) -> JoinStage:
    """Returns a join whose rows have their event time, for another operator; the same one if they have it."""
    new = Referring((JOIN_TIME,), (), JOIN_TIME, JOIN_TIME)
    selected = any(_is_join_time(item) for item in stage.items)
    return stage if selected or new in stage.items else replace(stage, items=(*stage.items, new))


def _is_join_time(item: Referring) -> bool:
    """Returns whether a column of the SELECT list is the event time of the rows, under its own name."""
    return (item.parts, item.columns, item.name) == (("", ""), ((None, JOIN_TIME),), JOIN_TIME)


def _passing(stage: Any, time: str = TIMESTAMP) -> Any:
    """Returns a stage with a SELECT list, whose rows also have the column of the event time.

    Raises:
        SqlError: if another column of the list has its name.
    """
    for output in stage.outputs:
        if (output.name or "").lower() == time and output.text.strip("`").lower() != time:
            rule = "rows that another operator reads have their event time in a column of this name"
            raise SqlError(f"a column {output.name}", rule, "give the column another name with AS")
    if any(output.name == time or is_star(output) for output in stage.outputs):
        return stage
    return replace(stage, outputs=(*stage.outputs, OutputColumn(time, time, time)))


def instant_window(time: str, function: str, span: TextSpan) -> WindowSyntax:
    """Returns the windows of a second operator: one for each last instant of a window, in this column."""
    return WindowSyntax(Tumbling(1), Expr(exp.column(time, quoted=True), span), function, span)


def rows_once(stage: QueryStage, bounds: Iterable[str]) -> tuple[QueryStage, str] | None:
    """Returns rows of windows with an event time, and its column.

    `bounds` are the names of columns in a query over the rows, in lower case. None if they do not name the
    windows, or if :func:`with_timestamp` returns None.
    """
    known, window = bound_columns(stage), window_of_rows(stage)
    named = {known[name] for name in bounds if name in known}
    if window is None or not (STRUCT in named or identifies(window, named)):
        return None
    return with_timestamp(stage)


def window_of_rows(stage: QueryStage) -> Any:
    """Returns the windows of the operator whose rows these are, None if they have no bounds."""
    while isinstance(stage, RowsStage):
        stage = stage.input
    if isinstance(stage, WindowsStage):
        return stage.spec.ports[INPUT].window
    if isinstance(stage, JoinStage) and match_parts(stage.match).windows_end(stage.match):
        return match_parts(stage.match).window(stage.match)
    return None


def with_timestamp(stage: QueryStage) -> tuple[QueryStage, str] | None:
    """Returns rows of windows with the last instant of their window as event time, and its column.

    None if they are no rows of windows, or if a window may fire more than once: its rows would then be in the
    second operator twice.
    """
    if isinstance(stage, RowsStage):
        inner = with_timestamp(stage.input)
        if inner is None:
            return None
        following = replace(stage, input=inner[0])
        return following if stage.outputs is None else _passing(following, inner[1]), inner[1]
    if isinstance(stage, JoinStage):
        return _timed_window_join(stage)
    if not isinstance(stage, WindowsStage) or not _fires_once(stage.spec.ports[INPUT]):
        return None
    stamped = replace(stage, spec=respecified(stage.spec, timestamp="window_time"))
    if stage.ranked is None:
        return _passing(stamped), TIMESTAMP
    if not identifies(stage.spec.ports[INPUT].window, {*bound_columns(stage).values()} - {STRUCT}):
        return None
    others, order = (*stage.ranked.others, (TIMESTAMP, TIMESTAMP)), stage.ranked.order
    ranked = replace(stage.ranked, others=others, order=(*order, "other") if order else ())
    return replace(stamped, ranked=ranked), TIMESTAMP


def _timed_window_join(stage: JoinStage) -> tuple[QueryStage, str] | None:
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
