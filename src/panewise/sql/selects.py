"""What each SELECT is: a join, a Top-N, groups in windows, functions over windows, or plain rows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlglot import exp

from panewise.spec import OverOperator
from panewise.sql.event_times import timed, with_timestamp
from panewise.sql.expressions.function_calls import (
    aggregate_call,
    check_no_window,
    has_aggregate,
    plain_name,
    windows_in,
)
from panewise.sql.expressions.stars import check_stars
from panewise.sql.first_rows.first_queries import distinct_rows, groups_of_first_rows, top_n_rows
from panewise.sql.joins.join_queries import join_query
from panewise.sql.options import options_of
from panewise.sql.over.compiler import OverCompiler
from panewise.sql.over.selects_over_groups import SelectOverGroups
from panewise.sql.over.whole import over_whole
from panewise.sql.parsing.emit import check_plain, is_changes
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import (
    CqlWindow,
    Derived,
    Emit,
    Group,
    NamedTable,
    Select,
    TableFunction,
    TextSpan,
)
from panewise.sql.rewriting import compiled_again
from panewise.sql.scope import QueryScope
from panewise.sql.select_clauses import calls_window, time_of
from panewise.sql.sources import OperatorInput, assigned_rows, leaves, operator_input, single_input, unbounded
from panewise.sql.spark_queries import is_simple, select_over, simple_rows, spark_query
from panewise.sql.stages import (
    WATERMARKED,
    Endless,
    EndlessError,
    OverStage,
    QueryStage,
    WindowsStage,
    is_ours,
)
from panewise.sql.windows.chained import chained
from panewise.sql.windows.compiler import WindowCompiler
from panewise.sql.windows.panes import WINDOW_COLUMNS
from panewise.sql.windows.second_windows import groups_of_windows
from panewise.sql.windows.stream_queries import check_partition, emit_of, needs_time, syntax_of
from panewise.sql.windows.window_functions import identifies, window_of_table
from panewise.sql.windows.window_rows import groups_of_rows


def select_stage(select: Select, emit: Emit | None, scope: QueryScope) -> QueryStage:
    """Returns the stage of a SELECT."""
    whole = join_query(select, emit, scope) or top_n_rows(select, emit, scope)
    if whole is not None:
        return whole
    aggregates = any(has_aggregate(item.expr.node) for item in select.items)
    if select.group is not None or select.having is not None or aggregates:
        return _grouped(select, emit, scope)
    over = any(windows_in(expr.node) for expr in select.expressions)
    if not over and is_changes(emit):
        emit = None  # such a row is emitted once, when it arrives
    distinct = _distinct(select, emit, scope) if select.distinct else None
    if distinct is not None:
        return distinct
    table = _window_table(select, scope.parser)
    if table is not None and emit is None:
        return _rows_of_windows(select, table, scope, over=over)
    if table is not None:
        return _windows(select, emit, table, scope)
    if over:
        return _over(select, emit, scope)
    if emit is not None:
        return _ordered(select, emit, scope)
    return _plain(select, scope)


def _grouped(select: Select, emit: Emit | None, scope: QueryScope) -> QueryStage:
    """Returns the stage of a SELECT with GROUP BY or aggregates."""
    first = groups_of_first_rows(select, emit, scope)
    if first is not None:
        return first
    table, calls = _window_table(select, scope.parser), calls_window(select)
    window = select.source.window if isinstance(select.source, NamedTable) else None
    if table is None and not calls:
        if window is not None:
            return _of_stream_window(select, emit, window, scope)
        again = _again(select, emit, scope)
        if again is not None:
            return again
    over = any(windows_in(item.expr.node) for item in select.items)
    windowed = table is not None or calls
    if scope.whole and not windowed and emit is None:
        return _whole_groups(select, scope, over=over)
    if (windowed or emit is not None) and (over or select.qualify is not None):
        return _over_groups(select, emit, scope, windowed=windowed)
    if windowed or emit is not None:
        return _windows(select, emit, table, scope)
    span = select.span if select.group is None else select.group.span
    rule = "without a window the groups of a stream have no end"
    remedy = "add EMIT CHANGES, which emits what has changed, or a window to GROUP BY"
    error = EndlessError("GROUP BY without a window", rule, remedy)
    endless = Endless.at(error, scope.parser.origin, span)
    return replace(spark_query(select, scope), endless=endless)


def _whole_groups(select: Select, scope: QueryScope, *, over: bool) -> QueryStage:
    """Returns the groups of a whole input, which end with it. Without GROUP BY there always is one."""
    if over or select.qualify is not None:
        return _over_groups(select, None, scope, windowed=True)
    groups = _windows(select, emit_of("FINAL", select.span), None, scope)
    group = select.group
    single = group is None or not (group.expressions or group.sets or group.every)
    if isinstance(groups, WindowsStage) and single:
        return replace(groups, one_group=True)
    return groups


def _plain(select: Select, scope: QueryScope) -> QueryStage:
    """Returns a SELECT of Spark's."""
    if is_simple(select):
        return simple_rows(select, scope)
    stage = spark_query(select, scope)
    return stage if select.source is None else replace(stage, unbounded=unbounded(select.source, scope))


