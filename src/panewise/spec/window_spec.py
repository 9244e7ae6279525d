"""Window specifications of the OVER operator, with the names of pyspark.sql.Window (semantics 29.10).

Batch code that uses functions over windows runs on streams after a change of its imports. The module does not
know aggregates and row functions, whose method `over` needs it.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final, Protocol

from panewise.chrono import MAX_INSTANT, MIN_INSTANT, Duration, signed_duration
from panewise.errors import SpecError
from panewise.spec.column_expressions import Expression, names_of, one_by_one
from panewise.spec.fields import is_whole
from panewise.spec.frames import EXCLUSIONS, Frame
from panewise.spec.whole_columns import WholeColumn

Bound = int | timedelta | Duration | str
_DIRECTIONS: Final = ("NULLS FIRST", "NULLS LAST")  # end the text of a Column of an order of PySpark


class DirectedColumn(ABC):
    """A column of an order with its direction, as functions of :mod:`panewise.functions` make it."""

    column: str

    @property
    @abstractmethod
    def descends(self) -> bool:
        """Whether the largest values come first."""

    @property
    def has_nulls_last(self) -> bool:
        """Whether nulls come last. In Spark that is so in descending order, if nothing is said of them."""
        return self.descends


@dataclass(frozen=True)
class SortColumn(DirectedColumn):
    """A column of `orderBy` whose nulls are not where Spark has them by default."""

    column: str
    descending: bool

    @property
    def descends(self) -> bool:
        """Whether the largest values come first."""
        return self.descending

    @property
    def has_nulls_last(self) -> bool:
        """Whether nulls come last: in ascending order."""
        return not self.descending


@dataclass(frozen=True)
class WindowSpec:
    """The rows that a function over a window reads: those of the same key, in an order, within a frame.

    It is made by :class:`Window`. Its methods return a changed copy.
    """

    keys: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    frame: Frame | None = None
    descending: tuple[str, ...] = ()
    nulls_last: tuple[str, ...] = ()

    def partitionBy(self, *columns: Any) -> "WindowSpec":  # noqa: N802 - PySpark's name
        """Sets the key columns. Functions read only rows with the same values in them.

        Args:
            columns: names of columns, one by one or as one list. They replace those given before.

        Raises:
            SpecError: for anything but non-empty strings.
        """
        return replace(self, keys=_names(columns))

    def orderBy(self, *columns: Any) -> "WindowSpec":  # noqa: N802 - PySpark's name
        """Sets the order of rows.

        Args:
            columns: names of columns, one by one or as one list. The first is the event time. The others
                order rows of equal event time. A name is ascending with nulls first. For another direction
                give `desc`, `asc_nulls_last` or `desc_nulls_first` of :mod:`panewise.functions`.

        Raises:
            SpecError: for anything else.

        >>> from panewise import functions as F
        >>> Window.orderBy("ts", F.desc("v")).descending
        ('v',)
        """
        terms = one_by_one(columns)
        directed = {term.column: term for term in terms if isinstance(term, DirectedColumn)}
        names = [term.column if isinstance(term, DirectedColumn) else term for term in terms]
        return replace(
            self,
            order=_names(tuple(names)),
            descending=tuple(name for name, term in directed.items() if term.descends),
            nulls_last=tuple(name for name, term in directed.items() if term.has_nulls_last),
        )

    def rowsBetween(self, start: int, end: int) -> "WindowSpec":  # noqa: N802 - PySpark's name
        """Sets the frame to the rows from `start` to `end`, both included.

        Args:
            start: a position relative to the current row, which is 0; rows before it are negative. Or
                Window.unboundedPreceding.
            end: a position as `start`, or Window.unboundedFollowing if the event time is descending.
                Otherwise that is refused, as a stream has no last row.

        Raises:
            SpecError: for a bound that is not a whole number, and for an unbounded `end`.
        """
        for name, bound in (("start", start), ("end", end)):
            if not is_whole(bound):
                rule = "a bound of rowsBetween is a whole number of rows"
                remedy = "give a whole number, such as -2 for two rows before"
                raise SpecError(f"rowsBetween({name}={bound!r})", rule, remedy)
        return self._framed("rows", start, end)

    def rangeBetween(self, start: Bound, end: Bound) -> "WindowSpec":  # noqa: N802 - PySpark's name
        """Sets the frame to the rows whose event time lies from `start` to `end`, both included.

        Args:
            start: a distance from the event time of the current row; earlier times are negative. A whole
                number of microseconds, a timedelta, a Duration, a text such as "-5 minutes", or
                Window.unboundedPreceding.
            end: a distance as `start`, or Window.unboundedFollowing as for :meth:`rowsBetween`.

        Raises:
            SpecError: for a bound of another kind, and for an unbounded `end`.
        """
        return self._framed("range", _time(start, "start"), _time(end, "end"))

    def excluding(self, rows: Any) -> "WindowSpec":
        """Leaves rows out of the frame, as EXCLUDE of SQL does. Call it after rowsBetween or rangeBetween.

        Args:
            rows: "current row", "group" (the row and its peers), "ties" (its peers) or "no others".

        Raises:
            SpecError: for another text, and for a window without a frame.

        Source: semantics 29.15; SQL EXCLUDE.
        """
        if self.frame is None:
            rule = f"rows are left out of a frame, as one of {', '.join(map(repr, EXCLUSIONS))}"
            raise SpecError(f"excluding({rows!r})", rule, "call rowsBetween or rangeBetween before")
        return replace(self, frame=replace(self.frame, exclude=rows))

    partition_by = partitionBy
    order_by = orderBy
    rows_between = rowsBetween
    range_between = rangeBetween

    def _framed(self, kind: Any, start: int, end: int) -> "WindowSpec":
        unbounded = end >= MAX_INSTANT
        if unbounded and not (self.order and self.order[0] in self.descending):
            rule = "a stream has no last row"
            remedy = "end the frame at Window.currentRow, or at a number"
            raise SpecError(f"{kind} to unboundedFollowing", rule, remedy)
        if end <= -MAX_INSTANT:
            rule = "a frame does not end before it starts"
            raise SpecError(f"{kind} to unboundedPreceding", rule, "end it at Window.currentRow")
        frame = Frame(kind, None if start <= -MAX_INSTANT else start, None if unbounded else end)
        return replace(self, frame=frame)


class Window:
    """Makes the windows that `over` takes, with the names of pyspark.sql.Window.

    >>> Window.partitionBy("k").orderBy("ts").rowsBetween(-2, Window.currentRow).frame
    Frame(kind='rows', start=-2, end=0)

    Source: semantics 29.10; pyspark.sql.Window.
    """

    unboundedPreceding: Final = MIN_INSTANT  # noqa: N815 - PySpark's name
    unboundedFollowing: Final = MAX_INSTANT  # noqa: N815 - PySpark's name
    currentRow: Final = 0  # noqa: N815 - PySpark's name

    _all = WindowSpec()
    partitionBy = partition_by = _all.partitionBy  # noqa: N815 - PySpark's name
    orderBy = order_by = _all.orderBy  # noqa: N815 - PySpark's name
    rowsBetween = rows_between = _all.rowsBetween  # noqa: N815 - PySpark's name
    rangeBetween = range_between = _all.rangeBetween  # noqa: N815 - PySpark's name


class WindowFunction(Protocol):
    """What an :class:`Over` needs of its function, which is an aggregate or a row function."""

    @property
    def name(self) -> str:
        """The name of the resulting column."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The input columns that the function reads."""
        ...

    def alias(self, name: str) -> "WindowFunction":
        """Returns the same function under another name."""
        ...


