"""The functions that create order-sensitive aggregates, named as in pyspark.sql.functions."""

from typing import Literal

from panewise.errors import SpecError
from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.aggregates.functions import over_column
from panewise.spec.column_expressions import ColumnOrName
from panewise.spec.fields import is_count

# The public functions, which panewise.functions has.
__all__ = [
    "any_value",
    "array_agg",
    "collect_list",
    "collect_set",
    "first",
    "first_n",
    "last",
    "last_n",
]


def first(column: ColumnOrName, ignorenulls: bool = False) -> Aggregate:
    """Takes the value of the first row in arrival order, or with `ignorenulls` the first non-null value.

    `any_value` and `first_value` do the same. The type is that of the column.

    Source: semantics 24.1, 24.6; pyspark first.
    """
    return over_column("first", column, ignorenulls=ignorenulls)


def any_value(column: ColumnOrName, ignoreNulls: bool = False) -> Aggregate:  # noqa: N803 - PySpark's name
    """Does the same as :func:`first`."""
    return first(column, ignoreNulls)


def last(column: ColumnOrName, ignorenulls: bool = False) -> Aggregate:
    """Takes the value of the last row in arrival order, or with `ignorenulls` the last non-null value.

    `last_value` does the same. The type is that of the column.

    Source: semantics 24.1, 24.6; pyspark last.
    """
    return over_column("last", column, ignorenulls=ignorenulls)


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
    whole = over_column("collect_list", column, limit, nulls=nulls)
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
    return over_column("first_n", column, n, n=n, ignorenulls=ignorenulls)


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
    return over_column("last_n", column, n, n=n, ignorenulls=ignorenulls)


array_agg = collect_list


def collect_set(column: ColumnOrName) -> Aggregate:
    """Collects the distinct non-null values into a list, in the order of their first arrival.

    The list is empty without values. NaN equals NaN.

    Source: semantics 24.1, 24.2, 24.4; pyspark collect_set.
    """
    return over_column("collect_set", column)