def _windows(select: Select, emit: Emit | None, table: TableFunction | None, scope: QueryScope) -> QueryStage:
    """Returns a SELECT with windows and GROUP BY."""
    _refuse(select, scope.parser, distinct=True, qualify=True)
    if select.source is None:
        rule = "windows have a table"
        raise scope.parser.fail("no FROM", rule, "write FROM and a table", select.span)
    source = operator_input(select, table, scope)
    options = options_of(select.source, scope.parser, windowed=True)
    stage, renamed = source.stage, None
    column = time_of(select, table, source.names) if is_ours(stage) else None
    if column is not None:
        stage, renamed = timed(stage, column)
    elif is_ours(stage) and (table is not None or calls_window(select)):
        stage, renamed = with_timestamp(stage) or (stage, None)
    compiler = WindowCompiler(
        scope.parser,
        select,
        emit,
        table,
        source.names,
        time=source.time,
        renamed_time=renamed,
        options=options,
    )
    return compiler.compile(stage, source.alias)


def _of_stream_window(select: Select, emit: Emit | None, window: CqlWindow, scope: QueryScope) -> QueryStage:
    """Returns the aggregates over a window of CQL."""
    _refuse(select, scope.parser, distinct=True, qualify=True)
    source = operator_input(select, None, scope)
    if window.kind == "unbounded":
        emit = emit or emit_of("CHANGES", window.span)
    compiler = WindowCompiler(
        scope.parser,
        select,
        emit,
        None,
        source.names,
        time=source.time,
        options=options_of(select.source, scope.parser, windowed=True),
        window=syntax_of(window, source.time, scope.parser),
    )
    partition = {compiler.columns.name_of(expr).lower() for expr in window.partition_by}
    keys = {name.lower() for name in compiler.group.names().values()}
    check_partition(window, partition, keys, scope.parser)
    stage = compiler.compile(source.stage, source.alias)
    return replace(stage, own_time=needs_time(window, source.time))


def _again(select: Select, emit: Emit | None, scope: QueryScope) -> QueryStage | None:
    """Returns groups of panes by their windows, None if the SELECT has others.

    They are a stage of a chain. Panes that are selected before, and rows of panes, are a second operator.
    """
    if not isinstance(select.source, (NamedTable, Derived)) or select.others:
        return None
    if isinstance(select.source, NamedTable) and scope.named(select.source) is None:
        return None
    source = single_input(select.source, scope)
    parts = scope.parser, select, emit, source.stage, source.names
    of_rows = groups_of_rows(*parts)
    if of_rows is not None:
        return of_rows
    of_panes = isinstance(source.stage, WindowsStage) and source.stage.having is not None
    selected = groups_of_windows(*parts) if of_panes or select.where is not None else None
    return selected or chained(*parts) or groups_of_windows(*parts)


def _over_groups(select: Select, emit: Emit | None, scope: QueryScope, *, windowed: bool) -> QueryStage:
    """Returns a SELECT whose functions over windows read its groups, as a query over a query."""
    if not windowed:
        rule = "groups without windows change as long as rows arrive, so no function can read them once"
        remedy = "add a window to GROUP BY, such as window(ts, '1 hour')"
        raise scope.parser.fail("OVER or QUALIFY", rule, remedy, select.span)
    for expr in select.expressions:
        for node in expr.node.walk():
            call = aggregate_call(node, scope.parser)
            for argument in () if call is None or isinstance(node.parent, exp.Window) else call.arguments:
                check_no_window(argument, scope.parser, "an aggregate")
    return compiled_again(SelectOverGroups(scope.parser, select, emit).written(), scope)


