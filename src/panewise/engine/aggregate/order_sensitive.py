"""Partials of order-sensitive aggregates whose result depends on one row or a few rows.

The partials contain the arrival numbers of these rows, so they can be merged in any order. This is needed
because the pieces of a sliding window are merged in the order of event times, not in arrival order.

Invariant: a partial has the row, or the n rows, that come first in a fixed order: by rank if there is one,
then by arrival number. No two rows are equal in it. So the first rows of two partials together are among the
first rows of each, and a merge depends on neither order nor grouping. Cost: one row is found in a pass over
the rows or partials of a group. For n rows these are sorted.
"""

from collections.abc import Callable
from operator import gt, lt
from typing import Final

import polars as pl

from panewise.engine.aggregate import rankings, rows_in_order, several_ranks
from panewise.engine.aggregate.partials import Operand, OperandMerge, PartialColumn, extreme, of_own
from panewise.engine.aggregate.types import result_type
from panewise.spec import Aggregate

FUNCTIONS: Final = frozenset({"first", "last", "first_n", "last_n", "max_by", "min_by", "top_n_by"})


def partial(aggregate: Aggregate, index: int, schema: dict[str, pl.DataType]) -> PartialColumn:
    """Returns the partial of an aggregate, which is the `index`-th of its specification.

    For each of its rows it contains the arrival number, the value and, if there is one, the rank.
    """
    assert aggregate.column is not None
    if rows_in_order.is_of_edges(aggregate):
        return rows_in_order.numbered_edges_partial(aggregate, _name(aggregate, index), schema)
    if aggregate.then_by:
        return several_ranks.partial(aggregate, _name(aggregate, index), schema, numbered=True)
    make = _edge if aggregate.by is None else _top_rows if aggregate.fn == "top_n_by" else _extreme_row
    return make(aggregate, _name(aggregate, index), schema)


def result(aggregate: Aggregate, index: int, schema: dict[str, pl.DataType]) -> pl.Expr:
    """Returns the expression that computes the result from the partial."""
    name = _name(aggregate, index)
    values = pl.col(name).list.eval(pl.element().struct.field("value"))
    if rows_in_order.is_of_edges(aggregate):
        value = rows_in_order.result(aggregate, values)
    elif aggregate.then_by:
        value = several_ranks.result(aggregate, name)
    elif aggregate.fn == "top_n_by":
        value = values
    else:
        value = pl.col(name).struct.field("value")
    return value.cast(result_type(aggregate, schema)).alias(aggregate.name)


def _name(aggregate: Aggregate, index: int) -> str:
    return f"__{aggregate.fn}_turn{index}"


def _arrival_number(row: pl.Expr) -> pl.Expr:
    return row.struct.field("turn")


def _edge(aggregate: Aggregate, name: str, schema: dict[str, pl.DataType]) -> PartialColumn:
    """Returns the partial of first or last. With ignorenulls rows without a value are skipped."""
    assert aggregate.column is not None
    dtype = pl.Struct({"turn": pl.Int64(), "value": schema[aggregate.column]})
    rows = rows_in_order.numbered_structs(value=aggregate.column)
    rows = rows.filter(pl.col(aggregate.column).is_not_null()) if aggregate.ignorenulls else rows
    stored, arrivals = pl.col(name), _arrival_number(pl.col(name))
    lift, limit, before = rows.last(), arrivals.max(), gt
    if aggregate.fn == "first":
        lift, limit, before = rows.first(), arrivals.min(), lt
    merge_operands = _first_by(
        name, lambda earlier, later: before(_arrival_number(earlier), _arrival_number(later))
    )
    merge = stored.filter(arrivals == limit).first()
    return PartialColumn(name, dtype, lift, merge, None, merge_operands=merge_operands)


def _extreme_row(aggregate: Aggregate, name: str, schema: dict[str, pl.DataType]) -> PartialColumn:
    """Returns the partial of max_by or min_by: the first row to arrive that has the extreme rank.

    Rows without a rank are skipped.
    """
    assert aggregate.column is not None
    assert aggregate.by is not None
    fn, kind = aggregate.fn.removesuffix("_by"), schema[aggregate.by]
    dtype = pl.Struct({"turn": pl.Int64(), "rank": kind, "value": schema[aggregate.column]})
    ranks, stored = pl.col(aggregate.by), pl.col(name)
    rows = rows_in_order.numbered_structs(rank=aggregate.by, value=aggregate.column)
    best = _rank(stored) == extreme(fn, _rank(stored), kind)  # NaN equals NaN; null equals nothing
    # Not sort_by: in Polars 2.1 it reads beyond the group if its keys are filtered.
    merge = stored.filter(
        best & (_arrival_number(stored) == _arrival_number(stored).filter(best).min())
    ).first()

    def before(earlier: pl.Expr, other: pl.Expr) -> pl.Expr:
        beyond = _rank(earlier) < _rank(other) if fn == "min" else _rank(earlier) > _rank(other)
        return (
            pl.when(_rank(earlier) == _rank(other))
            .then(_arrival_number(earlier) < _arrival_number(other))
            .otherwise(beyond)
        )

    lift = rows.filter(ranks == extreme(fn, ranks, kind)).first()
    return PartialColumn(name, dtype, lift, merge, None, merge_operands=_first_by(name, before))


def _top_rows(aggregate: Aggregate, name: str, schema: dict[str, pl.DataType]) -> PartialColumn:
    """Returns the partial of top_n_by: the first rows in the order of ranks. Ties are in arrival order."""
    assert aggregate.column is not None
    assert aggregate.by is not None
    dtype = pl.List(
        pl.Struct({"turn": pl.Int64(), "rank": schema[aggregate.by], "value": schema[aggregate.column]})
    )
    known = pl.col(aggregate.by).is_not_null()
    rows = rows_in_order.numbered_structs(rank=aggregate.by, value=aggregate.column)

    def best(stored: pl.Expr) -> pl.Expr:
        each = pl.element()
        ordered = each.sort_by(
            _rank(each), _arrival_number(each), descending=[not aggregate.ascending, False]
        )
        return stored.list.eval(rankings.best(aggregate, ordered))

    merge_operands = of_own(name, lambda earlier, other: best(pl.concat_list(earlier, other)))
    lift, merge = best(rows.filter(known).implode()), best(pl.col(name).explode().implode())
    return PartialColumn(name, dtype, lift, merge, [], merge_operands=merge_operands)


def _rank(row: pl.Expr) -> pl.Expr:
    return row.struct.field("rank")


def _first_by(name: str, before: Callable[[pl.Expr, pl.Expr], pl.Expr]) -> OperandMerge:
    """Returns the merge that takes one of two partials: the one that comes first by `before`.

    A null is the partial of no rows.
    """

    def both(earlier: Operand, other: Operand) -> pl.Expr:
        mine, others = earlier(name), other(name)
        return pl.when(others.is_null() | before(mine, others)).then(mine).otherwise(others)

    return both
