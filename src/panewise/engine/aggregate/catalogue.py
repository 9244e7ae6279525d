"""The catalogue of aggregates: the partials from which each one is computed."""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import polars as pl

from panewise.engine.aggregate.deviations import deviation_partials
from panewise.engine.aggregate.partials import (
    PartialColumn,
    bits_partial,
    count_partial,
    edge_partial,
    extreme_partial,
    float_sum_partial,
    list_partial,
    moment_partials,
    product_partial,
    rows_partial,
    set_partial,
    sketch_partial,
    true_partial,
    user_partial,
)
from panewise.engine.aggregate.rankings import extreme_row_partials, top_partial, top_rows_partial
from panewise.engine.aggregate.rows_in_order import (
    all_values_name,
    all_values_partial,
    edges_name,
    edges_partial,
    is_of_edges,
)
from panewise.engine.aggregate.sums import sum_partials
from panewise.engine.aggregate.two_columns import pair_partials
from panewise.spec import Aggregate
from panewise.spec.aggregates.aggregate import PAIRS

_Schema: TypeAlias = dict[str, pl.DataType]
_OfColumn: TypeAlias = Callable[[str, pl.DataType], list[PartialColumn]]
_OfAggregate: TypeAlias = Callable[[Aggregate, int, _Schema], list[PartialColumn]]


def partials_of(aggregate: Aggregate, index: int, schema: _Schema) -> list[PartialColumn]:
    """Returns the partials that an aggregate needs. It is the `index`-th of its specification."""
    column = aggregate.column
    if column is None:
        return [rows_partial()]
    if is_of_edges(aggregate):
        return [edges_partial(aggregate, edges_name(aggregate, index), schema)]
    if aggregate.fn == "collect_list" and aggregate.takes_nulls:
        return [all_values_partial(aggregate, all_values_name(index), schema)]
    if aggregate.fn in _OF_COLUMN:
        return _OF_COLUMN[aggregate.fn](column, schema[column])
    return _OF_AGGREGATE[aggregate.fn](aggregate, index, schema)


def _extreme(fn: str) -> _OfColumn:
    return lambda column, dtype: [extreme_partial(fn, column, dtype)]


def _mean(column: str, dtype: pl.DataType) -> list[PartialColumn]:
    total = sum_partials(column, dtype) if isinstance(dtype, pl.Decimal) else [float_sum_partial(column)]
    return [count_partial(column), *total]


def _spread(column: str, dtype: pl.DataType) -> list[PartialColumn]:
    return [count_partial(column), *moment_partials(column)]


def _shape(column: str, dtype: pl.DataType) -> list[PartialColumn]:
    """Returns what skewness and kurtosis need. The extremes show whether all values are equal."""
    extremes = (extreme_partial(fn, column, dtype) for fn in ("min", "max"))
    return [count_partial(column), *extremes, *moment_partials(column), *deviation_partials(column)]


def _bits(fn: str) -> _OfColumn:
    return lambda column, dtype: [bits_partial(fn, column, dtype)]


def _list(column: str, dtype: pl.DataType) -> list[PartialColumn]:
    return [list_partial(column, dtype)]


def _set(column: str, dtype: pl.DataType) -> list[PartialColumn]:
    return [set_partial(column, dtype)]


def _edge(aggregate: Aggregate, index: int, schema: _Schema) -> list[PartialColumn]:
    column = str(aggregate.column)
    edge = edge_partial(aggregate.fn, column, schema[column], ignorenulls=aggregate.ignorenulls)
    return [rows_partial(), edge]


def _sketch(aggregate: Aggregate, index: int, schema: _Schema) -> list[PartialColumn]:
    column = str(aggregate.column)
    return [sketch_partial(column, schema[column], aggregate.rsd or 0.05)]


# Functions whose partials depend on the column and its type alone.
_OF_COLUMN: Final[Mapping[str, _OfColumn]] = {
    "count": lambda column, dtype: [count_partial(column)],
    "count_if": lambda column, dtype: [true_partial(column)],
    "sum": sum_partials,
    "avg": _mean,
    "min": _extreme("min"),
    "max": _extreme("max"),
    "bool_and": _extreme("min"),  # false is less than true
    "bool_or": _extreme("max"),
    **dict.fromkeys(("stddev", "variance", "stddev_pop", "var_pop"), _spread),
    **dict.fromkeys(("skewness", "kurtosis"), _shape),
    **dict.fromkeys(("collect_list", "sort_list", "median", "percentile", "mode"), _list),
    **dict.fromkeys(("collect_set", "count_distinct", "sum_distinct", "avg_distinct"), _set),
    "product": lambda column, dtype: [product_partial(column)],
    **{fn: _bits(fn) for fn in ("bit_and", "bit_or", "bit_xor")},
}
_OF_AGGREGATE: Final[Mapping[str, _OfAggregate]] = {
    **dict.fromkeys(("first", "last"), _edge),
    **dict.fromkeys(PAIRS, pair_partials),
    **dict.fromkeys(("max_by", "min_by"), extreme_row_partials),
    "approx_count_distinct": _sketch,
    "top_n": lambda aggregate, index, schema: [top_partial(aggregate, index, schema)],
    "top_n_by": lambda aggregate, index, schema: [top_rows_partial(aggregate, index, schema)],
    "user": lambda aggregate, index, schema: [user_partial(aggregate, index)],
}
