"""Describes inputs, their watermarks and replays in words."""

from collections.abc import Iterable

from panewise.chrono import Duration
from panewise.spec.describe.listing import listed
from panewise.spec.protocol import Entry
from panewise.spec.source_position import Position
from panewise.spec.watermarks import FixedLag, Inputs, StreamTime, row_driven


def of_inputs(inputs: Inputs, event_time: str | None, *, each_row: bool = False) -> str:
    """Returns in words what the watermark of several inputs is.

    >>> of_inputs(Inputs(["a", "b"], "1 s"), "ts")
    'the least of those of the inputs a and b; an input that has reported none for 1 second of processing
    time is left out'
    """
    names = listed(tuple(inputs.names))
    silence = f"for {inputs.idle_after} of processing time is left out"
    if inputs.column is None:
        return (
            "the least of those of the inputs "
            f"{names}{'' if inputs.idle_after is None else f'; an input that has reported none {silence}'}"
        )
    moves = (
        f"after each {'row' if each_row else 'batch'} the watermark of an input is the highest "
        f"{event_time} of its rows{_less(inputs)}"
    )
    silent = "" if inputs.idle_after is None else f"; an input without a row {silence}"
    return f"the least of those of the inputs {names}, named by {inputs.column}; {moves}{silent}"


def of_stream(stream: StreamTime, event_time: str | None, *, each_row: bool = False) -> str:
    """Returns in words what the watermark of each key, or of all keys, is.

    >>> of_stream(StreamTime("1 s", per="all"), "ts")
    'after each batch the highest ts of all rows so far, less 1 second'
    """
    behind = f", less {stream.delay}" if stream.delay.us else ""
    if stream.per == "key":
        return f"for each key the highest {event_time} of its rows so far{behind}"
    moves = f"after each {'row' if each_row else 'batch'} the highest {event_time} of all rows so far{behind}"
    if stream.idle_after is None:
        return moves
    return f"{moves}; once there was no row for {stream.idle_after}, it moves with processing time"


def _less(inputs: Inputs) -> str:
    if isinstance(inputs.delay, Duration):
        return f", less {inputs.delay}" if inputs.delay.us else ""
    each = dict(inputs.delay or ())
    return f", less {', '.join(f'{delay} ({name})' for name, delay in each.items())}"


def of_replays(position: Position | None) -> str:
    """Returns in words how replays are detected and treated.

    >>> of_replays(Position(ordered=False))
    '; a row is counted and skipped if its offset was received before or is below the last 1000 intervals of
    offsets'
    """
    if position is None:
        return ""
    if position.ordered:
        return "; a row at or below the highest offset of its partition is counted and skipped"
    return (
        "; a row is counted and skipped if its offset was received before or is below the last "
        f"{position.remember} intervals of offsets"
    )


def of_watermark(entry: Entry, *, each_row: bool = False) -> list[str]:
    """Returns a line that says where the watermark comes from; no line if it comes from outside."""
    time = next(iter(entry.time_columns), None)
    match entry.watermark:
        case FixedLag(lag=lag):
            return [f"Watermark: processing time less {lag}, or that from outside if it is higher."]
        case Inputs() as inputs:
            return [f"Watermark: {of_inputs(inputs, time, each_row=each_row)}."]
        case StreamTime() as stream:
            return [f"Watermark: {of_stream(stream, time, each_row=each_row)}."]
    return []


def of_late_rows(entry: Entry) -> str:
    """Returns a line that says which rows are late, of an operator that assigns rows to no windows."""
    if not entry.time_columns:
        return "Late rows: no row is late before the end of input."
    return (
        "Late rows: a row is late if its time is behind the watermark when its batch begins. It is "
        "emitted to the late output."
    )


def of_invalid_rows(entry: Entry, times: list[str] | None = None, more: Iterable[str] = ()) -> str:
    """Returns a line that says which rows are invalid.

    `times` are the reasons because of the event time, if being null or out of range is not the only one.
    `more` are further reasons.
    """
    reasons = [f"{time} is null or out of range" for time in entry.time_columns] if times is None else times
    reasons += [f"{key} is null or NaN" for key in (() if entry.null_keys else entry.keys)]
    if entry.position is not None:
        reasons.append(f"{entry.position.partition} or {entry.position.offset} is null")
    if entry.max_future_skew is not None:
        (time,) = entry.time_columns
        reasons.append(f"{time} is more than {entry.max_future_skew} ahead of processing time")
    inputs = row_driven(entry.watermark)
    if inputs is not None and inputs.column is not None:
        reasons.append(f"{inputs.column} is null or names no input")
    return f"Invalid rows: {'; '.join([*reasons, *more]) or 'none'}."
