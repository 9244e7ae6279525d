"""Conditions on pairs of rows as expressions."""

from collections.abc import Callable
from typing import Final

from panewise.spec.conditions.literals import Literal
from panewise.spec.conditions.nodes import (
    And,
    Arithmetic,
    Between,
    Column,
    Comparison,
    In,
    IsNull,
    Node,
    Not,
    Or,
)
from panewise.spec.conditions.text import in_backticks
from panewise.sql.text.parameters import literal
from panewise.sql.writing.words import unsaid

_SIGNS: Final = {"==": "=", "!=": "<>"}
_PLAIN: Final = ("boolean", "bigint", "double", "string")


def condition(node: Node, names: dict[str, str]) -> str:
    """Returns a condition in parentheses.

    Args:
        node: the condition.
        names: the names of the tables of "left" and "right".

    Raises:
        SqlError: for a literal that is written in no other way than as a value of Spark.
    """

    def text(inner: Node) -> str:
        return condition(inner, names)

    match node:
        case Column():
            return f"{names[node.side]}.{in_backticks(node.name)}"
        case Literal():
            return _literal(node)
        case And() | Or():
            word = " AND " if isinstance(node, And) else " OR "
            return f"({word.join(map(text, node.parts))})"
        case Not():
            return f"(NOT {text(node.part)})"
        case _:
            return f"({_test(node, text)})"


def _test(node: Arithmetic | Comparison | IsNull | Between | In, text: Callable[[Node], str]) -> str:
    match node:
        case Arithmetic() | Comparison():
            return f"{text(node.first)} {_SIGNS.get(node.op, node.op)} {text(node.second)}"
        case IsNull():
            return f"{text(node.value)} IS NULL"
        case Between():
            return f"{text(node.value)} BETWEEN {text(node.low)} AND {text(node.high)}"
        case In():
            return f"{text(node.value)} IN ({', '.join(map(text, node.options))})"


def _literal(node: Literal) -> str:
    if isinstance(node.value, float) or node.type not in _PLAIN:
        if node.type != "double":
            raise unsaid("condition", str(node))
        return repr(node.value)
    return literal(node.value).removesuffix("L")
