"""Functions that make the emitted rows of a join (semantics 40) from stored rows that are Python objects."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.records.rows import JoinRow
from panewise.engine.tables.copied_tables import Row
from panewise.spec.operators.join.columns import EITHER, JOIN_TIME, LEFT, MISSING, OTHER, RIGHT
from panewise.spec.operators.panes import OP

PairEmitted: TypeAlias = Callable[[JoinRow, JoinRow], Row]
SingleEmitted: TypeAlias = Callable[[JoinRow], Row]


def pair_emitted(plan: JoinPlan) -> PairEmitted:
    """Returns a function that makes the emitted row of a pair from the left row and the right one."""
    is_left = [chosen.side != RIGHT for chosen in plan.selected]
    times: Mapping[str | None, Callable[[int, int], int]] = {
        "right": lambda left, right: right,
        "later": max,
        "earlier": min,
    }
    added: dict[str, Callable[[int, int], Any]] = {
        OP: lambda left, right: "+",
        MISSING: lambda left, right: None,
        JOIN_TIME: times.get(plan.spec.timestamp, lambda left, right: left),
    }
    columns = [added[name] for name in plan.spec.added_columns]
    in_order = is_left == sorted(is_left, reverse=True)

    def emitted(left: JoinRow, right: JoinRow) -> Row:
        left_time, right_time = left.time, right.time
        own = tuple([column(left_time, right_time) for column in columns])
        if in_order:
            return left.values + right.values + own
        lefts, rights = iter(left.values), iter(right.values)
        return tuple([next(lefts) if of_left else next(rights) for of_left in is_left]) + own

    return emitted


def single_emitted(plan: JoinPlan, side: str) -> SingleEmitted:
    """Returns a function that makes the emitted row of a single row of a side.

    Columns of the other side are null. A column of either side is a key.
    """
    added: dict[str, Callable[[int], Any]] = {
        OP: lambda time: "+",
        MISSING: lambda time: OTHER[side],
        JOIN_TIME: lambda time: time,
    }
    columns, places = [added[name] for name in plan.spec.added_columns], _places(plan, side)

    def emitted(row: JoinRow) -> Row:
        values = (*row.values, *row.key, None)
        return tuple([values[place] for place in places]) + tuple([column(row.time) for column in columns])

    return emitted


def _places(plan: JoinPlan, side: str) -> list[int]:
    """Returns the place of each selected column: among the values of a row, then of its key, then a null."""
    keys = plan.entries[LEFT].keys
    own = [n for n, chosen in enumerate(plan.selected) if (chosen.side != RIGHT) == (side == LEFT)]
    places = dict.fromkeys(range(len(plan.selected)), len(own) + len(keys))
    of_keys = {n: chosen.column for n, chosen in enumerate(plan.selected) if chosen.side == EITHER}
    places |= {n: len(own) + keys.index(column) for n, column in of_keys.items()}
    return list((places | {n: place for place, n in enumerate(own)}).values())
