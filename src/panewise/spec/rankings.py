"""The functions that make aggregates of rows in an order that a column gives; users find them in :mod:`panewise.functions`."""

from panewise.spec.aggregates import Aggregate, checked_column, default_name
from panewise.spec.expressions import ColumnOrName


def max_by(column: ColumnOrName, by: ColumnOrName, k: int | None = None) -> Aggregate:
    """Value in the row with the largest `by`; with `k`, the list of :func:`top_n_by`.

    Rows with a null in `by` are skipped; the value may be null. Of several such rows it is the first in arrival order, where
    Spark takes any. NaN is the largest. The column's type.

    >>> from panewise.testing import result_of
    >>> rows = [{"v": "a", "b": 1}, {"v": "b", "b": 5}, {"v": "c", "b": 5}, {"v": "d", "b": None}]
    >>> result_of(max_by("v", "b"), rows), result_of(max_by("v", "b", k=2), rows)
    ('b', ['b', 'c'])

    Source: semantics 24.10; pyspark max_by.
    """
    return _extreme("max_by", column, by) if k is None else top_n_by(column, by, k)


def min_by(column: ColumnOrName, by: ColumnOrName, k: int | None = None) -> Aggregate:
    """Value in the row with the smallest `by`; with `k`, the list of :func:`top_n_by` with ascending=True. Otherwise as :func:`max_by`.

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
    """The n largest values that are not null, the largest first; with `ascending` the n smallest, the smallest first.

    Equal values count one by one. NaN is the largest. A list of the column's type.

    >>> from panewise.testing import result_of
    >>> rows = [{"v": 4}, {"v": 9}, {"v": None}, {"v": 9}, {"v": 2}]
    >>> result_of(top_n("v", 3), rows), result_of(top_n("v", 2, ascending=True), rows)
    ([9, 9, 4], [2, 4])

    Source: semantics 24.11; S4 TopN.
    """
    column = checked_column(column)
    return Aggregate("top_n", column, default_name("top_n", column, n), n=n, ascending=ascending)


def top_n_by(column: ColumnOrName, by: ColumnOrName, n: int, ascending: bool = False, distinct: bool = False) -> Aggregate:
    """The values in the n rows with the largest `by`, in this order; with `ascending` in those with the smallest.

    Rows with a null in `by` are skipped; values may be null. Rows with the same `by` stay in arrival order. With `distinct` a
    value is taken once, from its first row in this order (S4 TopNByKey). A list of the column's type.

    >>> from panewise.testing import result_of
    >>> rows = [{"page": "a", "hits": 7}, {"page": "b", "hits": 9}, {"page": "b", "hits": 8}, {"page": "c", "hits": 7}]
    >>> result_of(top_n_by("page", "hits", 3), rows), result_of(top_n_by("page", "hits", 3, distinct=True), rows)
    (['b', 'b', 'a'], ['b', 'a', 'c'])

    Source: semantics 24.12; pyspark max_by and min_by with k; S4 TopNByKey.
    """
    column, by = checked_column(column), checked_column(by)
    name = default_name("top_n_by", column, by, n)
    return Aggregate("top_n_by", column, name, by=by, n=n, ascending=ascending, distinct=distinct)


def sort_list(column: ColumnOrName, ascending: bool = True) -> Aggregate:
    """The values that are not null, sorted; NaN is the largest. A list of the column's type.

    pyspark has no aggregate like it: sort_array and array_sort sort an array, as in sort_array(collect_list(column)). Of
    these names this one says that it collects.

    >>> from panewise.testing import result_of
    >>> result_of(sort_list("v"), [{"v": 4}, {"v": None}, {"v": 2}, {"v": 4}])
    [2, 4, 4]

    Source: semantics 24.13; S4 Sort.
    """
    column = checked_column(column)
    return Aggregate("sort_list", column, default_name("sort_list", column), ascending=ascending)
