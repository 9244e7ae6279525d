"""The sides of a join, and which of them a column is of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlglot import exp

from panewise.sql.bound_columns import STRUCT, bound_columns
from panewise.sql.parser import QueryParser
from panewise.sql.stages import Referring, Stage
from panewise.sql.syntax import Expr

SIDES: Final = ("left", "right")


@dataclass(frozen=True)
class JoinInput:
    """A side of a join: its stage, its name, the column of WATERMARK, and the options of its table."""

    stage: Stage
    name: str | None
    time: str | None
    options: Mapping[str, Any] = field(default_factory=dict)


def joined_name(node: exp.Column) -> str:
    """Returns the name that a column of a table has in the rows of a join that is joined again."""
    return f"{node.table}.{node.name}".lower()


def without_parentheses(node: exp.Expr) -> exp.Expr:
    """Returns the expression in parentheses."""
    return node.unnest() if isinstance(node, exp.Paren) else node


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

    def side_of(self, node: exp.Expr) -> tuple[str, str] | None:
        """Returns side and name of a column that stands behind the name of its side, None for all else."""
        node = without_parentheses(node)
        if not isinstance(node, exp.Column) or not node.table:
            return None
        if node.args.get("db"):
            return self._bound_of_struct(node)
        table = node.table.lower()
        if table in self.members:
            return "left", joined_name(node)
        return (SIDES[self.names.index(table)], node.name) if table in self.names else None

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
        if isinstance(expr.node, exp.Star):
            return self._star(expr, original, using)
        pieces, columns, at = list[str](), list[tuple[str | None, str]](), expr.span.start
        for node in sorted(expr.node.find_all(exp.Column), key=lambda node: parser.span_of(node).start):
            span, table = parser.span_of(node), node.parts[0].name
            if len(node.parts) > 2 and table.lower() in self.names:  # fields of a struct follow its name
                pieces.append(sql[at : span.start])
                columns.append((table, node.parts[1].name))
                at = node.parts[1].meta["end"] + 1
                continue
            if self.side_of(node) is None and node.table:
                continue
            pieces.append(sql[at : span.start])
            columns.append(self._reference(node))
            at = span.end
        name = alias
        if name is None and isinstance(expr.node, exp.Column):
            name = expr.node.name
        return Referring((*pieces, sql[at : expr.span.end]), tuple(columns), name, original)

    def _reference(self, node: exp.Column) -> tuple[str | None, str]:
        if node.table.lower() in self.members:
            return self.sides[0].name, joined_name(node)
        return node.table or None, node.name

    def _star(self, expr: Expr, original: str, using: tuple[str, ...]) -> Referring:
        if not original.endswith("*"):
            rule = "`*` has all columns of a join"
            raise self.parser.fail(original, rule, "name the columns", expr.span)
        table = original.rpartition(".")[0].strip("` ") or None
        return Referring(("*", *(using if table is None else ())), ((table, "*"),), None, original)
