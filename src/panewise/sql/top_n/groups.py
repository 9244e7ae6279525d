"""GROUP BY over the first rows of windows: a second operator over each window's rows (semantics 46.38)."""

from dataclasses import replace

from sqlglot import exp

from panewise.chrono import Duration
from panewise.spec import AfterWatermark, Tumbling
from panewise.sql.chained import TIMESTAMP, respecified
from panewise.sql.function_calls import column_name
from panewise.sql.group_keys import GroupKeys
from panewise.sql.panes import BOUNDS
from panewise.sql.parser import QueryParser
from panewise.sql.stages import RowsStage, Stage, WindowsStage
from panewise.sql.syntax import Emit, Expr, Select
from panewise.sql.texts import quoted
from panewise.sql.window_functions import WindowSyntax
from panewise.sql.windows import WindowCompiler, is_first


class _KeysOfRows(GroupKeys):
    """GROUP BY in which the bounds of windows are columns of the rows."""

    def _named(self, expr: Expr, key: str | None) -> str:
        name = (column_name(expr.node, self.columns.aliases) or "").lower()
        if name in BOUNDS and key is None:
            return self.columns.add(quoted(name), f"{name} of the rows")
        return super()._named(expr, key)


class _GroupsOfRows(WindowCompiler):
    def _group(self) -> GroupKeys:
        return _KeysOfRows(self.select, self.columns, self.sets, None)


def groups_of_windows(
    parser: QueryParser, select: Select, emit: Emit | None, stage: Stage, names: frozenset[str]
) -> WindowsStage | None:
    """Returns the groups of the first rows of windows, None if the rows are no such ones.

    The rows of a window come once, with its last instant as event time. A window of this instant has them.
    """
    if emit is not None or select.group is None:
        return None
    rows = _with_timestamp(stage)
    grouped = {(column_name(expr.node, names) or "").lower() for expr in select.group.expressions}
    if rows is None or not {"window_start", "window_end"} <= grouped:
        return None
    span = select.group.span
    syntax = WindowSyntax(Tumbling(1), Expr(exp.column(TIMESTAMP, quoted=True), span), "GROUP BY", span)
    return _GroupsOfRows(parser, select, None, None, names, window=syntax).compile(
        rows, next(iter(names), None)
    )


def _with_timestamp(stage: Stage) -> Stage | None:
    """Returns the first rows of windows with their event time; None if a window may fire more than once."""
    if isinstance(stage, RowsStage) and stage.outputs is None:
        rows = _with_timestamp(stage.input)
        return None if rows is None else replace(stage, input=rows)
    if not isinstance(stage, WindowsStage) or stage.ranked is None or stage.ranked.retracts:
        return None
    spec = stage.spec
    bounds = {name.lower() for name, _ in stage.ranked.others}
    if not is_first(spec) or not {"window_start", "window_end"} <= bounds:
        return None
    once = isinstance(spec.trigger, AfterWatermark) and spec.trigger.early is None
    if not once or spec.allowed_lateness != Duration(0):
        return None
    ranked = replace(stage.ranked, others=(*stage.ranked.others, (TIMESTAMP, TIMESTAMP)))
    return replace(stage, spec=respecified(spec, timestamp="window_time"), ranked=ranked)
