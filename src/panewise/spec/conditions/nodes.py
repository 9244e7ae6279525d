"""The nodes of conditions: frozen values that can be compared, hashed and written as JSON (semantics 38).

The grammar is closed. What a user writes with operators is a :class:`panewise.spec.conditions.terms.Term`,
which contains a node.
"""

import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from panewise.errors import SpecError
from panewise.spec.conditions.literals import Literal
from panewise.spec.fields import is_name

SideName: TypeAlias = typing.Literal["left", "right"]
SIDES: Final = ("left", "right")
COMPARISONS: Final = ("=", "!=", "<", "<=", ">", ">=", "<=>")
ARITHMETIC: Final = ("+", "-", "*")
MAX_DEPTH: Final = 100  # of nested nodes


@dataclass(frozen=True)
class Column:
    """The value of a column of one side's row.

    Args:
        side: "left" or "right".
        name: the name of the column.
    """

    side: SideName
    name: str

    def __post_init__(self) -> None:
        _choose("side", self.side, SIDES)
        if not is_name(self.name):
            raise SpecError(f"{self.side}({self.name!r})", "a column has a name", "give the column's name")


@dataclass(frozen=True)
class Arithmetic:
    """A sum, a difference or a product (semantics 38.13 to 38.16).

    Args:
        op: one of `ARITHMETIC`.
        first: the first operand.
        second: the second operand.
    """

    op: str
    first: "Node"
    second: "Node"

    def __post_init__(self) -> None:
        _choose("op", self.op, ARITHMETIC)


@dataclass(frozen=True)
class Comparison:
    """A comparison of two values (semantics 38.4 to 38.9).

    Args:
        op: one of `COMPARISONS`. "<=>" is equality that takes null as a value.
        first: the first operand.
        second: the second operand.
    """

    op: str
    first: "Node"
    second: "Node"

    def __post_init__(self) -> None:
        _choose("op", self.op, COMPARISONS)


@dataclass(frozen=True)
class And:
    """A condition that is true if all its parts are true."""

    parts: tuple["Node", ...]

    def __post_init__(self) -> None:
        _check_several("AND", self.parts, 2)


@dataclass(frozen=True)
class Or:
    """A condition that is true if one of its parts is true."""

    parts: tuple["Node", ...]

    def __post_init__(self) -> None:
        _check_several("OR", self.parts, 2)


@dataclass(frozen=True)
class Not:
    """The negation of a condition."""

    part: "Node"


@dataclass(frozen=True)
class IsNull:
    """Whether a value is null; it is never null itself."""

    value: "Node"


@dataclass(frozen=True)
class Between:
    """Whether a value is from `low` to `high`, both included (semantics 38.10)."""

    value: "Node"
    low: "Node"
    high: "Node"


@dataclass(frozen=True)
class In:
    """Whether a value equals one of several (semantics 38.11)."""

    value: "Node"
    options: tuple["Node", ...]

    def __post_init__(self) -> None:
        _check_several("IN", self.options, 1)


Node: TypeAlias = Column | Literal | Arithmetic | Comparison | And | Or | Not | IsNull | Between | In


def _choose(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise SpecError(f"{name}={value!r}", f"{name} is one of {', '.join(known)}", "give one of these")


def _check_several(name: str, nodes: tuple[Any, ...], least: int) -> None:
    if len(nodes) < least:
        rule = f"{name} takes {least} or more"
        raise SpecError(f"{name} of {len(nodes)}", rule, "add the missing ones, or leave it out")


def operands(node: Node) -> tuple[Node, ...]:
    """Returns the nodes directly inside a node, in order."""
    match node:
        case Comparison(first=first, second=second) | Arithmetic(first=first, second=second):
            return (first, second)
        case And(parts=parts) | Or(parts=parts):
            return parts
        case Not(part=inner) | IsNull(value=inner):
            return (inner,)
        case Between(value=value, low=low, high=high):
            return (value, low, high)
        case In(value=value, options=options):
            return (value, *options)
    return ()


def walk(node: Node) -> Iterator[Node]:
    """Yields the node and all nodes inside it, from left to right."""
    unvisited = [node]
    while unvisited:
        here = unvisited.pop()
        yield here
        unvisited += reversed(operands(here))


def depth(node: Node) -> int:
    """Returns how many nodes the longest path from the node to a column or a literal has."""
    layer, depth = [node], 0
    while layer:
        layer, depth = [inner for outer in layer for inner in operands(outer)], depth + 1
    return depth


def too_deep(what: str) -> SpecError:
    """Returns the error of a condition that is nested too deeply."""
    rule = f"a condition is nested up to {MAX_DEPTH} deep"
    return SpecError(what, rule, "compute parts of it as columns before the join")


def columns_of_side(condition: Node, side: str) -> tuple[str, ...]:
    """Returns the columns of one side that a condition reads, each once, in the order in which they occur."""
    names = (node.name for node in walk(condition) if isinstance(node, Column) and node.side == side)
    return tuple(dict.fromkeys(names))
