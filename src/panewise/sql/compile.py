"""Compiles a text of SQL to a tree of stages. It needs neither Spark nor the tables (semantics 46.2)."""

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from panewise.chrono import DurationLike
from panewise.errors import SqlError
from panewise.spec import OverOperator
from panewise.spec.conditions.text import in_backticks
from panewise.sql.chained import chained, timed
from panewise.sql.emit import is_changes
from panewise.sql.error_places import error_at
from panewise.sql.first_rows import FirstRowsCompiler
from panewise.sql.function_calls import (
    aggregate_call,
    check_no_window,
    has_aggregate,
    plain_name,
    windows_in,
)
from panewise.sql.joins.subqueries import check_embedded
from panewise.sql.limits import compiling, too_deep
from panewise.sql.options import check_options_read, options_of
from panewise.sql.over import over_stage
from panewise.sql.over_behind_groups import GroupedSelect
from panewise.sql.panes import WINDOW_COLUMNS
from panewise.sql.parser import parse
from panewise.sql.pipes import place_in_pipe, without_pipes
from panewise.sql.retracted import check_retractions
from panewise.sql.select_clauses import calls_window, selected_orders, time_of
from panewise.sql.sources import WithQuery, leaves
from panewise.sql.spark_queries import expressions_of
from panewise.sql.stages import (
    OURS,
    UNSORTED,
    WATERMARKED,
    CompiledQuery,
    Endless,
    OverStage,
    SparkStage,
    Stage,
    WindowsStage,
    is_ours,
    walk,
)
from panewise.sql.stars import check_stars
from panewise.sql.stream_queries import (
    changes_of,
    check_partition,
    needs_time,
    streamed_rows,
    syntax_of,
    with_accumulation,
)
from panewise.sql.syntax import (
    Body,
    CqlWindow,
    Cte,
    Derived,
    Emit,
    Group,
    NamedTable,
    Query,
    Select,
    Streamed,
    TableFunction,
    TextSpan,
)
from panewise.sql.texts import replaced
from panewise.sql.top_n import pattern_is_possible
from panewise.sql.top_n.groups import groups_of_windows
from panewise.sql.top_n.once import with_timestamp
from panewise.sql.window_functions import identifies, window_of_table
from panewise.sql.window_rows import groups_of_rows
from panewise.sql.windows import WindowCompiler


def compile_sql(sql: str, *, update: DurationLike | None = None) -> CompiledQuery:
    """Returns the stages of a query.

    Args:
        sql: the text.
        update: the update policy of joins `OVER (...)` that say none: a period of processing time, or "each".
            Default: rows are joined when they arrive (semantics 46.25).

    Raises:
        SqlError: if the text breaks a rule. The error shows the place.

    >>> text = "SELECT k, sum(v) AS total FROM t GROUP BY k, window(ts, '1 hour')"
    >>> compile_sql(text).stage.spec.window
    Tumbling(size=Duration('1 hour'), origin=0)
    """
    with compiling():
        try:
            return _unpiped(sql, update)
        except RecursionError:
            raise too_deep(sql, 0, len(sql)) from None


def _unpiped(sql: str, update: DurationLike | None) -> CompiledQuery:
    """Compiles a text that may have pipes. Errors have their places in the text that was written."""
    plain = without_pipes(sql)
    try:
        return _compiled(plain, update)
    except SqlError as error:
        if plain is sql:
            raise
        raise error_at(error, sql, place_in_pipe(error, plain, sql)) from None


def _compiled(sql: str, update: DurationLike | None) -> CompiledQuery:
    query, parser = parse(sql)
    stage = QueryCompiler(parser, update).query(Query(query.ctes, query.body, (), query.emit, query.span), {})
    check_options_read(parser)
    check_embedded(parser)
    if not query.tail:
        return CompiledQuery(stage, sql=sql)
    span = TextSpan(query.tail[0][1].start, query.tail[-1][1].end)
    if not any(isinstance(inner, OURS) for inner in walk(stage)):
        return CompiledQuery(QueryCompiler(parser, update).query(query, {}), sql=sql)
    tail = replaced(sql, span, selected_orders(query, parser))
    return CompiledQuery(stage, tail, span.start, sql, parser.characters(span))


