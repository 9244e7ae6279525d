"""Functions for aggregates that rank rows or values; users import them from :mod:`panewise.functions`."""

from collections.abc import Sequence
from typing import Any, TypeAlias

from panewise.errors import SpecError
from panewise.spec.aggregates.aggregate import Aggregate, default_name
from panewise.spec.aggregates.functions import over_column
from panewise.spec.aggregates.order_columns import OrderColumn, directed_names, order_columns
from panewise.spec.column_expressions import ColumnOrName, checked_column

# The public functions, which panewise.functions has.
__all__ = ["max_by", "min_by", "sort_list", "top_n", "top_n_by"]

# A column, one with a direction, or several of these.
By: TypeAlias = ColumnOrName | OrderColumn | Sequence[ColumnOrName | OrderColumn]


def max_by(column: ColumnOrName, by: By, k: int | None = None) -> Aggregate:
    """Returns the aggregate: value of `column` in the row with the largest `by`.

    With `k` it is the list of :func:`top_n_by` for k rows. Rows with a null in `by` are skipped; without
    other rows the result is null. The value itself may be null. NaN is the largest `by`. If several rows
    have the same `by`, the first in arrival order is taken (Spark takes any). The result has the type of
    `column`; with `k` it is a list of this type.

    `by` may be a list of columns. Each further column ranks the rows that are equal in those before it; a
    null in it is the smallest value. `asc` and `desc` give such a column a direction of its own.

    >>> from panewise import functions as F
    >>> from panewise.testing import result_of
    >>> rows = [{"v": "a", "b": 1}, {"v": "b", "b": 5}, {"v": "c", "b": 5}, {"v": "d", "b": None}]
    >>> result_of(max_by("v", "b"), rows), result_of(max_by("v", "b", k=2), rows)
    ('b', ['b', 'c'])
    >>> urls = [{"url": "a", "score": 7, "ts": 1}, {"url": "b", "score": 7, "ts": 2}]
    >>> (result_of(max_by("url", ["score", "ts"]), urls),
    ...     result_of(max_by("url", ["score", F.asc("ts")]), urls))
    ('b', 'a')

    Raises:
        SpecError: for an empty list, a column twice, and the direction `asc` of the first column.

    Source: semantics 24.10, 24.26; pyspark max_by.
    """
    return _extreme("max_by", column, by, k)


def min_by(column: ColumnOrName, by: By, k: int | None = None) -> Aggregate:
    """Returns the aggregate: value of `column` in the row with the smallest `by`.

    With `k` it is the list of :func:`top_n_by` with ascending=True. The rest is as with :func:`max_by`; among
    several columns those without a direction are ascending.

    >>> from panewise.testing import result_of
    >>> result_of(min_by("v", "b"), [{"v": "a", "b": None}, {"v": "b", "b": 5}, {"v": None, "b": 1}]) is None
    True

    Raises:
        SpecError: for an empty list, a column twice, and the direction `desc` of the first column.

    Source: semantics 24.10, 24.26; pyspark min_by.
    """
    return _extreme("min_by", column, by, k)


def _extreme(fn: str, column: ColumnOrName, by: By, k: int | None) -> Aggregate:
    column, ascending = checked_column(column), fn == "min_by"
    first, *rest = order_columns(fn, by, ascending=ascending)
    if first.ascending != ascending:
        kind, other = ("largest", "min_by") if fn == "max_by" else ("smallest", "max_by")
        problem = f"{fn}(by={'asc' if first.ascending else 'desc'}({first.column!r}))"
        rule = f"{fn} takes the row with the {kind} value of its first column"
        raise SpecError(problem, rule, f"use {other}")
    if k is not None:
        return top_n_by(column, [first, *rest], k)
    name = default_name(fn, column, *directed_names([first, *rest], ascending=ascending))
    return Aggregate(fn, column, name, by=first.column, then_by=tuple(rest))


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
    return over_column("top_n", column, n, n=n, ascending=ascending)


def top_n_by(
    column: ColumnOrName, by: By, n: int, ascending: bool = False, distinct: bool = False
) -> Aggregate:
    """Returns the aggregate: list of the values in the n rows with the largest `by`, in this order.

    Rows with a null in `by` are skipped; values may be null. NaN is the largest `by`. Rows with the same `by`
    stay in arrival order. The elements have the type of `column`.

    Args:
        column: the column of the values.
        by: the column that ranks the rows, or a list of columns. Each further column ranks the rows that are
            equal in those before it; a null in it is the smallest value. `asc` and `desc` give a column a
            direction of its own.
        n: the maximum length of the list, 1 or more.
        ascending: the direction of columns without one: with True the rows with the smallest values are
            taken, the smallest first. Default: the largest first.
        distinct: with True each value is taken once, from its first row in this order (S4 TopNByKey).

    >>> from panewise.testing import result_of
    >>> rows = [{"page": "a", "hits": 7}, {"page": "b", "hits": 9}, {"page": "b", "hits": 8},
    ...     {"page": "c", "hits": 7}]
    >>> (result_of(top_n_by("page", "hits", 3), rows),
    ...     result_of(top_n_by("page", "hits", 3, distinct=True), rows))
    (['b', 'b', 'a'], ['b', 'a', 'c'])
    >>> from panewise import functions as F
    >>> result_of(top_n_by("page", [F.desc("hits"), F.desc("page")], 3), rows)
    ['b', 'b', 'c']

    Raises:
        SpecError: for an empty list, a column twice, n below 1, and ascending=True without a column that has
            no direction.

    Source: semantics 24.12, 24.26; pyspark max_by and min_by with k; S4 TopNByKey.
    """
    column = checked_column(column)
    first, *rest = order_columns("top_n_by", by, ascending=ascending)
    name = default_name("top_n_by", column, *directed_names([first, *rest], ascending=first.ascending), n)
    options: dict[str, Any] = {"n": n, "ascending": first.ascending, "distinct": distinct}
    return Aggregate("top_n_by", column, name, by=first.column, then_by=tuple(rest), **options)


def sort_list(column: ColumnOrName, ascending: bool = True) -> Aggregate:
    """Returns the aggregate: sorted list of the non-null values. The elements have the column's type.

    NaN is the largest. The list is ascending, or descending with ascending=False. pyspark has no such
    aggregate; there it is sort_array(collect_list(column)).

    >>> from panewise.testing import result_of
    >>> result_of(sort_list("v"), [{"v": 4}, {"v": None}, {"v": 2}, {"v": 4}])
    [2, 4, 4]

    Source: semantics 24.13; S4 Sort.
    """
    return over_column("sort_list", column, ascending=ascending)
