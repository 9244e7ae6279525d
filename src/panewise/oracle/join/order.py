"""The arrival order of a batch that has rows of both sides (semantics 36.6)."""

from collections.abc import Mapping, Sequence
from typing import Any

from panewise.oracle.columns import sort_key
from panewise.oracle.rows import Row
from panewise.spec.operators.join.columns import LEFT, RIGHT
from panewise.spec.operators.join.entry import TwoSided

Types = Mapping[str, Mapping[str, str]]


def merged(spec: TwoSided, types: Types, rows: Mapping[str, Sequence[Row]]) -> list[tuple[str, Row]]:
    """Returns the rows of both sides in the arrival order of the batch, each with its side.

    `rows` has the rows of each side in their arrival order.
    """
    by_columns = _have_like_order(spec, types)

    def place(side: str, row: Row) -> list[Any]:
        return [sort_key(row.values[name]) for name in spec.sides[side].order] if by_columns else [row.time]

    left, right = list(rows.get(LEFT, ())), list(rows.get(RIGHT, ()))
    if not by_columns and spec.left.event_time is None:  # semantics 36.13
        return [*((RIGHT, row) for row in right), *((LEFT, row) for row in left)]
    found: list[tuple[str, Row]] = []
    while left and right:
        if place(LEFT, left[0]) <= place(RIGHT, right[0]):
            found.append((LEFT, left.pop(0)))
        else:
            found.append((RIGHT, right.pop(0)))
    return [*found, *((LEFT, row) for row in left), *((RIGHT, row) for row in right)]


def _have_like_order(spec: TwoSided, types: Types) -> bool:
    """Returns whether both sides name order columns, as many of them and of the same types."""
    kinds = {side: [types.get(side, {}).get(name) for name in one.order] for side, one in spec.sides.items()}
    return bool(kinds[LEFT]) and kinds[LEFT] == kinds[RIGHT]
