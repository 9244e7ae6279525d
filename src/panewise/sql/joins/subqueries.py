"""EXISTS, IN and their negations in WHERE, as semi and anti joins (semantics 46.29)."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.function_calls import columns_in, conjuncts, has_aggregate
from panewise.sql.parsing.expressions import SPAN
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.relations import UNNAMED
from panewise.sql.parsing.syntax import Emit, Select, Source, TableFunction, TextSpan
from panewise.sql.parsing.written_text import WrittenText
from panewise.sql.rewriting import add_emit
from panewise.sql.sources import names_of


@dataclass(frozen=True)
class Subquery:
    """A condition of WHERE with a query.

    Attributes:
        part: the condition.
        query: the SELECT in it.
        table: what its FROM has: a table, a query in parentheses, or a window function.
        value: the left side of IN, None for EXISTS.
        negated: whether NOT stands before it.
    """

    part: exp.Expr
    query: exp.Select
    table: exp.Table | exp.Subquery
    value: exp.Expr | None
    negated: bool

    @property
    def name(self) -> str:
        """The name of the table in the query."""
        return str(self.table.alias or self.table.name or UNNAMED)


def subquery_of(select: Select) -> Subquery | None:
    """Returns the first condition of WHERE with a query over one table, None if there is none."""
    for part in conjuncts(select.where.node) if select.where is not None else ():
        node, negated = part, False
        while isinstance(node, (exp.Paren, exp.Not)):
            negated ^= isinstance(node, exp.Not)
            node = node.this
        if not isinstance(node, (exp.Exists, exp.In)):
            continue
        query = node.this if isinstance(node, exp.Exists) else node.args.get("query")
        query = query.this if isinstance(query, exp.Subquery) else query
        table = _table_of(query)
        value = node.this if isinstance(node, exp.In) else None
        if table is None or not isinstance(query, exp.Select):
            continue
        if query.args.get("where") if value is None else _is_one_column(value, query):
            return Subquery(part, query, table, value, negated)
    return None


def _is_one_column(value: exp.Expr, query: exp.Select) -> bool:
    """Returns whether IN compares one value with the only column of a query. Spark handles all else."""
    columns = query.expressions
    return len(columns) == 1 and not columns[0].is_star and not isinstance(value, exp.Tuple)


def _table_of(query: object) -> exp.Table | exp.Subquery | None:
    """Returns what is in FROM of a SELECT without further clauses than WHERE, None for another query."""
    if not isinstance(query, exp.Select):
        return None
    clauses = {name for name, value in query.args.items() if value} - {"expressions", "kind", "hint"}
    source = query.args.get("from_") or query.args.get("from")
    table = None if source is None else source.this
    if not isinstance(table, (exp.Table, exp.Subquery)) or not clauses <= {"from", "from_", "where"}:
        return None
    named = isinstance(table, exp.Subquery) or isinstance(table.this, exp.Identifier)
    single = named and not table.args.get("joins")
    return table if single and not any(map(has_aggregate, query.expressions)) else None


def as_join(parser: QueryParser, select: Select, emit: Emit | None, subquery: Subquery) -> WrittenText:
    """Returns the SELECT, in which a semi or anti join stands for a condition with a query."""
    assert select.where is not None
    assert select.source_span is not None
    text, sql = WrittenText(), parser.sql
    text.copy(sql, TextSpan(select.span.start, select.source_span.end), {})
    place = parser.span_of(subquery.part)
    text.add(f" LEFT {'ANTI' if subquery.negated else 'SEMI'} JOIN ", place.start)
    _table(text, parser, subquery)
    text.add(" ON ", place.start)
    _condition(text, parser, select, subquery)
    others = [part for part in conjuncts(select.where.node) if part is not subquery.part]
    for number, part in enumerate(others):
        span = parser.span_of(part)
        text.add(" AND " if number else " WHERE ", span.start)
        text.copy(sql, span, {})
    text.copy(sql, TextSpan(select.where.span.end, select.span.end), {})
    add_emit(text, sql, emit)
    return text


def _table(text: WrittenText, parser: QueryParser, subquery: Subquery) -> None:
    if SPAN in subquery.table.meta:
        span = parser.span_of(subquery.table)
        text.copy(parser.sql, span, {})
        text.add("" if subquery.table.alias else f" AS {in_backticks(subquery.name)}", span.end)
        return
    parts = [subquery.table.args.get(name) for name in ("catalog", "db", "this")]
    spans = [TextSpan(part.meta["start"], part.meta["end"] + 1) for part in parts if part is not None]
    text.copy(parser.sql, TextSpan(spans[0].start, spans[-1].end), {})
    text.add(f" AS {in_backticks(subquery.name)}", spans[-1].end)


def _condition(text: WrittenText, parser: QueryParser, select: Select, subquery: Subquery) -> None:
    """Adds ON: the equality of IN, and WHERE of the query. Its columns get the name of its table."""
    inner = in_backticks(subquery.name)
    where = subquery.query.args.get("where")
    names = {} if where is None else _qualified(parser, where.this, inner)
    if subquery.value is not None:
        _equality(text, parser, select, subquery)
        text.add(" AND " if where is not None else "", parser.span_of(subquery.value).end)
    if where is not None:
        span = parser.span_of(where.this)
        text.add("(", span.start)
        text.copy(parser.sql, span, names)
        text.add(")", span.end)


def _equality(text: WrittenText, parser: QueryParser, select: Select, subquery: Subquery) -> None:
    assert subquery.value is not None
    outer = _name_of(select.source)
    selected = subquery.query.expressions[0]
    value, column = parser.span_of(subquery.value), parser.span_of(selected)
    left, right = WrittenText(), WrittenText()
    names: Mapping[TextSpan, str] = {}
    if outer is not None:
        names = _qualified(parser, subquery.value, in_backticks(outer))
    left.copy(parser.sql, value, names)
    right.copy(parser.sql, column, _qualified(parser, selected, in_backticks(subquery.name)))
    equality = f"{left.sql} = {right.sql}"
    if subquery.negated:  # NOT IN is unknown where a value is null
        equality = f"({equality} OR {left.sql} IS NULL OR {right.sql} IS NULL)"
    text.add(equality, value.start)


def _name_of(source: Source | None) -> str | None:
    """Returns the name by which expressions call the first table of FROM."""
    if isinstance(source, TableFunction) and source.alias is not None:
        return source.alias
    return None if source is None else next(names_of(source), None)


def _qualified(parser: QueryParser, node: exp.Expr, table: str) -> dict[TextSpan, str]:
    """Returns the columns without a table, with this one."""
    spans = [parser.span_of(column) for column in columns_in(node) if not column.table]
    return {span: f"{table}.{parser.characters(span)}" for span in spans}
