"""Partials of one row at a time, as Python objects: a row of the window table is a list of its values.

Only aggregates are supported whose partials are single values. Each update does what the lift and the merge
of :mod:`panewise.engine.aggregate.partials` do for one row. Invariant: a list that is updated row by row has
the same values as the row of the table after the same steps. Cost: one call for each partial and row.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import polars as pl

from panewise.engine.aggregate.sums import LIMIT
from panewise.engine.columns import CARRY, ROWS
from panewise.engine.kernels.python_rows import NotInPythonError
from panewise.spec import Aggregate

Values: TypeAlias = list[Any]
Update: TypeAlias = Callable[[Values, Mapping[str, Any]], None]
Result: TypeAlias = Callable[[Values], Any]
PlacesByName: TypeAlias = Mapping[str, int]
TYPES: Final = (pl.Int64(), pl.Float64(), pl.String())  # of the columns that aggregates read


def partial_names(aggregate: Aggregate) -> list[str] | None:
    """Returns the names of the partials of an aggregate; None if it is not supported."""
    column, suffix = aggregate.column, "_value" if aggregate.ignorenulls else ""
    if aggregate.fn not in ("count", "sum", "min", "max", "avg", "first", "last"):
        return None
    plain = Aggregate(aggregate.fn, column, aggregate.name, ignorenulls=aggregate.ignorenulls)
    if aggregate != plain:
        return None
    if column is None:
        return [ROWS]
    return {
        "count": [f"__n:{column}"],
        "sum": [f"__sum:{column}", f"{CARRY}{column}"],
        "avg": [f"__n:{column}", f"__fsum:{column}"],
        "min": [f"__min:{column}"],
        "max": [f"__max:{column}"],
        "first": [f"__first{suffix}:{column}"],
        "last": [f"__last{suffix}:{column}"],
    }[aggregate.fn]


def updates_of(aggregate: Aggregate, at: PlacesByName) -> dict[str, Update]:
    """Returns how a row changes the partials of a supported aggregate. `at` are the places of the partials.

    The number of rows, :data:`~panewise.engine.columns.ROWS`, is updated before them.
    """
    column, names = aggregate.column, partial_names(aggregate)
    assert names is not None
    if column is None:
        return {}
    if aggregate.fn in ("first", "last"):
        edge = _edge(aggregate.fn, column, at[names[0]], at[ROWS], skips=aggregate.ignorenulls)
        return {names[0]: edge}
    if aggregate.fn == "avg":
        return {names[0]: _count(column, at[names[0]]), names[1]: _float_sum(column, at[names[1]])}
    own = {"count": _count, "sum": _sum, "min": _least, "max": _greatest}[aggregate.fn]
    return {names[0]: own(column, at[names[0]])}


def result_of(aggregate: Aggregate, at: PlacesByName) -> Result:
    """Returns how the result of a supported aggregate is computed."""
    names = partial_names(aggregate)
    assert names is not None
    first = at[names[0]]
    if aggregate.fn != "avg" or aggregate.column is None:
        return lambda row: row[first]
    total = at[names[1]]
    return lambda row: row[total] / row[first] if row[first] else None


def _count(column: str, place: int) -> Update:
    def update(row: Values, message: Mapping[str, Any]) -> None:
        if message.get(column) is not None:
            row[place] += 1

    return update


def _sum(column: str, place: int) -> Update:
    def update(row: Values, message: Mapping[str, Any]) -> None:
        value = message.get(column)
        if value is None:
            return
        before = row[place]
        row[place] = value if before is None else checked_sum(before + value)

    return update


def checked_sum(total: Any) -> Any:
    """Returns a sum.

    Raises:
        NotInPythonError: if it is a whole number beyond 64 bits.
    """
    if type(total) is int and not -LIMIT <= total < LIMIT:
        raise NotInPythonError
    return total


def _float_sum(column: str, place: int) -> Update:
    def update(row: Values, message: Mapping[str, Any]) -> None:
        value = message.get(column)
        if value is not None:
            row[place] += float(value)

    return update


def _least(column: str, place: int) -> Update:
    def update(row: Values, message: Mapping[str, Any]) -> None:
        value = message.get(column)
        if value is not None and (row[place] is None or value < row[place]):
            row[place] = value

    return update


def _greatest(column: str, place: int) -> Update:
    def update(row: Values, message: Mapping[str, Any]) -> None:
        value = message.get(column)
        if value is not None and (row[place] is None or value > row[place]):
            row[place] = value

    return update


def _edge(fn: str, column: str, place: int, rows: int, *, skips: bool) -> Update:
    """Returns the update of first or last. Without `skips` a null counts as a value."""

    def update(row: Values, message: Mapping[str, Any]) -> None:
        value = message.get(column)
        if value is None and skips:
            return
        if fn == "last" or (row[place] is None if skips else row[rows] == 1):
            row[place] = value

    return update