class QueryCompiler(FirstRowsCompiler):
    """Compiles a query: it decides what each SELECT is."""

    def query(self, query: Query, known: Mapping[str, WithQuery]) -> Stage:
        """Returns the stage of a query; `known` are those of WITH, by lower-case names."""
        known = dict(known)
        for cte in query.ctes:
            known[cte.name.lower()] = self._with(cte, dict(known))
        stage = self.body(query.body, query.emit, known)
        for cte in query.ctes:
            failed = known[cte.name.lower()]
            if failed.error is not None and not failed.inlined:
                raise failed.error
        return self._sorted(stage, query, known) if query.tail else stage

    def _sorted(self, stage: Stage, query: Query, known: Mapping[str, WithQuery]) -> Stage:
        """Returns a query with its tail, which is Spark's."""
        first, last = query.tail[0][1], query.tail[-1][1]
        if any(isinstance(inner, OURS) for inner in walk(stage)):
            raise self.parser.fail(self.parser.characters(first), *UNSORTED, first)
        text = self.parser.characters(TextSpan(first.start, last.end))
        sorts = next((span for word, span in query.tail if word == "ORDER BY"), None)
        endless = None
        if sorts is not None:
            written = self.parser.characters(sorts)
            endless = Endless(written, *UNSORTED, sorts.start, sorts.end, written)
        if query.ctes:
            return SparkStage(("SELECT * FROM ", f" {text}"), ((stage, None),), endless)
        return replace(self.tailed(query, known, text), endless=endless)

    def _with(self, cte: Cte, known: Mapping[str, WithQuery]) -> WithQuery:
        """Returns a query of WITH. One that is a part of a Top-N need not stand alone."""
        try:
            stage = self.query(cte.query, known)
        except SqlError as error:
            if pattern_is_possible(cte.query) and not cte.columns:
                return WithQuery(cte.query, known, None, error, parser=self.parser)
            raise
        if cte.columns:
            columns = ", ".join(map(in_backticks, cte.columns))
            stage = SparkStage(("SELECT * FROM ", f" ({columns})"), ((stage, cte.name),))
        return WithQuery(None if cte.columns else cte.query, known, stage, parser=self.parser)

    def body(self, body: Body, emit: Emit | None, known: Mapping[str, WithQuery]) -> Stage:
        """Returns the stage of a query without WITH."""
        if isinstance(body, Query):
            return self.query(body if emit is None else replace(body, emit=body.emit or emit), known)
        if isinstance(body, Select):
            stage = self.join(body, emit, known) or self._select(body, emit, known)
            check_retractions(stage, self.parser, body.span)
            return stage
        if isinstance(body, Streamed):
            return self._streamed(body, emit, known)
        if emit is not None:
            rule = "EMIT belongs to a SELECT with windows"
            raise self.parser.fail("EMIT", rule, "write it into each SELECT, in parentheses", emit.span)
        return self.spark(body, known)

    def _streamed(self, streamed: Streamed, emit: Emit | None, known: Mapping[str, WithQuery]) -> Stage:
        """Returns ISTREAM, DSTREAM or RSTREAM of a query."""
        if emit is not None:
            inner = replace(streamed.query, emit=streamed.query.emit or emit)
            streamed = replace(streamed, query=inner)
        stage = self.query(with_accumulation(streamed), known)
        return streamed_rows(streamed, stage, self.parser)

    def _of_stream_window(
        self, select: Select, emit: Emit | None, window: CqlWindow, known: Mapping[str, WithQuery]
    ) -> Stage:
        """Returns the aggregates over a window of CQL."""
        self._refuse(select, distinct=True, qualify=True)
        source = self.input(select, None, known)
        if window.kind == "unbounded":
            emit = emit or changes_of(window.span)
        compiler = WindowCompiler(
            self.parser,
            select,
            emit,
            None,
            source.names,
            time=source.time,
            options=options_of(select.source, self.parser),
            window=syntax_of(window, source.time, self.parser),
        )
        partition = {compiler.columns.name_of(expr).lower() for expr in window.partition_by}
        keys = {name.lower() for name in compiler.group.names().values()}
        check_partition(window, partition, keys, self.parser)
        stage = compiler.compile(source.stage, source.alias)
        return replace(stage, own_time=needs_time(window, source.time))

    def _select(self, select: Select, emit: Emit | None, known: Mapping[str, WithQuery]) -> Stage:
        """Returns the stage of a SELECT that is no join of ours."""
        top_n = self.top_n(select, emit, known)
        if top_n is not None:
            return top_n
        aggregates = any(has_aggregate(item.expr.node) for item in select.items)
        if select.group is not None or select.having is not None or aggregates:
            return self._grouped(select, emit, known)
        over = any(windows_in(expr.node) for expr in expressions_of(select))
        if not over and is_changes(emit):
            emit = None  # such a row is emitted once, when it arrives
        distinct = self._distinct_of_windows(select, emit, known) if select.distinct else None
        distinct = distinct or (self.distinct(select, emit, known) if select.distinct else None)
        if distinct is not None:
            return distinct
        table = self._window_table(select)
        if table is not None and emit is None:
            return self._rows_of_windows(select, table, over=over, known=known)
        if table is not None:
            return self._windows(select, emit, table, known)
        if over:
            return self._over(select, emit, known)
        if emit is not None:
            return self._ordered(select, emit, known)
        return self.rows(select, known) if self.is_simple(select) else self.spark(select, known)

    def _distinct_of_windows(
        self, select: Select, emit: Emit | None, known: Mapping[str, WithQuery]
    ) -> Stage | None:
        """Returns SELECT DISTINCT with bounds of windows as groups, None for another one."""
        exprs = [item.expr for item in select.items]
        if any(isinstance(expr.node, exp.Star) or windows_in(expr.node) for expr in exprs):
            return None
        names = {plain_name(expr.node, frozenset()) for expr in exprs}
        span = TextSpan(select.items[0].span.start, select.items[-1].span.end)
        group = Group(tuple(exprs), None, every=False, span=span)
        groups = replace(select, distinct=False, group=group)
        table = self._window_table(select)
        if table is not None and select.source is table and not select.others:
            windows = window_of_table(table, self.parser).window
            grouped = identifies(windows, names & {*WINDOW_COLUMNS})
            return self._windows(groups, emit, table, known) if grouped else None
        return None if table is not None else self._again(groups, emit, known)

    def _grouped(self, select: Select, emit: Emit | None, known: Mapping[str, WithQuery]) -> Stage:
        """Returns the stage of a SELECT with GROUP BY or aggregates."""
        first = self.groups_of_first_rows(select, emit, known)
        if first is not None:
            return first
        table, calls = self._window_table(select), calls_window(select)
        window = select.source.window if isinstance(select.source, NamedTable) else None
        if table is None and not calls:
            if window is not None:
                return self._of_stream_window(select, emit, window, known)
            again = self._again(select, emit, known)
            if again is not None:
                return again
        over = any(windows_in(item.expr.node) for item in select.items)
        windowed = table is not None or calls
        if (windowed or emit is not None) and (over or select.qualify is not None):
            return self._behind_groups(select, emit, known, windowed=windowed)
        if windowed or emit is not None:
            return self._windows(select, emit, table, known)
        span = select.span if select.group is None else select.group.span
        rule = "without a window the groups of a stream have no end"
        remedy = "add EMIT CHANGES, which emits what has changed, or a window to GROUP BY"
        written = self.parser.characters(span)
        endless = Endless("GROUP BY without a window", rule, remedy, span.start, span.end, written)
        return replace(self.spark(select, known), endless=endless)

    def _behind_groups(
        self, select: Select, emit: Emit | None, known: Mapping[str, WithQuery], *, windowed: bool
    ) -> Stage:
        """Returns a SELECT whose functions over windows read its groups, as a query over a query."""
        if not windowed:
            rule = "groups without windows change as long as rows arrive, so no function can read them once"
            remedy = "add a window to GROUP BY, such as window(ts, '1 hour')"
            raise self.parser.fail("OVER or QUALIFY", rule, remedy, select.span)
        for expr in expressions_of(select):
            for node in expr.node.walk():
                call = aggregate_call(node, self.parser)
                for argument in () if call is None or isinstance(node.parent, exp.Window) else call.arguments:
                    check_no_window(argument, self.parser, "an aggregate")
        return self.rewritten(GroupedSelect(self.parser, select, emit).written(), known)

    def _windows(
        self, select: Select, emit: Emit | None, table: TableFunction | None, known: Mapping[str, WithQuery]
    ) -> Stage:
        """Returns a SELECT with windows and GROUP BY."""
        self._refuse(select, distinct=True, qualify=True)
        if select.source is None:
            rule = "windows have a table"
            raise self.parser.fail("no FROM", rule, "write FROM and a table", select.span)
        source = self.input(select, table, known)
        options = options_of(select.source, self.parser)
        stage, renamed = source.stage, None
        column = time_of(select, table, source.names) if is_ours(stage) else None
        if column is not None:
            stage, renamed = timed(stage, column)
        elif is_ours(stage) and (table is not None or calls_window(select)):
            stage, renamed = with_timestamp(stage) or (stage, None)
        compiler = WindowCompiler(
            self.parser,
            select,
            emit,
            table,
            source.names,
            time=source.time,
            renamed_time=renamed,
            options=options,
        )
        return compiler.compile(stage, source.alias)

    def _again(self, select: Select, emit: Emit | None, known: Mapping[str, WithQuery]) -> Stage | None:
        """Returns groups of panes by their windows, None if the SELECT has others.

        They are a stage of a chain. Panes that are selected before, and rows of panes, are a second operator.
        """
        if not isinstance(select.source, (NamedTable, Derived)) or select.others:
            return None
        if isinstance(select.source, NamedTable) and (select.source.name or "").lower() not in known:
            return None
        source = self.single(select.source, known)
        parts = self.parser, select, emit, source.stage, source.names
        of_rows = groups_of_rows(*parts)
        if of_rows is not None:
            return of_rows
        of_panes = isinstance(source.stage, WindowsStage) and source.stage.having is not None
        selected = groups_of_windows(*parts) if of_panes or select.where is not None else None
        return selected or chained(*parts) or groups_of_windows(*parts)

    def _rows_of_windows(
        self, select: Select, table: TableFunction, *, over: bool, known: Mapping[str, WithQuery]
    ) -> Stage:
        """Returns the rows with the bounds of their windows, of a SELECT without GROUP BY."""
        self._refuse(select, distinct=True, qualify=not over)
        rows = self.assigned(table, known)
        if over:
            check_stars(select.items, rows.names, self.parser)
        if select.source is not table or select.others:
            return self.spark(select, known)
        if over:
            return over_stage(self.parser, select, rows.stage, rows.alias, rows.names)
        return self.rows_over(select, rows.stage, rows.alias)

    def _over(self, select: Select, emit: Emit | None, known: Mapping[str, WithQuery]) -> Stage:
        self._refuse(select, distinct=True, qualify=False)
        source = self.input(select, None, known)
        if emit is not None:
            self.check_plain(emit)
        check_stars(select.items, source.names, self.parser)
        options = options_of(select.source, self.parser)
        return over_stage(self.parser, select, source.stage, source.alias, source.names, options)

    def _ordered(self, select: Select, emit: Emit, known: Mapping[str, WithQuery]) -> Stage:
        """Returns a SELECT with EMIT ON WINDOW CLOSE: its rows come in the order of their event times."""
        self.check_plain(emit)
        source = self.input(select, None, known)
        self._refuse(select, distinct=True, qualify=True)
        check_stars(select.items, source.names, self.parser)
        rows = self.rows_over(select, source.stage, source.alias)
        options = options_of(select.source, self.parser)
        with self.parser.placing(emit.span):
            spec = OverOperator(event_time=source.time or WATERMARKED, **options)
        return OverStage(source.stage, source.alias, rows.where, (), spec, rows.outputs)

    def _refuse(self, select: Select, *, distinct: bool, qualify: bool) -> None:
        """Refuses clauses that an operator does not have."""
        rule = "an operator over windows does not have it"
        if distinct and select.distinct:
            raise self.parser.fail("SELECT DISTINCT", rule, "add the columns to GROUP BY", select.span)
        if qualify and select.qualify is not None:
            remedy = "use HAVING, or a condition in a query over this one"
            raise self.parser.fail("QUALIFY", rule, remedy, select.qualify.span)
        for word, span in select.others:
            if word != "LATERAL VIEW":
                raise self.parser.fail(word, rule, "write it in a query in FROM", span)

    def _window_table(self, select: Select) -> TableFunction | None:
        """Returns the window function in FROM, None if there is none."""
        if select.source is None:
            return None
        tables = [leaf for leaf in leaves(select.source) if isinstance(leaf, TableFunction)]
        if len(tables) > 1:
            rule, remedy = "a query has one window function", "write the other in a query in FROM"
            raise self.parser.fail(tables[1].function, rule, remedy, tables[1].name)
        return tables[0] if tables else None
