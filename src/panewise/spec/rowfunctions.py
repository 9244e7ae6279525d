"""Functions of rows near a row, named as in pyspark.sql.functions; users find them in :mod:`panewise.functions`."""

from panewise.spec.aggregates import checked_column, default_name
from panewise.spec.frames import RowFunction
from panewise.spec.functions import first, last


def row_number() -> RowFunction:
    """The number of the row among those of its key, from 1. Type bigint. For `over` alone.

    Source: semantics 29.7; pyspark row_number.
    """
    return RowFunction("row_number", None, "row_number()")


def rank() -> RowFunction:
    """One more than the rows of its key with an earlier time (or, with equal times, earlier in the order). Type bigint. For `over` alone.

    Source: semantics 29.7; pyspark rank.
    """
    return RowFunction("rank", None, "rank()")


def dense_rank() -> RowFunction:
    """One more than the different times (and orders) of its key before its own. Type bigint. For `over` alone.

    Source: semantics 29.7; pyspark dense_rank.
    """
    return RowFunction("dense_rank", None, "dense_rank()")


def lag(column: str, n: int = 1, default: bool | int | float | str | None = None) -> RowFunction:
    """The value of the column in the row that is n before, or the default where there is none. For `over` alone.

    >>> lag("v", 2, 0).name
    'lag(v, 2, 0)'

    Source: semantics 29.7; pyspark lag.
    """
    return RowFunction("lag", checked_column(column), default_name("lag", column, n, default), n, default)


def lead(column: str, n: int = 1, default: bool | int | float | str | None = None) -> RowFunction:
    """The value of the column in the row that is n after: the row waits for it, or for the end of input. For `over` alone.

    Source: semantics 29.7, 29.8; pyspark lead.
    """
    return RowFunction("lead", checked_column(column), default_name("lead", column, n, default), n, default)


def nth_value(column: str, n: int) -> RowFunction:
    """The value of the column in the n-th row of the frame, from 1; null if the frame has fewer. For `over` alone.

    Source: semantics 29.6; pyspark nth_value.
    """
    return RowFunction("nth_value", checked_column(column), default_name("nth_value", column, n), n)


first_value = first
last_value = last
