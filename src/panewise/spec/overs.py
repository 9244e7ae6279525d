"""Windows as pyspark.sql.Window writes them, so that batch code moves to streams with a change of imports (semantics 29.10)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final, NoReturn

from panewise.chrono import MAX_INSTANT, MIN_INSTANT, Duration
from panewise.errors import SpecError
from panewise.spec.aggregates import Aggregate
from panewise.spec.frames import Frame, FrameColumn, FrameOperator, RowFunction

Bound = int | timedelta | Duration | str

_DEFAULT: Final = Frame("range", None, 0)


@dataclass(frozen=True)
class WindowSpec:
    """Which rows a function looks at: those of the same key, in an order, in a frame. Made by :class:`Window`; methods give a new one."""

    keys: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    frame: Frame | None = None

    def partitionBy(self, *columns: Any) -> "WindowSpec":  # noqa: N802 - PySpark's name
        """Rows are kept apart by the values of these columns."""
        return replace(self, keys=_names(columns))

    def orderBy(self, *columns: Any) -> "WindowSpec":  # noqa: N802 - PySpark's name
        """Rows are in the order of the first column, the event time; those of equal time in the order of the others."""
        return replace(self, order=_names(columns))

    def rowsBetween(self, start: int, end: int) -> "WindowSpec":  # noqa: N802 - PySpark's name
        """The frame goes from the row `start` to the row `end`, both included, counted from the current one."""
        for name, bound in (("start", start), ("end", end)):
            if isinstance(bound, bool) or not isinstance(bound, int):
                raise SpecError(f"rowsBetween({name}={bound!r})", "rows are counted", "give a whole number, such as -2 for two rows before")
        return self._framed("rows", start, end)

    def rangeBetween(self, start: Bound, end: Bound) -> "WindowSpec":  # noqa: N802 - PySpark's name
        """The frame goes from the time `start` to the time `end`, both included, counted from that of the current row.

        A bound is a whole number of microseconds, a timedelta, a Duration, or a text such as "-5 minutes".
        """
        return self._framed("range", _time(start, "start"), _time(end, "end"))

    partition_by = partitionBy
    order_by = orderBy
    rows_between = rowsBetween
    range_between = rangeBetween

    def _framed(self, kind: Any, start: int, end: int) -> "WindowSpec":
        if end >= MAX_INSTANT:
            rule = "what comes after all rows that there will be is not known on a stream"
            raise SpecError(f"{kind} to unboundedFollowing", rule, "end the frame at Window.currentRow, or at a number")
        if end <= -MAX_INSTANT:
            raise SpecError(f"{kind} to unboundedPreceding", "a frame does not end before it starts", "end it at Window.currentRow")
        return replace(self, frame=Frame(kind, None if start <= -MAX_INSTANT else start, end))


class Window:
    """Makes windows for `over`, with the names of pyspark.sql.Window.

    >>> Window.partitionBy("k").orderBy("ts").rowsBetween(-2, Window.currentRow)
    WindowSpec(keys=('k',), order=('ts',), frame=Frame(kind='rows', start=-2, end=0))

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


@dataclass(frozen=True)
class Over:
    """A function over a window: what `F.sum("v").over(w)` gives."""

    what: Aggregate | RowFunction
    window: WindowSpec

    def __post_init__(self) -> None:
        window: Any = self.window
        if not isinstance(window, WindowSpec):
            rule = "a function is over a window of panewise"
            raise SpecError(f"over({window!r})", rule, "give one such as Window.partitionBy('k').orderBy('ts')")

    def alias(self, name: str) -> "Over":
        """The same under another name."""
        return replace(self, what=self.what.alias(name))

    def cast(self, *_: object) -> NoReturn:
        """Refused, as all expressions are: what pyspark computes in one column are two steps here.

        Raises:
            SpecError: always.
        """
        rule = "a function over a window is a column by itself"
        remedy = "make each function a column, then compute with the columns of the result's rows, or use panewise.spark.sql"
        raise SpecError(f"an expression of {self.what.name} over a window", rule, remedy)

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __mod__ = __rmod__ = cast
    __neg__ = __invert__ = __lt__ = __le__ = __gt__ = __ge__ = __and__ = __rand__ = __or__ = __ror__ = __getitem__ = cast


