"""Types of columns: which of them an aggregate takes, and what type its result has, as in Spark."""

import polars as pl

from panewise.engine import userfn
from panewise.errors import SpecError
from panewise.spec import Aggregate
from panewise.spec.aggregates import LISTS

_NUMERIC = frozenset({"sum", "avg", "stddev", "variance", "stddev_pop", "var_pop", "median", "percentile"})
_BOOLEAN = frozenset({"count_if", "bool_and", "bool_or"})
_SORTED = frozenset({"min", "max", "mode", "sort_list", "top_n"})
_COUNTS = frozenset({"count", "count_if", "count_distinct", "approx_count_distinct"})
_SAME = frozenset({"min", "max", "first", "last", "mode", "max_by", "min_by"})


def check_types(aggregate: Aggregate, schema: dict[str, pl.DataType]) -> None:
    """Refuses columns that the aggregate cannot use.

    Raises:
        SpecError: with the column and its type.
    """
    column, fn = aggregate.column, aggregate.fn
    if column is None:
        return
    if fn in _NUMERIC and not schema[column].is_numeric():
        _refuse(aggregate, column, schema, f"{fn} takes numbers", f"cast {column} to a number, or use another aggregate")
    if fn in _BOOLEAN and schema[column] != pl.Boolean():
        _refuse(aggregate, column, schema, f"{fn} takes a Boolean column", "make one before the operator")
    ordering = aggregate.by if aggregate.by is not None else column if fn in _SORTED else None
    if ordering is not None and schema[ordering].is_nested():
        _refuse(aggregate, ordering, schema, f"{fn} takes values that have an order", "use a column of a simple type")


def _refuse(aggregate: Aggregate, column: str, schema: dict[str, pl.DataType], rule: str, remedy: str) -> None:
    raise SpecError(f"{aggregate.name!r} over {column}: {schema[column]}", rule, remedy)


def result_type(aggregate: Aggregate, schema: dict[str, pl.DataType]) -> pl.DataType:
    """The type of an aggregate's result, as in Spark."""
    fn = aggregate.fn
    dtype = schema[aggregate.column] if aggregate.column is not None else pl.Int64()
    if fn in _COUNTS:
        return pl.Int64()
    if fn in LISTS:
        return pl.List(dtype)
    if aggregate.user is not None:
        return userfn.result_type(aggregate.user)
    if fn in _SAME or fn in _BOOLEAN:
        return dtype
    if isinstance(dtype, pl.Decimal) and fn in ("sum", "avg"):
        return mean_type(dtype) if fn == "avg" else total_type(dtype)
    return pl.Int64() if fn == "sum" and dtype.is_integer() else pl.Float64()


def total_type(dtype: pl.Decimal) -> pl.Decimal:
    """The type of the sum of decimals."""
    return pl.Decimal(min(38, (dtype.precision or 38) + 10), dtype.scale)


def mean_type(dtype: pl.Decimal) -> pl.Decimal:
    """The type of the mean of decimals."""
    return pl.Decimal(min(38, (dtype.precision or 38) + 4), min(38, dtype.scale + 4))
