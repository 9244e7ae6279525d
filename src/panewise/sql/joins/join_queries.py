"""SELECTs from joins: which of them are operators, and joins of the rows of joins (semantics 46.20)."""

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from panewise.errors import SqlError
from panewise.spec.conditions.text import in_backticks
from panewise.sql.expressions.function_calls import columns_in, conjuncts, has_aggregate, windows_in
from panewise.sql.joins import JoinCompiler, JoinInput, is_join, joined_name
from panewise.sql.joins.kinds import system_time
from panewise.sql.joins.selects_over_joins import SelectOverJoin, over_joined
from panewise.sql.joins.side_columns import WITH_TABLES
from panewise.sql.joins.subqueries import as_join, subquery_of
from panewise.sql.joins.time_order import in_time_order, without_order
from panewise.sql.joins.versions import versions_of
from panewise.sql.options import options_of
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import (
    HOWS,
    Derived,
    Emit,
    Expr,
    Join,
    NamedTable,
    Select,
    SelectItem,
    Source,
    TableFunction,
)
from panewise.sql.rewriting import compiled_again
from panewise.sql.scope import QueryScope, WithQuery
from panewise.sql.sources import assigned_rows, cut_at_tables, leaves, single_input, table_names
from panewise.sql.spark_queries import simple_rows, spark_query
from panewise.sql.stages import JoinStage, QueryStage, walk


def join_query(select: Select, emit: Emit | None, scope: QueryScope) -> QueryStage | None:
    """Returns a join of ours, None if the SELECT has none.

    Raises:
        SqlError: if a part breaks a rule.
    """
    rest = without_order(emit)
    if rest is not emit and isinstance(select.source, Join) and _is_plain(select):
        rows = _join_query(select, rest, scope)
        ordered = None if rows is None else in_time_order(rows)
        if rows is None or ordered is not None:
            return ordered
    return _join_query(select, emit, scope)


def _join_query(select: Select, emit: Emit | None, scope: QueryScope) -> QueryStage | None:
    join = select.source
    if join is not None and not select.others and (subquery := subquery_of(select)) is not None:
        unread = [*scope.parser.unread.embedded.values()]
        stage = compiled_again(as_join(scope.parser, select, emit, subquery), scope)
        if any(isinstance(inner, JoinStage) for inner in walk(stage)):
            return stage
        for table in unread:  # no operator reads them
            scope.parser.unread.add_embedded(table)
        return None
    if not isinstance(join, Join):
        return None
    if not _is_plain(select):
        return _over_rows(select, join, emit, scope)
    _check_right(join, scope.parser)
    if isinstance(join.right, Join) or _has_one_window(join):
        return None
    if isinstance(join.left, Join):
        return _nested(select, join, emit, scope)
    sides = _side_input(join.left, scope), _right_input(join, scope)
    spark = None if is_join(join) else spark_query(select, scope)
    compiler = JoinCompiler(scope.parser, select, join, sides, spark, emit=emit, update=scope.update)
    return compiler.compile()


def _check_right(join: Join, parser: QueryParser) -> None:
    if isinstance(join.right, Join) and (is_join(join) or is_join(join.left)):
        rule = "the right side of a join of streams is a table or a query"
        raise parser.fail("a third table", rule, "write it in a query in FROM", join.right.span)


def _side_input(source: Source, scope: QueryScope) -> JoinInput:
    side = assigned_rows(source, scope) if isinstance(source, TableFunction) else single_input(source, scope)
    options = options_of(source, scope.parser, joined=True)
    return JoinInput(side.stage, side.alias, side.time, options)