def frame_operator(overs: Mapping[str, Over], event_time: str | None = None, **fields: Any) -> FrameOperator:
    """The operator that adds these columns. All windows have the same keys and order, and the first column of the order is the event time.

    Args:
        overs: the new columns by their names.
        event_time: column of the event time; where no window has an order, rows of a batch are taken in its order. Default: as windows say.
        fields: the other fields of FrameOperator.

    Raises:
        SpecError: if windows differ in more than their frames, or as FrameOperator does.

    >>> from panewise import functions as F
    >>> w = Window.partitionBy("k").orderBy("ts")
    >>> spec = frame_operator({"before": F.lag("v").over(w), "total": F.sum("v").over(w.rowsBetween(-2, 0))})
    >>> spec.keys, spec.event_time, spec.columns[1].frame
    (('k',), 'ts', Frame(kind='rows', start=-2, end=0))
    """
    given: Mapping[str, Any] = overs
    for name, made in given.items():
        if not isinstance(made, Over):
            rule = "a new column is a function over a window; other columns are made before or after the operator"
            raise SpecError(f"{name}={made!r}", rule, "give one such as F.sum('v').over(window)")
    windows = [over.window for over in overs.values()] or [WindowSpec()]
    if len({(window.keys, window.order) for window in windows}) > 1:
        rule = "the windows of one operator have the same keys and order, and may differ in their frames"
        raise SpecError(f"windows by {[(list(window.keys), list(window.order)) for window in windows]}", rule, "use an operator for each")
    keys, order = windows[0].keys, windows[0].order
    if event_time is not None and order and order[0] != event_time:
        rule = "rows of a stream are in the order of their event time, or as they arrive"
        raise SpecError(f"orderBy{order!r}, event_time={event_time!r}", rule, f"order by {event_time!r}, or leave orderBy out")
    if order:
        fields = {**fields, "event_time": order[0], "order": (*order[1:], *fields.get("order", ()))}
    else:
        ordered = fields.get("order") or fields.get("position") or event_time is None
        fields = {**fields, "event_time": None, **({} if ordered else {"order": (event_time,)})}
    columns = [_column(over.alias(name), ordered=bool(order)) for name, over in overs.items()]
    return FrameOperator(columns=columns, keys=keys, **fields)


def _column(over: Over, *, ordered: bool) -> FrameColumn:
    what, frame = over.what, over.window.frame
    if isinstance(what, RowFunction) and what.fn != "nth_value":
        return FrameColumn(what)  # it looks at all rows, whatever the frame is
    if frame is None and not ordered:
        rule = "without an order the frame is the whole partition, which has no end on a stream"
        raise SpecError(
            f"{what.name} over a window without order and frame", rule, "call orderBy(event_time), or rowsBetween(start, Window.currentRow)"
        )
    return FrameColumn(what, _DEFAULT if frame is None else frame)


def _names(columns: tuple[Any, ...]) -> tuple[str, ...]:
    """Names given one by one or as a list."""
    given = tuple(columns[0]) if len(columns) == 1 and isinstance(columns[0], (list, tuple)) else columns
    for name in given:
        if not isinstance(name, str) or not name:
            rule = "keys and order are columns, told by their names; the order is ascending, nulls first"
            raise SpecError(f"column {name!r}", rule, "give the column's name; compute expressions before the operator")
    return given


def _time(bound: Any, name: str) -> int:
    if isinstance(bound, str) and bound.strip().startswith("-"):
        return -Duration.of(bound.strip()[1:], name).us
    if isinstance(bound, int) and not isinstance(bound, bool):
        return bound  # may be unbounded, which is no duration
    return Duration.of(bound, name).us
