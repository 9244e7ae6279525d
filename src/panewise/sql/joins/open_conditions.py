"""Conditions in ON with columns without a table: the columns of the sides show whose they are (46.90)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from sqlglot import exp

from panewise.errors import SqlError
from panewise.spec.conditions.literals import Literal
from panewise.spec.conditions.nodes import Column, Comparison, Node, SideName
from panewise.spec.conditions.terms import Term
from panewise.sql.function_calls import columns_in
from panewise.sql.joins.side_columns import SIDES
from panewise.sql.stages import JoinStage


@dataclass(frozen=True)
class OpenColumn(Column):
    """A column without a table. Its side means nothing until the columns of the sides are known."""


def is_open(node: exp.Expr) -> bool:
    """Returns whether an expression has a column without a table."""
    return any(not column.table for column in columns_in(node))


def with_sides(stage: JoinStage, columns: Mapping[str, Sequence[str]]) -> JoinStage:
    """Returns the join, in whose ON all columns are of a side.

    Args:
        stage: the join.
        columns: the columns of "left" and "right".

    Raises:
        SqlError: if a column is of neither side, or of both.
    """
    keys, condition, where = list(stage.keys), stage.condition, list(stage.where)
    for part in stage.open:
        node = _placed(part.condition.node, lambda name: _side_of(name, columns, keys))
        pair = _pair(node) if part.key else None
        if pair is not None:
            keys.append(pair)
        elif part.rows is not None:
            where.append(part.rows)
        else:
            condition = Term(node) if condition is None else condition & Term(node)
    return replace(stage, keys=tuple(keys), condition=condition, where=tuple(where), open=())


def _side_of(name: str, columns: Mapping[str, Sequence[str]], keys: Sequence[tuple[str, str]]) -> SideName:
    """Returns the side that alone has a column; a key of one name is that of the left side."""
    lower = name.lower()
    sides = [side for side in SIDES if lower in map(str.lower, columns.get(side, ()))]
    equal = (lower, lower) in {(first.lower(), second.lower()) for first, second in keys}
    if len(sides) == 1 or (equal and sides):
        return "left" if sides[0] == "left" else "right"
    rule = f"a column in ON is of one table: {dict(columns)}"
    raise SqlError(name, rule, "write the name of its table before it")


def _pair(node: Node) -> tuple[str, str] | None:
    """Returns the columns of both sides that a condition compares, None if it is something else."""
    if not isinstance(node, Comparison) or node.op != "=":
        return None
    operands = node.first, node.second
    names = {operand.side: operand.name for operand in operands if isinstance(operand, Column)}
    return (names["left"], names["right"]) if len(names) == len(SIDES) else None


def _placed(condition: Node, side_of: Callable[[str], SideName]) -> Node:
    """Returns a condition, in which each column is of a side."""
    if isinstance(condition, OpenColumn):
        return Column(side_of(condition.name), condition.name)
    if isinstance(condition, (Column, Literal)):
        return condition

    def again(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(again, value))
        return _placed(value, side_of) if isinstance(value, Node) else value

    changes = {field.name: again(getattr(condition, field.name)) for field in fields(condition)}
    return replace(condition, **changes)
