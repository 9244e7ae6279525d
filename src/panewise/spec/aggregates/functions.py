"""The functions that create aggregates of counts, sums, bits and extremes, named as in pyspark.sql.functions.

Users import them from :mod:`panewise.functions`.
"""

from typing import Any

from panewise.spec.aggregates.aggregate import Aggregate, default_name
from panewise.spec.column_expressions import ColumnOrName, Expression, checked_column

# The public functions, which panewise.functions has.
__all__ = [
    "approx_count_distinct",
    "avg",
    "avg_distinct",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "count",
    "count_distinct",
    "count_if",
    "every",
    "max",
    "mean",
    "min",
    "product",
    "some",
    "sum",
    "sum_distinct",
]


def over_column(fn: str, column: ColumnOrName, *arguments: Any, **options: Any) -> Aggregate:
    """Returns the aggregate over a column. Its default name shows the arguments."""
    name = checked_column(column)
    return Aggregate(fn, name, default_name(fn, name, *arguments), **options)


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
    return over_column("count_if", column)


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
        return over_column("count_distinct", column)
    parts = tuple(map(checked_column, (column, *more)))
    return over_column("count_distinct", Expression(", ".join(parts), "tuple", parts))


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
    return over_column("sum", column)


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
    return over_column("avg", column)


mean = avg


def sum_distinct(column: ColumnOrName) -> Aggregate:
    """Sums the distinct non-null values; null without any. Types and errors are those of :func:`sum`.

    The state contains all distinct values.

    >>> from panewise.testing import result_of
    >>> result_of(sum_distinct("v"), [{"v": 4}, {"v": None}, {"v": 2}, {"v": 4}])
    6

    Source: semantics 24.25; pyspark sum_distinct.
    """
    return over_column("sum_distinct", column)


def avg_distinct(column: ColumnOrName) -> Aggregate:
    """Computes the mean of the distinct non-null values; null without any. Types are those of :func:`avg`.

    The state contains all distinct values.

    >>> from panewise.testing import result_of
    >>> result_of(avg_distinct("v"), [{"v": 4}, {"v": None}, {"v": 2}, {"v": 4}])
    3.0

    Source: semantics 24.25; avg(DISTINCT ...) of SQL.
    """
    return over_column("avg_distinct", column)


def product(column: ColumnOrName) -> Aggregate:
    """Multiplies the non-null values; null without any. Type double.

    >>> from panewise.testing import result_of
    >>> result_of(product("v"), [{"v": 4}, {"v": None}, {"v": 2}])
    8.0

    Source: semantics 24.22; pyspark product.
    """
    return over_column("product", column)


def bit_and(column: ColumnOrName) -> Aggregate:
    """Combines the non-null whole numbers by bitwise AND; null without any. Type of the column.

    >>> from panewise.testing import result_of
    >>> result_of(bit_and("v"), [{"v": 6}, {"v": None}, {"v": 3}])
    2

    Source: semantics 24.22; pyspark bit_and.
    """
    return over_column("bit_and", column)


def bit_or(column: ColumnOrName) -> Aggregate:
    """Combines the non-null whole numbers by bitwise OR; null without any. Type of the column.

    >>> from panewise.testing import result_of
    >>> result_of(bit_or("v"), [{"v": 6}, {"v": None}, {"v": 3}])
    7

    Source: semantics 24.22; pyspark bit_or.
    """
    return over_column("bit_or", column)


def bit_xor(column: ColumnOrName) -> Aggregate:
    """Combines the non-null whole numbers by bitwise XOR; null without any. Type of the column.

    >>> from panewise.testing import result_of
    >>> result_of(bit_xor("v"), [{"v": 6}, {"v": None}, {"v": 3}])
    5

    Source: semantics 24.22; pyspark bit_xor.
    """
    return over_column("bit_xor", column)


def min(column: ColumnOrName) -> Aggregate:
    """Finds the smallest non-null value; null without any. NaN is the largest value. Type of the column.

    Source: semantics 24.1, 24.2; pyspark min.
    """
    return over_column("min", column)


def max(column: ColumnOrName) -> Aggregate:
    """Finds the largest non-null value; null without any. NaN is the largest value. Type of the column.

    Source: semantics 24.1, 24.2; pyspark max.
    """
    return over_column("max", column)


def bool_and(column: ColumnOrName) -> Aggregate:
    """Tests whether a Boolean column is true in every row in which it is not null; null without such a row.

    `every` is the same function.

    >>> from panewise.testing import result_of
    >>> result_of(bool_and("ok"), [{"ok": True}, {"ok": None}, {"ok": False}])
    False

    Source: semantics 24.8; pyspark bool_and.
    """
    return over_column("bool_and", column)


every = bool_and


def bool_or(column: ColumnOrName) -> Aggregate:
    """Tests whether a Boolean column is true in at least one row; null if it is null in all rows.

    `some` is the same function.

    >>> from panewise.testing import result_of
    >>> result_of(bool_or("ok"), [{"ok": True}, {"ok": None}, {"ok": False}])
    True

    Source: semantics 24.8; pyspark bool_or.
    """
    return over_column("bool_or", column)


some = bool_or


def approx_count_distinct(column: ColumnOrName, rsd: float = 0.05) -> Aggregate:
    """Estimates the number of distinct non-null values. Type bigint.

    Args:
        column: the column of the values.
        rsd: the relative standard deviation of the estimate, in (0, 0.4]. The number is exact for fewer than
            ceil(1/rsd^2) + 2 distinct values.

    Source: semantics 24.1, 24.5; pyspark approx_count_distinct.
    """
    return over_column("approx_count_distinct", column, rsd=rsd)
