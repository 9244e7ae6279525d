"""Aggregates that were added to a state (semantics 47.3).

An aggregate that is null has one partial more, a Boolean. It is true for every row, and merges by AND.
The partials that were stored before the change get false. So a result is null if it includes one of these,
however windows and slices have been merged since.

An aggregate over the rows from now on shares no partial with others, which count the rows before, too. So it
reads copies of its columns, under names that no other aggregate has. A copy that is always true takes the
place of rows as such: a number of rows is that of true values, and `first` and `last` have it as their
condition.
"""

from dataclasses import replace
from operator import and_
from typing import Final

import polars as pl

from panewise.engine.aggregate.partials import PartialColumn
from panewise.spec import Aggregate
from panewise.spec.aggregates.aggregate import with_names

_NAME: Final = "__complete"


def completeness_name(index: int) -> str:
    """Returns the column that says whether the `index`-th aggregate has seen all rows of a partial."""
    return f"{_NAME}{index}"


def is_completeness(column: PartialColumn) -> bool:
    """Returns whether a partial is such a Boolean."""
    return column.name.startswith(_NAME)


def completeness_of(aggregate: Aggregate, index: int) -> list[PartialColumn]:
    """Returns that partial, for an aggregate that is null until its rows are complete."""
    if aggregate.added != "null":
        return []
    name = completeness_name(index)
    always = pl.repeat(True, pl.len(), dtype=pl.Boolean)
    return [
        PartialColumn(
            name, pl.Boolean(), pl.len() > 0, pl.col(name).all(), True, merge_two=and_, single=always
        )
    ]


def unless_incomplete(aggregate: Aggregate, index: int, result: pl.Expr) -> pl.Expr:
    """Returns the result of an aggregate, null where its rows are not complete."""
    if aggregate.added != "null":
        return result
    return pl.when(pl.col(completeness_name(index))).then(result).alias(aggregate.name)


def copies_of(aggregate: Aggregate, index: int) -> dict[str, str | None]:
    """Returns the columns that an aggregate over rows from now on copies, by their new names.

    None stands for a column that is always true. Other aggregates copy no column.
    """
    if aggregate.added != "from_now_on":
        return {}
    columns: dict[str, str | None] = {f"__now{index}:{name}": name for name in aggregate.columns}
    return columns | ({f"__now{index}": None} if _counts_rows(aggregate) else {})


def reading_copies(aggregate: Aggregate, index: int) -> Aggregate:
    """Returns the aggregate over these copies, under the same name."""
    copies = copies_of(aggregate, index)
    if not copies:
        return aggregate
    if aggregate.column is None:
        return Aggregate("count_if", f"__now{index}", aggregate.name)
    names = {column: name for name, column in copies.items() if column is not None}
    own: Aggregate = with_names(aggregate, names)
    own = replace(own, condition=f"__now{index}") if _counts_rows(aggregate) else own
    return replace(own, name=aggregate.name)


def _counts_rows(aggregate: Aggregate) -> bool:
    edge = aggregate.fn in ("first", "last") and not aggregate.ignorenulls and aggregate.condition is None
    return aggregate.column is None or edge
