"""Aggregate functions, and functions for `over` only, such as lag. Names are those of pyspark.sql.functions.

A column is given by its name or as a pyspark Column.

>>> from panewise import functions as F
>>> F.sum("delay").alias("total").name
'total'
"""

from typing import Any

from panewise.errors import RefusedNameError
from panewise.spec.aggregates.functions import (
    any_value,
    approx_count_distinct,
    array_agg,
    avg,
    bool_and,
    bool_or,
    collect_list,
    collect_set,
    count,
    count_distinct,
    count_if,
    every,
    first,
    last,
    max,
    mean,
    median,
    min,
    mode,
    percentile,
    some,
    std,
    stddev,
    stddev_pop,
    stddev_samp,
    sum,
    var_pop,
    var_samp,
    variance,
)
from panewise.spec.aggregates.rankings import max_by, min_by, sort_list, top_n, top_n_by
from panewise.spec.operators.over.functions import (
    dense_rank,
    first_value,
    lag,
    last_value,
    lead,
    nth_value,
    rank,
    row_number,
)

__all__ = [
    "any_value",
    "approx_count_distinct",
    "array_agg",
    "avg",
    "bool_and",
    "bool_or",
    "collect_list",
    "collect_set",
    "count",
    "count_distinct",
    "count_if",
    "dense_rank",
    "every",
    "first",
    "first_value",
    "lag",
    "last",
    "last_value",
    "lead",
    "max",
    "max_by",
    "mean",
    "median",
    "min",
    "min_by",
    "mode",
    "nth_value",
    "percentile",
    "rank",
    "row_number",
    "some",
    "sort_list",
    "std",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "sum",
    "top_n",
    "top_n_by",
    "var_pop",
    "var_samp",
    "variance",
]

_PARTITION = "it counts the rows of the whole partition, which has no end on a stream"
_NAMES = "columns and expressions come from pyspark, and operators take these"
_REFUSED = {
    **dict.fromkeys(
        ("cume_dist", "ntile", "percent_rank"), (_PARTITION, "use row_number, rank or dense_rank")
    ),
    **dict.fromkeys(
        ("col", "column", "expr", "lit", "when"),
        (_NAMES, "import pyspark.sql.functions as SF: SF.col('v') * 2"),
    ),
    **dict.fromkeys(("asc", "desc"), ("rows are in ascending order, nulls first", "give the column's name")),
    "countDistinct": ("panewise has only its other name", "use count_distinct"),
}


def __getattr__(name: str) -> Any:
    """Refuses names of pyspark.sql.functions that panewise does not offer (semantics 29.7).

    Raises:
        RefusedNameError: if the name is one of these; the message says what to use instead.
        AttributeError: if the name is any other.
    """
    if name in _REFUSED:
        raise RefusedNameError(f"panewise.functions.{name}", *_REFUSED[name])
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}; user-defined aggregates are made by "
        "panewise.UserAggregate"
    )
