"""Expressions as small trees, for a runtime that computes them without Spark.

There are three kinds of nodes: columns, constants and calls. An operator such as `+` is a call, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, TypeAlias

from sqlglot import exp

from panewise.errors import SpecError, SqlError
from panewise.sql.expressions.column_syntax import star_in
from panewise.sql.expressions.function_calls import OPERATORS, function_name, is_interval
from panewise.sql.parsing.intervals import duration
from panewise.sql.parsing.parser import QueryParser, parse_expression


@dataclass(frozen=True)
class ColumnNode:
    """A column: its name, which names of a table may precede, and those of fields may follow."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class ConstantNode:
    """A constant: None, a Boolean, a number, a text, an instant in UTC, a date or a length of time."""

    value: Any


@dataclass(frozen=True)
class CallNode:
    """A call of a function or an operator, by its lower-case name."""

    name: str
    arguments: "tuple[Node, ...]"


Node: TypeAlias = ColumnNode | ConstantNode | CallNode

STAR: Final = CallNode("*", ())  # all columns
STAR_OF: Final = "t.*"  # a call with the name of a table, or None, and the names of the columns left out
_OPERATORS: Final[Mapping[type[exp.Expr], str]] = {
    **OPERATORS,
    exp.NEQ: "<>",
    exp.And: "and",
    exp.Or: "or",
    exp.DPipe: "||",
    exp.Like: "like",
    exp.ILike: "ilike",
    exp.RegexpLike: "rlike",
    exp.IntDiv: "div",
}

# The parts of a node that are read, or say how other dialects divide.
_READ: Final = frozenset({"this", "expression", "typed", "safe"})


def tree_of(text: str) -> Node:
    """Returns the tree of an expression.

    Raises:
        SqlError: if it has a part that only Spark computes. The error names it.

    >>> tree_of("v + 1")
    CallNode(name='+', arguments=(ColumnNode(names=('v',)), ConstantNode(value=1)))
    >>> tree_of("v[0]")
    Traceback (most recent call last):
    panewise.errors.SqlError: v[0] | in process an expression has columns, constants and known functions |
    run it on Spark [PW-SQL-027]
    line 1, column 1:
      v[0]
      ^^^^
    """
    if text.strip() == "*":
        return STAR
    expr, parser = parse_expression(text)
    return TreeReader(parser).node(expr.node)


