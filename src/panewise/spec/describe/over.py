"""Describes OVER operators in words."""

from panewise.chrono import Duration
from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.describe.inputs import of_invalid_rows, of_late_rows, of_replays, of_watermark
from panewise.spec.describe.listing import listed
from panewise.spec.frames import Frame
from panewise.spec.operators.over.operator import OverColumn, OverOperator, RowFunction


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
            return (
                f"the {what.column} of row {what.n} of {_framed(frame, spec)}, null if there are fewer rows"
            )
    side = "before" if what.fn == "lag" else "after"
    default = "null" if what.default is None else repr(what.default)
    return f"the {what.column} of the row that is {what.n} {side} it, {default} if there is none"


def _framed(frame: Frame | None, spec: OverOperator) -> str:
    """Returns in words which rows a frame contains."""
    assert frame is not None
    if frame.kind == "rows":
        return _rows(frame, spec)
    if frame == Frame("range", None, 0):
        return f"all {_of_key(spec)} up to its time"
    start = "the first" if frame.start is None else _offset(frame.start)
    return f"the {_of_key(spec)} from {start} to {_offset(frame.end)}, both included"


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
    return f"the {_of_key(spec)} from {start} to {_place(frame.end)}"


def _place(n: int) -> str:
    return "the row itself" if n == 0 else f"{abs(n)} {'before' if n < 0 else 'after'} it"


def _order(spec: OverOperator) -> str:
    of = f" with the same {listed(spec.keys)}" if spec.keys else ""
    replays = of_replays(spec.position)
    if spec.event_time is None:
        columns = spec.position.columns if spec.position else spec.order
        within = f", those of a batch in the order of {listed(columns)}" if columns else ""
        return f"Order: rows{of} are taken as they arrive{within}{replays}."
    ties = f"by {listed(spec.order)}, then as they arrive" if spec.order else "as they arrive"
    return (
        f"Order: rows{of} are taken in the order of {spec.event_time}, those of equal time {ties}{replays}."
    )


def _output(spec: OverOperator) -> str:
    ahead = f" and the time of {_of_key(spec, _counted(spec.rows_ahead))} after it" if spec.rows_ahead else ""
    end = "; at the end of input all rows are emitted" if spec.rows_ahead or spec.us_ahead else ""
    if spec.event_time is None:
        when = (
            f"when it and {_of_key(spec, _counted(spec.rows_ahead))} after it have arrived"
            if spec.rows_ahead
            else "when it arrives"
        )
        return f"Output: a row is emitted {when}{end}."
    past = f" by {Duration(spec.us_ahead)}" if spec.us_ahead else ""
    return f"Output: a row is emitted when the watermark has passed its time{past}{ahead}{end}."


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
    unbounded = any(column.frame is not None and column.frame.start is None for column in spec.columns)
    if unbounded or _numbers(spec):
        stored.append(f"what the columns need of all earlier rows{of}, permanently")
    return f"State: {'; '.join(stored) or 'none'}."


def _numbers(spec: OverOperator) -> bool:
    return any(column.frame is None and column.what.columns == () for column in spec.columns)


def _rows_behind(spec: OverOperator) -> int:
    lags = [
        column.what.n or 0
        for column in spec.columns
        if isinstance(column.what, RowFunction) and column.what.fn == "lag"
    ]
    return max([0, *lags, *_starts(spec, "rows")])


def _us_behind(spec: OverOperator) -> int:
    return max([0, *_starts(spec, "range")])


def _starts(spec: OverOperator, kind: str) -> list[int]:
    """Returns how far the frames of a kind reach back."""
    frames = [column.frame for column in spec.columns if column.frame is not None]
    return [-(frame.start or 0) for frame in frames if frame.kind == kind]
