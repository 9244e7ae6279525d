"""The functions that make aggregates, named as in pyspark.sql.functions; users find them in :mod:`panewise.functions`."""

from panewise.spec.aggregates import Aggregate, checked_column, default_name
from panewise.spec.expressions import ColumnOrName, Expression
from panewise.spec.useraggregate import UserAggregate


def _over(fn: str, column: ColumnOrName) -> Aggregate:
    name = checked_column(column)
    return Aggregate(fn, name, default_name(fn, name))


def user(aggregate: UserAggregate, column: ColumnOrName) -> Aggregate:
    """An aggregate of the user's own, over a column."""
    name = checked_column(column)
    return Aggregate("user", name, default_name(aggregate.name, name), user=aggregate)


def count(column: ColumnOrName = "*") -> Aggregate:
    """Rows of the window ("*"), or values of the column that are not null. Type bigint."""
    checked = checked_column(column)
    return Aggregate("count", None if checked == "*" else checked, f"count({checked})")


def count_if(column: ColumnOrName) -> Aggregate:
    """Rows in which a Boolean column is true. Type bigint.

    >>> from panewise.testing import result_of
    >>> result_of(count_if("late"), [{"late": True}, {"late": None}, {"late": False}, {"late": True}])
    2

    Source: semantics 24.8; pyspark count_if.
    """
    return _over("count_if", column)


def count_distinct(column: ColumnOrName, *more: ColumnOrName) -> Aggregate:
    """Number of different values that are not null, exactly. Type bigint. It holds them all; see approx_count_distinct.

    With several columns: of combinations of values none of which is null. Spark only: it adds a column for them.

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
    """Sum of the values that are not null; null without any. bigint of whole numbers, double of floats, decimal(p+10, s) of decimals.

    A decimal has at most 38 digits. A sum of whole numbers or of decimals that does not fit its type raises AggregateOverflowError.

    >>> from decimal import Decimal
    >>> from panewise.testing import result_of
    >>> result_of(sum("v"), [{"v": Decimal("0.10")}, {"v": None}, {"v": Decimal("2.00")}], "engine")
    Decimal('2.10')

    Source: semantics 24.1, 24.3, 24.16; pyspark sum.
    """
    return _over("sum", column)


def avg(column: ColumnOrName) -> Aggregate:
    """Mean of the values that are not null; null without any. double; decimal(p+4, s+4) of decimals.

    A decimal has at most 38 digits; more digits after the point leave fewer before it. A mean of decimals that does not fit raises
    AggregateOverflowError, and so does one whose sum does not fit.

    >>> from decimal import Decimal
    >>> from panewise.testing import result_of
    >>> result_of(avg("v"), [{"v": Decimal("0.10")}, {"v": Decimal("2.05")}], "engine")
    Decimal('1.075000')

    Source: semantics 24.1, 24.16; pyspark avg.
    """
    return _over("avg", column)


mean = avg


def min(column: ColumnOrName) -> Aggregate:
    """Smallest value that is not null; NaN is the largest. The column's type."""
    return _over("min", column)


def max(column: ColumnOrName) -> Aggregate:
    """Largest value that is not null; NaN is the largest. The column's type."""
    return _over("max", column)


def bool_and(column: ColumnOrName) -> Aggregate:
    """Whether a Boolean column is true in every row in which it is not null; null without any. `every` is the same.

    >>> from panewise.testing import result_of
    >>> result_of(bool_and("ok"), [{"ok": True}, {"ok": None}, {"ok": False}])
    False

    Source: semantics 24.8; pyspark bool_and.
    """
    return _over("bool_and", column)


every = bool_and


def bool_or(column: ColumnOrName) -> Aggregate:
    """Whether a Boolean column is true in some row; null if it is null in all. `some` is the same.

    >>> from panewise.testing import result_of
    >>> result_of(bool_or("ok"), [{"ok": True}, {"ok": None}, {"ok": False}])
    True

    Source: semantics 24.8; pyspark bool_or.
    """
    return _over("bool_or", column)


some = bool_or


def first(column: ColumnOrName, ignorenulls: bool = False) -> Aggregate:
    """Value of the first row in arrival order, or of the first that is not null. `any_value` and `first_value` are the same."""
    name = checked_column(column)
    return Aggregate("first", name, f"first({name})", ignorenulls=ignorenulls)


def any_value(column: ColumnOrName, ignoreNulls: bool = False) -> Aggregate:  # noqa: N803 - PySpark's name
    """As `first`."""
    return first(column, ignoreNulls)


def last(column: ColumnOrName, ignorenulls: bool = False) -> Aggregate:
    """Value of the last row in arrival order, or of the last that is not null."""
    name = checked_column(column)
    return Aggregate("last", name, f"last({name})", ignorenulls=ignorenulls)


def stddev(column: ColumnOrName) -> Aggregate:
    """Sample standard deviation; null for fewer than two values. Type double. `stddev_samp` and `std` are the same."""
    return _over("stddev", column)


stddev_samp = std = stddev


def variance(column: ColumnOrName) -> Aggregate:
    """Sample variance; null for fewer than two values. Type double. `var_samp` is the same."""
    return _over("variance", column)


var_samp = variance


def stddev_pop(column: ColumnOrName) -> Aggregate:
    """Standard deviation of the values as the whole population: 0 for one value, null without any. Type double.

    >>> from panewise.testing import result_of
    >>> result_of(stddev_pop("v"), [{"v": 1}, {"v": None}, {"v": 5}])
    2.0

    Source: semantics 24.8; pyspark stddev_pop.
    """
    return _over("stddev_pop", column)


def var_pop(column: ColumnOrName) -> Aggregate:
    """Variance of the values as the whole population: 0 for one value, null without any. Type double.

    >>> from panewise.testing import result_of
    >>> result_of(var_pop("v"), [{"v": 1}, {"v": None}, {"v": 5}])
    4.0

    Source: semantics 24.8; pyspark var_pop.
    """
    return _over("var_pop", column)


def collect_list(column: ColumnOrName) -> Aggregate:
    """The values that are not null, in arrival order. `array_agg` is the same."""
    return _over("collect_list", column)


array_agg = collect_list


def collect_set(column: ColumnOrName) -> Aggregate:
    """The different values that are not null, in order of first arrival."""
    return _over("collect_set", column)


def median(column: ColumnOrName) -> Aggregate:
    """Exact median, interpolated; null without values. Type double."""
    return _over("median", column)


def percentile(column: ColumnOrName, percentage: float) -> Aggregate:
    """Exact percentile, interpolated linearly; `percentage` in [0, 1]. Type double."""
    name = checked_column(column)
    return Aggregate("percentile", name, default_name("percentile", name, percentage), percentage=percentage)


def mode(column: ColumnOrName) -> Aggregate:
    """The most frequent value that is not null; of several the smallest. The column's type.

    >>> from panewise.testing import result_of
    >>> result_of(mode("v"), [{"v": 9}, {"v": 2}, {"v": 9}, {"v": 2}, {"v": None}])
    2

    Source: semantics 24.9; pyspark mode with deterministic=True.
    """
    return _over("mode", column)


def approx_count_distinct(column: ColumnOrName, rsd: float = 0.05) -> Aggregate:
    """Number of different values that are not null: exact while few, else with relative standard deviation `rsd`. Type bigint."""
    name = checked_column(column)
    return Aggregate("approx_count_distinct", name, f"approx_count_distinct({name})", rsd=rsd)