class TreeReader:
    """Reads the expressions of a text that is parsed."""

    def __init__(self, parser: QueryParser) -> None:
        self.parser = parser

    def node(self, node: exp.Expr) -> Node:
        """Returns the tree of a node of sqlglot's."""
        star = star_in(node)
        if star is not None and (star.table is not None or star.without):
            return CallNode(STAR_OF, tuple(map(ConstantNode, (star.table, *sorted(star.without)))))
        if isinstance(node, exp.Column):
            return ColumnNode(tuple(part.name for part in node.parts))
        if isinstance(node, exp.Paren):
            return self.node(node.this)
        if node.args.get("negate"):  # NOT LIKE
            return CallNode("not", (self.node(node.__class__(**{**node.args, "negate": None})),))
        if type(node) in _OPERATORS and not {name for name, value in node.args.items() if value} - _READ:
            return self._call(_OPERATORS[type(node)], node.this, node.expression)
        constant = self._constant(node)
        if constant is not None:
            return constant
        name = function_name(node)
        if name is not None:
            return self._call(name, *node.expressions)
        tree = self._special(node)
        if tree is None:
            raise self._refused(node)
        return tree

    def _call(self, name: str, *arguments: exp.Expr | None) -> CallNode:
        return CallNode(name, tuple(self.node(argument) for argument in arguments if argument is not None))

    def _special(self, node: exp.Expr) -> Node | None:
        """Returns the tree of an operator that has a syntax of its own."""
        tree: Node | None = None
        match node:
            case exp.Star():
                tree = STAR
            case exp.Neg():
                tree = self._negative(node)
            case exp.Not():
                tree = self._call("not", node.this)
            case exp.Case():
                tree = self._case(node)
            case exp.If():
                tree = self._call("if", node.this, node.args["true"], node.args.get("false"))
            case exp.Cast() | exp.TryCast():
                kind = ConstantNode(node.args["to"].sql("spark").lower())
                tree = CallNode(
                    "cast" if type(node) is exp.Cast else "try_cast", (self.node(node.this), kind)
                )
            case exp.Trim() | exp.Substring():
                tree = self._of_text(node)
            case exp.Alias():
                tree = CallNode("as", (self.node(node.this), ConstantNode(node.alias)))
            case exp.Dot():
                tree = self._field(node)
            case _:
                tree = self._condition(node)
        return tree

    def _condition(self, node: exp.Expr) -> Node | None:
        """Returns the tree of a condition that has a syntax of its own."""
        match node:
            case exp.Is() if isinstance(node.expression, exp.Null):
                return self._call("isnull", node.this)
            case exp.Is() if isinstance(node.expression, exp.Boolean):
                return self._call("<=>", node.this, node.expression)
            case exp.NullSafeNEQ():
                return CallNode("not", (self._call("<=>", node.this, node.expression),))
            case exp.In() if node.expressions:
                return self._call("in", node.this, *node.expressions)
            case exp.Between():
                low, high = node.args["low"], node.args["high"]
                return CallNode("and", (self._call(">=", node.this, low), self._call("<=", node.this, high)))
        return None

    def _negative(self, node: exp.Neg) -> Node:
        inner = self.node(node.this)
        if isinstance(inner, ConstantNode) and isinstance(node.this, exp.Literal) and not node.this.is_string:
            return ConstantNode(-inner.value)
        return CallNode("negative", (inner,))

    def _of_text(self, node: exp.Expr) -> Node | None:
        """Returns TRIM(s), and SUBSTRING with commas or with FROM and FOR."""
        if isinstance(node, exp.Substring):
            return self._call("substring", node.this, node.args.get("start"), node.args.get("length"))
        return self._call("trim", node.this) if [*node.iter_expressions()] == [node.this] else None

    def _field(self, node: exp.Dot) -> Node | None:
        """Returns a field of a struct."""
        inner = self.node(node.this)
        if isinstance(inner, ColumnNode) and isinstance(node.expression, exp.Identifier):
            return ColumnNode((*inner.names, node.expression.name))
        return None

    def _case(self, node: exp.Case) -> CallNode:
        """Returns CASE as a call with conditions and values in turn, and the value of ELSE last."""
        arguments: list[Node] = []
        for branch in node.args["ifs"]:
            condition = self.node(branch.this)
            if node.this is not None:
                condition = CallNode("=", (self.node(node.this), condition))
            arguments += [condition, self.node(branch.args["true"])]
        default = node.args.get("default")
        arguments.append(ConstantNode(None) if default is None else self.node(default))
        return CallNode("case", tuple(arguments))

    def _constant(self, node: exp.Expr) -> ConstantNode | None:
        if isinstance(node, exp.Null):
            return ConstantNode(None)
        if isinstance(node, exp.Boolean):
            return ConstantNode(bool(node.this))
        if isinstance(node, exp.Literal):
            return ConstantNode(str(node.this) if node.is_string else _number(str(node.this)))
        if is_interval(node):
            try:
                length = duration(self.parser.characters_of(node))
            except SpecError:
                raise self._refused(node) from None
            return ConstantNode(timedelta(microseconds=length.us))
        return self._typed(node)

    def _typed(self, node: exp.Expr) -> ConstantNode | None:
        """Returns DATE '...' and TIMESTAMP '...', and numbers with a suffix; None for all others."""
        if not isinstance(node, exp.Cast) or not isinstance(node.this, exp.Literal):
            return None
        kind, text = node.args["to"].sql("spark").upper(), str(node.this.this)
        try:
            if kind == "DATE":
                return ConstantNode(date.fromisoformat(text))
            if kind == "TIMESTAMP":
                instant = datetime.fromisoformat(text)
                return ConstantNode(instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC))
            if not node.this.is_string and kind in ("DOUBLE", "FLOAT"):
                return ConstantNode(float(text))
            if kind.startswith("DECIMAL") and self.parser.characters_of(node)[:1].isdigit():  # such as 2BD
                return ConstantNode(Decimal(text))
        except ValueError:
            raise self._refused(node) from None
        return None

    def _refused(self, node: exp.Expr) -> SqlError:
        span = self.parser.span_of(node)
        rule = "in process an expression has columns, constants and known functions"
        return self.parser.fail(self.parser.characters(span), rule, "run it on Spark", span)


def _number(text: str) -> int | float | Decimal:
    """Returns a number as Spark reads it: with an exponent it is a DOUBLE, with a point a DECIMAL."""
    if text.isdigit():
        return int(text)
    return float(text) if "e" in text.lower() else Decimal(text)
