"""Functions over windows, as in pyspark.sql.functions; users import them from :mod:`panewise.functions`."""

from typing import Any

from panewise.choices import check_flag
from panewise.chrono import MAX_INSTANT
from panewise.errors import SpecError
from panewise.spec.aggregates.aggregate import Aggregate, default_name
from panewise.spec.aggregates.order_sensitive import first, last
from panewise.spec.column_expressions import ColumnOrName, checked_column
from panewise.spec.fields import is_whole
from panewise.spec.operators.over.row_function import RowFunction


def row_number() -> RowFunction:
    """Returns the function: number of the row among the rows of its key, from 1. Type bigint.

    It is used only with `over`.

    Source: semantics 29.7; pyspark row_number.
    """
    return RowFunction("row_number", None, "row_number()")


def rank() -> RowFunction:
    """Returns the function: 1 + the number of rows of the key that precede the row's peers. Type bigint.

    Peers are rows with equal event times and equal `order` columns. The function is used only with `over`,
    and needs an event time.

    Source: semantics 29.7; pyspark rank.
    """
    return RowFunction("rank", None, "rank()")


def dense_rank() -> RowFunction:
    """Returns the function: as :func:`rank`, except that rows that are peers count once. Type bigint.

    It is used only with `over`, and needs an event time.

    Source: semantics 29.7; pyspark dense_rank.
    """
    return RowFunction("dense_rank", None, "dense_rank()")


def lag(
    column: ColumnOrName,
    offset: int = 1,
    default: bool | int | float | str | None = None,
    ignoreNulls: bool = False,  # noqa: N803 - as in PySpark's nth_value
) -> RowFunction:
    """Returns the function: value of the column in the row of the key that is `offset` rows before.

    If there is no such row, the value is the default. A negative offset looks ahead, as `lead` does. With
    ignoreNulls=True only rows whose value is not null are counted. The function is used only with `over`. The
    default has the type of the column.

    Raises:
        SpecError: for an offset that is not a whole number below 2^63.

    >>> lag("v", 2, 0).name
    'lag(v, 2, 0)'

    Source: semantics 29.7, 29.14; pyspark lag.
    """
    return _shift("lag", column, offset, default, ignoreNulls)


def lead(
    column: ColumnOrName,
    offset: int = 1,
    default: bool | int | float | str | None = None,
    ignoreNulls: bool = False,  # noqa: N803 - as in PySpark's nth_value
) -> RowFunction:
    """Returns the function: value of the column in the row of the key that is `offset` rows after.

    A row is emitted only when that row has passed, or at the end of input. If there is no such row, the value
    is the default. A negative offset looks back, as `lag` does. With ignoreNulls=True only rows whose value
    is not null are counted, and a row waits until so many of them have passed. The function is used only with
    `over`. The default has the type of the column.

    Raises:
        SpecError: for an offset that is not a whole number below 2^63.

    Source: semantics 29.7, 29.8, 29.14; pyspark lead.
    """
    return _shift("lead", column, offset, default, ignoreNulls)


def nth_value(column: ColumnOrName, offset: int, ignoreNulls: bool = False) -> RowFunction:  # noqa: N803 - PySpark's name
    """Returns the function: value of the column in the row `offset` of the frame, counted from 1.

    It is null if the frame has fewer rows. With ignoreNulls=True only rows whose value is not null are
    counted. The function is used only with `over`.

    Raises:
        SpecError: for an offset below 1.

    Source: semantics 29.6, 29.14; pyspark nth_value.
    """
    name = default_name("nth_value", column, offset) + _suffix(ignoreNulls)
    return RowFunction("nth_value", checked_column(column), name, offset, ignorenulls=ignoreNulls)


def first_value(column: ColumnOrName, ignoreNulls: bool = False) -> Aggregate:  # noqa: N803 - PySpark's name
    """Returns the aggregate `first`: value in the first row of the frame or window.

    With ignoreNulls=True it is the first value that is not null.

    >>> first_value("v", ignoreNulls=True).ignorenulls
    True

    Source: semantics 29.6; pyspark first_value.
    """
    return first(column, ignoreNulls)


def last_value(column: ColumnOrName, ignoreNulls: bool = False) -> Aggregate:  # noqa: N803 - PySpark's name
    """Returns the aggregate `last`: value in the last row of the frame or window.

    With ignoreNulls=True it is the last value that is not null.

    Source: semantics 29.6; pyspark last_value.
    """
    return last(column, ignoreNulls)


def _shift(fn: str, column: ColumnOrName, offset: int, default: Any, ignorenulls: bool) -> RowFunction:
    """Returns `lag` or `lead`. With a negative offset it is the other one, under the name of the first."""
    name = default_name(fn, column, offset, default) + _suffix(ignorenulls)
    if not is_whole(offset) or abs(offset) >= MAX_INSTANT:
        rule = f"{fn} takes a whole number of rows"
        raise SpecError(f"{fn}(offset={offset!r})", rule, "give such a number, below 2^63")
    if offset < 0:
        fn, offset = ("lead" if fn == "lag" else "lag"), -offset
    return RowFunction(fn, checked_column(column), name, offset, default, ignorenulls)


def _suffix(ignorenulls: bool) -> str:
    """Returns what a default name says about nulls, in Spark's words."""
    check_flag("ignorenulls", ignorenulls)
    return " ignore nulls" if ignorenulls else ""
