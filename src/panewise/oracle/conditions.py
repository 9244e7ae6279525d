"""Conditions over a pair of rows, with three truth values; None is null (semantics 38).

Every part of a condition is evaluated, so whether a number overflows does not depend on the order of parts.
"""

from collections.abc import Callable, Mapping
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

from panewise.errors import InputError
from panewise.oracle.columns import is_integer, is_long, is_nan
from panewise.spec.conditions import (
    And,
    Arithmetic,
    Between,
    Column,
    Comparison,
    In,
    IsNull,
    Literal,
    Node,
    Not,
    Or,
    sql_text,
)

Values = Mapping[str, Any]
Truth = bool | None
_EXACT = 200  # more digits than a sum or a product of two decimals has

_TESTS: dict[str, Callable[[int], bool]] = {
    "=": lambda order: order == 0,
    "!=": lambda order: order != 0,
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


def matches(condition: Node, left_values: Values, right_values: Values) -> bool:
    """Returns whether a condition is true for a pair of rows; null is not true.

    Args:
        condition: the condition.
        left_values: the columns of the left row by name. A column that is missing is null. Timestamps are
            whole numbers of microseconds, and a column of doubles has only floats.
        right_values: those of the right row.

    Raises:
        InputError: if the result of an arithmetic operation on whole numbers does not fit in 64 bits.
    """
    return _value(condition, {"left": left_values, "right": right_values}) is True


def _value(node: Node, rows: Mapping[str, Values]) -> Any:
    match node:
        case Column(side=side, name=name):
            return rows[side].get(name)
        case Literal():
            return node.python
        case Arithmetic(first=first, second=second):
            return _computed(node, _value(first, rows), _value(second, rows))
    return _truth(node, rows)


def _truth(node: Node, rows: Mapping[str, Values]) -> Truth:
    match node:
        case Comparison(op=op, first=first, second=second):
            return _compared(op, _value(first, rows), _value(second, rows))
        case And(parts=parts):
            return _all([_value(part, rows) for part in parts])
        case Or(parts=parts):
            return _any([_value(part, rows) for part in parts])
        case Not(part=part):
            return _not(_value(part, rows))
        case IsNull(value=inner):
            return _value(inner, rows) is None
        case Between(value=inner, low=low, high=high):
            value = _value(inner, rows)
            return _all(
                [_compared(">=", value, _value(low, rows)), _compared("<=", value, _value(high, rows))]
            )
    assert isinstance(node, In)
    value = _value(node.value, rows)
    return _any([_compared("=", value, _value(option, rows)) for option in node.options])


def _all(truths: list[Truth]) -> Truth:
    if False in truths:
        return False
    return None if None in truths else True


def _any(truths: list[Truth]) -> Truth:
    if True in truths:
        return True
    return None if None in truths else False


def _not(truth: Truth) -> Truth:
    return None if truth is None else not truth


def _compared(op: str, first: Any, second: Any) -> Truth:
    if op == "<=>":
        if first is None or second is None:
            return first is None and second is None
        return _order(first, second) == 0
    if first is None or second is None:
        return None
    return _TESTS[op](_order(first, second))


def _order(first: Any, second: Any) -> int:
    """Returns -1, 0 or 1: the first value is below, equal to or above the second (semantics 38.6 to 38.9)."""
    if isinstance(first, float) or isinstance(second, float):
        first, second = float(first), float(second)
        if is_nan(first) or is_nan(second):
            return is_nan(first) - is_nan(second)
    elif _is_exact(first) and _is_exact(second):
        first, second = Fraction(first), Fraction(second)
    return int(first > second) - int(first < second)  # texts compare by code points


def _is_exact(value: Any) -> bool:
    return is_integer(value) or isinstance(value, Decimal)


def _computed(node: Arithmetic, first: Any, second: Any) -> Any:
    """Returns the result of an operation (semantics 38.13 to 38.16)."""
    if first is None or second is None:
        return None
    if isinstance(first, float) or isinstance(second, float):
        return _result(node.op, float(first), float(second))
    with localcontext(prec=_EXACT):
        result = _result(node.op, first, second)
    if is_integer(result) and not is_long(result):
        rule = "a result of whole numbers fits in 64 bits (semantics 38.14)"
        remedy = "cast a column to DOUBLE or DECIMAL(20,0) before the join"
        raise InputError(f"{sql_text(node)} = {result}", rule, remedy)
    return result


def _result(op: str, first: Any, second: Any) -> Any:
    return first + second if op == "+" else first - second if op == "-" else first * second
