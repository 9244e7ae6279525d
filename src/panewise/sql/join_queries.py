"""SELECTs from joins: which of them are operators, and joins of the rows of joins (semantics 46.20)."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from sqlglot import exp

from panewise.chrono import DurationLike
from panewise.errors import SqlError
from panewise.spec.conditions.text import in_backticks
from panewise.sql.function_calls import columns_in, conjuncts, has_aggregate, windows_in
from panewise.sql.joins import JoinCompiler, JoinInput, is_join, joined_name
from panewise.sql.joins.behind_joins import BehindJoin, over_joined
from panewise.sql.joins.kinds import HOWS, system_time
from panewise.sql.joins.side_columns import WITH_TABLES
from panewise.sql.joins.subqueries import as_join, subquery_of, take_embedded
from panewise.sql.joins.versions import versions_of
from panewise.sql.options import check_options_read, options_of
from panewise.sql.parser import QueryParser, parse
from panewise.sql.rewriting import WrittenText
from panewise.sql.sources import WithQuery, leaves, names_of
from panewise.sql.spark_queries import SparkQueryCompiler, expressions_of
from panewise.sql.stages import JoinStage, Stage, walk
from panewise.sql.syntax import (
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

# The stages of queries that were written again. The key is the text, and the name and `id` of each query of
# WITH. The value also has these queries, as Python gives the `id` of a deleted object to another one.
Written: TypeAlias = dict[tuple[str, tuple[tuple[str, int], ...]], tuple[Stage, Mapping[str, WithQuery]]]


class JoinQueryCompiler(SparkQueryCompiler):
    """Compiles SELECTs from joins.

    An outer join compiles its inner join twice: to see whether that is an operator, and when it is written
    again. Without stored stages the innermost of n joins would be compiled some 2^n times.
    """

    def __init__(
        self,
        parser: QueryParser,
        update: DurationLike | None = None,
        written: Written | None = None,
    ) -> None:
        super().__init__(parser, update)
        self.written: Written = {} if written is None else written

    def join(self, select: Select, emit: Emit | None, known: Mapping[str, WithQuery]) -> Stage | None:
        """Returns a join of ours, None if the SELECT has none.

        Raises:
            SqlError: if a part breaks a rule.
        """
        join = select.source
        if join is not None and not select.others and (subquery := subquery_of(select)) is not None:
            stage = self.rewritten(as_join(self.parser, select, emit, subquery), known)
            if not any(isinstance(inner, JoinStage) for inner in walk(stage)):
                return None
            take_embedded(self.parser, self.parser.span_of(subquery.part))
            return stage
        if not isinstance(join, Join):
            return None
        if not _is_plain(select):
            return self._behind(select, join, emit, known)
        self._check_right(join)
        if isinstance(join.right, Join) or _has_one_window(join):
            return None
        if isinstance(join.left, Join):
            return self._nested(select, join, emit, known)
        sides = self._side_input(join.left, known), self._right_input(join, known)
        spark = None if is_join(join) else self.spark(select, known)
        compiler = JoinCompiler(self.parser, select, join, sides, spark, emit=emit, update=self.update)
        return compiler.compile()

    def rewritten(self, text: WrittenText, known: Mapping[str, WithQuery]) -> Stage:
        """Returns the stage of a query that is written again. Its errors show the text of the user."""
        key = (text.sql, tuple((name, id(query)) for name, query in known.items()))
        if key not in self.written:
            try:
                query, parser = parse(text.sql)
                stage = type(self)(parser, self.update, self.written).query(query, known)
                check_options_read(parser)
            except SqlError as error:
                raise text.error_of(error, self.parser) from None
            self.written[key] = stage, known
        for place in [place for place in self.parser.optional if text.covers(place)]:
            del self.parser.optional[place]  # the options are read there
        return self.written[key][0]

    def _check_right(self, join: Join) -> None:
        if isinstance(join.right, Join) and (is_join(join) or is_join(join.left)):
            rule = "the right side of a join of streams is a table or a query"
            raise self.parser.fail("a third table", rule, "write it in a query in FROM", join.right.span)

    def _side_input(self, source: Source, known: Mapping[str, WithQuery]) -> JoinInput:
        side = (
            self.assigned(source, known) if isinstance(source, TableFunction) else self.single(source, known)
        )
        options = options_of(source, self.parser, joined=True)
        return JoinInput(side.stage, side.alias, side.time, options)

    def _right_input(self, join: Join, known: Mapping[str, WithQuery]) -> JoinInput:
        """Returns the right side. With FOR SYSTEM_TIME it may be a query of the newest rows of a table."""
        source = join.right
        if system_time(join) is None or not isinstance(source, (NamedTable, Derived)):
            return self._side_input(source, known)
        named = known.get((source.name or "").lower()) if isinstance(source, NamedTable) else None
        query = source.query if isinstance(source, Derived) else None if named is None else named.query
        # A query that is written again reads queries of WITH of another text.
        parser = self.parser if named is None or named.parser is None else named.parser
        owner = self if parser is self.parser else type(self)(parser, self.update, self.written)
        versions = None if query is None else versions_of(query, parser)
        if versions is None:
            return self._side_input(source, known)
        if named is not None:
            named.inlined, known = True, named.known
        name = source.alias or (source.name if isinstance(source, NamedTable) else None)
        return JoinInput(owner.rows(versions.select, known), name, versions.time)

    def _behind(
        self, select: Select, join: Join, emit: Emit | None, known: Mapping[str, WithQuery]
    ) -> Stage | None:
        """Returns GROUP BY, OVER or DISTINCT over the rows of a join, None if the join is Spark's."""
        own = any(is_join(inner) for inner in _joins(join))
        windows = [isinstance(leaf, TableFunction) for leaf in leaves(join)]
        if select.others or (any(windows) and not (all(windows) and len(windows) == 2)):
            if own:
                rule = "a query with a join selects columns of its rows"
                raise self.parser.fail("a join", rule, "write it in a query in FROM", join.span)
            return None
        probe = probe_of(join, select.where)
        if (any(windows) or not own) and self.join(probe, None, known) is None:
            return None
        tables = frozenset(name.lower() for name in names_of(join))
        return self.rewritten(BehindJoin(self.parser, select, emit, tables).written(), known)

    def _nested(
        self, select: Select, join: Join, emit: Emit | None, known: Mapping[str, WithQuery]
    ) -> Stage | None:
        """Returns a join of the rows of a join with a table, None if both are Spark's."""
        left, members = join.left, frozenset(name.lower() for name in names_of(join.left))
        probe = probe_of(left, None)
        if join.using:
            self._check_spark_joins(join, probe, known)
            return None
        select, pushed = self._split(select, join, members)
        nodes, named = self._items_of(select, join, members)
        stars, whole = _whole(select, nodes, members | {name.lower() for name in names_of(join.right)})
        items = (SelectItem(Expr(exp.Star(), left.span), WITH_TABLES, left.span),) if whole else named
        inner = self.join(replace(probe, items=items, where=pushed), None, known) if items else None
        if inner is None and stars:
            self._check_spark_joins(join, probe, known)
            return None
        if inner is not None and join.kind.startswith("NATURAL"):
            raise self._unnamed(join, join.kind)
        stage = self._spark_side(left, pushed, named, known) if inner is None else inner
        sides = JoinInput(stage, ", ".join(sorted(members)), None), self._right_input(join, known)
        outer = JoinCompiler(
            self.parser, select, join, sides, None, emit=emit, members=members, update=self.update
        ).compile()
        if outer is not None or inner is None:
            return outer
        if whole:
            raise self._unnamed(join, "`*`" if stars else "a column without its table")
        return self.rewritten(over_joined(self.parser, select, left.span, members), known)

    def _check_spark_joins(self, join: Join, probe: Select, known: Mapping[str, WithQuery]) -> None:
        """Refuses a join of which Spark joins some tables, but not all."""
        if any(map(is_join, _joins(join))) or self.join(probe, None, known) is not None:
            raise self._unnamed(join, "`*` or USING")

    def _unnamed(self, join: Join, written: str) -> SqlError:
        rule = (
            "a join of more than two tables, of which Spark joins some, names its columns with their tables"
        )
        return self.parser.fail(written, rule, "write them, and ON", join.span)

    def _spark_side(
        self,
        left: Source,
        where: Expr | None,
        items: tuple[SelectItem, ...],
        known: Mapping[str, WithQuery],
    ) -> Stage:
        """Returns a join of Spark's, with these columns."""
        texts = [f"{self.parser.characters(item.span)} AS {in_backticks(item.alias or '')}" for item in items]
        stage = self.cut(left.span, list(leaves(left)), known, f"SELECT {', '.join(texts) or '*'} FROM ")
        if where is None:
            return stage
        parts = [self.parser.span_of(part) for part in conjuncts(where.node)]
        text = " AND ".join(f"({self.parser.characters(span)})" for span in parts)
        return replace(stage, parts=(*stage.parts[:-1], f"{stage.parts[-1]} WHERE {text}"))

    def _split(self, select: Select, join: Join, members: frozenset[str]) -> tuple[Select, Expr | None]:
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
        self, select: Select, join: Join, members: frozenset[str]
    ) -> tuple[list[exp.Column], tuple[SelectItem, ...]]:
        """Returns the columns that a SELECT reads, and those of these tables with their new names."""
        exprs = [*expressions_of(select), join.on, join.match_condition, system_time(join)]
        nodes = [node for expr in exprs if expr is not None for node in columns_in(expr.node)]
        columns = {
            joined_name(node): self.parser.expr_of(node) for node in nodes if node.table.lower() in members
        }
        return nodes, tuple(SelectItem(expr, name, expr.span) for name, expr in columns.items())


def probe_of(source: Source, where: Expr | None) -> Select:
    """Returns a SELECT of no columns, by which a join is compiled to see whether it is one of ours."""
    return Select((), False, source, where, None, None, None, (), source.span, source.span)


def _whole(select: Select, nodes: Iterable[exp.Column], tables: frozenset[str]) -> tuple[bool, bool]:
    """Returns whether `*` is selected, and whether the inner join therefore has all its columns.

    It also has them if a column stands without one of these tables before it.
    """
    stars = any(isinstance(item.expr.node, exp.Star) for item in select.items)
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
    return not any(windows_in(expr.node) or has_aggregate(expr.node) for expr in expressions_of(select))
