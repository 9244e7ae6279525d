"""The column types that conditions take, and the types of their values (semantics 38.5, 38.13, 38.16).

A value whose type is not known has the type None, and is not checked.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

from panewise.errors import SpecError
from panewise.spec.column_types import BIGINT, BOOLEAN, DOUBLE, Type
from panewise.spec.conditions import nodes
from panewise.spec.conditions.literals import MAX_DIGITS, Literal
from panewise.spec.conditions.text import sql_text

Types: TypeAlias = Mapping[str, Type]
Digits: TypeAlias = tuple[int, int]  # precision and scale

_COMPARED: Final = ("boolean", "string", "binary", "date", "timestamp", "timestamp_ntz")
_NUMBER: Final = Type("number")  # of arithmetic over columns whose types are not known
_DIGITS: Final = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}  # as Spark has them


def check_condition(condition: nodes.Node, left: Types, right: Types) -> None:
    """Checks that a condition can use the types of its columns, and that it is Boolean.

    Args:
        condition: a condition.
        left: the types of the left side's columns that are known, by name.
        right: those of the right side.

    >>> from panewise.spec.conditions.nodes import Column, Comparison
    >>> check_condition(Comparison("<", Column("left", "s"), Column("right", "n")),
    ...     {"s": Type("string")}, {"n": Type("bigint")})
    Traceback (most recent call last):
    panewise.errors.SpecError: left.s < right.n: string and bigint | a comparison is of two numbers, or of two
    values of one type (semantics 38.5) | cast one of them before the join [PW-JOIN-016]
    """
    _require_boolean(condition, condition, {"left": left, "right": right})


def _require_boolean(node: nodes.Node, within: nodes.Node, types: Mapping[str, Types]) -> None:
    kind = _type_of(node, types)
    if kind is not None and kind != BOOLEAN:
        part = f"{sql_text(node)} in {sql_text(within)}" if node is not within else sql_text(node)
        rule = "a condition, and each part of AND, OR and NOT, is Boolean (semantics 38.5)"
        raise SpecError(f"{part}: {kind}", rule, "compare it with a value")


def _type_of(node: nodes.Node, types: Mapping[str, Types]) -> Type | None:
    """Returns the type of the value of a node, None if it is not known. Checks all nodes inside it."""
    match node:
        case nodes.Column(side=side, name=name):
            kind = types[side].get(name)
            return None if kind == Type("void") else kind
        case Literal(type=name):
            return Type(name)
        case nodes.Arithmetic():
            return _type_of_arithmetic(node, types)
        case nodes.And() | nodes.Or() | nodes.Not():
            for part in nodes.operands(node):
                _require_boolean(part, node, types)
        case nodes.IsNull(value=value):
            _type_of(value, types)
        case nodes.Comparison(first=first, second=second):
            _check_comparison(node, first, second, types)
        case nodes.Between(value=value, low=low, high=high):
            _check_comparison(node, value, low, types)
            _check_comparison(node, value, high, types)
        case nodes.In(value=value, options=options):
            for option in options:
                _check_comparison(node, value, option, types)
    return BOOLEAN


def _check_comparison(
    node: nodes.Node, first: nodes.Node, second: nodes.Node, types: Mapping[str, Types]
) -> None:
    kinds = [_type_of(operand, types) for operand in (first, second)]
    known = [kind for kind in kinds if kind is not None]
    for kind in known:
        if _group(kind) is None:
            rule = "a comparison is of simple values that have an order (semantics 38.5)"
            remedy = "compare its fields, as columns of their own"
            if kind.is_collated:
                rule = "strings are compared by their bytes, not by a collation (semantics 24.21)"
                remedy = "cast the column to STRING, or compare SF.lower(column).cast('string')"
            raise SpecError(f"{sql_text(node)}: {kind}", rule, remedy)
    if len({_group(kind) for kind in known}) > 1 and not _is_instant(first, second, known):
        rule = "a comparison is of two numbers, or of two values of one type (semantics 38.5)"
        remedy = "cast one of them before the join"
        raise SpecError(f"{sql_text(node)}: {known[0]} and {known[1]}", rule, remedy)


def _group(kind: Type) -> str | None:
    """Returns the name of the types that can be compared with this one; None if it cannot be compared."""
    if _is_number(kind):
        return "number"
    if kind.is_duration:
        return "interval"
    return kind.name if kind.name in _COMPARED else None


def _is_number(kind: Type) -> bool:
    return kind.is_numeric or kind == _NUMBER


def _is_instant(first: nodes.Node, second: nodes.Node, known: list[Type]) -> bool:
    """Returns whether whole numbers, as microseconds, are compared with a literal timestamp."""
    literal = any(isinstance(operand, Literal) and operand.type == "timestamp" for operand in (first, second))
    return literal and any(kind.is_integer or kind == _NUMBER for kind in known)


def _type_of_arithmetic(node: nodes.Arithmetic, types: Mapping[str, Types]) -> Type:
    first, second = (_type_of(operand, types) for operand in (node.first, node.second))
    for kind in (first, second):
        if kind is not None and not _is_number(kind):
            rule = "arithmetic is of whole numbers, doubles and decimals (semantics 38.13)"
            raise SpecError(f"{sql_text(node)}: {kind}", rule, "compute it as a column before the join")
    if any(kind is not None and kind.is_float for kind in (first, second)):
        return DOUBLE
    if first is None or second is None or _NUMBER in (first, second):
        return _NUMBER
    if first.is_integer and second.is_integer:
        return BIGINT
    digits = digits_of_result(node.op, digits_of(node.first, first), digits_of(node.second, second))
    if digits[0] > MAX_DIGITS:
        rule = f"a result of decimals is exact, and has at most {MAX_DIGITS} digits (semantics 38.16)"
        remedy = "cast a column to a decimal of fewer digits, or to DOUBLE, before the join"
        raise SpecError(f"{sql_text(node)}: {first} {node.op} {second} has {digits[0]} digits", rule, remedy)
    return Type(f"decimal({digits[0]},{digits[1]})")


def digits_of(node: nodes.Node, kind: Type) -> Digits:
    """Returns precision and scale of a whole number or a decimal; a literal has the digits that it shows."""
    if isinstance(node, Literal) and node.type == "bigint":
        return len(str(abs(int(node.value)))), 0
    return (_DIGITS[kind.kind], 0) if kind.is_integer else kind.digits


def digits_of_result(op: str, first: Digits, second: Digits) -> Digits:
    """Returns precision and scale that the exact result of any two decimals of these digits needs.

    >>> digits_of_result("+", (10, 2), (5, 4)), digits_of_result("*", (10, 2), (5, 4))
    ((13, 4), (16, 6))
    """
    if op == "*":
        return first[0] + second[0] + 1, first[1] + second[1]
    scale = max(first[1], second[1])
    return max(first[0] - first[1], second[0] - second[1]) + scale + 1, scale
