"""Compiles a text of SQL to a tree of stages. It needs neither Spark nor the tables (semantics 46.2)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlglot import exp

from panewise.errors import SqlError
from panewise.spec import OverOperator, counted
from panewise.sql.behind_groups import GroupedSelect
from panewise.sql.chained import chained, is_ours, timed, window_column
from panewise.sql.function_calls import column_name, columns_in, function_name, has_aggregate, windows_in
from panewise.sql.joins import JoinCompiler, JoinInput, is_join, joined_name
from panewise.sql.options import options_of
from panewise.sql.over import over_stage
from panewise.sql.parser import QueryParser, parse
from panewise.sql.stages import (
    OURS,
    AssignedStage,
    CompiledQuery,
    OutputColumn,
    OverStage,
    RowsStage,
    SparkStage,
    Stage,
    TableStage,
    over_rows,
    walk,
)
from panewise.sql.syntax import (
    Body,
    Cte,
    Derived,
    Emit,
    Expr,
    Join,
    NamedTable,
    Query,
    Select,
    SelectItem,
    SetOperation,
    Source,
    TableFunction,
    TextSpan,
)
from panewise.sql.top_n import TopNCompiler, pattern_is_possible, pattern_of
from panewise.sql.window_functions import window_of_table
from panewise.sql.windows import CALLS, WindowCompiler


def compile_sql(sql: str) -> CompiledQuery:
    """Returns the stages of a query.

    Raises:
        SqlError: if the text breaks a rule. The error shows the place.

    >>> text = "SELECT k, sum(v) AS total FROM t GROUP BY k, window(ts, '1 hour')"
    >>> compile_sql(text).stage.spec.window
    Tumbling(size=Duration('1 hour'), origin=0)
    """
    query, parser = parse(sql)
    compiler = _QueryCompiler(parser)
    stage = compiler.query(Query(query.ctes, query.body, (), query.emit, query.span), {})
    if not query.tail:
        return CompiledQuery(stage, sql=sql)
    span = TextSpan(query.tail[0][1].start, query.tail[-1][1].end)
    if not any(isinstance(one, OURS) for one in walk(stage)):
        compiler = _QueryCompiler(parser)
        return CompiledQuery(compiler.query(query, {}), sql=sql)
    return CompiledQuery(stage, parser.characters(span), span.start, sql)


@dataclass
class _With:
    """A query of WITH.

    Attributes:
        query: its syntax, None if its columns have other names.
        known: the queries of WITH that it may read.
        stage: its stage, None if it cannot stand alone.
        error: why it cannot.
        inlined: whether it is a part of a Top-N.
    """

    query: Query | None
    known: "Mapping[str, _With]"
    stage: Stage | None
    error: SqlError | None = None
    inlined: bool = False


@dataclass
class _QueryCompiler:
    parser: QueryParser
    ours: dict[int, bool] = field(default_factory=dict)  # the parts of UNION that have windows, by identity

    def query(self, query: Query, known: Mapping[str, _With]) -> Stage:
        """Returns the stage of a query; `known` are those of WITH, by lower-case names."""
        known = dict(known)
        for cte in query.ctes:
            known[cte.name.lower()] = self._with(cte, dict(known))
        stage = self.body(query.body, query.emit, known)
        for cte in query.ctes:
            failed = known[cte.name.lower()]
            if failed.error is not None and not failed.inlined:
                raise failed.error
        if not query.tail:
            return stage
        first, last = query.tail[0][1], query.tail[-1][1]
        if any(isinstance(one, OURS) for one in walk(stage)):
            rule = "the rows of a stream have no end, so nothing can be sorted or limited behind its windows"
            words = self.parser.characters(first)
            raise self.parser.fail(words, rule, "leave it out, or use ROW_NUMBER() OVER (...)", first)
        text = self.parser.characters(TextSpan(first.start, last.end))
        return (
            SparkStage(("SELECT * FROM ", f" {text}"), ((stage, None),))
            if query.ctes
            else self._tailed(query, known, text)
        )

    def _tailed(self, query: Query, known: Mapping[str, _With], text: str) -> Stage:
        """Returns a query of Spark's with its tail, which may use columns that it does not select."""
        made = self._spark(query.body, known)
        return SparkStage((*made.parts[:-1], f"{made.parts[-1]} {text}"), made.tables)

    def _with(self, cte: Cte, known: Mapping[str, _With]) -> _With:
        """Returns a query of WITH. One that is a part of a Top-N need not stand alone."""
        try:
            stage = self.query(cte.query, known)
        except SqlError as error:
            if pattern_is_possible(cte.query) and not cte.columns:
                return _With(cte.query, known, None, error)
            raise
        if cte.columns:
            columns = ", ".join(f"`{name}`" for name in cte.columns)
            stage = SparkStage(("SELECT * FROM ", f" ({columns})"), ((stage, cte.name),))
        return _With(None if cte.columns else cte.query, known, stage)

    def _top_n(self, select: Select, emit: Emit | None, known: Mapping[str, _With]) -> Stage | None:
        """Returns a Top-N, None if the SELECT is none."""
        pattern, source, inner = pattern_of(select, emit, self.parser), select.source, known
        named = known.get((source.name or "").lower()) if isinstance(source, NamedTable) else None
        if pattern is None and named is not None and named.query is not None:
            assert isinstance(source, NamedTable)
            written = Derived(named.query, source.alias or source.name, source.columns, None, source.span)
            pattern, inner = pattern_of(replace(select, source=written), emit, self.parser), named.known
            named.inlined = named.inlined or pattern is not None
        if pattern is None:
            return None
        numbered = pattern.inner

        def read(source: Source) -> tuple[Stage, str | None, frozenset[str], str | None]:
            whole = source is numbered.source
            return self.input(numbered, None, inner) if whole else self._single(source, inner)

        return TopNCompiler(self.parser, pattern, read).compile()

    def body(self, body: Body, emit: Emit | None, known: Mapping[str, _With]) -> Stage:
        """Returns the stage of a query without WITH."""
        if isinstance(body, Query):
            inner = (
                body if emit is None else Query(body.ctes, body.body, body.tail, body.emit or emit, body.span)
            )
            return self.query(inner, known)
        if isinstance(body, Select):
            return self.select(body, emit, known)
        if emit is not None:
            rule = "EMIT belongs to a SELECT with windows"
            raise self.parser.fail("EMIT", rule, "write it into each SELECT, in parentheses", emit.span)
        return self._spark(body, known)

    def select(self, select: Select, emit: Emit | None, known: Mapping[str, _With]) -> Stage:
        """Returns the stage of a SELECT."""
        return self._join(select, emit, known) or self._of_one(select, emit, known)

    def _of_one(self, select: Select, emit: Emit | None, known: Mapping[str, _With]) -> Stage:
        """Returns the stage of a SELECT that is no join of ours."""
        top_n = self._top_n(select, emit, known)
        if top_n is not None:
            return top_n
        table = self._window_table(select)
        calls = self._calls_window(select)
        over = [one for one in self._expressions(select) if windows_in(one.node)]
        grouped = self._is_grouped(select)
        again = self._again(select, emit, known) if table is None and not calls and grouped else None
        if again is not None:
            return again
        if table is not None and not grouped and emit is None:
            return self._rows_of_windows(select, table, over=bool(over), known=known)
        if table is not None or calls or (emit is not None and grouped):
            return self._windows(select, emit, table, known)
        if over and not grouped:
            return self._over(select, emit, known)
        if emit is not None:
            return self._ordered(select, emit, known)
        if self._is_simple(select, grouped=grouped):
            return self._rows(select, known)
        return self._spark(select, known)

    def _is_grouped(self, select: Select) -> bool:
        return select.group is not None or any(has_aggregate(item.expr.node) for item in select.items)

    def _behind_groups(self, select: Select, emit: Emit | None, known: Mapping[str, _With]) -> Stage:
        """Returns a SELECT whose functions over windows read its groups, as a query over a query."""
        if self._window_table(select) is None and not self._calls_window(select):
            rule = "groups without windows change as long as rows arrive, so no function can read them once"
            remedy = "add a window to GROUP BY, such as window(ts, '1 hour')"
            raise self.parser.fail("OVER or QUALIFY", rule, remedy, select.span)
        text = GroupedSelect(self.parser, select, emit).written()
        try:
            query, parser = parse(text.sql)
            return _QueryCompiler(parser).query(query, known)
        except SqlError as error:
            if error.line is None or error.column is None:
                raise
            lines = text.sql.split("\n")[: error.line - 1]
            offset = sum(len(line) + 1 for line in lines) + error.column - 1
            place = text.place_of(offset)
            raise self.parser.fail(
                error.given, error.rule, error.remedy, TextSpan(place, place + 1)
            ) from None

    def _calls_window(self, select: Select) -> bool:
        """Returns whether GROUP BY has a call of windows, or the name or number of a column that is one."""
        if select.group is None:
            return False
        meant = {item.alias.lower(): item.expr for item in select.items if item.alias is not None}
        meant |= {str(number): item.expr for number, item in enumerate(select.items, 1)}
        exprs = list(select.group.expressions)
        if select.group.every:
            exprs += [item.expr for item in select.items]
        names = [one.node.name.lower() for one in exprs if isinstance(one.node, (exp.Column, exp.Literal))]
        exprs += [meant[name] for name in names if name in meant]
        return any(function_name(one.node) in CALLS for one in exprs)

    def _side(self, side: Body, known: Mapping[str, _With]) -> Iterator[Source]:
        """Yields the inputs of a part of a UNION. One with windows, which Spark lacks, is an input itself."""
        if isinstance(side, Select) and id(side) not in self.ours:
            stage = self.body(side, None, known)
            self.ours[id(side)] = any(isinstance(one, OURS) for one in walk(stage))
        if self.ours.get(id(side)):
            yield Derived(Query((), side, (), None, side.span), None, (), None, side.span)
        else:
            yield from self._leaves_of(side, known)

    def _expressions(self, select: Select) -> list[Expr]:
        others = [select.where, select.having, select.qualify]
        return [*(item.expr for item in select.items), *(one for one in others if one is not None)]

    def _join(self, select: Select, emit: Emit | None, known: Mapping[str, _With]) -> Stage | None:
        """Returns a join of ours, None if the SELECT has none."""
        join = select.source
        if not isinstance(join, Join):
            return None
        said = is_join(join)
        nested = isinstance(join.left, Join) and (said or is_join(join.left))
        if isinstance(join.right, Join) and (said or is_join(join.right)):
            rule = "the right side of a join of streams is a table or a query"
            raise self.parser.fail("a third table", rule, "write it in a query in FROM", join.right.span)
        others = (TableFunction,) if nested else (TableFunction, Join)
        if isinstance(join.left, others) or isinstance(join.right, (TableFunction, Join)):
            return None
        plain = not (select.group or select.having or select.qualify or select.distinct or select.others)
        if any(windows_in(one.node) or has_aggregate(one.node) for one in self._expressions(select)):
            plain = False
        if not plain:
            if said or nested:
                rule = "a query with a join selects columns of its rows"
                raise self.parser.fail("a join", rule, "write it in a query in FROM", join.span)
            return None
        if nested:
            return self._nested(select, join, emit, known)
        sides = tuple(JoinInput(stage, name, time) for stage, name, _, time in self._both(join, known))
        spark = None if said else self._spark(select, known)
        return JoinCompiler(self.parser, select, join, (sides[0], sides[1]), spark, emit=emit).compile()

    def _nested(self, select: Select, join: Join, emit: Emit | None, known: Mapping[str, _With]) -> Stage:
        """Returns a join of the rows of a join with a table."""
        left, members = join.left, frozenset(name.lower() for name in _names(join.left))
        read = self._columns_of(select, join, members)
        items = tuple(SelectItem(expr, name, expr.span) for name, expr in read.items())
        inner = Select(items, False, left, None, None, None, None, (), left.span, left.span)
        stage = self._join(inner, None, known) if items else None
        if stage is None:
            texts = [f"{self.parser.characters(one.span)} AS `{name}`" for name, one in read.items()]
            before = f"SELECT {', '.join(texts) or '*'} FROM "
            stage = self._cut(left.span, list(_leaves(left)), known, before)
        right, name, _, time = self._single(join.right, known)
        sides = JoinInput(stage, ", ".join(sorted(members)), None), JoinInput(right, name, time)
        compiler = JoinCompiler(self.parser, select, join, sides, None, emit=emit, members=members)
        made = compiler.compile()
        if made is None:
            rule = "a join of more than two tables says for each how its times fit"
            raise self.parser.fail("a third table", rule, "join two of them in a query in FROM", join.span)
        return made

    def _columns_of(self, select: Select, join: Join, members: frozenset[str]) -> dict[str, Expr]:
        """Returns the columns of these tables that a SELECT reads, by the names that they get."""
        exprs = [*self._expressions(select), join.on, join.match_condition]
        exprs.append(getattr(join.right, "system_time", None))
        if join.using or any(isinstance(item.expr.node, exp.Star) for item in select.items):
            rule = "a join of more than two tables names its columns with their tables"
            raise self.parser.fail("* or USING", rule, "write them, and ON", join.span)
        return {
            joined_name(node): Expr(node, self.parser.span_of(node))
            for expr in exprs
            if expr is not None
            for node in columns_in(expr.node)
            if node.table.lower() in members
        }

    def _both(
        self, join: Join, known: Mapping[str, _With]
    ) -> Iterator[tuple[Stage, str | None, Any, str | None]]:
        for one in (join.left, join.right):
            yield self._single(one, known)

    def _windows(
        self, select: Select, emit: Emit | None, table: TableFunction | None, known: Mapping[str, _With]
    ) -> Stage:
        over = [item for item in select.items if windows_in(item.expr.node)]
        if self._is_grouped(select) and (over or select.qualify is not None):
            return self._behind_groups(select, emit, known)
        self._refuse(select, distinct=True, qualify=True)
        source = select.source
        if source is None:
            rule = "windows have a table"
            raise self.parser.fail("no FROM", rule, "write FROM and a table", select.span)
        input, alias, names, time = self.input(select, table, known)  # noqa: A001
        options = options_of(source, self.parser)
        compiler = WindowCompiler(self.parser, select, emit, table, names, time=time, options=options)
        if is_ours(input):
            column = self._time_of(select, table, names)
            if column is not None:
                input, compiler.renamed_time = timed(input, column)  # noqa: A001
        return compiler.compile(input, alias)

    def _time_of(self, select: Select, table: TableFunction | None, names: frozenset[str]) -> str | None:
        """Returns the column that the window of a query names as its event time."""
        if table is not None:
            return None if table.time is None else column_name(table.time.node, names)
        for one in select.group.expressions if select.group is not None else ():
            if function_name(one.node) in CALLS and one.node.expressions:
                time = one.node.expressions[0]
                return window_column(time) or column_name(time, names)
        return None

    def _again(self, select: Select, emit: Emit | None, known: Mapping[str, _With]) -> Stage | None:
        """Returns a stage of a chain, None if the SELECT does not group panes by their windows."""
        if not isinstance(select.source, (NamedTable, Derived)) or select.others:
            return None
        if isinstance(select.source, NamedTable) and (select.source.name or "").lower() not in known:
            return None
        input, _, names, _ = self._single(select.source, known)  # noqa: A001
        return chained(self.parser, select, emit, input, names)

    def _rows_of_windows(
        self, select: Select, table: TableFunction, *, over: bool, known: Mapping[str, _With]
    ) -> Stage:
        """Returns the rows with the bounds of their windows, of a SELECT without GROUP BY."""
        self._refuse(select, distinct=True, qualify=not over)
        input, alias, names, _ = self.input(select, table, known)  # noqa: A001
        made = window_of_table(table, self.parser)
        time = None if made.time is None else column_name(made.time.node, names)
        if time is None or counted(made.window) or select.source is not table or is_ours(input):
            rule = "only rows of a table have the bounds of TUMBLE and HOP of time without GROUP BY"
            remedy = "add GROUP BY window_start, window_end"
            raise self.parser.fail(table.function, rule, remedy, table.name)
        stage = AssignedStage(input, made.window, time)
        return (
            over_stage(self.parser, select, stage, alias, names)
            if over
            else self._rows_over(select, stage, alias)
        )

    def _over(self, select: Select, emit: Emit | None, known: Mapping[str, _With]) -> Stage:
        self._refuse(select, distinct=True, qualify=False)
        input, alias, names, _ = self.input(select, None, known)  # noqa: A001
        if emit is not None:
            self._check_plain(emit)
        return over_stage(self.parser, select, input, alias, names, options_of(select.source, self.parser))

    def _ordered(self, select: Select, emit: Emit, known: Mapping[str, _With]) -> Stage:
        """Returns a SELECT with EMIT ON WINDOW CLOSE: its rows come in the order of their event times."""
        self._check_plain(emit)
        input, alias, _, time = self.input(select, None, known)  # noqa: A001
        if time is None:
            rule = "the rows of a SELECT are emitted in the order of their event times"
            raise self.parser.fail(
                "EMIT", rule, "add WATERMARK ts DELAY OF INTERVAL ... to the table", emit.span
            )
        self._refuse(select, distinct=True, qualify=True)
        rows = self._rows_over(select, input, alias)
        return OverStage(input, alias, rows.where, (), OverOperator(event_time=time), rows.outputs)

    def _check_plain(self, emit: Emit) -> None:
        words = {phrase.words for phrase in emit.phrases}
        if not words <= {("AFTER", "WATERMARK"), ("ON", "WINDOW", "CLOSE"), ("FINAL",)}:
            rule = "a row is emitted once, when the watermark has passed it"
            raise self.parser.fail("EMIT", rule, "write EMIT AFTER WATERMARK, or leave it out", emit.span)

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

    # Sources

    def input(
        self, select: Select, table: TableFunction | None, known: Mapping[str, _With]
    ) -> tuple[Stage, str | None, frozenset[str], str | None]:
        """Returns the input of an operator, its alias, its names, and the column of WATERMARK."""
        source = select.source
        if source is None:
            rule = "an operator has a table"
            raise self.parser.fail("no FROM", rule, "write FROM and a table", select.span)
        simple = not select.others
        if table is not None and source is table and simple:
            inner, alias, names, time = self._single(table.data, known)
            names |= {table.alias.lower()} if table.alias is not None else frozenset()
            return inner, table.alias or alias, names, time
        if isinstance(source, (NamedTable, Derived)) and simple:
            return self._single(source, known)
        return self._joined(select, source, table, known)

    def _single(
        self, source: Source, known: Mapping[str, _With]
    ) -> tuple[Stage, str | None, frozenset[str], str | None]:
        if isinstance(source, NamedTable):
            stage, alias = self._table(source, known), source.alias or _last(source.name)
        elif isinstance(source, Derived):
            stage, alias = self.query(source.query, known), source.alias
            stage = self._renamed(stage, source)
        else:
            rule = "a window function has a table or a query"
            raise self.parser.fail("a join", rule, "write it in parentheses: (SELECT ...)", source.span)
        names = frozenset() if alias is None else frozenset({alias.lower()})
        mark = source.watermark
        if isinstance(source, Derived) and mark is not None:
            text = None if mark.computed is None else self.parser.characters(mark.computed.span)
            delay = self.parser.duration_of(mark.delay)
            marked = TableStage("", None, alias, (), (mark.name, delay, text))
            stage = SparkStage(("", ""), ((stage, None), (marked, None)))
        return stage, alias, names, None if mark is None else mark.name

    def _renamed(self, stage: Stage, source: Derived) -> Stage:
        if not source.columns:
            return stage
        columns = ", ".join(f"`{name}`" for name in source.columns)
        return SparkStage(("SELECT * FROM ", f" ({columns})"), ((stage, source.alias),))

    def _table(self, table: NamedTable, known: Mapping[str, _With]) -> Stage:
        found = known.get(table.name.lower()) if table.name is not None else None
        mark = table.watermark
        watermark = None
        if mark is not None:
            text = None if mark.computed is None else self.parser.characters(mark.computed.span)
            watermark = mark.name, self.parser.duration_of(mark.delay), text
        if found is None:
            text = self.parser.characters(table.text)
            return TableStage(text, table.name, table.alias, table.columns, watermark)
        if watermark is not None:
            rule = "the watermark of a query of WITH is that of its tables"
            raise self.parser.fail("WATERMARK", rule, "write it behind the table there", table.span)
        if found.stage is None:
            assert found.error is not None
            raise found.error
        return found.stage

    def _joined(
        self, select: Select, source: Source, table: TableFunction | None, known: Mapping[str, _With]
    ) -> tuple[Stage, str | None, frozenset[str], str | None]:
        """Returns an input that Spark makes: a join with tables, or LATERAL VIEW."""
        end = select.others[-1][1].end if select.others else source.span.end
        start = source.span.start if select.source_span is None else select.source_span.start
        names = frozenset(name.lower() for name in _names(source))
        stage = self._cut(TextSpan(start, end), list(_leaves(source)), known, "SELECT * FROM ")
        times = [
            one.watermark.name for one in _leaves(source) if isinstance(one, NamedTable) and one.watermark
        ]
        return stage, None, names, times[0] if len(times) == 1 else None

    # Queries of Spark's

    def _is_simple(self, select: Select, *, grouped: bool) -> bool:
        plain = not (grouped or select.distinct or select.others or select.having or select.qualify)
        one = isinstance(select.source, (NamedTable, Derived))
        return plain and one and not any(one.node.find(exp.Query) for one in self._expressions(select))

    def _rows(self, select: Select, known: Mapping[str, _With]) -> Stage:
        input, alias, _, _ = self.input(select, None, known)  # noqa: A001
        if isinstance(input, SparkStage) and len(input.tables) > 1 and not input.parts[0]:
            return self._rows_over(select, input, alias)
        made = self._rows_over(select, input, alias)
        return input if made.where is None and made.outputs is None else made

    def _rows_over(self, select: Select, input: Stage, alias: str | None) -> RowsStage:  # noqa: A002
        where = None if select.where is None else self.parser.characters(select.where.span)
        stars = [item for item in select.items if isinstance(item.expr.node, exp.Star)]
        if len(select.items) == 1 and stars and self.parser.characters(select.items[0].span) == "*":
            return RowsStage(input, alias, where, None)
        return over_rows(input, alias, where, tuple(map(self._output, select.items)))

    def _output(self, item: SelectItem) -> OutputColumn:
        text = self.parser.characters(item.expr.span)
        name = item.alias
        if name is None and isinstance(item.expr.node, exp.Column):
            name = column_name(item.expr.node, frozenset())
        return OutputColumn(text, name, text)

    def _spark(self, body: Body, known: Mapping[str, _With]) -> SparkStage:
        """Returns a query of Spark's, in which tables and queries with windows are inputs."""
        return self._cut(body.span, list(self._leaves_of(body, known)), known, "")

    def _cut(
        self, span: TextSpan, leaves: list[Source], known: Mapping[str, _With], before: str
    ) -> SparkStage:
        parts, tables, at = [before], list[tuple[Stage, str | None]](), span.start
        for leaf in sorted(leaves, key=lambda one: one.span.start):
            if isinstance(leaf, NamedTable) and leaf.name is None and leaf.watermark is None:
                continue
            stage, alias = self._leaf(leaf, known)
            parts[-1] += self.parser.sql[at : leaf.span.start]
            parts.append(_columns(leaf))
            tables.append((stage, alias))
            at = leaf.span.end
        parts[-1] += self.parser.sql[at : span.end]
        return SparkStage(tuple(parts), tuple(tables))

    def _leaf(self, leaf: Source, known: Mapping[str, _With]) -> tuple[Stage, str | None]:
        if isinstance(leaf, TableFunction):
            stage, alias, _, _ = self._single(leaf.data, known)
            return stage, leaf.alias or alias
        if isinstance(leaf, Derived):
            return self.query(leaf.query, known), leaf.alias
        assert isinstance(leaf, NamedTable)
        return self._table(leaf, known), leaf.alias or _last(leaf.name)

    def _leaves_of(self, body: Body, known: Mapping[str, _With]) -> Iterator[Source]:
        if isinstance(body, Query):
            if body.ctes or body.emit is not None:
                yield Derived(body, None, (), None, body.span)
                return
            yield from self._side(body.body, known)
        elif isinstance(body, SetOperation):
            for side in (body.left, body.right):
                yield from self._side(side, known)
        elif isinstance(body, Select):
            yield from _leaves(body.source) if body.source is not None else ()
            for one in self._expressions(body):
                yield from self._tables_in(one)

    def _tables_in(self, expr: Expr) -> Iterator[NamedTable]:
        """Yields the tables of queries in an expression."""
        for table in expr.node.find_all(exp.Table):
            if isinstance(table.this, exp.Identifier) and not table.args.get("db"):
                place = table.this.meta
                span = TextSpan(place["start"], place["end"] + 1)
                yield NamedTable(span, table.name, None, (), None, span)

    def _window_table(self, select: Select) -> TableFunction | None:
        if select.source is None:
            return None
        found = [one for one in _leaves(select.source) if isinstance(one, TableFunction)]
        if len(found) > 1:
            rule = "a query has one window function"
            raise self.parser.fail(
                found[1].function, rule, "write the other in a query in FROM", found[1].name
            )
        return found[0] if found else None


def _leaves(source: Source) -> Iterator[Source]:
    if isinstance(source, Join):
        yield from _leaves(source.left)
        yield from _leaves(source.right)
    else:
        yield source


def _columns(leaf: Source) -> str:
    """Returns the names that an alias gives to columns, as they follow it."""
    named = leaf.columns if isinstance(leaf, (NamedTable, Derived)) else ()
    return f" ({', '.join(f'`{name}`' for name in named)})" if named else ""


def _names(source: Source) -> Iterator[str]:
    for leaf in _leaves(source):
        if isinstance(leaf, TableFunction):
            yield from _names(leaf.data)
        name = leaf.alias if not isinstance(leaf, Join) else None
        if name is None and isinstance(leaf, NamedTable):
            name = _last(leaf.name)
        if name is not None:
            yield name


def _last(name: str | None) -> str | None:
    return None if name is None else name.rsplit(".", 1)[-1]
