"""SELECTs from joins: which of them are operators, and joins of the rows of joins (semantics 46.20)."""

from collections.abc import Mapping

from sqlglot import exp

from panewise.sql.function_calls import columns_in, has_aggregate, windows_in
from panewise.sql.joins import JoinCompiler, JoinInput, is_join, joined_name
from panewise.sql.joins.kinds import system_time
from panewise.sql.options import options_of
from panewise.sql.sources import WithQuery, leaves, names_of
from panewise.sql.spark_queries import SparkQueryCompiler, expressions_of
from panewise.sql.stages import Stage
from panewise.sql.syntax import Emit, Expr, Join, Select, SelectItem, Source, TableFunction


class JoinQueryCompiler(SparkQueryCompiler):
    """Compiles SELECTs from joins."""

    def join(self, select: Select, emit: Emit | None, known: Mapping[str, WithQuery]) -> Stage | None:
        """Returns a join of ours, None if the SELECT has none.

        Raises:
            SqlError: if a part breaks a rule.
        """
        join = select.source
        if not isinstance(join, Join):
            return None
        timed = is_join(join)
        nested = isinstance(join.left, Join) and (timed or is_join(join.left))
        if isinstance(join.right, Join) and (timed or is_join(join.right)):
            rule = "the right side of a join of streams is a table or a query"
            raise self.parser.fail("a third table", rule, "write it in a query in FROM", join.right.span)
        windows = [isinstance(side, TableFunction) for side in (join.left, join.right)]
        if any(windows) and not (all(windows) and _is_plain(select)):
            return None
        if isinstance(join.right, Join) or (isinstance(join.left, Join) and not nested):
            return None
        if not _is_plain(select):
            if timed or nested:
                rule = "a query with a join selects columns of its rows"
                raise self.parser.fail("a join", rule, "write it in a query in FROM", join.span)
            return None
        if nested:
            return self._nested(select, join, emit, known)
        sides = self._side_input(join.left, known), self._side_input(join.right, known)
        spark = None if timed else self.spark(select, known)
        return JoinCompiler(self.parser, select, join, sides, spark, emit=emit).compile()

    def _side_input(self, source: Source, known: Mapping[str, WithQuery]) -> JoinInput:
        side = (
            self.assigned(source, known) if isinstance(source, TableFunction) else self.single(source, known)
        )
        return JoinInput(side.stage, side.alias, side.time, options_of(source, self.parser))

    def _nested(self, select: Select, join: Join, emit: Emit | None, known: Mapping[str, WithQuery]) -> Stage:
        """Returns a join of the rows of a join with a table."""
        left, members = join.left, frozenset(name.lower() for name in names_of(join.left))
        columns = self._columns_of(select, join, members)
        items = tuple(SelectItem(expr, name, expr.span) for name, expr in columns.items())
        inner = Select(items, False, left, None, None, None, None, (), left.span, left.span)
        stage = self.join(inner, None, known) if items else None
        if stage is None:
            texts = [f"{self.parser.characters(expr.span)} AS `{name}`" for name, expr in columns.items()]
            before = f"SELECT {', '.join(texts) or '*'} FROM "
            stage = self.cut(left.span, list(leaves(left)), known, before)
        sides = JoinInput(stage, ", ".join(sorted(members)), None), self._side_input(join.right, known)
        compiler = JoinCompiler(self.parser, select, join, sides, None, emit=emit, members=members)
        outer = compiler.compile()
        if outer is None:
            rule = "a join of more than two tables says for each how its times fit"
            raise self.parser.fail("a third table", rule, "join two of them in a query in FROM", join.span)
        return outer

    def _columns_of(self, select: Select, join: Join, members: frozenset[str]) -> dict[str, Expr]:
        """Returns the columns of these tables that a SELECT reads, by the names that they get."""
        exprs = [*expressions_of(select), join.on, join.match_condition, system_time(join)]
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


def _is_plain(select: Select) -> bool:
    """Returns whether a SELECT only selects rows and computes columns of each."""
    if select.group or select.having or select.qualify or select.distinct or select.others:
        return False
    return not any(windows_in(expr.node) or has_aggregate(expr.node) for expr in expressions_of(select))
