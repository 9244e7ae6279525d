"""Describes OVER operators in words."""

from typing import Final

from panewise.chrono import Duration
from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.describe.inputs import of_invalid_rows, of_late_rows, of_replays, of_watermark
from panewise.spec.describe.listing import listed
from panewise.spec.frames import Frame
from panewise.spec.operators.over.operator import OverColumn, OverOperator
from panewise.spec.operators.over.row_function import RowFunction

_EXCLUDED: Final = {
    "no others": "",
    "current row": ", without the row itself",
    "group": ", without the row and the rows that are equal to it in the order",
    "ties": ", without the other rows that are equal to it in the order",
}


def describe(spec: OverOperator) -> str:
    """Returns a description of what the operator does, with a line for each topic.

    >>> from panewise import functions as F
    >>> print(describe(OverOperator(keys=["k"],
    ...     columns=[OverColumn(F.sum("v").alias("total"), Frame("rows", -2, 0))])))
    Rows: each row is emitted once, with its columns and the new columns total.
      total is sum of v over the row and the 2 rows with the same k before it.
    Order: rows with the same k are taken in the order of event_time, those of equal time as they arrive.
    Output: a row is emitted when the watermark has passed its time.
    Late rows: a row is late if its time is behind the watermark when its batch begins. It is emitted to the
    late output.
    Invalid rows: event_time is null or out of range.
    State: rows until they are emitted; the last 2 rows of each k, permanently.
    """
    names = ", ".join(column.name for column in spec.columns)
    new = f" and the new columns {names}" if names else ""
    lines = [f"Rows: each row is emitted once, with its columns{new}."]
    lines += [f"  {column.name} is {_description(column, spec)}." for column in spec.columns]
    return "\n".join(
        [
            *lines,
            _order(spec),
            *of_watermark(spec),
            _output(spec),
            of_late_rows(spec),
            of_invalid_rows(spec),
            _state(spec),
        ]
    )


def _of_key(spec: OverOperator, what: str = "rows") -> str:
    return f"{what} with the same {listed(spec.keys)}" if spec.keys else what


def _counted(n: int, what: str = "row") -> str:
    return f"the {what}" if n == 1 else f"the {n} {what}s"


def _description(column: OverColumn, spec: OverOperator) -> str:
    what = column.what
    if isinstance(what, Aggregate):
        name = what.user.name if what.user is not None else what.fn
        columns = what.columns if what.condition is None else what.columns[:-1]
        passing = "" if what.condition is None else f", if their {what.condition} is true"
        return (
            f"{name}{f' of {listed(columns)}' if columns else ' of rows'} over "
            f"{_framed(column.frame, spec)}{passing}"
        )
    return _function(what, column.frame, spec)


def _function(what: RowFunction, frame: Frame | None, spec: OverOperator) -> str:
    match what.fn:
        case "row_number":
            return f"the number of the row among the {_of_key(spec)}, from 1"
        case "rank":
            return f"one more than the number of {_of_key(spec)} before it in the order"
        case "dense_rank":
            return (
                f"one more than the number of distinct positions in the order among {_of_key(spec)} before it"
            )
        case "nth_value":
            counted = f"row {what.n} with a value" if what.skips else f"row {what.n}"
            return f"the {what.column} of {counted} of {_framed(frame, spec)}, null if there are fewer rows"
    side = "before" if what.fn == "lag" else "after"
    default = "null" if what.default is None else repr(what.default)
    if what.skips:
        return f"value {what.n} of {what.column} {side} it that is not null, {default} if there is none"
    return f"the {what.column} of the row that is {what.n} {side} it, {default} if there is none"


def _framed(frame: Frame | None, spec: OverOperator) -> str:
    """Returns in words which rows a frame contains."""
    assert frame is not None
    return _whole(frame, spec) + _EXCLUDED[frame.exclude]


def _whole(frame: Frame, spec: OverOperator) -> str:
    """Returns in words which rows a frame contains before any are left out."""
    if frame.kind == "rows":
        return _rows(frame, spec)
    if (frame.start, frame.end) == ((0, None) if spec.backwards else (None, 0)):
        return f"all {_of_key(spec)} up to its time"
    sign = -1 if spec.backwards else 1
    start = "the first" if frame.start is None else _offset(frame.start * sign)
    end = "the last" if frame.end is None else _offset(frame.end * sign)
    return f"the {_of_key(spec)} from {start} to {end}, both included"


def _offset(us: int) -> str:
    if us == 0:
        return "its time"
    return f"{Duration(abs(us))} {'before' if us < 0 else 'after'} its time"


