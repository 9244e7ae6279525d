"""The functions that create aggregates, named as in pyspark.sql.functions.

Users import them from :mod:`panewise.functions`.
"""

from typing import Any, Literal

from panewise.errors import SpecError
from panewise.spec.aggregates.aggregate import Aggregate, default_name
from panewise.spec.aggregates.expressions import ColumnOrName, Expression, checked_column
from panewise.spec.aggregates.user_functions import UserFunctions
from panewise.spec.fields import is_count

# The public functions, which panewise.functions has.
__all__ = [
    "any_value",
    "approx_count_distinct",
    "array_agg",
    "avg",
    "avg_distinct",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "collect_list",
    "collect_set",
    "count",
    "count_distinct",
    "count_if",
    "every",
    "first",
    "first_n",
    "kurtosis",
    "last",
    "last_n",
    "max",
    "mean",
    "median",
    "min",
    "mode",
    "percentile",
    "product",
    "skewness",
    "some",
    "std",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "sum",
    "sum_distinct",
    "var_pop",
    "var_samp",
    "variance",
]


def _over(fn: str, column: ColumnOrName, *arguments: Any, **options: Any) -> Aggregate:
    """Returns the aggregate over a column. Its default name shows the arguments."""
    name = checked_column(column)
    return Aggregate(fn, name, default_name(fn, name, *arguments), **options)


def user(aggregate: UserFunctions, column: ColumnOrName, *more: ColumnOrName) -> Aggregate:
    """Returns a user-defined aggregate over a column or several."""
    name, further = checked_column(column), tuple(map(checked_column, more))
    shown = default_name(aggregate.name, name, *further)
    return Aggregate("user", name, shown, user=aggregate, more=further)


def count(column: ColumnOrName = "*") -> Aggregate:
    """Counts the rows of a window ("*"), or the non-null values of a column. Type bigint.

    Source: semantics 24.1; pyspark count.
    """
    checked = checked_column(column)
    return Aggregate("count", None if checked == "*" else checked, f"count({checked})")


def count_if(column: ColumnOrName) -> Aggregate:
    """Counts the rows in which a Boolean column is true. Type bigint.

    >>> from panewise.testing import result_of
    >>> result_of(count_if("late"), [{"late": True}, {"late": None}, {"late": False}, {"late": True}])
    2

    Source: semantics 24.8; pyspark count_if.
    """
    return _over("count_if", column)


def count_distinct(column: ColumnOrName, *more: ColumnOrName) -> Aggregate:
    """Counts the distinct non-null values exactly. Type bigint.

    The state contains all distinct values; that of :func:`approx_count_distinct` is bounded.

    With several columns it counts the distinct combinations of their values, and skips combinations with a
    null. This is available on Spark only, where it adds a column to the operator's input.

    >>> from panewise.testing import result_of
    >>> result_of(count_distinct("v"), [{"v": 4}, {"v": None}, {"v": 2}, {"v": 4}])
    2

    Source: semantics 24.8, 24.18; pyspark count_distinct.
    """
    if not more:
        return _over("count_distinct", column)
    parts = tuple(map(checked_column, (column, *more)))
    return _over("count_distinct", Expression(", ".join(parts), "tuple", parts))


def sum(column: ColumnOrName) -> Aggregate:
    """Sums the non-null values; null without any.

    The type is bigint for whole numbers, double for floats, and decimal(p+10, s), with at most 38 digits, for
    decimals. A sum of whole numbers or decimals that does not fit its type raises AggregateOverflowError.

    >>> from decimal import Decimal
    >>> from panewise.testing import result_of
    >>> result_of(sum("v"), [{"v": Decimal("0.10")}, {"v": None}, {"v": Decimal("2.00")}], "engine")
    Decimal('2.10')

    Source: semantics 24.1, 24.3, 24.16; pyspark sum.
    """
    return _over("sum", column)