@dataclass(frozen=True)
class Over(WholeColumn):
    """A function over a window, as `F.sum("v").over(w)` returns it.

    Args:
        what: the function.
        window: the rows that it reads.

    Raises:
        SpecError: for a window that is not a WindowSpec.
    """

    what: WindowFunction
    window: WindowSpec

    def __post_init__(self) -> None:
        window: Any = self.window
        if not isinstance(window, WindowSpec):
            rule = "over() takes a window of panewise"
            remedy = "give one such as Window.partitionBy('k').orderBy('ts')"
            raise SpecError(f"over({window!r})", rule, remedy)

    def alias(self, name: str) -> "Over":
        """Returns the same function over the same window under another name."""
        return replace(self, what=self.what.alias(name))

    def refusal(self) -> SpecError:
        """Returns the error of an expression with this function."""
        rule = "a function over a window is a whole column, not part of an expression"
        remedy = (
            "make each function a column, then compute with the columns of the result's rows, or "
            "use panewise.spark.compat"
        )
        return SpecError(f"an expression of {self.what.name} over a window", rule, remedy)


def _names(columns: tuple[Any, ...]) -> tuple[str, ...]:
    """Returns the names that were given one by one or as one list, also as Columns that only name one."""
    names = names_of(columns)
    for name in names:
        if not isinstance(name, str) or not name or isinstance(name, Expression):
            rule = "keys and order columns are given by name; the order is ascending, nulls first"
            remedy = "give the column's name; compute expressions before the operator"
            if str(name).endswith(_DIRECTIONS):
                remedy = "give desc, asc_nulls_last or desc_nulls_first of panewise.functions"
            raise SpecError(f"column {name!r}", rule, remedy)
    return names


def _time(bound: Any, name: str) -> int:
    if is_whole(bound):
        return bound  # negative, or Window.unboundedPreceding or unboundedFollowing
    return signed_duration(bound, name).us
