"""The catalogue of aggregates: the parts from which each one is computed."""

from collections.abc import Callable

import polars as pl

from panewise.engine.aggregate.deviations import deviation_parts
from panewise.engine.aggregate.pairs import pair_parts
from panewise.engine.aggregate.partials import (
    Part,
    bits_part,
    count_part,
    edge_part,
    extreme_part,
    float_sum_part,
    list_part,
    moment_parts,
    product_part,
    rows_part,
    set_part,
    sketch_part,
    true_part,
    user_part,
)
from panewise.engine.aggregate.rankings import extreme_row_parts, top_part, top_rows_part
from panewise.engine.aggregate.rows_in_order import (
    all_values_name,
    all_values_part,
    edges_name,
    edges_part,
    is_of_edges,
)
from panewise.engine.aggregate.sums import sum_parts
from panewise.spec import Aggregate
from panewise.spec.aggregates.aggregate import PAIRS


def parts_of(aggregate: Aggregate, index: int, schema: dict[str, pl.DataType]) -> list[Part]:
    """Returns the parts that an aggregate needs. It is the `index`-th of its specification."""
    column = aggregate.column
    if column is None:
        return [rows_part()]
    if is_of_edges(aggregate):
        return [edges_part(aggregate, edges_name(aggregate, index), schema)]
    if aggregate.fn == "collect_list" and aggregate.takes_nulls:
        return [all_values_part(aggregate, all_values_name(index), schema)]
    dtype = schema[column]
    makers: dict[str, Callable[[], list[Part]]] = {
        "count": lambda: [count_part(column)],
        "count_if": lambda: [true_part(column)],
        "sum": lambda: sum_parts(column, dtype),
        "avg": lambda: [
            count_part(column),
            *(sum_parts(column, dtype) if isinstance(dtype, pl.Decimal) else [float_sum_part(column)]),
        ],
        "min": lambda: [extreme_part("min", column, dtype)],
        "max": lambda: [extreme_part("max", column, dtype)],
        "bool_and": lambda: [extreme_part("min", column, dtype)],  # false is less than true
        "bool_or": lambda: [extreme_part("max", column, dtype)],
        "first": lambda: [rows_part(), edge_part("first", column, dtype, ignorenulls=aggregate.ignorenulls)],
        "last": lambda: [rows_part(), edge_part("last", column, dtype, ignorenulls=aggregate.ignorenulls)],
        **dict.fromkeys(
            ("stddev", "variance", "stddev_pop", "var_pop"),
            lambda: [count_part(column), *moment_parts(column)],
        ),
        **dict.fromkeys(
            ("collect_list", "sort_list", "median", "percentile", "mode"), lambda: [list_part(column, dtype)]
        ),
        **dict.fromkeys(
            ("collect_set", "count_distinct", "sum_distinct", "avg_distinct"),
            lambda: [set_part(column, dtype)],
        ),
        **dict.fromkeys(PAIRS, lambda: pair_parts(aggregate, index, schema)),
        "product": lambda: [product_part(column)],
        **dict.fromkeys(("bit_and", "bit_or", "bit_xor"), lambda: [bits_part(aggregate.fn, column, dtype)]),
        **dict.fromkeys(
            ("skewness", "kurtosis"),
            lambda: [
                *(count_part(column), extreme_part("min", column, dtype), extreme_part("max", column, dtype)),
                *moment_parts(column),
                *deviation_parts(column),
            ],
        ),
        "approx_count_distinct": lambda: [sketch_part(column, dtype, aggregate.rsd or 0.05)],
        **dict.fromkeys(("max_by", "min_by"), lambda: extreme_row_parts(aggregate, index, schema)),
        "top_n": lambda: [top_part(aggregate, index, schema)],
        "top_n_by": lambda: [top_rows_part(aggregate, index, schema)],
        "user": lambda: [user_part(aggregate, index)],
    }
    return makers[aggregate.fn]()