def avg(column: ColumnOrName) -> Aggregate:
    """Computes the mean of the non-null values; null without any.

    The type is double, and decimal(p+4, s+4) for decimals. Both numbers are 38 at most, so a large s+4 leaves
    fewer digits before the point. A mean of decimals raises AggregateOverflowError if it does not fit its
    type, or if the sum of the values does not fit the type of a sum.

    >>> from decimal import Decimal
    >>> from panewise.testing import result_of
    >>> result_of(avg("v"), [{"v": Decimal("0.10")}, {"v": Decimal("2.05")}], "engine")
    Decimal('1.075000')

    Source: semantics 24.1, 24.16; pyspark avg.
    """
    return _over("avg", column)


mean = avg


def sum_distinct(column: ColumnOrName) -> Aggregate:
    """Sums the distinct non-null values; null without any. Types and errors are those of :func:`sum`.

    The state contains all distinct values.

    >>> from panewise.testing import result_of
    >>> result_of(sum_distinct("v"), [{"v": 4}, {"v": None}, {"v": 2}, {"v": 4}])
    6

    Source: semantics 24.25; pyspark sum_distinct.
    """
    return _over("sum_distinct", column)


def avg_distinct(column: ColumnOrName) -> Aggregate:
    """Computes the mean of the distinct non-null values; null without any. Types are those of :func:`avg`.

    The state contains all distinct values.

    >>> from panewise.testing import result_of
    >>> result_of(avg_distinct("v"), [{"v": 4}, {"v": None}, {"v": 2}, {"v": 4}])
    3.0

    Source: semantics 24.25; avg(DISTINCT ...) of SQL.
    """
    return _over("avg_distinct", column)


def product(column: ColumnOrName) -> Aggregate:
    """Multiplies the non-null values; null without any. Type double.

    >>> from panewise.testing import result_of
    >>> result_of(product("v"), [{"v": 4}, {"v": None}, {"v": 2}])
    8.0

    Source: semantics 24.22; pyspark product.
    """
    return _over("product", column)


def bit_and(column: ColumnOrName) -> Aggregate:
    """Combines the non-null whole numbers by bitwise AND; null without any. Type of the column.

    >>> from panewise.testing import result_of
    >>> result_of(bit_and("v"), [{"v": 6}, {"v": None}, {"v": 3}])
    2

    Source: semantics 24.22; pyspark bit_and.
    """
    return _over("bit_and", column)


def bit_or(column: ColumnOrName) -> Aggregate:
    """Combines the non-null whole numbers by bitwise OR; null without any. Type of the column.

    >>> from panewise.testing import result_of
    >>> result_of(bit_or("v"), [{"v": 6}, {"v": None}, {"v": 3}])
    7

    Source: semantics 24.22; pyspark bit_or.
    """
    return _over("bit_or", column)


def bit_xor(column: ColumnOrName) -> Aggregate:
    """Combines the non-null whole numbers by bitwise XOR; null without any. Type of the column.

    >>> from panewise.testing import result_of
    >>> result_of(bit_xor("v"), [{"v": 6}, {"v": None}, {"v": 3}])
    5

    Source: semantics 24.22; pyspark bit_xor.
    """
    return _over("bit_xor", column)


def min(column: ColumnOrName) -> Aggregate:
    """Finds the smallest non-null value; null without any. NaN is the largest value. Type of the column.

    Source: semantics 24.1, 24.2; pyspark min.
    """
    return _over("min", column)


def max(column: ColumnOrName) -> Aggregate:
    """Finds the largest non-null value; null without any. NaN is the largest value. Type of the column.

    Source: semantics 24.1, 24.2; pyspark max.
    """
    return _over("max", column)


def bool_and(column: ColumnOrName) -> Aggregate:
    """Tests whether a Boolean column is true in every row in which it is not null; null without such a row.

    `every` is the same function.

    >>> from panewise.testing import result_of
    >>> result_of(bool_and("ok"), [{"ok": True}, {"ok": None}, {"ok": False}])
    False

    Source: semantics 24.8; pyspark bool_and.
    """
    return _over("bool_and", column)


every = bool_and


def bool_or(column: ColumnOrName) -> Aggregate:
    """Tests whether a Boolean column is true in at least one row; null if it is null in all rows.

    `some` is the same function.

    >>> from panewise.testing import result_of
    >>> result_of(bool_or("ok"), [{"ok": True}, {"ok": None}, {"ok": False}])
    True

    Source: semantics 24.8; pyspark bool_or.
    """
    return _over("bool_or", column)


