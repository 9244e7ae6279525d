"""The columns by which rankings order rows, each with a direction (semantics 24.26)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from panewise.choices import check_flag
from panewise.errors import SpecError
from panewise.spec.column_expressions import ColumnOrName, Expression, checked_column
from panewise.spec.fields import is_name
from panewise.spec.window_spec import DirectedColumn, SortColumn

# The public functions, which panewise.functions has.
__all__ = ["asc", "asc_nulls_last", "desc", "desc_nulls_first"]

_DIRECTED: Final = re.compile(r"`?([^`]+?)`? (ASC|DESC) NULLS (FIRST|LAST)")
_NULLS: Final = {"ASC": "FIRST", "DESC": "LAST"}  # where PySpark's asc and desc put nulls


@dataclass(frozen=True)
class OrderColumn(DirectedColumn):
    """A column by which rows are ordered, and its direction. :func:`asc` and :func:`desc` make it.

    Args:
        column: the name of the column.
        ascending: whether the smallest values come first.

    Raises:
        SpecError: if `column` is no non-empty string, or `ascending` is no Boolean.
    """

    column: str
    ascending: bool

    def __post_init__(self) -> None:
        if not is_name(self.column):
            rule = "an order column is named by a non-empty string"
            raise SpecError(f"column={self.column!r}", rule, "give the column's name")
        check_flag("ascending", self.ascending)

    @property
    def descends(self) -> bool:
        """Whether the largest values come first."""
        return not self.ascending


def asc(column: ColumnOrName) -> OrderColumn:
    """Returns an order column of a ranking, whose smallest values come first; nulls come before them.

    Args:
        column: the column, by name or as a pyspark Column.

    Raises:
        SpecError: if it is neither, or has a direction already.

    >>> from panewise import functions as F
    >>> F.top_n_by("url", [F.desc("score"), F.asc("ts")], n=3).name
    'top_n_by(url, score, ts ASC, 3)'

    Source: semantics 24.26; pyspark asc.
    """
    return _directed(column, ascending=True)


def desc(column: ColumnOrName) -> OrderColumn:
    """Returns an order column of a ranking, whose largest values come first; nulls come after them.

    Args:
        column: the column, by name or as a pyspark Column.

    Raises:
        SpecError: if it is neither, or has a direction already.

    >>> from panewise import functions as F
    >>> F.min_by("url", ["ts", F.desc("score")]).name
    'min_by(url, ts, score DESC)'

    Source: semantics 24.26; pyspark desc.
    """
    return _directed(column, ascending=False)


def asc_nulls_last(column: ColumnOrName) -> SortColumn:
    """Returns a column of `orderBy`, whose smallest values come first and whose nulls come last.

    Source: semantics 29.13; pyspark asc_nulls_last.
    """
    return SortColumn(checked_column(column), descending=False)


def desc_nulls_first(column: ColumnOrName) -> SortColumn:
    """Returns a column of `orderBy`, whose nulls come first, and then its largest values.

    Source: semantics 29.13; pyspark desc_nulls_first.
    """
    return SortColumn(checked_column(column), descending=True)


def order_columns(fn: str, by: Any, *, ascending: bool) -> tuple[OrderColumn, ...]:
    """Returns the columns of a ranking; a column without a direction has that of the function.

    Args:
        fn: the name of the function, for error messages.
        by: a column, an :class:`OrderColumn`, or a list of these.
        ascending: the direction of the function.

    Raises:
        SpecError: for an empty list, another kind of value, and for `ascending=True` if all columns have a
            direction.
    """
    columns = list(by) if isinstance(by, (list, tuple)) else [by]
    if not columns:
        raise SpecError(f"{fn}(by={by!r})", f"{fn} ranks rows by a column or several", "give by=")
    orders = [_order_column(column, ascending=ascending) for column in columns]
    if ascending and fn == "top_n_by" and all(map(_has_direction, columns)):
        rule = "ascending is the direction of columns without one, and all columns have one"
        raise SpecError(f"{fn}(ascending=True)", rule, "leave ascending out")
    return tuple(orders)


def directed_names(orders: Iterable[OrderColumn], *, ascending: bool) -> list[str]:
    """Returns the columns as the names of aggregates show them: with a direction if it is another one.

    >>> directed_names([desc("score"), asc("ts")], ascending=False)
    ['score', 'ts ASC']
    """
    return [
        by.column if by.ascending == ascending else f"{by.column} {'ASC' if by.ascending else 'DESC'}"
        for by in orders
    ]


def _order_column(column: Any, *, ascending: bool) -> OrderColumn:
    if isinstance(column, OrderColumn):
        return column
    name = checked_column(column)
    directed = _DIRECTED.fullmatch(name) if isinstance(name, Expression) else None
    if directed is None:
        return OrderColumn(name, ascending)
    if _NULLS[directed[2]] != directed[3] or not re.fullmatch(r"\w+", directed[1]):
        rule = "nulls come first in ascending and last in descending order, of a column"
        remedy = "give asc(...) or desc(...) of panewise.functions"
        raise SpecError(f"by={str(name)!r}", rule, remedy)
    return OrderColumn(directed[1], directed[2] == "ASC")


def _has_direction(column: Any) -> bool:
    return isinstance(column, OrderColumn) or not isinstance(column, str) and _is_directed(column)


def _directed(column: ColumnOrName, *, ascending: bool) -> OrderColumn:
    """Returns the order column, unless the column has a direction already."""
    if not isinstance(column, str) and _is_directed(column):
        rule = "a column has one direction"
        raise SpecError(f"{checked_column(column)} in asc or desc", rule, "give the column without it")
    return OrderColumn(checked_column(column), ascending)


def _is_directed(column: Any) -> bool:
    return _DIRECTED.fullmatch(checked_column(column)) is not None
