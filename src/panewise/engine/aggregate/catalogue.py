"""The catalogue of aggregates: the partials from which each one is computed."""

from collections.abc import Callable

import polars as pl

from panewise.engine.aggregate.deviations import deviation_partials
from panewise.engine.aggregate.pairs import pair_partials
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
from panewise.spec import Aggregate
from panewise.spec.aggregates.aggregate import PAIRS


def partials_of(aggregate: Aggregate, index: int, schema: dict[str, pl.DataType]) -> list[PartialColumn]:
    """Returns the partials that an aggregate needs. It is the `index`-th of its specification."""
    column = aggregate.column
    if column is None:
        return [rows_partial()]
    if is_of_edges(aggregate):
        return [edges_partial(aggregate, edges_name(aggregate, index), schema)]
    if aggregate.fn == "collect_list" and aggregate.takes_nulls:
        return [all_values_partial(aggregate, all_values_name(index), schema)]
    dtype = schema[column]
    makers: dict[str, Callable[[], list[PartialColumn]]] = {
        "count": lambda: [count_partial(column)],
        "count_if": lambda: [true_partial(column)],
        "sum": lambda: sum_partials(column, dtype),
        "avg": lambda: _mean_partials(column, dtype),
        "min": lambda: [extreme_partial("min", column, dtype)],
        "max": lambda: [extreme_partial("max", column, dtype)],
        "bool_and": lambda: [extreme_partial("min", column, dtype)],  # false is less than true
        "bool_or": lambda: [extreme_partial("max", column, dtype)],
        "first": lambda: [
            rows_partial(),
            edge_partial("first", column, dtype, ignorenulls=aggregate.ignorenulls),
        ],
        "last": lambda: [
            rows_partial(),
            edge_partial("last", column, dtype, ignorenulls=aggregate.ignorenulls),
        ],
        **dict.fromkeys(
            ("stddev", "variance", "stddev_pop", "var_pop"),
            lambda: [count_partial(column), *moment_partials(column)],
        ),
        **dict.fromkeys(
            ("collect_list", "sort_list", "median", "percentile", "mode"),
            lambda: [list_partial(column, dtype)],
        ),
        **dict.fromkeys(
            ("collect_set", "count_distinct", "sum_distinct", "avg_distinct"),
            lambda: [set_partial(column, dtype)],
        ),
        **dict.fromkeys(PAIRS, lambda: pair_partials(aggregate, index, schema)),
        "product": lambda: [product_partial(column)],
        **dict.fromkeys(
            ("bit_and", "bit_or", "bit_xor"), lambda: [bits_partial(aggregate.fn, column, dtype)]
        ),
        **dict.fromkeys(("skewness", "kurtosis"), lambda: _shape_partials(column, dtype)),
        "approx_count_distinct": lambda: [sketch_partial(column, dtype, aggregate.rsd or 0.05)],
        **dict.fromkeys(("max_by", "min_by"), lambda: extreme_row_partials(aggregate, index, schema)),
        "top_n": lambda: [top_partial(aggregate, index, schema)],
        "top_n_by": lambda: [top_rows_partial(aggregate, index, schema)],
        "user": lambda: [user_partial(aggregate, index)],
    }
    return makers[aggregate.fn]()


def _mean_partials(column: str, dtype: pl.DataType) -> list[PartialColumn]:
    total = sum_partials(column, dtype) if isinstance(dtype, pl.Decimal) else [float_sum_partial(column)]
    return [count_partial(column), *total]


def _shape_partials(column: str, dtype: pl.DataType) -> list[PartialColumn]:
    """Returns what skewness and kurtosis need. The extremes show whether all values are equal."""
    extremes = [extreme_partial("min", column, dtype), extreme_partial("max", column, dtype)]
    return [count_partial(column), *extremes, *moment_partials(column), *deviation_partials(column)]
