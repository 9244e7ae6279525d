"""Functions of rows near a row, named as in pyspark.sql.functions; users find them in :mod:`panewise.functions`."""

from panewise.chrono import MAX_INSTANT
from panewise.errors import SpecError
from panewise.spec.aggregates import Aggregate, checked_column, default_name
from panewise.spec.expressions import ColumnOrName
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


def lag(column: ColumnOrName, offset: int = 1, default: bool | int | float | str | None = None) -> RowFunction:
    """The value of the column in the row that is `offset` rows before, or the default where there is none. For `over` alone.

    A negative offset looks ahead, as `lead` does.

    >>> lag("v", 2, 0).name
    'lag(v, 2, 0)'

    Source: semantics 29.7; pyspark lag.
    """
    return _shift("lag", column, offset, default)


def lead(column: ColumnOrName, offset: int = 1, default: bool | int | float | str | None = None) -> RowFunction:
    """The value of the column in the row that is `offset` rows after: the row waits for it, or for the end of input. For `over` alone.

    A negative offset looks back, as `lag` does.

    Source: semantics 29.7, 29.8; pyspark lead.
    """
    return _shift("lead", column, offset, default)


def nth_value(column: ColumnOrName, offset: int, ignoreNulls: bool = False) -> RowFunction:  # noqa: N803 - PySpark's name
    """The value of the column in the row `offset` of the frame, from 1; null if the frame has fewer. For `over` alone.

    Source: semantics 29.6; pyspark nth_value.
    """
    if ignoreNulls is not False:
        rule = "nth_value counts rows, those with a null, too"
        raise SpecError(f"nth_value({column!r}, ignoreNulls={ignoreNulls!r})", rule, "take the element of collect_list, which skips nulls")
    return RowFunction("nth_value", checked_column(column), default_name("nth_value", column, offset), offset)


def first_value(column: ColumnOrName, ignoreNulls: bool = False) -> Aggregate:  # noqa: N803 - PySpark's name
    """The value of the first row of the frame, or window, or of the first that is not null: as `first`.

    >>> first_value("v", ignoreNulls=True).ignorenulls
    True

    Source: semantics 29.6; pyspark first_value.
    """
    return first(column, ignoreNulls)


def last_value(column: ColumnOrName, ignoreNulls: bool = False) -> Aggregate:  # noqa: N803 - PySpark's name
    """The value of the last row of the frame, or window, or of the last that is not null: as `last`.

    Source: semantics 29.6; pyspark last_value.
    """
    return last(column, ignoreNulls)


def _shift(fn: str, column: ColumnOrName, offset: int, default: bool | int | float | str | None) -> RowFunction:
    """A look back or ahead; with a negative offset the other one, under the name that was asked for."""
    name = default_name(fn, column, offset, default)
    if isinstance(offset, bool) or not isinstance(offset, int) or abs(offset) >= MAX_INSTANT:
        raise SpecError(f"{fn}(offset={offset!r})", f"{fn} takes a whole number of rows", "give such a number, below 2^63")
    if offset < 0:
        fn, offset = ("lead" if fn == "lag" else "lag"), -offset
    return RowFunction(fn, checked_column(column), name, offset, default)
