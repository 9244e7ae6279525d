"""The sides of a join, and which of them a column is of."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlglot import exp

from panewise.spec.conditions.text import in_backticks
from panewise.spec.operators.join.columns import SIDES
from panewise.sql.expressions.column_syntax import star_of
from panewise.sql.expressions.function_calls import columns_in, has_aggregate
from panewise.sql.expressions.stars import names_before_star
from panewise.sql.parsing.parser import QueryParser
from panewise.sql.parsing.syntax import Expr
from panewise.sql.stages import OutputColumn, QueryStage, Referring, RowsStage
from panewise.sql.text.pieces import one_line, replaced
from panewise.sql.windows.bound_columns import STRUCT, bound_columns

# The name of `*` whose columns have the names of their tables, in the rows of a join that is joined again.
WITH_TABLES: Final = "*"
_NAME: Final = r"(?:`[^`]*`|\w+)"
_FIRST: Final = re.compile(_NAME)
_WITH_TABLE: Final = re.compile(rf"{_NAME}\s*\.\s*{_NAME}")


@dataclass(frozen=True)
class JoinInput:
    """A side of a join: its stage, its name, the column of WATERMARK, and the options of its table."""

    stage: QueryStage
    name: str | None
    time: str | None
    options: Mapping[str, Any] = field(default_factory=dict)


def joined_name(node: exp.Column) -> str:
    """Returns the name that a column of a table has in the rows of a join that is joined again."""
    return f"{node.table}.{node.name}".lower()


def without_parentheses(node: exp.Expr) -> exp.Expr:
    """Returns the expression in parentheses."""
    return node.unnest() if isinstance(node, exp.Paren) else node


def _length(pattern: re.Pattern[str], text: str) -> int | None:
    """Returns how many characters of a text a pattern matches."""
    match = pattern.match(text)
    return None if match is None else match.end()


class SideColumns:
    """The columns of the sides of a join, by the names of the tables before them.

    Args:
        parser: the parser, which knows the text.
        sides: the sides.
        members: the tables of the left side, if it is a join itself; its columns are called `table.column`.
    """

    def __init__(
        self, parser: QueryParser, sides: tuple[JoinInput, JoinInput], members: frozenset[str]
    ) -> None:
        self.parser, self.sides, self.members = parser, sides, members
        self.names = tuple((side.name or "").lower() for side in sides)
        self.computed: dict[str, dict[str, str]] = {side: {} for side in SIDES}

    def side_of(self, node: exp.Expr) -> tuple[str, str] | None:
        """Returns side and name of a column that stands after the name of its side, None for all else."""
        node = without_parentheses(node)
        if not isinstance(node, exp.Column) or not node.table:
            return None
        if node.args.get("db"):
            return self._bound_of_struct(node)
        table = node.table.lower()
        if table in self.members:
            return "left", joined_name(node)
        return (SIDES[self.names.index(table)], node.name) if table in self.names else None

    def side_of_all(self, node: exp.Expr) -> str | None:
        """Returns the side of which all columns of an expression are; None if there is none."""
        if has_aggregate(node) or node.find(exp.Query, exp.Window) is not None:
            return None
        sides = {self._side_of_parts(column) for column in columns_in(node)}
        return sides.pop() if len(sides) == 1 else None

    def computed_of(self, node: exp.Expr) -> tuple[str, str] | None:
        """Returns side and name of an expression over columns of one side, which becomes a column of it.

        None for a plain column, for one that has no table before it, and for an expression of both sides.
        """
        node = without_parentheses(node)
        side = self.side_of_all(node)
        if side is None or self.side_of(node) is not None:
            return None
        return self._add(side, node, columns_in(node))

    def _add(self, side: str, node: exp.Expr, columns: Iterable[exp.Column]) -> tuple[str, str]:
        """Returns side and name of a new column, which is called as it is written."""
        span = self.parser.span_of(node)
        name = one_line(self.parser.characters(span))
        members = {
            self.parser.span_of(column): in_backticks(joined_name(column))
            for column in columns
            if column.table.lower() in self.members
        }
        self.computed[side][name] = replaced(self.parser.sql, span, members)
        return side, name

    def _side_of_parts(self, column: exp.Column) -> str | None:
        """Returns the side of a column, or of a field of one, None without a table of a side before it."""
        known = self.side_of(column)
        if known is not None:
            return known[0]
        table = column.args.get("db")
        name = "" if table is None or column.args.get("catalog") is not None else table.name.lower()
        return SIDES[self.names.index(name)] if name in self.names and name else None

    def with_computed(self, stage: QueryStage, side: str) -> QueryStage:
        """Returns the rows of a side with its computed columns."""
        texts = self.computed[side]
        if not texts:
            return stage
        outputs = [OutputColumn(text, name, text) for name, text in texts.items()]
        name = self.sides[SIDES.index(side)].name
        return RowsStage(stage, name, None, (OutputColumn("*", None, "*"), *outputs))

    def _bound_of_struct(self, node: exp.Column) -> tuple[str, str] | None:
        """Returns side and name of a field of a struct of bounds, such as `window.start`, if it is one."""
        names = [part.name.lower() for part in node.parts]
        if len(names) != 3 or names[0] not in self.names or names[2] not in ("start", "end"):
            return None
        place = self.names.index(names[0])
        is_struct = bound_columns(self.sides[place].stage).get(names[1]) == STRUCT
        return (SIDES[place], ".".join(names[1:])) if is_struct else None

    def referring(self, expr: Expr, alias: str | None, using: tuple[str, ...] = ()) -> Referring:
        """Returns an expression over the rows of the join, cut where columns stand.

        `using` are the columns that `*` has first.
        """
        sql, parser = self.parser.sql, self.parser
        original = parser.characters(expr.span)
        if isinstance(expr.node, exp.Star) and alias == WITH_TABLES:
            return Referring(("*",), ((None, "*"),), WITH_TABLES, "*", with_tables=True)
        if isinstance(expr.node, exp.Star):
            return self._star(expr, original, using)
        pieces, columns, at = list[str](), list[tuple[str | None, str]](), expr.span.start
        for node in sorted(expr.node.find_all(exp.Column), key=lambda node: parser.span_of(node).start):
            span = parser.span_of(node)
            pieces.append(sql[at : span.start])
            reference, length = self._reference(node)
            columns.append(reference)
            at = span.end if length is None else span.start + length
        name = alias
        if name is None and isinstance(expr.node, exp.Column):
            name = expr.node.name
        return Referring((*pieces, sql[at : expr.span.end]), tuple(columns), name, original)

    def _reference(self, node: exp.Column) -> tuple[tuple[str | None, str], int | None]:
        """Returns table and name of a column, and the length of their text before a field of a struct."""
        parts = [part.name for part in node.parts]
        if node.table.lower() in self.members:
            return (self.sides[0].name, joined_name(node)), None
        if not node.table or (len(parts) == 2 and self.side_of(node) is not None):
            return (node.table or None, node.name), None
        text = self.parser.characters_of(node)
        if parts[0].lower() in self.members:
            reference: tuple[str | None, str] = self.sides[0].name, f"{parts[0]}.{parts[1]}".lower()
        elif parts[0].lower() in self.names:
            reference = parts[0], parts[1]
        else:
            return (None, parts[0]), _length(_FIRST, text)
        return reference, _length(_WITH_TABLE, text)

    def _star(self, expr: Expr, original: str, using: tuple[str, ...]) -> Referring:
        names, star = names_before_star(original), star_of(original)
        if len(names) > 1 or not {*names} <= {*self.names, *self.members}:
            rule = "`t.*` has the columns of a joined table"
            raise self.parser.fail(original, rule, "name the columns, or the fields of a struct", expr.span)
        table, without = (names[0] if names else None), star.without if star is not None else frozenset()
        return Referring(
            ("*", *(using if table is None else ())), ((table, "*"),), None, original, without=without
        )
