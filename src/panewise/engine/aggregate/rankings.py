"""Partials of rankings: the row with the extreme value, or the n first rows (semantics 24.10 to 24.12).

Names of partials contain the index of the aggregate. A name made from two column names could be ambiguous.

Invariant: the first n rows of several groups together are among the first n of each, so a partial needs no
more. Partials merge in arrival order, and of rows with equal ranks the first one comes first. Cost: an
extreme row takes a pass over the rows or partials of a group. For n rows these are sorted.
"""

import polars as pl

from panewise.engine.aggregate import several_ranks
from panewise.engine.aggregate.partials import (
    Operand,
    PartialColumn,
    ahead,
    alone,
    extreme,
    extreme_partial,
    of_own,
)
from panewise.spec import Aggregate

FUNCTIONS = ("max_by", "min_by", "top_n", "top_n_by")


def value_name(aggregate: Aggregate, index: int) -> str:
    """Returns the name of the partial column that contains the values."""
    return f"__{aggregate.fn}{index}"


def extreme_row_partials(
    aggregate: Aggregate, index: int, schema: dict[str, pl.DataType]
) -> list[PartialColumn]:
    """Returns the partials of max_by or min_by: the extreme of `by`, and the value of the first row with it.

    The partial of the extreme is that of max or min of the same column, and is stored once for both.
    """
    if aggregate.then_by:
        return [several_ranks.partial(aggregate, value_name(aggregate, index), schema, numbered=False)]
    assert aggregate.column is not None
    assert aggregate.by is not None
    fn, dtype = aggregate.fn.removesuffix("_by"), schema[aggregate.by]
    ranks, name = extreme_partial(fn, aggregate.by, dtype), value_name(aggregate, index)

    def first(value: str, rank: str) -> pl.Expr:
        # NaN equals NaN; null equals nothing.
        return pl.col(value).filter(pl.col(rank) == extreme(fn, pl.col(rank), dtype)).first()

    def merge_operands(this: Operand, other: Operand) -> pl.Expr:
        is_ahead = ahead(fn, this(ranks.name), other(ranks.name))
        return pl.when(is_ahead).then(this(name)).otherwise(other(name))

    lift, merge = first(aggregate.column, aggregate.by), first(name, ranks.name)
    single = pl.when(pl.col(aggregate.by).is_not_null()).then(pl.col(aggregate.column))
    return [
        ranks,
        PartialColumn(
            name, schema[aggregate.column], lift, merge, None, merge_operands=merge_operands, single=single
        ),
    ]


def top_partial(aggregate: Aggregate, index: int, schema: dict[str, pl.DataType]) -> PartialColumn:
    """Returns the partial of top_n: the n largest or smallest values, in order."""
    assert aggregate.column is not None
    assert aggregate.n is not None
    n, name = aggregate.n, value_name(aggregate, index)

    def best(values: pl.Expr) -> pl.Expr:
        return values.drop_nulls().sort(descending=not aggregate.ascending).head(n)

    def both(this: pl.Expr, other: pl.Expr) -> pl.Expr:
        return pl.concat_list(this, other).list.sort(descending=not aggregate.ascending).list.head(n)

    dtype = schema[aggregate.column]
    lift, merge = best(pl.col(aggregate.column)), best(pl.col(name).explode())
    single, merge_operands = alone(aggregate.column, dtype), of_own(name, both)
    return PartialColumn(name, pl.List(dtype), lift, merge, [], merge_operands=merge_operands, single=single)


def top_rows_partial(aggregate: Aggregate, index: int, schema: dict[str, pl.DataType]) -> PartialColumn:
    """Returns the partial of top_n_by: the first n rows in the order of `by`.

    n rows are enough: a row that is not among the first n of its partial is not among the first n of all
    rows. With `distinct`, only the first row of each value counts, and n of these rows are enough.
    """
    if aggregate.then_by:
        return several_ranks.partial(aggregate, value_name(aggregate, index), schema, numbered=False)
    assert aggregate.column is not None
    assert aggregate.by is not None
    name = value_name(aggregate, index)
    dtype = pl.List(pl.Struct({"by": schema[aggregate.by], "value": schema[aggregate.column]}))
    rows = pl.struct(pl.col(aggregate.by).alias("by"), pl.col(aggregate.column).alias("value"))
    known = pl.col(aggregate.by).is_not_null()
    lift = best(aggregate, _sorted(aggregate, rows.filter(known), pl.col(aggregate.by).filter(known)))
    # Sorted inside the list: in Polars 2.1, sort_by of exploded values fails if groups are not contiguous.
    merged = best(aggregate, _sorted(aggregate, pl.element(), pl.element().struct.field("by")))
    merge_operands = of_own(name, lambda this, other: pl.concat_list(this, other).list.eval(merged))
    single = pl.concat_list(pl.when(known).then(rows)).list.drop_nulls()
    merge = pl.col(name).explode().implode().list.eval(merged)
    return PartialColumn(name, dtype, lift, merge, [], merge_operands=merge_operands, single=single)


def _sorted(aggregate: Aggregate, rows: pl.Expr, by: pl.Expr) -> pl.Expr:
    """Returns the rows in the order of `by`. Rows with an equal `by` are in arrival order."""
    return rows.sort_by(by, descending=not aggregate.ascending, maintain_order=True)


def best(aggregate: Aggregate, ordered: pl.Expr) -> pl.Expr:
    """Returns the first n of ordered rows. With `distinct`, only the first row of each value counts."""
    assert aggregate.n is not None
    if aggregate.distinct:
        ordered = ordered.filter(ordered.struct.field("value").is_first_distinct())
    return ordered.head(aggregate.n)


def result(aggregate: Aggregate, index: int) -> pl.Expr:
    """Returns the expression that computes the result from the partial."""
    if aggregate.then_by:
        return several_ranks.result(aggregate, value_name(aggregate, index))
    stored = pl.col(value_name(aggregate, index))
    return stored.list.eval(pl.element().struct.field("value")) if aggregate.fn == "top_n_by" else stored