some = bool_or


def first(column: ColumnOrName, ignorenulls: bool = False) -> Aggregate:
    """Takes the value of the first row in arrival order, or with `ignorenulls` the first non-null value.

    `any_value` and `first_value` do the same. The type is that of the column.

    Source: semantics 24.1, 24.6; pyspark first.
    """
    return _over("first", column, ignorenulls=ignorenulls)


def any_value(column: ColumnOrName, ignoreNulls: bool = False) -> Aggregate:  # noqa: N803 - PySpark's name
    """Does the same as :func:`first`."""
    return first(column, ignoreNulls)


def last(column: ColumnOrName, ignorenulls: bool = False) -> Aggregate:
    """Takes the value of the last row in arrival order, or with `ignorenulls` the last non-null value.

    `last_value` does the same. The type is that of the column.

    Source: semantics 24.1, 24.6; pyspark last.
    """
    return _over("last", column, ignorenulls=ignorenulls)


def stddev(column: ColumnOrName) -> Aggregate:
    """Computes the sample standard deviation; null for fewer than two values. Type double.

    `stddev_samp` and `std` are the same function.

    Source: semantics 24.1, 24.2; pyspark stddev.
    """
    return _over("stddev", column)


stddev_samp = std = stddev


def variance(column: ColumnOrName) -> Aggregate:
    """Computes the sample variance; null for fewer than two values. Type double.

    `var_samp` is the same function.

    Source: semantics 24.1, 24.2; pyspark variance.
    """
    return _over("variance", column)


var_samp = variance


def stddev_pop(column: ColumnOrName) -> Aggregate:
    """Computes the population standard deviation; 0 for one value, null without any. Type double.

    >>> from panewise.testing import result_of
    >>> result_of(stddev_pop("v"), [{"v": 1}, {"v": None}, {"v": 5}])
    2.0

    Source: semantics 24.8; pyspark stddev_pop.
    """
    return _over("stddev_pop", column)


def var_pop(column: ColumnOrName) -> Aggregate:
    """Computes the population variance; 0 for one value, null without any. Type double.

    >>> from panewise.testing import result_of
    >>> result_of(var_pop("v"), [{"v": 1}, {"v": None}, {"v": 5}])
    4.0

    Source: semantics 24.8; pyspark var_pop.
    """
    return _over("var_pop", column)


def skewness(column: ColumnOrName) -> Aggregate:
    """Computes the skewness of the non-null values, as of a population; null if all are equal. Type double.

    >>> from panewise.testing import result_of
    >>> result_of(skewness("v"), [{"v": 1}, {"v": 1}, {"v": None}, {"v": 1}, {"v": 5}])
    1.1547005383792515

    Source: semantics 24.22; pyspark skewness.
    """
    return _over("skewness", column)


def kurtosis(column: ColumnOrName) -> Aggregate:
    """Computes the excess kurtosis of the non-null values; null if all are equal. Type double.

    >>> from panewise.testing import result_of
    >>> result_of(kurtosis("v"), [{"v": 1}, {"v": 2}, {"v": None}, {"v": 3}])
    -1.5

    Source: semantics 24.22; pyspark kurtosis.
    """
    return _over("kurtosis", column)


def collect_list(
    column: ColumnOrName, nulls: Literal["include", "skip"] = "skip", limit: int | None = None
) -> Aggregate:
    """Collects the values into a list, in arrival order; the list is empty without any.

    `array_agg` is the same function. The elements have the type of the column.

    Args:
        column: the column of the values.
        nulls: "skip" leaves nulls out, "include" lists them, too. Default: "skip".
        limit: the maximum length of the list, 1 or more: it has the first values. With a limit the state is
            of bounded size, as that of :func:`first_n`. Default: none.

    Raises:
        SpecError: for another value of `nulls` or `limit`.

    >>> from panewise.testing import result_of
    >>> rows = [{"v": 4}, {"v": None}, {"v": 2}]
    >>> result_of(collect_list("v"), rows), result_of(collect_list("v", nulls="include", limit=2), rows)
    ([4, 2], [4, None])

    Source: semantics 24.1, 24.4, 24.27; pyspark collect_list; SQL's array_agg RESPECT NULLS.
    """
    whole = _over("collect_list", column, limit, nulls=nulls)
    if limit is None:
        return whole
    if not is_count(limit):
        rule = "the limit of a list is a whole number of values, one or more"
        raise SpecError(f"collect_list(limit={limit!r})", rule, "give limit=1 or more")
    return Aggregate("first_n", whole.column, whole.name, n=limit, ignorenulls=nulls == "skip")


