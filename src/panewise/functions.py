"""Aggregate functions, and functions for `over` only, such as lag. Names are those of pyspark.sql.functions.

A column is given by its name or as a pyspark Column.

>>> from panewise import functions as F
>>> F.sum("delay").alias("total").name
'total'
"""

from difflib import get_close_matches
from typing import Any

from panewise.errors import RefusedNameError
from panewise.spec.aggregates import functions as _values
from panewise.spec.aggregates import order_columns as _orders
from panewise.spec.aggregates import order_sensitive as _order_sensitive
from panewise.spec.aggregates import rankings as _rankings
from panewise.spec.aggregates import statistics as _statistics
from panewise.spec.aggregates import two_columns as _two_columns
from panewise.spec.aggregates.functions import *  # noqa: F403
from panewise.spec.aggregates.order_columns import *  # noqa: F403
from panewise.spec.aggregates.order_sensitive import *  # noqa: F403
from panewise.spec.aggregates.rankings import *  # noqa: F403
from panewise.spec.aggregates.statistics import *  # noqa: F403
from panewise.spec.aggregates.two_columns import *  # noqa: F403
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
    "dense_rank",
    "first_value",
    "lag",
    "last_value",
    "lead",
    "nth_value",
    "rank",
    "row_number",
]
__all__ += _values.__all__
__all__ += _order_sensitive.__all__
__all__ += _orders.__all__
__all__ += _two_columns.__all__
__all__ += _rankings.__all__
__all__ += _statistics.__all__

_PARTITION = "ntile, percent_rank and cume_dist count a whole partition, which has no end on a stream"
_NAMES = "panewise.functions has aggregates; columns and expressions are those of pyspark"
_OTHER_NAME = "panewise has this function under one name only"
_EXACT_ONLY = "panewise computes percentiles exactly"
_SKETCH = "the binary form of this sketch belongs to Spark"
_TEXT = "aggregates do not join texts"
_NEVER_NULL = "a sum or a mean that does not fit its type is an error, and never null"
_REFUSED = {
    **dict.fromkeys(
        ("cume_dist", "ntile", "percent_rank"), (_PARTITION, "use row_number, rank or dense_rank")
    ),
    **dict.fromkeys(
        ("col", "column", "expr", "lit", "when"),
        (_NAMES, "import pyspark.sql.functions as SF: SF.col('v') * 2"),
    ),
    **dict.fromkeys(
        ("asc_nulls_first", "desc_nulls_last"),
        ("nulls come first in ascending and last in descending order", "use asc or desc"),
    ),
    "countDistinct": (_OTHER_NAME, "use count_distinct"),
    "sumDistinct": (_OTHER_NAME, "use sum_distinct"),
    "approxCountDistinct": (_OTHER_NAME, "use approx_count_distinct"),
    **dict.fromkeys(
        ("approx_percentile", "percentile_approx"), (_EXACT_ONLY, "use percentile, or median for one half")
    ),
    **dict.fromkeys(
        [f"kll_{kind}_agg_{of}" for kind in ("sketch", "merge") for of in ("bigint", "double", "float")],
        (_SKETCH, "use percentile"),
    ),
    **dict.fromkeys(
        ["count_min_sketch", "histogram_numeric"],
        (_SKETCH, "add the value to the keys of the windows, and use count"),
    ),
    **dict.fromkeys(
        [
            *("hll_sketch_agg", "hll_union_agg", "bitmap_and_agg", "bitmap_construct_agg", "bitmap_or_agg"),
            *("theta_intersection_agg", "theta_sketch_agg", "theta_union_agg"),
            *(
                f"tuple_{kind}_agg_{of}"
                for kind in ("intersection", "sketch", "union")
                for of in ("double", "integer")
            ),
        ],
        (_SKETCH, "use approx_count_distinct, count_distinct or collect_set"),
    ),
    **dict.fromkeys(
        ("listagg", "string_agg"), (_TEXT, "use collect_list, and pyspark's array_join on the panes")
    ),
    **dict.fromkeys(
        ("listagg_distinct", "string_agg_distinct"),
        (_TEXT, "use collect_set, and pyspark's array_join on the panes"),
    ),
    **dict.fromkeys(("try_avg", "try_sum"), (_NEVER_NULL, "cast the column to double, and use avg or sum")),
    **dict.fromkeys(
        ("grouping", "grouping_id"), ("windows have one set of keys", "use one operator for each set of keys")
    ),
    "schema_of_variant_agg": ("columns have fixed types", "use pyspark's schema_of_variant before"),
}


def __getattr__(name: str) -> Any:
    """Refuses names of pyspark.sql.functions that panewise does not offer (semantics 24.23, 29.7).

    Raises:
        RefusedNameError: if the name is one of these; the message says what to use instead.
        AttributeError: if the name is any other.
    """
    if name in _REFUSED:
        raise RefusedNameError(f"panewise.functions.{name}", *_REFUSED[name])
    alike = get_close_matches(name, __all__, n=1)
    raise AttributeError(
        f"module {__name__!r} has no attribute {name!r}{f', but {alike[0]}' if alike else ''}; user-defined "
        "aggregates are made by panewise.UserAggregate"
    )
