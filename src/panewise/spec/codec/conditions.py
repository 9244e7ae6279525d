"""Converts conditions to plain dicts and back."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

from panewise.errors import SpecError
from panewise.spec.conditions.literals import TYPES, Literal, is_literal
from panewise.spec.conditions.nodes import (
    ARITHMETIC,
    COMPARISONS,
    MAX_DEPTH,
    SIDES,
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
from panewise.spec.fields import kind_of, members_of, text, wrong

_KINDS: Final[dict[str, type]] = {
    "column": Column,
    "literal": Literal,
    "arithmetic": Arithmetic,
    "comparison": Comparison,
    "and": And,
    "or": Or,
    "not": Not,
    "is_null": IsNull,
    "between": Between,
    "in": In,
}
_NAMES: Final = {made: kind for kind, made in _KINDS.items()}
_Read = Callable[[Any, str, int], Any]


def plain_condition(condition: Node) -> dict[str, Any]:
    """Returns a condition as a dict of plain values, with every field.

    >>> plain_condition(Not(Column("left", "a")))
    {'kind': 'not', 'part': {'kind': 'column', 'side': 'left', 'name': 'a'}}
    """
    members = {field.name: _plain(getattr(condition, field.name)) for field in fields(condition)}
    return {"kind": _NAMES[type(condition)], **members}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [plain_condition(one) for one in value]
    return plain_condition(value) if isinstance(value, Node) else value


def condition_from(value: Any, where: str = "condition") -> Node:
    """Returns the condition that a dict describes.

    What :func:`panewise.spec.conditions.as_condition` checks of the whole is not checked.

    Raises:
        SpecError: if a kind, field or value is unknown, a field is missing, or the dict is nested too deeply.

    >>> condition_from({"kind": "is_null", "value": {"kind": "column", "side": "right", "name": "b"}})
    IsNull(value=Column(side='right', name='b'))
    """
    return _node(value, where, 1)


def _node(value: Any, where: str, depth: int) -> Node:
    if depth > MAX_DEPTH:
        rule = f"a condition is nested up to {MAX_DEPTH} deep"
        raise SpecError(f"{where[:60]}... is deeper", rule, "compute parts of it as columns before the join")
    kind = kind_of(value, where, _KINDS)
    made = _KINDS[kind]
    names = [field.name for field in fields(made)]
    members = members_of(value, where, {"kind", *names}, required=tuple(names))
    if made is Literal:
        return _literal(members["type"], members["value"], where)
    found: Node = made(
        **{name: _READERS[kind, name](members[name], f"{where}.{name}", depth) for name in names}
    )
    return found


def _literal(kind: Any, value: Any, where: str) -> Literal:
    if kind == "double" and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)  # other writers of JSON write 1.0 as 1
    if not is_literal(kind, value):
        raise wrong(f"{where}.value", value, f"a value of type {kind!r}; the types are {', '.join(TYPES)}")
    return Literal(kind, value)


def _nodes(least: int) -> _Read:
    def read(value: Any, where: str, depth: int) -> tuple[Node, ...]:
        if not isinstance(value, (list, tuple)) or len(value) < least:
            raise wrong(where, value, f"a list of {least} or more nodes of a condition")
        return tuple(_node(one, f"{where}[{n}]", depth + 1) for n, one in enumerate(value))

    return read


def _inner(value: Any, where: str, depth: int) -> Node:
    return _node(value, where, depth + 1)


def _one_of(known: tuple[str, ...]) -> _Read:
    def read(value: Any, where: str, depth: int) -> str:
        if not isinstance(value, str) or value not in known:
            raise wrong(where, value, f"one of {', '.join(known)}")
        return value

    return read


def _name(value: Any, where: str, depth: int) -> str:
    if not text(value, where):
        raise wrong(where, value, "the name of a column")
    return str(value)


_READERS: Final[dict[tuple[str, str], _Read]] = {
    ("column", "side"): _one_of(SIDES),
    ("column", "name"): _name,
    ("arithmetic", "op"): _one_of(ARITHMETIC),
    ("comparison", "op"): _one_of(COMPARISONS),
    **{(kind, name): _inner for kind in ("arithmetic", "comparison") for name in ("first", "second")},
    ("and", "parts"): _nodes(2),
    ("or", "parts"): _nodes(2),
    ("not", "part"): _inner,
    ("is_null", "value"): _inner,
    **{("between", name): _inner for name in ("value", "low", "high")},
    ("in", "value"): _inner,
    ("in", "options"): _nodes(1),
}
