"""Partials of rankings by several columns (semantics 24.26).

A partial is the list of the first rows in the order of the ranking, each with its ranks and its value. n rows
are enough, as for :func:`panewise.engine.aggregate.rankings.top_rows_part`. `max_by` and `min_by` need one.

Invariant: rows of equal ranks are in arrival order. Where partials merge in arrival order, a stable sort is
enough. Otherwise the partials contain the arrival numbers of their rows, by which they are sorted last. Cost:
a sort of the rows of a group, or of those of the partials that merge.
"""

from typing import Final

import polars as pl

from panewise.engine.aggregate.partials import PartialColumn, of_own
from panewise.engine.columns import ARRIVAL_NUMBER
from panewise.spec import Aggregate

_TURN: Final = "turn"
_VALUE: Final = "value"


def partial(
    aggregate: Aggregate, name: str, schema: dict[str, pl.DataType], *, numbered: bool
) -> PartialColumn:
    """Returns the partial of a ranking by several columns. If `numbered`, it merges in any order."""
    assert aggregate.column is not None
    columns = {_rank(place): rank.column for place, rank in enumerate(aggregate.ranking)}
    columns[_VALUE] = aggregate.column
    if numbered:
        columns = {_TURN: ARRIVAL_NUMBER, **columns}
    types = {**schema, ARRIVAL_NUMBER: pl.Int64()}
    dtype = pl.List(pl.Struct({field: types[column] for field, column in columns.items()}))
    known = pl.col(aggregate.ranking[0].column).is_not_null()
    rows = pl.struct(pl.col(column).alias(field) for field, column in columns.items())
    best = _best(aggregate, numbered=numbered)
    lift = rows.filter(known).implode().list.eval(best)
    merge = pl.col(name).explode(empty_as_null=False).implode().list.eval(best)
    merge_operands = of_own(name, lambda this, other: pl.concat_list(this, other).list.eval(best))
    single = pl.concat_list(pl.when(known).then(rows)).list.drop_nulls()
    return PartialColumn(name, dtype, lift, merge, [], merge_operands=merge_operands, single=single)


def result(aggregate: Aggregate, name: str) -> pl.Expr:
    """Returns the expression that computes the result from the partial."""
    stored = pl.col(name)
    if aggregate.fn == "top_n_by":
        return stored.list.eval(pl.element().struct.field(_VALUE))
    return stored.list.first().struct.field(_VALUE)


def _rank(place: int) -> str:
    return f"rank{place}"


def _best(aggregate: Aggregate, *, numbered: bool) -> pl.Expr:
    """Returns the first rows of a list, in order. With `distinct`, only the first row of each value counts.

    Null is the smallest value of a rank: the first in ascending, and the last in descending order.
    """
    falling = [not rank.ascending for rank in aggregate.ranking]
    fields = [*map(_rank, range(len(falling))), *([_TURN] if numbered else [])]
    down = [*falling, *([False] if numbered else [])]
    keys = [pl.element().struct.field(field) for field in fields]
    ordered = pl.element().sort_by(*keys, descending=down, nulls_last=down, maintain_order=True)
    if aggregate.distinct:
        ordered = ordered.filter(ordered.struct.field(_VALUE).is_first_distinct())
    return ordered.head(aggregate.n or 1)
