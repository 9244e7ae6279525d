"""Functions for aggregates that rank rows or values; users import them from :mod:`panewise.functions`."""

from panewise.spec.aggregates.aggregate import Aggregate, checked_column, default_name
from panewise.spec.aggregates.expressions import ColumnOrName


def max_by(column: ColumnOrName, by: ColumnOrName, k: int | None = None) -> Aggregate:
    """Returns the aggregate: value of `column` in the row with the largest `by`.

    With `k` it is the list of :func:`top_n_by` for k rows. Rows with a null in `by` are skipped; without
    other rows the result is null. The value itself may be null. NaN is the largest `by`. Of several rows with
    the same `by` the first in arrival order is taken (Spark takes any). The result has the type of `column`;
    with `k` it is a list of this type.

    >>> from panewise.testing import result_of
    >>> rows = [{"v": "a", "b": 1}, {"v": "b", "b": 5}, {"v": "c", "b": 5}, {"v": "d", "b": None}]
    >>> result_of(max_by("v", "b"), rows), result_of(max_by("v", "b", k=2), rows)
    ('b', ['b', 'c'])

    Source: semantics 24.10; pyspark max_by.
    """
    return _extreme("max_by", column, by) if k is None else top_n_by(column, by, k)


def min_by(column: ColumnOrName, by: ColumnOrName, k: int | None = None) -> Aggregate:
    """Returns the aggregate: value of `column` in the row with the smallest `by`.

    With `k` it is the list of :func:`top_n_by` with ascending=True. The rest is as with :func:`max_by`.

    >>> from panewise.testing import result_of
    >>> result_of(min_by("v", "b"), [{"v": "a", "b": None}, {"v": "b", "b": 5}, {"v": None, "b": 1}]) is None
    True

    Source: semantics 24.10; pyspark min_by.
    """
    return _extreme("min_by", column, by) if k is None else top_n_by(column, by, k, ascending=True)


def _extreme(fn: str, column: ColumnOrName, by: ColumnOrName) -> Aggregate:
    column, by = checked_column(column), checked_column(by)
    return Aggregate(fn, column, default_name(fn, column, by), by=by)


def top_n(column: ColumnOrName, n: int, ascending: bool = False) -> Aggregate:
    """Returns the aggregate: list of the n largest non-null values, the largest first.

    With `ascending` it is the list of the n smallest, the smallest first. Equal values count one by one. NaN
    is the largest. The list is shorter than n if there are fewer values. n is 1 or more. The elements have
    the column's type.

    >>> from panewise.testing import result_of
    >>> rows = [{"v": 4}, {"v": 9}, {"v": None}, {"v": 9}, {"v": 2}]
    >>> result_of(top_n("v", 3), rows), result_of(top_n("v", 2, ascending=True), rows)
    ([9, 9, 4], [2, 4])

    Source: semantics 24.11; S4 TopN.
    """
    column = checked_column(column)
    return Aggregate("top_n", column, default_name("top_n", column, n), n=n, ascending=ascending)


def top_n_by(
    column: ColumnOrName, by: ColumnOrName, n: int, ascending: bool = False, distinct: bool = False
) -> Aggregate:
    """Returns the aggregate: list of the values in the n rows with the largest `by`, in this order.

    Rows with a null in `by` are skipped; values may be null. NaN is the largest `by`. Rows with the same `by`
    stay in arrival order. The elements have the type of `column`.

    Args:
        column: the column of the values.
        by: the column that ranks the rows.
        n: the maximum length of the list, 1 or more.
        ascending: with True the rows with the smallest `by` are taken, the smallest first.
        distinct: with True each value is taken once, from its first row in this order (S4 TopNByKey).

    >>> from panewise.testing import result_of
    >>> rows = [{"page": "a", "hits": 7}, {"page": "b", "hits": 9}, {"page": "b", "hits": 8},
    ...     {"page": "c", "hits": 7}]
    >>> (result_of(top_n_by("page", "hits", 3), rows),
    ...     result_of(top_n_by("page", "hits", 3, distinct=True), rows))
    (['b', 'b', 'a'], ['b', 'a', 'c'])

    Source: semantics 24.12; pyspark max_by and min_by with k; S4 TopNByKey.
    """
    column, by = checked_column(column), checked_column(by)
    name = default_name("top_n_by", column, by, n)
    return Aggregate("top_n_by", column, name, by=by, n=n, ascending=ascending, distinct=distinct)


def sort_list(column: ColumnOrName, ascending: bool = True) -> Aggregate:
    """Returns the aggregate: sorted list of the non-null values. The elements have the column's type.

    NaN is the largest. The list is ascending, or descending with ascending=False. pyspark has no such
    aggregate; there it is sort_array(collect_list(column)).

    >>> from panewise.testing import result_of
    >>> result_of(sort_list("v"), [{"v": 4}, {"v": None}, {"v": 2}, {"v": 4}])
    [2, 4, 4]

    Source: semantics 24.13; S4 Sort.
    """
    column = checked_column(column)
    return Aggregate("sort_list", column, default_name("sort_list", column), ascending=ascending)
