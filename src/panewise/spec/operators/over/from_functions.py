"""The OVER operator of functions over windows (semantics 29.10)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from panewise.errors import SpecError
from panewise.spec.frames import Frame
from panewise.spec.operators.over.operator import OverColumn, OverOperator
from panewise.spec.operators.over.row_function import RowFunction
from panewise.spec.window_spec import Over, WindowSpec

_DEFAULT: Final = Frame("range", None, 0)


def over_operator(
    new_columns: Mapping[str, Over], event_time: str | None = None, **fields: Any
) -> OverOperator:
    """Returns the OVER operator that adds these columns to each row.

    All windows have the same keys and the same order. They may differ in their frames.

    Args:
        new_columns: the new columns by their names.
        event_time: column of the event time. If the windows have an order, it is the first column of that
            order, which is also the default. If they have none, rows of a batch are processed in the order
            of this column, unless `fields` contain `order` or `position`.
        fields: the other fields of OverOperator.

    Raises:
        SpecError: if `new_columns` are not a mapping, if the windows differ in keys or order, if
            `event_time` is not the first column of their order, or as OverOperator does.

    >>> from panewise import Window
    >>> from panewise import functions as F
    >>> w = Window.partitionBy("k").orderBy("ts")
    >>> spec = over_operator({"before": F.lag("v").over(w), "total": F.sum("v").over(w.rowsBetween(-2, 0))})
    >>> spec.keys, spec.event_time, spec.columns[1].frame
    (('k',), 'ts', Frame(kind='rows', start=-2, end=0))
    """
    _check_new(new_columns)
    windows = [over.window for over in new_columns.values()] or [WindowSpec()]
    if len({replace(window, frame=None) for window in windows}) > 1:
        rule = "the windows of one operator have the same keys and order, and may differ in their frames"
        shown = [(list(window.keys), _shown(window)) for window in windows]
        raise SpecError(f"windows by {shown}", rule, "use an operator for each")
    keys, order = windows[0].keys, windows[0].order
    if event_time is not None and order and order[0] != event_time:
        rule = "the rows of a stream are ordered by event time, or by arrival"
        remedy = f"order by {event_time!r}, or leave orderBy out"
        raise SpecError(f"orderBy{order!r}, event_time={event_time!r}", rule, remedy)
    if order:
        fields = {**fields, "event_time": order[0], "order": (*order[1:], *fields.get("order", ()))}
        nulls = [name for name in windows[0].nulls_last if name != order[0]]
        fields |= {"descending": windows[0].descending, "nulls_last": nulls}
    else:
        ordered = fields.get("order") or fields.get("position") or event_time is None
        fields = {**fields, "event_time": None, **({} if ordered else {"order": (event_time,)})}
    columns = [_column(over.alias(name), ordered=bool(order)) for name, over in new_columns.items()]
    return OverOperator(columns=columns, keys=keys, **fields)


def _check_new(new_columns: Any) -> None:
    if not isinstance(new_columns, Mapping):
        rule = "new columns are given by their names"
        remedy = "give such as {'total': F.sum('v').over(window)}"
        raise SpecError(f"new_columns={new_columns!r}", rule, remedy)
    for name, column in new_columns.items():
        if not isinstance(column, Over):
            rule = (
                "a new column is a function over a window; other columns are computed before "
                "or after the operator"
            )
            raise SpecError(f"{name}={column!r}", rule, "give one such as F.sum('v').over(window)")


def _shown(window: WindowSpec) -> list[str]:
    """Returns the order of a window as an error shows it."""
    return [f"{name} DESC" if name in window.descending else name for name in window.order]


def _column(over: Over, *, ordered: bool) -> OverColumn:
    what: Any = over.what  # OverColumn refuses what is neither an aggregate nor a row function
    frame = over.window.frame
    if isinstance(what, RowFunction) and what.fn != "nth_value":
        return OverColumn(what)  # such functions have no frame of their own (semantics 29.7)
    if frame is None and not ordered:
        rule = "without an order the frame is the whole partition, which has no end on a stream"
        remedy = "call orderBy(event_time), or rowsBetween(start, Window.currentRow)"
        raise SpecError(f"{what.name} over a window without order and frame", rule, remedy)
    return OverColumn(what, _DEFAULT if frame is None else frame)
