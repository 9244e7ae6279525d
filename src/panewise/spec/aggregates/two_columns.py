"""The functions that create aggregates of two columns, named as in pyspark.sql.functions.

Only rows in which neither value is null count. In `regr_*` y is the value that depends on x. All results but
that of `regr_count` are doubles, and null without rows.
"""

from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.aggregates.functions import over_column
from panewise.spec.column_expressions import ColumnOrName, checked_column

# The public functions, which panewise.functions has.
__all__ = [
    "corr",
    "covar_pop",
    "covar_samp",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
]


def _of_pairs(fn: str, first: ColumnOrName, second: ColumnOrName) -> Aggregate:
    by = checked_column(second)
    return over_column(fn, first, by, by=by)


def corr(col1: ColumnOrName, col2: ColumnOrName) -> Aggregate:
    """Computes Pearson's correlation; null if all values of one column are equal, or for one row.

    Source: semantics 24.24; pyspark corr.
    """
    return _of_pairs("corr", col1, col2)


def covar_pop(col1: ColumnOrName, col2: ColumnOrName) -> Aggregate:
    """Computes the covariance of a population; 0 for one row.

    Source: semantics 24.24; pyspark covar_pop.
    """
    return _of_pairs("covar_pop", col1, col2)


def covar_samp(col1: ColumnOrName, col2: ColumnOrName) -> Aggregate:
    """Computes the covariance of a sample; null for one row.

    >>> from panewise.testing import result_of
    >>> result_of(covar_samp("y", "x"), [{"y": 1, "x": 2}, {"y": 2, "x": 4}, {"y": 6, "x": 6}])
    5.0

    Source: semantics 24.24; pyspark covar_samp.
    """
    return _of_pairs("covar_samp", col1, col2)


def regr_avgx(y: ColumnOrName, x: ColumnOrName) -> Aggregate:
    """Computes the mean of x.

    >>> from panewise.testing import result_of
    >>> result_of(regr_avgx("y", "x"), [{"y": 1, "x": 2}, {"y": 2, "x": 4}, {"y": 6, "x": 6}])
    4.0

    Source: semantics 24.24; pyspark regr_avgx.
    """
    return _of_pairs("regr_avgx", y, x)


def regr_avgy(y: ColumnOrName, x: ColumnOrName) -> Aggregate:
    """Computes the mean of y.

    >>> from panewise.testing import result_of
    >>> result_of(regr_avgy("y", "x"), [{"y": 1, "x": 2}, {"y": 2, "x": 4}, {"y": 6, "x": 6}])
    3.0

    Source: semantics 24.24; pyspark regr_avgy.
    """
    return _of_pairs("regr_avgy", y, x)


def regr_count(y: ColumnOrName, x: ColumnOrName) -> Aggregate:
    """Counts the rows in which neither value is null. Type bigint.

    >>> from panewise.testing import result_of
    >>> result_of(regr_count("y", "x"), [{"y": 1, "x": 2}, {"y": 2, "x": 4}, {"y": 6, "x": 6}])
    3

    Source: semantics 24.24; pyspark regr_count.
    """
    return _of_pairs("regr_count", y, x)


def regr_intercept(y: ColumnOrName, x: ColumnOrName) -> Aggregate:
    """Computes where the line of least squares has x = 0; null if all x are equal.

    >>> from panewise.testing import result_of
    >>> result_of(regr_intercept("y", "x"), [{"y": 1, "x": 2}, {"y": 2, "x": 4}, {"y": 6, "x": 6}])
    -2.0

    Source: semantics 24.24; pyspark regr_intercept.
    """
    return _of_pairs("regr_intercept", y, x)


def regr_r2(y: ColumnOrName, x: ColumnOrName) -> Aggregate:
    """Computes the coefficient of determination; null if all x are equal, else 1 if all y are equal.

    Source: semantics 24.24; pyspark regr_r2.
    """
    return _of_pairs("regr_r2", y, x)


def regr_slope(y: ColumnOrName, x: ColumnOrName) -> Aggregate:
    """Computes the slope of the line of least squares; null if all x are equal.

    >>> from panewise.testing import result_of
    >>> result_of(regr_slope("y", "x"), [{"y": 1, "x": 2}, {"y": 2, "x": 4}, {"y": 6, "x": 6}])
    1.25

    Source: semantics 24.24; pyspark regr_slope.
    """
    return _of_pairs("regr_slope", y, x)


def regr_sxx(y: ColumnOrName, x: ColumnOrName) -> Aggregate:
    """Computes the sum of the squared deviations of x from its mean.

    >>> from panewise.testing import result_of
    >>> result_of(regr_sxx("y", "x"), [{"y": 1, "x": 2}, {"y": 2, "x": 4}, {"y": 6, "x": 6}])
    8.0

    Source: semantics 24.24; pyspark regr_sxx.
    """
    return _of_pairs("regr_sxx", y, x)


def regr_sxy(y: ColumnOrName, x: ColumnOrName) -> Aggregate:
    """Computes the sum of the products of the deviations of x and y from their means.

    >>> from panewise.testing import result_of
    >>> result_of(regr_sxy("y", "x"), [{"y": 1, "x": 2}, {"y": 2, "x": 4}, {"y": 6, "x": 6}])
    10.0

    Source: semantics 24.24; pyspark regr_sxy.
    """
    return _of_pairs("regr_sxy", y, x)


def regr_syy(y: ColumnOrName, x: ColumnOrName) -> Aggregate:
    """Computes the sum of the squared deviations of y from its mean.

    >>> from panewise.testing import result_of
    >>> result_of(regr_syy("y", "x"), [{"y": 1, "x": 2}, {"y": 2, "x": 4}, {"y": 6, "x": 6}])
    14.0

    Source: semantics 24.24; pyspark regr_syy.
    """
    return _of_pairs("regr_syy", y, x)
