"""The places of the rows of a whole input in an order, as whole numbers (semantics 46.170).

An OVER operator takes a place for the time of a row. Invariant: of two rows of a partition the one with the
lower place comes first in the order, and peers have one place. For a RANGE that counts, places are the values
themselves, and nulls are further from them than it reaches. Cost: a sort of the rows; for values a few
passes.
"""

from collections.abc import Callable, Sequence
from typing import Final

import polars as pl

from panewise.errors import InputError
from panewise.sql.stages import RowPlace
from panewise.standalone.streaming_sql.sql_expressions import Scope
from panewise.standalone.streaming_sql.sql_typed import Typed, refusal

_NUMBER: Final = "number of the row"


def place_of(position: RowPlace, scope: Scope) -> Callable[[pl.DataFrame], pl.Series]:
    """Returns the function that gives rows their places.

    Raises:
        SqlError: if the values of the order have none here.
    """
    values = [scope.typed(text) for text in position.order]
    for text, value in zip(position.order, values, strict=True):
        if value.dtype.is_nested():
            raise refusal(f"ORDER BY {text} of {value.dtype}", "in process rows are not ordered by lists")
    if position.unit is not None:
        return _distances(position, values[0])
    keys = [scope.column(name) for name in position.partition]
    return _numbers(position, keys, values)


def _numbers(
    position: RowPlace, keys: Sequence[pl.Expr], values: Sequence[Typed]
) -> Callable[[pl.DataFrame], pl.Series]:
    """Returns places that are numbered in each partition. Equal rows have one place."""
    named = {f"key {number}": key for number, key in enumerate(keys)}
    names = [f"value {number}" for number in range(len(values))]
    # There is no negative zero, as on Spark.
    exprs = [value.expr + 0.0 if value.is_float else value.expr for value in values]
    different = [pl.col(name).ne_missing(pl.col(name).shift(1)) for name in names]
    step = (pl.any_horizontal(different) if names else pl.lit(value=False)).cast(pl.Int64)
    number = pl.col(position.name).cum_sum()
    if keys and names:
        step, number = step.over(list(named)), number.over(list(named))
    columns = [expr.alias(name) for expr, name in zip(exprs, names, strict=True)]
    columns += [key.alias(name) for name, key in named.items()]

    def places(rows: pl.DataFrame) -> pl.Series:
        ordered = rows.select(pl.int_range(pl.len()).alias(_NUMBER), *columns)
        if names:
            descending, nulls_last = list(position.descending), list(position.nulls_last)
            ordered = ordered.sort(names, descending=descending, nulls_last=nulls_last, maintain_order=True)
        placed = ordered.with_columns(step.alias(position.name)).with_columns(number)
        return placed.sort(_NUMBER)[position.name]

    return places


def _distances(position: RowPlace, value: Typed) -> Callable[[pl.DataFrame], pl.Series]:
    """Returns places that are the values of the order themselves. Nulls are far from them."""
    number = _as_number(position, value)
    sign = -1 if position.descending[0] else 1
    last = position.nulls_last[0]

    def places(rows: pl.DataFrame) -> pl.Series:
        values = rows.select((number * sign).alias(position.name))[position.name]
        if position.apart and values.null_count():
            rule = "in process a RANGE without the present row has no null in its order"
            remedy = "select the rows whose value is not null, in a query in FROM"
            raise InputError(f"a null in ORDER BY {position.order[0]}", rule, remedy)
        edge = values.max() if last else values.min()
        far = (edge if isinstance(edge, int) else 0) + (1 if last else -1) * (position.reach + 1)
        return values.fill_null(far)

    return places


def _as_number(position: RowPlace, value: Typed) -> pl.Expr:
    """Returns the values of an order as whole numbers, from which a RANGE counts."""
    if position.unit == "number" and value.is_integer:
        return value.expr.cast(pl.Int64)
    if isinstance(value.dtype, pl.Date):
        days = value.expr.cast(pl.Int32).cast(pl.Int64)
        return days if position.unit == "number" else days * 86_400_000_000
    if position.unit == "time" and value.is_time:
        return value.expr.dt.timestamp("us")
    rule = "in process a RANGE counts from whole numbers, dates and instants"
    raise refusal(f"RANGE in the order of {value.dtype}", rule)
