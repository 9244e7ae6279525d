"""The events of a test: validates them and makes the script that a runtime plays."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from panewise.chrono import instant_us
from panewise.errors import InputError, SpecWarning
from panewise.spec import (
    Chain,
    Entry,
    FrameOperator,
    Inputs,
    Position,
    Specification,
    StreamTime,
    StreamWindow,
    WindowOperator,
    counted,
    first_of,
    gap_columns,
    input_columns,
    row_driven,
    takes_whole_rows,
)
from panewise.spec.codec.specification import from_dict
from panewise.spec.column_types import Type
from panewise.spec.operators.policy.events import name_of
from panewise.spec.rules.row_numbering import with_event_time
from panewise.spec.type_checks import boolean_columns, check_types
from panewise.testing.columns import MISFIT, ColumnType, Row, infer, is_long

# The ops that only policy windows have (semantics 10.21 to 10.23).
OF_POLICIES = ("drain", "checkpoint", "reset", "reset_to_initial", "evict")
_FIELDS = {"add": {"rows"}, "watermark": {"to"}, "clock": {"to"}, "restart": set[str](), "finish": set[str]()}
_FIELDS_OF_POLICIES = _FIELDS | {op: {"partition"} if op == "evict" else set[str]() for op in OF_POLICIES}


@dataclass(frozen=True)
class Event:
    """One event.

    Attributes:
        op: the kind of event, such as "add".
        rows: the rows of an "add".
        to: the instant of a "watermark" or a "clock", in microseconds.
        source: the input that reports a "watermark", if the operator has several.
        partition: the partition of an "evict", by the columns of `partition_by`.
    """

    op: str
    rows: tuple[Row, ...] = ()
    to: int | None = None
    source: str | None = None
    partition: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Script:
    """All that a runtime needs to play events.

    Args:
        spec: the specification, with a position if rows carry one.
        types: a type for each column.
        events: the events; in their `rows` source positions are in columns, and event times in microseconds.
        given: the rows as the caller gave them, for each event.
        windows: whether each output lists the stored windows.
        options: settings of the runtime.
    """

    spec: Specification
    types: Mapping[str, str]
    events: tuple[Event, ...]
    given: tuple[tuple[Row, ...], ...]
    windows: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def first(self) -> Entry:
        """The operator that rows enter."""
        return first_of(self.spec)


def script(
    spec: Specification | Mapping[str, Any],
    events: Iterable[Mapping[str, Any]],
    types: Mapping[str, str] | None = None,
    **options: Any,
) -> Script:
    """Validates events and returns a script that a runtime can play.

    Args:
        spec: the specification, or its dict form.
        events: the events, as :func:`panewise.testing.run` takes them.
        types: types of columns; the types of other columns are inferred.
        options: the fields `windows` and `options` of the script.

    Raises:
        InputError: if an event is malformed or not possible, if no row has a column that the specification
            reads, and for types of unknown columns.
        SpecError: if the dict form of the specification is not valid, or a column has a type that the
            specification cannot use (semantics 24.19).
    """
    whole_spec = (
        spec if isinstance(spec, (WindowOperator, Chain, FrameOperator, StreamWindow)) else from_dict(spec)
    )
    first, known = (
        first_of(whole_spec),
        _FIELDS_OF_POLICIES if isinstance(whole_spec, StreamWindow) else _FIELDS,
    )
    read = tuple(_event(event, f"events[{n}]", known) for n, event in enumerate(events))
    _check_end(read)
    _check_watermarks(first, read)
    _check_policies(whole_spec, read)
    given = tuple(event.rows for event in read)
    if any(_has_position(row) for rows in given for row in rows):
        first = _with_position(
            first, [row["position"] for rows in given for row in rows if _has_position(row)]
        )
        read = tuple(
            replace(event, rows=tuple(_spread(row, first.position) for row in event.rows)) for event in read
        )
    read = tuple(
        replace(event, rows=tuple(_timed(row, _times(first)) for row in event.rows)) for event in read
    )
    rows = [row for event in read for row in event.rows]
    if isinstance(first, WindowOperator):
        first = with_event_time(first, {name for row in rows for name in row})
    _check_columns(first, rows)
    whole = [
        *first.time_columns,
        *gap_columns(first.window),
        *([first.position.offset] if first.position else []),
    ]
    told = _with_first(whole_spec, first)
    strings = dict.fromkeys(input_columns(first.watermark), "string")
    _check_named(types or {}, told, rows)
    columns = infer(
        [*rows, *_of_unknown(read, rows)],
        strings | dict(types or {}),
        first.columns_read,
        whole,
        boolean_columns(told),
    )
    _check_partitions(columns, read)
    check_types(told, {name: Type(text) for name, text in columns.items()})
    return Script(told, columns, read, given, **options)


def _times(spec: Entry) -> tuple[str, ...]:
    """Returns the column of event times, even if it is read only if the input has it (semantics 8.5)."""
    return spec.time_columns or (("event_time",) if spec.time == "event" else ())


def _event(event: Any, where: str, known: Mapping[str, set[str]]) -> Event:
    op = event.get("op") if isinstance(event, Mapping) else None
    if not isinstance(op, str) or op not in known:
        raise InputError(
            f"{where}={event!r}", f"an event has an op of {sorted(known)}", "give {'op': ..., ...}"
        )
    _check_fields(event, op, known[op], where)
    if op == "evict":
        return Event(op, partition=_partition(event["partition"], f"{where}.partition"))
    if op == "add":
        return Event(op, rows=_rows(event["rows"], f"{where}.rows"))
    to = _instant(event["to"], f"{where}.to") if "to" in event else None
    if to is not None and not is_long(to):
        rule = "an instant is a whole number of microseconds of 64 bits, or a datetime"
        raise InputError(f"{where}.to={to!r}", rule, "give an int, or a datetime with a time zone")
    return Event(op, to=to, source=event.get("input"))


def _check_fields(event: Mapping[str, Any], op: str, wanted: set[str], where: str) -> None:
    """Checks that an event has exactly the wanted fields; a watermark may also name its input."""
    rule = f"the fields of {op!r} are {sorted(wanted)}"
    missing = sorted(wanted - set(event))
    if missing:
        raise InputError(
            f"{where} lacks the field {missing[0]!r}: {dict(event)!r}", rule, f"give {missing[0]!r}"
        )
    others = sorted(set(event) - {"op", *wanted} - ({"input"} if op == "watermark" else set()), key=str)
    if others:
        raise InputError(
            f"{where} has a field {others[0]!r}: {dict(event)!r}", rule, f"leave {others[0]!r} out"
        )


def _instant(value: Any, where: str) -> Any:
    """Returns a datetime as microseconds, and any other value as it is.

    Raises:
        InputError: for a datetime without a time zone.
    """
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        raise InputError(
            f"{where}={value!r}",
            "an instant has a time zone (semantics 1)",
            "give tzinfo=UTC, or an int of microseconds",
        )
    return instant_us(value)


def _timed(row: Row, names: Sequence[str]) -> Row:
    """Returns the row with its event time in microseconds."""
    return {name: _instant(value, name) if name in names else value for name, value in row.items()}


def _of_unknown(events: tuple[Event, ...], rows: list[Row]) -> list[Row]:
    """Returns, as rows, the values that partitions to evict have in columns without a value in any row."""
    known = {name for row in rows for name, value in row.items() if value is not None}
    return [{name: value for name, value in event.partition.items() if name not in known} for event in events]


def _check_named(types: Mapping[str, str], spec: Specification, rows: list[Row]) -> None:
    """Refuses a type for a column that no row has and the specification does not read: a likely typing error.

    Such types are allowed if the output contains all columns of the input.
    """
    first = first_of(spec)
    known = {*first.columns_read, *(name for row in rows for name in row)}
    unknown = sorted(set(types) - known)
    if rows and unknown and not takes_whole_rows(spec):
        rule = f"types are of columns that rows have or the specification reads: {sorted(known)}"
        raise InputError(
            f"types[{unknown[0]!r}]={types[unknown[0]]!r}",
            rule,
            f"leave {unknown[0]!r} out, or correct its name",
        )


def _check_end(events: tuple[Event, ...]) -> None:
    ops = [event.op for event in events]
    if "finish" in ops and "add" in ops[ops.index("finish") :]:
        rule = "nothing can be added after the end of input (semantics 12.2)"
        raise InputError("an add after finish", rule, "add the rows before finish")
    late = [op for op in ops[ops.index("finish") :] if op in OF_POLICIES] if "finish" in ops else []
    if late:
        rule = "the end of input is the end of all partitions (semantics 10.12)"
        raise InputError(f"{late[0]!r} after finish", rule, "do it before finish")


def _check_policies(spec: Specification, events: tuple[Event, ...]) -> None:
    ops = [event.op for event in events]
    if "reset" in ops and "checkpoint" not in ops[: ops.index("reset")]:
        raise InputError(
            "a reset without a checkpoint",
            "a reset goes back to the last checkpoint",
            "make a checkpoint before it",
        )
    for event in events:
        if event.op == "evict":
            name_of(event.partition, spec.keys, f"an evict of {dict(event.partition)}")


def _check_partitions(types: Mapping[str, str], events: tuple[Event, ...]) -> None:
    for event in events:
        for name, value in event.partition.items():
            if ColumnType.of(types[name]).fit(value) is MISFIT:
                raise InputError(
                    f"an evict of {dict(event.partition)}",
                    f"{name} is of the type {types[name]}",
                    "give a value of this type",
                )


def _with_first(spec: Specification, first: Entry) -> Specification:
    """Returns the specification with a changed operator that rows enter."""
    if isinstance(spec, StreamWindow):
        return replace(spec, position=first.position)
    return (
        replace(spec, first=first) if isinstance(spec, Chain) and isinstance(first, WindowOperator) else first
    )


def _partition(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not value:
        raise InputError(
            f"{where}={value!r}", "a partition is named by its columns", "give such as {'k': 'a'}"
        )
    return dict(value)


def _check_watermarks(spec: Entry, events: tuple[Event, ...]) -> None:
    if counted(spec.window) and any(event.op == "watermark" for event in events):
        rule = "windows of rows are complete by the rows that have come (semantics 8.6)"
        raise InputError("a watermark from outside", rule, "add rows")
    if spec.time == "processing" and any(event.op == "watermark" for event in events):
        rule = "with time='processing' the watermark is processing time (semantics 6.8)"
        raise InputError("a watermark from outside", rule, "give {'op': 'clock', 'to': ...}")
    if isinstance(spec.watermark, StreamTime) and any(event.op == "watermark" for event in events):
        rule = "with StreamTime rows make the watermark (semantics 12.8, 12.10)"
        raise InputError("a watermark from outside", rule, "add rows")
    if row_driven(spec.watermark) is not None and any(event.op == "watermark" for event in events):
        rule = "with a column of Inputs rows tell the watermarks of their inputs (semantics 12.9)"
        raise InputError("a watermark from outside", rule, "add rows")
    names = spec.watermark.names if isinstance(spec.watermark, Inputs) else (None,)
    for event in events:
        if event.op == "watermark" and event.source not in names:
            rule = (
                f"the inputs are {list(names)}"
                if names != (None,)
                else "the operator has one input, without a name"
            )
            raise InputError(
                f"a watermark of the input {event.source!r}",
                rule,
                "name the input as in watermark=Inputs([...])",
            )


def _rows(rows: Any, where: str) -> tuple[Row, ...]:
    if not isinstance(rows, Sequence) or not all(isinstance(row, Mapping) for row in rows):
        raise InputError(
            f"{where}={rows!r}", "rows are a list of dicts", "give [{'event_time': ..., ...}, ...]"
        )
    for row in rows:
        for name in row:
            if not isinstance(name, str):
                rule = "columns are named by strings"
                raise InputError(f"{where} has a column {name!r}", rule, "rename the column")
    return tuple(rows)


def _has_position(row: Row) -> bool:
    return isinstance(row.get("position"), (list, tuple))


def _with_position(spec: Entry, positions: list[Sequence[Any]]) -> Entry:
    """Returns the specification with a declared position: its own, or one for the positions of the rows."""
    lengths = {len(position) for position in positions}
    allowed = {2, 3} if spec.position is None or spec.position.source is not None else {2}
    if not lengths <= allowed:
        rule = (
            "a position is [partition, offset], or [source, partition, offset] where a source column "
            "is declared"
        )
        raise InputError(f"positions of {sorted(lengths)} items", rule, "give such lists")
    if spec.position is not None:
        return spec
    source = "source" if 3 in lengths else None
    with warnings.catch_warnings():  # the specification warned when it was built
        warnings.simplefilter("ignore", SpecWarning)
        return replace(spec, position=Position(source=source))


def _spread(row: Row, position: Position | None) -> Row:
    """Returns the row with its source position in the columns that the specification declares."""
    if position is None:
        return row
    spread = {name: value for name, value in row.items() if name != "position" or not _has_position(row)}
    taken = [name for name in position.columns if name in spread]
    if taken:
        rule = "a row gives its position once, as a list or in its columns"
        raise InputError(f"row={dict(row)!r}", rule, f"leave out 'position' or {taken[0]!r}")
    values = (*(None,) * 3, *row.get("position", ()))[-len(position.columns) :]
    return {**spread, **dict(zip(position.columns, values, strict=True))}


def _check_columns(spec: Entry, rows: list[Row]) -> None:
    """Refuses rows if none of them has a column that the specification reads: a likely typing error."""
    known = {name for row in rows for name in row}
    missing = [name for name in spec.columns_read if name not in known]
    if rows and missing:
        rule = f"the specification reads {list(spec.columns_read)}"
        raise InputError(
            f"no row has a column {missing[0]!r}", rule, "give it in a row, or null in all of them"
        )