def _right_input(join: Join, scope: QueryScope) -> JoinInput:
    """Returns the right side. With FOR SYSTEM_TIME it may be a query of the newest rows of a table."""
    source = join.right
    if system_time(join) is None or not isinstance(source, (NamedTable, Derived)):
        return _side_input(source, scope)
    named = scope.named(source)
    # A query that is written again reads queries of WITH of another text.
    inner = scope if named is None else named.scope
    query = source.query if isinstance(source, Derived) else None if named is None else named.query
    versions = None if query is None else versions_of(query, inner.parser)
    if versions is None:
        return _side_input(source, scope)
    if named is not None:
        named.note_inlined()
    name = source.alias or (source.name if isinstance(source, NamedTable) else None)
    rows, time = versions
    return JoinInput(simple_rows(rows, inner), name, time)


def _over_rows(select: Select, join: Join, emit: Emit | None, scope: QueryScope) -> QueryStage | None:
    """Returns GROUP BY, OVER or DISTINCT over the rows of a join, None if the join is Spark's."""
    own = any(is_join(inner) for inner in _joins(join))
    windows = [isinstance(leaf, TableFunction) for leaf in leaves(join)]
    if select.others or (any(windows) and not (all(windows) and len(windows) == 2)):
        if own:
            rule = "a query with a join selects columns of its rows"
            raise scope.parser.fail("a join", rule, "write it in a query in FROM", join.span)
        return None
    probe = probe_of(join, select.where)
    if (any(windows) or not own) and join_query(probe, None, scope) is None:
        return None
    tables = table_names(join)
    return compiled_again(SelectOverJoin(scope.parser, select, emit, tables).written(), scope)


def _nested(select: Select, join: Join, emit: Emit | None, scope: QueryScope) -> QueryStage | None:
    """Returns a join of the rows of a join with a table, None if both are Spark's."""
    left, members = join.left, table_names(join.left)
    probe = probe_of(left, None)
    if join.using:
        _check_spark_joins(join, probe, scope)
        return None
    select, pushed = _split(select, join, members)
    nodes, named = _items_of(select, join, members, scope.parser)
    stars, whole = _whole(select, nodes, members | table_names(join.right))
    items = (SelectItem(Expr(exp.Star(), left.span), WITH_TABLES, left.span),) if whole else named
    inner = join_query(replace(probe, items=items, where=pushed), None, scope) if items else None
    if inner is None and stars:
        _check_spark_joins(join, probe, scope)
        return None
    if inner is not None and join.kind.startswith("NATURAL"):
        raise _unnamed(join, join.kind, scope.parser)
    stage = _spark_side(left, pushed, named, scope) if inner is None else inner
    sides = JoinInput(stage, ", ".join(sorted(members)), None), _right_input(join, scope)
    outer = JoinCompiler(
        scope.parser, select, join, sides, None, emit=emit, members=members, update=scope.update
    ).compile()
    if outer is not None or inner is None:
        return outer
    if whole:
        raise _unnamed(join, "`*`" if stars else "a column without its table", scope.parser)
    return _with_spark(select, join, inner, scope)


def _with_spark(select: Select, join: Join, inner: QueryStage, scope: QueryScope) -> QueryStage:
    """Returns Spark's join of the rows of a join, which its text reads as a query with a name of its own."""
    name = "joined"
    while name in {*scope.known, *table_names(join.right)}:
        name += "_"
    known = {**scope.known, name: WithQuery(None, scope, inner)}
    written = over_joined(scope.parser, select, join.left.span, table_names(join.left), name)
    return compiled_again(written, scope.within(known))


def _check_spark_joins(join: Join, probe: Select, scope: QueryScope) -> None:
    """Refuses a join of which Spark joins some tables, but not all."""
    if any(map(is_join, _joins(join))) or join_query(probe, None, scope) is not None:
        raise _unnamed(join, "`*` or USING", scope.parser)


def _unnamed(join: Join, written: str, parser: QueryParser) -> SqlError:
    rule = "a join of more than two tables, of which Spark joins some, names its columns with their tables"
    return parser.fail(written, rule, "write them, and ON", join.span)


