"""Aggregate functions, named as in pyspark.sql.functions; each takes the name of a column.

>>> from panewise import functions as F
>>> F.sum("delay").alias("total").name
'total'
"""

from panewise.spec.aggregates import (
    approx_count_distinct,
    avg,
    collect_list,
    collect_set,
    count,
    first,
    last,
    max,
    mean,
    median,
    min,
    percentile,
    stddev,
    sum,
    variance,
)

__all__ = [
    "approx_count_distinct",
    "avg",
    "collect_list",
    "collect_set",
    "count",
    "first",
    "last",
    "max",
    "mean",
    "median",
    "min",
    "percentile",
    "stddev",
    "sum",
    "variance",
]
