"""Conditions in ON with columns without a table: the columns of the sides show whose they are (46.90)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from sqlglot import exp

from panewise.errors import SqlError
from panewise.spec.conditions.literals import Literal
from panewise.spec.conditions.nodes import Column, Comparison, Node
from panewise.spec.conditions.terms import Term
from panewise.spec.operators.join.columns import SIDES
from panewise.sql.expressions.function_calls import columns_in
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
        node = _placed(part.condition.node, lambda name: _column_of(name, columns, keys, stage.members))
        pair = _pair(node) if part.key else None
        if pair is not None:
            keys.append(pair)
        elif part.rows is not None:
            where.append(part.rows)
        else:
            condition = Term(node) if condition is None else condition & Term(node)
    return replace(stage, keys=tuple(keys), condition=condition, where=tuple(where), open=())


def spelled(name: str, columns: Sequence[str], members: frozenset[str]) -> str:
    """Returns a column as its table spells it. Case has no effect, as in Spark.

    The columns of a join of `members` are called `table.column`. A name that one table has needs none.
    """
    if name in columns:
        return name
    lower = name.lower()
    same = [column for column in columns if column.lower() == lower]
    if not same and members:
        same = [column for column in columns if column.partition(".")[2].lower() == lower]
        same = same if len(same) == 1 else []
    return same[0] if same else name


def _column_of(
    name: str,
    columns: Mapping[str, Sequence[str]],
    keys: Sequence[tuple[str, str]],
    members: frozenset[str],
) -> Column:
    """Returns the column of the side that alone has it; a key of one name is that of the left side."""
    lower = name.lower()
    named = {
        side: spelled(name, columns.get(side, ()), members if side == "left" else frozenset())
        for side in SIDES
    }
    sides = [side for side in SIDES if named[side] in columns.get(side, ())]
    equal = (lower, lower) in {(first.lower(), second.lower()) for first, second in keys}
    if len(sides) == 1 or (equal and sides):
        return Column("left" if sides[0] == "left" else "right", named[sides[0]])
    rule = f"a column in ON is of one table: {dict(columns)}"
    raise SqlError(name, rule, "write the name of its table before it")


def _pair(node: Node) -> tuple[str, str] | None:
    """Returns the columns of both sides that a condition compares, None if it is something else."""
    if not isinstance(node, Comparison) or node.op != "=":
        return None
    operands = node.first, node.second
    names = {operand.side: operand.name for operand in operands if isinstance(operand, Column)}
    return (names["left"], names["right"]) if len(names) == len(SIDES) else None


def _placed(condition: Node, column_of: Callable[[str], Column]) -> Node:
    """Returns a condition, in which each column is of a side."""
    if isinstance(condition, OpenColumn):
        return column_of(condition.name)
    if isinstance(condition, (Column, Literal)):
        return condition

    def again(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(map(again, value))
        return _placed(value, column_of) if isinstance(value, Node) else value

    changes = {field.name: again(getattr(condition, field.name)) for field in fields(condition)}
    return replace(condition, **changes)
