"""The windows of a cogroup as a window operator of the rows of both sides (semantics 43.1, 43.2).

A row of this operator has a column for each column of a side that an aggregate reads. In a row of the other
side it is null. Aggregates skip such rows:

- most skip nulls anyway;
- a count of rows counts the numbers of the rows of a side;
- `first` and `last`, which take nulls as values, take the value of the row with the lowest or highest number;
- other aggregates in which nulls count have a condition, which is not true in rows of the other side;
- a user-defined aggregate, which takes nulls, too, reads structs, which are null for rows of the other side.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.aggregates.user_functions import UserFunctions
from panewise.spec.aggregates.user_merge import MergeAggregate, UserMergeAggregate
from panewise.spec.fields import silently
from panewise.spec.operators.cogroup.operator import FIELDS_OF_WINDOWS, CogroupOperator
from panewise.spec.operators.join.columns import LEFT, RIGHT, SIDES
from panewise.spec.operators.join.windowing import ROW_NUMBER, ROW_TIME, row_keys
from panewise.spec.operators.windows import WindowOperator

VALUE: Final = "value"  # the field of a struct that has the value of one side
IS_LEFT: Final = "is_left"  # the field of a struct of both sides that says which side the row is of


def value_column(side: str, column: str) -> str:
    """Returns the name of the column with the values of a side's column, null in rows of the other side."""
    return f"{side}:value:{column}"


def struct_column(side: str, column: str) -> str:
    """Returns the name of the column of structs with such values."""
    return f"{side}:struct:{column}"


def own_column(side: str) -> str:
    """Returns the name of the column that is true in rows of a side, and null in rows of the other."""
    return f"{side}:own"


def number_column(side: str) -> str:
    """Returns the name of the column with the numbers of the rows of a side, null in rows of the other."""
    return f"{side}:number"


def both_column(left: str, right: str) -> str:
    """Returns the name of the column of structs with the side of a row and a value of it."""
    return f"both:{len(left)}:{left}:{right}"


def window_operator(spec: CogroupOperator) -> WindowOperator:
    """Returns the window operator. Its aggregates have the names of those of the cogroup."""
    fields = {name: getattr(spec, name) for name in FIELDS_OF_WINDOWS}
    with silently():
        return WindowOperator(
            **fields,
            aggregates=[
                *(_of_side(side, what) for side in SIDES for what in spec.aggregates_of(side)),
                *map(_of_both, spec.both_aggregates),
            ],
            keys=[*row_keys(spec.keys)],
            event_time=ROW_TIME,
            order=[ROW_NUMBER],
        )


def _of_side(side: str, what: Aggregate) -> Aggregate:
    """Returns the aggregate that skips the rows of the other side."""
    number = number_column(side)
    if what.column is None:
        return replace(what, column=number)
    if what.user is not None:
        columns = [struct_column(side, name) for name in (what.column, *what.more)]
        passes = None if what.condition is None else value_column(side, what.condition)
        skipping = replace(what.user, accumulate=_OfStruct(what.user.accumulate))
        return replace(what, column=columns[0], more=tuple(columns[1:]), condition=passes, user=skipping)
    column = value_column(side, what.column)
    if what.fn in ("first", "last") and what.takes_nulls and what.condition is None:
        return Aggregate("min_by" if what.fn == "first" else "max_by", column, what.name, by=number)
    if what.takes_nulls:
        passes = own_column(side) if what.condition is None else value_column(side, what.condition)
        return replace(what, column=column, condition=passes)
    further = tuple(replace(order, column=value_column(side, order.column)) for order in what.then_by)
    by = None if what.by is None else value_column(side, what.by)
    return replace(what, column=column, by=by, then_by=further)


def _of_both(what: MergeAggregate) -> Aggregate:
    user = what.user
    accumulate = _OfEither(user)
    functions = UserFunctions(
        user.name, user.init, accumulate, user.merge, user.finish, user.result, user.commutative
    )
    column = both_column(what.left, what.right)
    return Aggregate("user", column, what.name, user=functions, added=what.added)


@dataclass(frozen=True)
class _OfStruct:
    """Accumulates the value of a struct, or those of several. A row of the other side has none."""

    function: Callable[..., Any]

    def __call__(self, state: Any, *structs: Any) -> Any:
        return state if structs[0] is None else self.function(state, *(struct[VALUE] for struct in structs))


@dataclass(frozen=True)
class _OfEither:
    """Accumulates the value of a row with the function of its side."""

    user: UserMergeAggregate

    def __call__(self, state: Any, struct: Any) -> Any:
        if struct[IS_LEFT]:
            return self.user.accumulate_left(state, struct[LEFT])
        return self.user.accumulate_right(state, struct[RIGHT])
