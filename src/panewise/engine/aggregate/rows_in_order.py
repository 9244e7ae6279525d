"""Partials of aggregates that list the first or the last rows, or all rows with nulls (24.4, 24.27, 24.28).

A condition decides which rows take part. `first` and `last` with a condition are computed from lists of at
most one row. So a row whose value is null, a list with a null, differs from no row, an empty list.

Invariant: the rows of a partial are in arrival order, and are the first or the last n of its group, or all.
Those of several groups together are among them. Partials that merge in another order have arrival numbers, by
which their rows are sorted. Cost: a merge is linear in the rows of its partials, besides this sort.
"""

from collections.abc import Callable
from typing import Final, Protocol

import polars as pl

from panewise.engine.aggregate.partials import PartialColumn, of_own
from panewise.engine.columns import ARRIVAL_NUMBER
from panewise.spec import Aggregate

_LISTS: Final = ("first_n", "last_n")
_EDGES: Final = ("first", "last")


def is_of_edges(aggregate: Aggregate) -> bool:
    """Returns whether an aggregate is computed from a list of the first or the last rows."""
    return aggregate.fn in _LISTS or (aggregate.fn in _EDGES and aggregate.condition is not None)


def all_values_name(index: int) -> str:
    """Returns the name of the partial with all values of the `index`-th aggregate."""
    return f"__all{index}"


def edges_name(aggregate: Aggregate, index: int) -> str:
    """Returns the name of the partial with the first or the last values of the `index`-th aggregate."""
    return f"__{aggregate.fn}{index}"


def all_values_partial(aggregate: Aggregate, name: str, schema: dict[str, pl.DataType]) -> PartialColumn:
    """Returns the partial with all values, nulls included, in arrival order."""
    assert aggregate.column is not None
    dtype = schema[aggregate.column]
    plain = aggregate.condition is None and not dtype.is_nested()
    lift, merge = _taken(aggregate, pl.col(aggregate.column)), pl.col(name).explode(empty_as_null=False)
    single = pl.concat_list(aggregate.column) if plain else None
    return PartialColumn(name, pl.List(dtype), lift, merge, [], single=single)


def edges_partial(aggregate: Aggregate, name: str, schema: dict[str, pl.DataType]) -> PartialColumn:
    """Returns the partial with the values of the first or the last rows. Partials merge in arrival order."""
    assert aggregate.column is not None
    cut, dtype = _cut(aggregate), pl.List(schema[aggregate.column])
    lift = cut(_taken(aggregate, pl.col(aggregate.column)))
    merge = cut(pl.col(name).explode(empty_as_null=False))
    merge_operands = of_own(name, lambda this, other: cut(pl.concat_list(this, other).list))
    return PartialColumn(name, dtype, lift, merge, [], merge_operands=merge_operands)


def numbered_edges_partial(aggregate: Aggregate, name: str, schema: dict[str, pl.DataType]) -> PartialColumn:
    """Returns the partial with the first or the last rows and their arrival numbers.

    Partials may be merged in any order.
    """
    assert aggregate.column is not None
    dtype = pl.List(pl.Struct({"turn": pl.Int64(), "value": schema[aggregate.column]}))
    rows, cut = numbered_structs(value=aggregate.column), _cut(aggregate)
    best = cut(pl.element().sort_by(pl.element().struct.field("turn")))
    merge = pl.col(name).explode(empty_as_null=False).implode().list.eval(best)
    merge_operands = of_own(name, lambda this, other: pl.concat_list(this, other).list.eval(best))
    return PartialColumn(name, dtype, cut(_taken(aggregate, rows)), merge, [], merge_operands=merge_operands)


def numbered_structs(**columns: str) -> pl.Expr:
    """Returns rows as structs of their arrival number and of these columns, by the names of the fields."""
    return pl.struct(pl.col(name).alias(field) for field, name in {"turn": ARRIVAL_NUMBER, **columns}.items())


def result(aggregate: Aggregate, values: pl.Expr) -> pl.Expr:
    """Returns the result for lists of values."""
    return values if aggregate.fn in _LISTS else values.list.first()


def _taken(aggregate: Aggregate, rows: pl.Expr) -> pl.Expr:
    assert aggregate.column is not None
    skips = aggregate.fn != "collect_list" and aggregate.ignorenulls
    wanted = pl.col(aggregate.column).is_not_null() if skips else None
    if aggregate.condition is not None:
        passes = pl.col(aggregate.condition)  # null does not pass, as filter drops it
        wanted = passes if wanted is None else wanted & passes
    return rows if wanted is None else rows.filter(wanted)


def _cut(aggregate: Aggregate) -> Callable[["_HeadAndTail"], pl.Expr]:
    """Returns a function from rows, or from lists of rows, to the first or the last of them."""
    n = aggregate.n or 1
    return lambda rows: rows.head(n) if aggregate.fn.startswith("first") else rows.tail(n)


class _HeadAndTail(Protocol):
    """An expression, or its lists, of which the first or the last values can be taken."""

    def head(self, n: int, /) -> pl.Expr: ...

    def tail(self, n: int, /) -> pl.Expr: ...
