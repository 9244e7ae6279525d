"""Queries that Spark runs, in which tables and queries with windows are inputs (semantics 46.1)."""

from collections.abc import Iterator, Mapping

from sqlglot import exp

from panewise.chrono import DurationLike
from panewise.sql.function_calls import column_name
from panewise.sql.parser import QueryParser
from panewise.sql.sources import SourceCompiler, WithQuery, leaves
from panewise.sql.stage_columns import over_rows
from panewise.sql.stages import (
    OURS,
    OutputColumn,
    RowsStage,
    SparkStage,
    Stage,
    WatermarkedStage,
    is_ours,
    walk,
)
from panewise.sql.stars import check_stars
from panewise.sql.syntax import (
    Body,
    Derived,
    Emit,
    Expr,
    NamedTable,
    Query,
    Select,
    SelectItem,
    SetOperation,
    Source,
    TextSpan,
)


class SparkQueryCompiler(SourceCompiler):
    """Compiles queries of Spark's, and SELECTs without state."""

    def __init__(self, parser: QueryParser, update: DurationLike | None = None) -> None:
        super().__init__(parser, update)
        self.ours: dict[int, bool] = {}  # the parts of UNION that have windows, by identity

    def body(self, body: Body, emit: Emit | None, known: Mapping[str, WithQuery]) -> Stage:
        """Returns the stage of a query without WITH."""
        raise AssertionError("QueryCompiler has it")

    def spark(self, body: Body, known: Mapping[str, WithQuery]) -> SparkStage:
        """Returns a query of Spark's, in which tables and queries with windows are inputs."""
        return self.cut(body.span, list(self._leaves_of(body, known)), known, "")

    def tailed(self, query: Query, known: Mapping[str, WithQuery], text: str) -> SparkStage:
        """Returns a query of Spark's with its tail, which may use columns that it does not select."""
        stage = self.spark(query.body, known)
        return SparkStage((*stage.parts[:-1], f"{stage.parts[-1]} {text}"), stage.tables)

    def is_simple(self, select: Select) -> bool:
        """Returns whether a SELECT without aggregates is a filter and a SELECT list over one table."""
        plain = not (select.distinct or select.others or select.having or select.qualify)
        single = isinstance(select.source, (NamedTable, Derived))
        return plain and single and not any(expr.node.find(exp.Query) for expr in expressions_of(select))

    def rows(self, select: Select, known: Mapping[str, WithQuery]) -> Stage:
        """Returns a SELECT without state."""
        source = self.input(select, None, known)
        if is_ours(source.stage):
            check_stars(select.items, source.names, self.parser)
        stage = self.rows_over(select, source.stage, source.alias)
        if isinstance(source.stage, WatermarkedStage):
            return stage
        return source.stage if stage.where is None and stage.outputs is None else stage

    def rows_over(self, select: Select, input: Stage, alias: str | None) -> RowsStage:  # noqa: A002
        """Returns the filter and the SELECT list of a SELECT."""
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

    def _leaves_of(self, body: Body, known: Mapping[str, WithQuery]) -> Iterator[Source]:
        if isinstance(body, Query):
            if body.ctes or body.emit is not None:
                yield Derived(body, None, (), None, body.span)
                return
            yield from self._side(body.body, known)
        elif isinstance(body, SetOperation):
            for side in (body.left, body.right):
                yield from self._side(side, known)
        elif isinstance(body, Select):
            yield from leaves(body.source) if body.source is not None else ()
            for expr in expressions_of(body):
                yield from _tables_in(expr)

    def _side(self, side: Body, known: Mapping[str, WithQuery]) -> Iterator[Source]:
        """Yields the inputs of a part of a UNION. One with windows, which Spark lacks, is an input itself."""
        if isinstance(side, Select) and id(side) not in self.ours:
            stage = self.body(side, None, known)
            self.ours[id(side)] = any(isinstance(inner, OURS) for inner in walk(stage))
        if self.ours.get(id(side)):
            yield Derived(Query((), side, (), None, side.span), None, (), None, side.span)
        else:
            yield from self._leaves_of(side, known)


def expressions_of(select: Select) -> list[Expr]:
    """Returns the expressions of a SELECT list and of WHERE, HAVING and QUALIFY."""
    others = [select.where, select.having, select.qualify]
    return [*(item.expr for item in select.items), *(expr for expr in others if expr is not None)]


def _tables_in(expr: Expr) -> Iterator[NamedTable]:
    """Yields the tables of queries in an expression that Spark can read (46.29)."""
    for table in expr.node.find_all(exp.Table):
        if "start" in table.this.meta and not table.args.get("db"):
            place = table.this.meta
            span = TextSpan(place["start"], place["end"] + 1)
            yield NamedTable(span, table.name, None, (), None, span)