def first_n(column: ColumnOrName, n: int, ignorenulls: bool = False) -> Aggregate:
    """Lists the values of the first n rows in arrival order.

    With `ignorenulls` these are the first n non-null values. The list is shorter than n if there are fewer.
    The elements have the type of the column.

    Args:
        column: the column of the values.
        n: the maximum length of the list, 1 or more.
        ignorenulls: whether nulls are skipped. Default: they count as values.

    Raises:
        SpecError: for n below 1.

    >>> from panewise.testing import result_of
    >>> rows = [{"v": 4}, {"v": None}, {"v": 2}, {"v": 7}]
    >>> result_of(first_n("v", 2), rows), result_of(first_n("v", 2, ignorenulls=True), rows)
    ([4, None], [4, 2])

    Source: semantics 24.28.
    """
    return _over("first_n", column, n, n=n, ignorenulls=ignorenulls)


def last_n(column: ColumnOrName, n: int, ignorenulls: bool = False) -> Aggregate:
    """Lists the values of the last n rows in arrival order.

    With `ignorenulls` these are the last n non-null values. The last value is at the end of the list. The
    rest is as with :func:`first_n`.

    >>> from panewise.testing import result_of
    >>> rows = [{"v": 4}, {"v": 2}, {"v": 7}, {"v": None}]
    >>> result_of(last_n("v", 2), rows), result_of(last_n("v", 2, ignorenulls=True), rows)
    ([7, None], [2, 7])

    Source: semantics 24.28.
    """
    return _over("last_n", column, n, n=n, ignorenulls=ignorenulls)


array_agg = collect_list


def collect_set(column: ColumnOrName) -> Aggregate:
    """Collects the distinct non-null values into a list, in the order of their first arrival.

    The list is empty without values. NaN equals NaN.

    Source: semantics 24.1, 24.2, 24.4; pyspark collect_set.
    """
    return _over("collect_set", column)


def median(column: ColumnOrName) -> Aggregate:
    """Computes the exact median, interpolated between two values; null without values. Type double.

    Source: semantics 24.1; pyspark median.
    """
    return _over("median", column)


def percentile(column: ColumnOrName, percentage: float) -> Aggregate:
    """Computes an exact percentile, interpolated linearly; null without values. Type double.

    Args:
        column: the column of the values.
        percentage: which percentile, in [0, 1]; 0.5 is the median.

    Source: semantics 24.1; pyspark percentile.
    """
    return _over("percentile", column, percentage, percentage=percentage)


def mode(column: ColumnOrName) -> Aggregate:
    """Finds the most frequent non-null value; null without any. Type of the column.

    If several values are equally frequent, it is the smallest of these.

    >>> from panewise.testing import result_of
    >>> result_of(mode("v"), [{"v": 9}, {"v": 2}, {"v": 9}, {"v": 2}, {"v": None}])
    2

    Source: semantics 24.9; pyspark mode with deterministic=True.
    """
    return _over("mode", column)


def approx_count_distinct(column: ColumnOrName, rsd: float = 0.05) -> Aggregate:
    """Estimates the number of distinct non-null values. Type bigint.

    Args:
        column: the column of the values.
        rsd: the relative standard deviation of the estimate, in (0, 0.4]. The number is exact for fewer than
            ceil(1/rsd^2) + 2 distinct values.

    Source: semantics 24.1, 24.5; pyspark approx_count_distinct.
    """
    return _over("approx_count_distinct", column, rsd=rsd)
