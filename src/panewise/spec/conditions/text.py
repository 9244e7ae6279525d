"""Conditions as text in the form of SQL, for descriptions and errors."""

import re
from typing import Final

from panewise.spec.conditions import nodes
from panewise.spec.conditions.literals import Literal

_SIMPLE: Final = re.compile(r"[^\W\d]\w*")
# How strongly operators bind. An operand that binds more weakly than its place requires gets parentheses.
_OR, _AND, _NOT, _COMPARISON, _SUM, _PRODUCT, _ATOM = range(7)


def sql_text(condition: nodes.Node) -> str:
    """Returns a condition as text.

    >>> from panewise.spec.conditions.nodes import Column, Comparison, IsNull, Not, Or
    >>> sql_text(Or((Comparison("<", Column("left", "a"), Literal("bigint", 1)),
    ...     Not(IsNull(Column("right", "b c"))))))
    'left.a < 1 OR right.`b c` IS NOT NULL'
    """
    match condition:
        case nodes.Column(side=side, name=name):
            return f"{side}.{name if _SIMPLE.fullmatch(name) else in_backticks(name)}"
        case Literal():
            return str(condition)
        case nodes.Arithmetic(op=op, first=first, second=second):
            strength = _strength(condition)
            return f"{_within(first, strength)} {op} {_within(second, strength + 1)}"
    return _text_of_test(condition)


def _text_of_test(condition: nodes.Node) -> str:
    """Returns the text of a node that is true, false or null."""
    match condition:
        case nodes.Comparison(op=op, first=first, second=second):
            return f"{_within(first, _SUM)} {op} {_within(second, _SUM)}"
        case nodes.And(parts=parts):
            return " AND ".join(_within(part, _AND + 1) for part in parts)
        case nodes.Or(parts=parts):
            return " OR ".join(_within(part, _OR + 1) for part in parts)
        case nodes.Not(part=nodes.IsNull(value=value)):
            return f"{_within(value, _SUM)} IS NOT NULL"
        case nodes.Not(part=part):
            return f"NOT {_within(part, _NOT)}"
        case nodes.IsNull(value=value):
            return f"{_within(value, _SUM)} IS NULL"
        case nodes.Between(value=value, low=low, high=high):
            return f"{_within(value, _SUM)} BETWEEN {_within(low, _SUM)} AND {_within(high, _SUM)}"
    assert isinstance(condition, nodes.In)
    return f"{_within(condition.value, _SUM)} IN ({', '.join(map(sql_text, condition.options))})"


def in_backticks(name: str) -> str:
    """Returns a name as a text of SQL.

    >>> in_backticks("sum(v)"), in_backticks("a`b")
    ('`sum(v)`', '`a``b`')
    """
    return "`" + name.replace("`", "``") + "`"


def _within(node: nodes.Node, least: int) -> str:
    """Returns the text of an operand, in parentheses if it binds more weakly than `least`."""
    return f"({sql_text(node)})" if _strength(node) < least else sql_text(node)


def _strength(node: nodes.Node) -> int:
    match node:
        case nodes.Or():
            return _OR
        case nodes.And():
            return _AND
        case nodes.Not(part=nodes.IsNull()):
            return _COMPARISON
        case nodes.Not():
            return _NOT
        case nodes.Arithmetic(op=op):
            return _PRODUCT if op == "*" else _SUM
        case nodes.Column() | Literal():
            return _ATOM
    return _COMPARISON
