"""The functions that create aggregates of the distribution of values, named as in pyspark.sql.functions."""

from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.aggregates.functions import over_column
from panewise.spec.column_expressions import ColumnOrName

# The public functions, which panewise.functions has.
__all__ = [
    "kurtosis",
    "median",
    "mode",
    "percentile",
    "skewness",
    "std",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "var_pop",
    "var_samp",
    "variance",
]


def stddev(column: ColumnOrName) -> Aggregate:
    """Computes the sample standard deviation; null for fewer than two values. Type double.

    `stddev_samp` and `std` are the same function.

    Source: semantics 24.1, 24.2; pyspark stddev.
    """
    return over_column("stddev", column)


stddev_samp = std = stddev


def variance(column: ColumnOrName) -> Aggregate:
    """Computes the sample variance; null for fewer than two values. Type double.

    `var_samp` is the same function.

    Source: semantics 24.1, 24.2; pyspark variance.
    """
    return over_column("variance", column)


var_samp = variance


def stddev_pop(column: ColumnOrName) -> Aggregate:
    """Computes the population standard deviation; 0 for one value, null without any. Type double.

    >>> from panewise.testing import result_of
    >>> result_of(stddev_pop("v"), [{"v": 1}, {"v": None}, {"v": 5}])
    2.0

    Source: semantics 24.8; pyspark stddev_pop.
    """
    return over_column("stddev_pop", column)


def var_pop(column: ColumnOrName) -> Aggregate:
    """Computes the population variance; 0 for one value, null without any. Type double.

    >>> from panewise.testing import result_of
    >>> result_of(var_pop("v"), [{"v": 1}, {"v": None}, {"v": 5}])
    4.0

    Source: semantics 24.8; pyspark var_pop.
    """
    return over_column("var_pop", column)


def skewness(column: ColumnOrName) -> Aggregate:
    """Computes the skewness of the non-null values, as of a population; null if all are equal. Type double.

    >>> from panewise.testing import result_of
    >>> result_of(skewness("v"), [{"v": 1}, {"v": 1}, {"v": None}, {"v": 1}, {"v": 5}])
    1.1547005383792515

    Source: semantics 24.22; pyspark skewness.
    """
    return over_column("skewness", column)


def kurtosis(column: ColumnOrName) -> Aggregate:
    """Computes the excess kurtosis of the non-null values; null if all are equal. Type double.

    >>> from panewise.testing import result_of
    >>> result_of(kurtosis("v"), [{"v": 1}, {"v": 2}, {"v": None}, {"v": 3}])
    -1.5

    Source: semantics 24.22; pyspark kurtosis.
    """
    return over_column("kurtosis", column)


def median(column: ColumnOrName) -> Aggregate:
    """Computes the exact median, interpolated between two values; null without values. Type double.

    Source: semantics 24.1; pyspark median.
    """
    return over_column("median", column)


def percentile(column: ColumnOrName, percentage: float) -> Aggregate:
    """Computes an exact percentile, interpolated linearly; null without values. Type double.

    Args:
        column: the column of the values.
        percentage: which percentile, in [0, 1]; 0.5 is the median.

    Source: semantics 24.1; pyspark percentile.
    """
    return over_column("percentile", column, percentage, percentage=percentage)


def mode(column: ColumnOrName) -> Aggregate:
    """Finds the most frequent non-null value; null without any. Type of the column.

    If several values are equally frequent, it is the smallest of these.

    >>> from panewise.testing import result_of
    >>> result_of(mode("v"), [{"v": 9}, {"v": 2}, {"v": 9}, {"v": 2}, {"v": None}])
    2

    Source: semantics 24.9; pyspark mode with deterministic=True.
    """
    return over_column("mode", column)