def _distinct(select: Select, emit: Emit | None, scope: QueryScope) -> QueryStage | None:
    """Returns SELECT DISTINCT as groups in windows, or as a deduplication; None if it is Spark's."""
    return _distinct_of_windows(select, emit, scope) or distinct_rows(select, emit, scope)


def _distinct_of_windows(select: Select, emit: Emit | None, scope: QueryScope) -> QueryStage | None:
    """Returns SELECT DISTINCT with bounds of windows as groups, None for another one."""
    exprs = [item.expr for item in select.items]
    if any(isinstance(expr.node, exp.Star) or windows_in(expr.node) for expr in exprs):
        return None
    names = {plain_name(expr.node, frozenset()) for expr in exprs}
    span = TextSpan(select.items[0].span.start, select.items[-1].span.end)
    group = Group(tuple(exprs), None, every=False, span=span)
    groups = replace(select, distinct=False, group=group)
    table = _window_table(select, scope.parser)
    if table is not None and select.source is table and not select.others:
        windows = window_of_table(table, scope.parser).window
        grouped = identifies(windows, names & {*WINDOW_COLUMNS})
        return _windows(groups, emit, table, scope) if grouped else None
    return None if table is not None else _again(groups, emit, scope)


def _rows_of_windows(select: Select, table: TableFunction, scope: QueryScope, *, over: bool) -> QueryStage:
    """Returns the rows with the bounds of their windows, of a SELECT without GROUP BY."""
    _refuse(select, scope.parser, distinct=True, qualify=not over)
    rows = assigned_rows(table, scope)
    if over:
        check_stars(select.items, rows.names, scope.parser)
    if select.source is not table or select.others:
        return spark_query(select, scope)
    if over:
        return _functions(select, rows, {}, scope)
    return select_over(select, rows.stage, rows.alias, scope.parser)


def _over(select: Select, emit: Emit | None, scope: QueryScope) -> QueryStage:
    _refuse(select, scope.parser, distinct=True, qualify=False)
    source = operator_input(select, None, scope)
    check_plain(emit, scope.parser.fail)
    check_stars(select.items, source.names, scope.parser)
    return _functions(select, source, options_of(select.source, scope.parser), scope)


def _functions(
    select: Select, rows: OperatorInput, options: Mapping[str, Any], scope: QueryScope
) -> QueryStage:
    """Returns functions over windows of the rows of an input."""
    if scope.whole:
        return over_whole(scope.parser, select, rows, options)
    return OverCompiler(scope.parser, select, rows, options).stage()


def _ordered(select: Select, emit: Emit, scope: QueryScope) -> QueryStage:
    """Returns a SELECT with EMIT ON WINDOW CLOSE: its rows come in the order of their event times."""
    check_plain(emit, scope.parser.fail)
    source = operator_input(select, None, scope)
    _refuse(select, scope.parser, distinct=True, qualify=True)
    check_stars(select.items, source.names, scope.parser)
    rows = select_over(select, source.stage, source.alias, scope.parser)
    options = options_of(select.source, scope.parser)
    with scope.parser.placing(emit.span):
        spec = OverOperator(event_time=source.time or WATERMARKED, **options)
    return OverStage(source.stage, source.alias, rows.where, (), spec, rows.outputs)


def _refuse(select: Select, parser: QueryParser, *, distinct: bool, qualify: bool) -> None:
    """Refuses clauses that an operator does not have."""
    rule = "an operator over windows does not have it"
    if distinct and select.distinct:
        raise parser.fail("SELECT DISTINCT", rule, "add the columns to GROUP BY", select.span)
    if qualify and select.qualify is not None:
        remedy = "use HAVING, or a condition in a query over this one"
        raise parser.fail("QUALIFY", rule, remedy, select.qualify.span)
    for word, span in select.others:
        if word != "LATERAL VIEW":
            raise parser.fail(word, rule, "write it in a query in FROM", span)


def _window_table(select: Select, parser: QueryParser) -> TableFunction | None:
    """Returns the window function in FROM, None if there is none."""
    if select.source is None:
        return None
    tables = [leaf for leaf in leaves(select.source) if isinstance(leaf, TableFunction)]
    if len(tables) > 1:
        rule, remedy = "a query has one window function", "write the other in a query in FROM"
        raise parser.fail(tables[1].function, rule, remedy, tables[1].name)
    return tables[0] if tables else None
