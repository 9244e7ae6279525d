"""Expressions that compute the results of aggregates from the partial columns."""

from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from typing import Final, Literal, TypeAlias

import polars as pl

from panewise.engine.aggregate import rankings, rows_in_order, sketch, user
from panewise.engine.aggregate.sums import DIGITS, EXACT, checked_sums, overflow_of_decimals
from panewise.engine.aggregate.two_columns import pair_result
from panewise.engine.aggregate.types import mean_type, result_type, total_type
from panewise.engine.columns import CARRY, ROWS
from panewise.spec import Aggregate
from panewise.spec.aggregates.aggregate import PAIRS

# Functions whose result is a partial, with the name of this if it is not that of the function.
_PARTIALS: Final = {
    "count": "n",
    "count_if": "true",
    "bool_and": "min",
    "bool_or": "max",
    "collect_list": "list",
    "collect_set": "set",
}


_Interpolation: TypeAlias = Literal["linear", "lower", "higher"]


def result(aggregate: Aggregate, index: int, schema: dict[str, pl.DataType]) -> pl.Expr:
    """Returns the expression for the result of an aggregate, under the name of the aggregate.

    The aggregate is the `index`-th of its specification, and not of distinct values.
    """
    column = aggregate.column
    if column is None:
        return pl.col(ROWS).alias(aggregate.name)
    in_order = _of_rows_in_order(aggregate, index)
    if in_order is not None:
        return in_order.cast(result_type(aggregate, schema)).alias(aggregate.name)
    readers: dict[str, Callable[[], pl.Expr]] = {
        "sum": lambda: _total(column, schema[column]),
        "avg": lambda: _mean(column, schema[column]),
        "first": lambda: pl.col(f"__first{'_value' if aggregate.ignorenulls else ''}:{column}"),
        "last": lambda: pl.col(f"__last{'_value' if aggregate.ignorenulls else ''}:{column}"),
        **{
            fn: lambda: _spread(aggregate.fn, column)
            for fn in ("stddev", "variance", "stddev_pop", "var_pop")
        },
        **dict.fromkeys(PAIRS, lambda: pair_result(aggregate, index)),
        **{fn: lambda: _shape(aggregate.fn, column) for fn in ("skewness", "kurtosis")},
        "count_distinct": lambda: pl.col(f"__set:{column}").list.len(),
        "approx_count_distinct": lambda: _estimate(aggregate, column),
        "median": lambda: _quantile(column, 0.5),
        "percentile": lambda: _quantile(column, aggregate.percentage or 0.0),
        "mode": lambda: pl.col(f"__list:{column}").list.eval(pl.element().mode().sort().first()).list.first(),
        "sort_list": lambda: pl.col(f"__list:{column}").list.sort(descending=not aggregate.ascending),
        **{fn: lambda: rankings.result(aggregate, index) for fn in rankings.FUNCTIONS},
        "user": lambda: _finished(aggregate, index),
    }
    read = readers.get(
        aggregate.fn, lambda: pl.col(f"__{_PARTIALS.get(aggregate.fn, aggregate.fn)}:{column}")
    )
    return read().cast(result_type(aggregate, schema)).alias(aggregate.name)


def _of_rows_in_order(aggregate: Aggregate, index: int) -> pl.Expr | None:
    """Returns the result of an aggregate over rows in order, None for other aggregates."""
    if rows_in_order.is_of_edges(aggregate):
        return rows_in_order.result(aggregate, pl.col(rows_in_order.edges_name(aggregate, index)))
    if aggregate.fn == "collect_list" and aggregate.takes_nulls:
        return pl.col(rows_in_order.all_values_name(index))
    return None


def _mean(column: str, dtype: pl.DataType) -> pl.Expr:
    """Returns the mean. Means of decimals are divided exactly, in Python, and rounded half up."""
    n = pl.col(f"__n:{column}")
    if not isinstance(dtype, pl.Decimal):
        return pl.when(n > 0).then(pl.col(f"__fsum:{column}") / n)
    target = mean_type(dtype)
    unit, bound = (
        Decimal(1).scaleb(-target.scale),
        Decimal(1).scaleb((target.precision or DIGITS) - target.scale),
    )

    def divide(pairs: pl.Series) -> pl.Series:
        means = [
            None
            if p["s"] is None
            else EXACT.divide(p["s"], Decimal(p["n"])).quantize(unit, ROUND_HALF_UP, EXACT)
            for p in pairs.to_list()
        ]
        if any(mean is not None and mean.copy_abs() >= bound for mean in means):
            raise overflow_of_decimals("avg", column, target)
        return pl.Series(means, dtype=target)

    return pl.struct(_total(column, dtype).alias("s"), n.alias("n")).map_batches(divide, return_dtype=target)


def _total(column: str, dtype: pl.DataType) -> pl.Expr:
    """Returns the sum. A sum of integers that does not fit the type of the result is an error."""
    stored = pl.col(f"__sum:{column}")
    if dtype.is_float():
        return stored
    target = total_type(dtype)

    checked = checked_sums(target, column)
    return pl.map_batches([stored, pl.col(f"{CARRY}{column}")], checked, return_dtype=target)


def _spread(fn: str, column: str) -> pl.Expr:
    """Returns the variance or the standard deviation.

    The divisor is n for a population and n - 1 for a sample. If it is not above 0, the result is null.
    """
    n = pl.col(f"__n:{column}")
    divisor = n if fn.endswith("_pop") else n - 1
    variance = pl.when(divisor > 0).then(pl.col(f"__m2:{column}") / divisor)
    return variance.sqrt() if fn.startswith("stddev") else variance


def _shape(fn: str, column: str) -> pl.Expr:
    """Returns the skewness or the kurtosis; null if all values are equal.

    Minimum and maximum show whether all values are equal, as rounding may leave a variance above 0.
    """
    n, m2 = pl.col(f"__n:{column}"), pl.col(f"__m2:{column}")
    equal = (pl.col(f"__min:{column}") == pl.col(f"__max:{column}")) & ~m2.is_nan()
    shape = n.sqrt() * pl.col(f"__m3:{column}") / m2**1.5
    if fn == "kurtosis":
        shape = n * pl.col(f"__m4:{column}") / m2**2 - 3
    return pl.when((n > 0) & ~equal).then(shape)


def _quantile(column: str, fraction: float) -> pl.Expr:
    return pl.col(f"__list:{column}").map_batches(
        lambda lists: _quantiles(lists, fraction), return_dtype=pl.Float64()
    )


def _quantiles(lists: pl.Series, fraction: float) -> pl.Series:
    """Returns the quantile of each list, with linear interpolation; null if the list has no values."""

    def quantile(how: _Interpolation) -> pl.Series:
        return lists.list.eval(pl.element().cast(pl.Float64).quantile(fraction, how)).list.first()

    between = quantile("linear")
    if not between.is_nan().any():
        return between
    # Between -inf and a number Polars computes -inf + inf, which is NaN.
    lower, upper = quantile("lower"), quantile("higher")
    return between.zip_with(~(lower.is_infinite() & upper.is_finite()), lower)


def _estimate(aggregate: Aggregate, column: str) -> pl.Expr:
    size = sketch.size_for(aggregate.rsd or 0.05)
    return sketch.estimate(pl.col(f"__kmv{size}:{column}"), size)


def _finished(aggregate: Aggregate, index: int) -> pl.Expr:
    assert aggregate.user is not None
    return pl.col(f"__user{index}").map_batches(
        user.finisher(aggregate.user), return_dtype=user.result_type(aggregate.user)
    )