def _rows(frame: Frame, spec: OverOperator) -> str:
    if frame.end == 0 and frame.start is None:
        return f"the row and all {_of_key(spec)} before it"
    if frame.end == 0 and frame.start is not None and frame.start < 0:
        return f"the row and {_of_key(spec, _counted(-frame.start))} before it"
    start = "the first row" if frame.start is None else _place(frame.start)
    end = "the last row" if frame.end is None else _place(frame.end)
    return f"the {_of_key(spec)} from {start} to {end}"


def _place(n: int) -> str:
    return "the row itself" if n == 0 else f"{abs(n)} {'before' if n < 0 else 'after'} it"


def _order(spec: OverOperator) -> str:
    of = f" with the same {listed(spec.keys)}" if spec.keys else ""
    replays = of_replays(spec.position)
    if spec.event_time is None:
        columns = spec.position.columns if spec.position else spec.order
        within = f", those of a batch in the order of {listed(columns)}" if columns else ""
        return f"Order: rows{of} are taken as they arrive{within}{replays}."
    arrival = "the last to arrive first" if spec.backwards else "as they arrive"
    directed = tuple(_directed(spec, name) for name in spec.order)
    ties = f"by {listed(directed)}, then {arrival}" if directed else arrival
    descending = "descending " if spec.backwards else ""
    return (
        f"Order: rows{of} are taken in the {descending}order of {spec.event_time}, those of equal time "
        f"{ties}{replays}."
    )


def _directed(spec: OverOperator, name: str) -> str:
    """Returns an order column with its direction, where that is not the default."""
    descends, nulls_last = name in spec.descending, name in spec.nulls_last
    if descends:
        return f"{name} descending" if nulls_last else f"{name} descending with nulls first"
    return f"{name} with nulls last" if nulls_last else name


def _output(spec: OverOperator) -> str:
    ahead = f" and the time of {_of_key(spec, _counted(spec.rows_ahead))} after it" if spec.rows_ahead else ""
    ahead += _values_ahead(spec)
    end = "; at the end of input all rows are emitted" if spec.rows_ahead or spec.us_ahead else ""
    if spec.event_time is None:
        when = (
            f"when it and {_of_key(spec, _counted(spec.rows_ahead))} after it have arrived"
            f"{_values_ahead(spec)}"
            if spec.rows_ahead
            else "when it arrives"
        )
        return f"Output: a row is emitted {when}{end}."
    past = f" by {Duration(spec.us_ahead)}" if spec.us_ahead else ""
    return f"Output: a row is emitted when the watermark has passed its time{past}{ahead}{end}."


def _values_ahead(spec: OverOperator) -> str:
    """Returns how many values a row waits for, if functions ignore nulls."""
    fn = "lag" if spec.backwards else "lead"
    skipping = {what.column: what.n for what in _functions(spec) if what.fn == fn and what.skips}
    waits = [f"{_counted(n or 0)} after it with a value of {column}" for column, n in skipping.items()]
    return "".join(f", and of {wait}" for wait in waits)


def _functions(spec: OverOperator) -> list[RowFunction]:
    return [column.what for column in spec.columns if isinstance(column.what, RowFunction)]


def _state(spec: OverOperator) -> str:
    of = f" of each {listed(spec.keys)}" if spec.keys else ""
    stored = [] if spec.event_time is None and not spec.rows_ahead else ["rows until they are emitted"]
    rows, time = _rows_behind(spec), _us_behind(spec)
    if rows:
        stored.append(
            f"{_counted(rows, 'last row') if rows == 1 else f'the last {rows} rows'}{of}, permanently"
        )
    if time:
        stored.append(f"rows of the last {Duration(time)} before the watermark")
    unbounded = any(None in (column.frame.start, column.frame.end) for column in spec.columns if column.frame)
    fn = "lead" if spec.backwards else "lag"
    if unbounded or _numbers(spec) or any(what.fn == fn and what.skips for what in _functions(spec)):
        stored.append(f"what the columns need of all earlier rows{of}, permanently")
    return f"State: {'; '.join(stored) or 'none'}."


def _numbers(spec: OverOperator) -> bool:
    return any(column.frame is None and column.what.columns == () for column in spec.columns)


def _rows_behind(spec: OverOperator) -> int:
    """Returns how many rows of the stream before a row the columns read, if it is a fixed number."""
    fixed = [column for column in spec.columns if column.frame is not None or not _skips(column)]
    return max((column.rows_ahead if spec.backwards else column.rows_behind for column in fixed), default=0)


def _us_behind(spec: OverOperator) -> int:
    """Returns how far the ranges reach back in the stream, in microseconds."""
    return max(
        (column.us_ahead if spec.backwards else column.us_behind for column in spec.columns), default=0
    )


def _skips(column: OverColumn) -> bool:
    return isinstance(column.what, RowFunction) and column.what.skips