def _spark_side(
    left: Source, where: Expr | None, items: tuple[SelectItem, ...], scope: QueryScope
) -> QueryStage:
    """Returns a join of Spark's, with these columns."""
    texts = [f"{scope.parser.characters(item.span)} AS {in_backticks(item.alias or '')}" for item in items]
    stage = cut_at_tables(left.span, list(leaves(left)), scope, f"SELECT {', '.join(texts) or '*'} FROM ")
    if where is None:
        return stage
    parts = [scope.parser.span_of(part) for part in conjuncts(where.node)]
    text = " AND ".join(f"({scope.parser.characters(span)})" for span in parts)
    return replace(stage, parts=(*stage.parts[:-1], f"{stage.parts[-1]} WHERE {text}"))


def _split(select: Select, join: Join, members: frozenset[str]) -> tuple[Select, Expr | None]:
    """Returns the SELECT without the parts of WHERE that are about the inner join, and these parts.

    In an inner join without further words WHERE says how the tables are joined.
    """
    plain = all(HOWS.get(inner.kind) == "inner" and not is_join(inner) for inner in _joins(join))
    if select.where is None or not plain:
        return select, None
    parts = list(conjuncts(select.where.node))
    inner = [part for part in parts if _tables_of(part) and _tables_of(part) <= members]
    outer = [part for part in parts if part not in inner]
    where = _all(outer, select.where)
    return replace(select, where=where), _all(inner, select.where)


def _items_of(
    select: Select, join: Join, members: frozenset[str], parser: QueryParser
) -> tuple[list[exp.Column], tuple[SelectItem, ...]]:
    """Returns the columns that a SELECT reads, and those of these tables with their new names."""
    exprs = [*select.expressions, join.on, join.match_condition, system_time(join)]
    nodes = [node for expr in exprs if expr is not None for node in columns_in(expr.node)]
    columns = {joined_name(node): parser.expr_of(node) for node in nodes if node.table.lower() in members}
    return nodes, tuple(SelectItem(expr, name, expr.span) for name, expr in columns.items())


def probe_of(source: Source, where: Expr | None) -> Select:
    """Returns a SELECT of no columns, by which a join is compiled to see whether it is one of ours."""
    return Select((), False, source, where, None, None, None, (), source.span, source.span)


def _whole(select: Select, nodes: Iterable[exp.Column], tables: frozenset[str]) -> tuple[bool, bool]:
    """Returns whether `*` is selected, and whether the inner join therefore has all its columns.

    It also has them if a column stands without one of these tables before it.
    """
    stars = any(item.is_star for item in select.items)
    return stars, stars or any(node.table.lower() not in tables for node in nodes)


def _joins(source: Source) -> Iterable[Join]:
    """Yields a join, and those on its left."""
    while isinstance(source, Join):
        yield source
        source = source.left


def _has_one_window(join: Join) -> bool:
    """Returns whether a join has a window function and a plain table. A query may have windows, too."""
    sides = (join.left, join.right)
    windows = any(isinstance(side, TableFunction) for side in sides)
    return windows and not all(isinstance(side, (TableFunction, Derived)) for side in sides)


def _tables_of(node: exp.Expr) -> set[str]:
    """Returns the tables of the columns in an expression; a column without one has the name ''."""
    return {column.table.lower() for column in columns_in(node)}


def _all(parts: list[exp.Expr], whole: Expr) -> Expr | None:
    """Returns the parts of a condition joined by AND; None without parts."""
    if not parts:
        return None
    condition = parts[0]
    for part in parts[1:]:
        condition = exp.And(this=condition, expression=part)
    return Expr(condition, whole.span)


def _is_plain(select: Select) -> bool:
    """Returns whether a SELECT only selects rows and computes columns of each."""
    if select.group or select.having or select.qualify or select.distinct or select.others:
        return False
    return not any(windows_in(expr.node) or has_aggregate(expr.node) for expr in select.expressions)
