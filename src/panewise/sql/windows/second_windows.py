"""GROUP BY over selected panes or the first rows of windows, as a second operator (46.38, 46.100)."""

from panewise.sql.event_times import instant_window, rows_once
from panewise.sql.expressions.function_calls import plain_name
from panewise.sql.input_columns import InputColumns
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import Emit, Select
from panewise.sql.stages import QueryStage, WindowsStage
from panewise.sql.windows.bound_columns import STRUCT, bound_columns
from panewise.sql.windows.compiler import WindowCompiler
from panewise.sql.windows.group_keys import GroupKeys
from panewise.sql.windows.grouping_sets import Sets


def groups_of_windows(
    parser: QueryParser, select: Select, emit: Emit | None, stage: QueryStage, names: frozenset[str]
) -> WindowsStage | None:
    """Returns the groups of rows of windows, None if the rows are no such ones.

    The rows of a window come once, with its last instant as event time. A window of this instant has them.
    """
    if emit is not None or select.group is None:
        return None
    columns = InputColumns(parser, names)
    keys = GroupKeys(select, columns, Sets(parser, select.group.sets))
    grouped = {plain_name(expr.node, names) for expr in keys.grouped()}
    structs = {name for name, bound in bound_columns(stage).items() if bound == STRUCT}
    rows = rows_once(stage, grouped - structs)
    if rows is None:
        return None
    stage, time = rows
    syntax = instant_window(time, "GROUP BY", select.group.span)
    compiler = WindowCompiler(parser, select, None, None, names, window=syntax)
    return compiler.compile(stage, next(iter(names), None))
