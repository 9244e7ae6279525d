"""Queries that Spark runs, in which tables and queries with windows are inputs (semantics 46.1)."""

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from panewise.sql.expressions.function_calls import column_name
from panewise.sql.expressions.stars import check_stars
from panewise.sql.expressions.values import is_values
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import (
    Body,
    Derived,
    Expr,
    NamedTable,
    Opaque,
    Query,
    Select,
    SelectItem,
    SetOperation,
    Source,
    TextSpan,
)
from panewise.sql.scope import QueryScope
from panewise.sql.sources import cut_at_tables, leaves, operator_input
from panewise.sql.stage_columns import over_rows
from panewise.sql.stages import (
    DistinctStage,
    OutputColumn,
    QueryStage,
    RowsStage,
    SetStage,
    SparkStage,
    TableStage,
    UnionStage,
    WatermarkedStage,
    has_operator,
    is_ours,
)


def spark_query(body: Body, scope: QueryScope) -> SparkStage:
    """Returns a query of Spark's, in which tables and queries with windows are inputs."""
    stage = cut_at_tables(body.span, list(_leaves_of(body, scope)), scope)
    return replace(stage, plain=_plain_rows(body, stage, scope))


def _plain_rows(body: Body, stage: SparkStage, scope: QueryScope) -> QueryStage | None:
    """Returns the rows of a query of Spark's by stages that need no Spark, None if there are none."""
    if isinstance(body, Select):
        if body.source is None:
            return _row_of_constants(body, scope)
        distinct = body.distinct and is_simple(replace(body, distinct=False))
        renamed = isinstance(body.source, Derived) and body.source.columns
        if not distinct or renamed or len(stage.tables) != 1:
            return None
        return DistinctStage(select_over(body, *stage.tables[0], scope.parser))
    return _side_rows(body, scope)


def _row_of_constants(select: Select, scope: QueryScope) -> QueryStage | None:
    """Returns the row of a SELECT without FROM, None if it has other clauses than WHERE."""
    clauses = [select.distinct, select.others, select.group, select.having, select.qualify]
    if any(clauses) or any(item.is_star for item in select.items):
        return None
    return select_over(select, TableStage("VALUES (0)", None, None), None, scope.parser)


def _side_rows(body: Body, scope: QueryScope) -> QueryStage | None:
    """Returns the rows of UNION, VALUES, or a part of a UNION; None if only Spark has them."""
    if isinstance(body, SetOperation) and body.word == "UNION":
        left, right = (_side_rows(side, scope) for side in (body.left, body.right))
        union = None if left is None or right is None else UnionStage(left, right)
        return union if union is None or body.every else DistinctStage(union)
    if isinstance(body, SetOperation):
        left, right = (_side_rows(side, scope) for side in (body.left, body.right))
        return None if left is None or right is None else SetStage(left, right, body.word, body.every)
    if isinstance(body, Query) and not (body.ctes or body.tail or body.emit):
        return _side_rows(body.body, scope)
    if isinstance(body, Opaque):
        text = scope.parser.characters(body.span)
        return TableStage(text, None, None) if is_values(text) else None
    return scope.sides.get(id(body))


def tailed_query(query: Query, text: str, scope: QueryScope) -> SparkStage:
    """Returns a query of Spark's with its tail, which may use columns that it does not select."""
    stage = spark_query(query.body, scope)
    return SparkStage((*stage.parts[:-1], f"{stage.parts[-1]} {text}"), stage.tables)


def is_simple(select: Select) -> bool:
    """Returns whether a SELECT without aggregates is a filter and a SELECT list over one table."""
    plain = not (select.distinct or select.others or select.having or select.qualify)
    single = isinstance(select.source, (NamedTable, Derived))
    return plain and single and not any(expr.node.find(exp.Query) for expr in select.expressions)


def simple_rows(select: Select, scope: QueryScope) -> QueryStage:
    """Returns a SELECT without state."""
    source = operator_input(select, None, scope)
    if is_ours(source.stage):
        check_stars(select.items, source.names, scope.parser)
    stage = select_over(select, source.stage, source.alias, scope.parser)
    if isinstance(source.stage, WatermarkedStage):
        return stage
    return source.stage if stage.where is None and stage.outputs is None else stage


def select_over(
    select: Select,
    input: QueryStage,  # noqa: A002 - the field's name
    alias: str | None,
    parser: QueryParser,
) -> RowsStage:
    """Returns the filter and the SELECT list of a SELECT."""
    where = None if select.where is None else parser.characters(select.where.span)
    stars = [item for item in select.items if item.is_star]
    if len(select.items) == 1 and stars and parser.characters(select.items[0].span) == "*":
        return RowsStage(input, alias, where, None)
    return over_rows(input, alias, where, tuple(_output(item, parser) for item in select.items))


def _output(item: SelectItem, parser: QueryParser) -> OutputColumn:
    text = parser.characters(item.expr.span)
    return OutputColumn(text, item.alias or column_name(item.expr.node, frozenset()), text)


def _leaves_of(body: Body, scope: QueryScope) -> Iterator[Source]:
    if isinstance(body, Query):
        if body.ctes or body.emit is not None:
            scope.sides[id(body)] = scope.query(body)
            yield Derived(body, None, (), None, body.span)
            return
        yield from _side(body.body, scope)
    elif isinstance(body, SetOperation):
        for side in (body.left, body.right):
            yield from _side(side, scope)
    elif isinstance(body, Select):
        yield from leaves(body.source) if body.source is not None else ()
        for expr in body.expressions:
            yield from _tables_in(expr)


def _side(side: Body, scope: QueryScope) -> Iterator[Source]:
    """Yields the inputs of a part of a UNION. One with windows, which Spark lacks, is an input itself."""
    alone = Query((), side, (), None, side.span)
    if isinstance(side, Select) and id(side) not in scope.sides:
        scope.sides[id(side)] = scope.query(alone)
    if isinstance(side, Select) and has_operator(scope.sides[id(side)]):
        yield Derived(alone, None, (), None, side.span)
    else:
        yield from _leaves_of(side, scope)


def _tables_in(expr: Expr) -> Iterator[NamedTable]:
    """Yields the tables of queries in an expression that Spark can read (46.29)."""
    for table in expr.node.find_all(exp.Table):
        if "start" in table.this.meta and not table.args.get("db"):
            place = table.this.meta
            span = TextSpan(place["start"], place["end"] + 1)
            yield NamedTable(span, table.name, None, (), None, span)
