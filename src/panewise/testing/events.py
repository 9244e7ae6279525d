"""The events of a test: validates them and makes the script that a runtime plays."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, Final, TypeAlias

from panewise.chrono import instant_us
from panewise.errors import InputError, SpecError
from panewise.families import INPUT, WRONG_WORDS
from panewise.spec import (
    Entry,
    Inputs,
    Position,
    Specification,
    StreamTime,
    counted,
    gap_columns,
    input_columns,
    parts,
    row_driven,
)
from panewise.spec.codec import from_dict, to_dict
from panewise.spec.codec.same_aggregates import AddedAggregates
from panewise.spec.column_types import Type
from panewise.spec.column_values import MISFIT, ColumnType, is_long
from panewise.spec.evolution import continuation
from panewise.spec.operators.policy.events import name_of
from panewise.spec.protocol import is_specification
from panewise.testing.columns import Row, infer, inferred
from panewise.testing.families import parts_for_tests

Batch: TypeAlias = Mapping[str, tuple[Row, ...]]  # the rows of an "add", by input
_INPUT: Final = "input"  # the field that names an input
_FIELDS = {
    "add": {"rows"},
    "watermark": {"to"},
    "clock": {"to"},
    "restart": set[str](),
    "finish": set[str](),
    "change": {"spec"},
}
_ADDED: Final = "added_aggregates"  # the field of a "change" that says what added aggregates are


@dataclass(frozen=True)
class Event:
    """One event.

    Attributes:
        rows: the rows of an "add" by input; more than one input if the rows of several are one batch.
        source: the input that reports a "watermark", if the operator has several; None: all of them.
        port: the input of a "finish" that ends only one input; None: all inputs.
        spec: the specification of a "change".
        added_aggregates: as in :func:`panewise.spec.evolution.continuation`.
        marked: the specification of a "change", with marks on added aggregates.
    """

    op: str
    rows: Batch = field(default_factory=dict)
    to: int | None = None
    source: str | None = None
    partition: Mapping[str, Any] = field(default_factory=dict)
    port: str | None = None
    spec: Specification | None = None
    added_aggregates: AddedAggregates = "null"
    marked: Specification | None = None


@dataclass(frozen=True)
class Script:
    """All that a runtime needs to play events.

    Args:
        events: the events; in their `rows` source positions are in columns, and event times in microseconds.
        given: the rows as the caller gave them, for each event.
        progress: whether each output has the progress after the event. Only the oracle has it.
    """

    spec: Specification
    types: Mapping[str, Mapping[str, str]]
    events: tuple[Event, ...]
    given: tuple[Batch, ...]
    windows: bool = False
    progress: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ports(self) -> Mapping[str, Entry]:
        """The inputs of the operator."""
        return self.spec.ports

    @property
    def port_field(self) -> str | None:
        """The field by which events and outputs name an input; None if the operator has one input."""
        return _INPUT if len(self.ports) > 1 else None


def script(
    spec: Specification | Mapping[str, Any],
    events: Iterable[Mapping[str, Any]],
    types: Mapping[str, str] | None = None,
    **options: Any,
) -> Script:
    """Validates events and returns a script that a runtime can play.

    Args:
        options: the fields `windows`, `progress` and `options` of the script.

    Raises:
        InputError: if an event is malformed or not possible, if no row has a column that the specification
            reads, and for types of unknown columns.
        SpecError: if `spec` is no specification, its dict form is not valid, or a column has a type that the
            specification cannot use (semantics 24.19).
    """
    whole = specification(spec)
    own = parts_for_tests(whole)
    names = None if set(whole.ports) == {INPUT} else tuple(whole.ports)
    known = {**_FIELDS, **own.ops}
    read = tuple(_event(event, f"events[{n}]", known, names) for n, event in enumerate(events))
    _check_end(read, own.ops)
    _check_watermarks(whole, read)
    _check_policies(whole, read)
    batches = tuple(event.rows for event in read)
    whole, read = _with_positions(whole, read)
    rows = {port: _rows_of(read, port) for port in whole.ports}
    seen = {port: {name for row in port_rows for name in row} for port, port_rows in rows.items()}
    whole = parts(whole).for_columns(whole, seen)
    types = {} if types is None else types
    by_port: Any = {INPUT: types} if names is None else types
    read = _continued(whole, read, seen)
    by_port = _shared(
        own.same_types(whole), rows, {port: dict(by_port.get(port, {})) for port in whole.ports}
    )
    changed = [event.spec for event in read if event.spec is not None]
    columns = {port: _columns(whole, port, rows[port], by_port[port], read) for port in whole.ports}
    for spec_after in changed:
        columns = {port: _columns(spec_after, port, rows[port], columns[port], read) for port in whole.ports}
    _check_partitions(columns, read)
    typed = {port: {name: Type(text) for name, text in of.items()} for port, of in columns.items()}
    for each in (whole, *changed):
        parts(each).check_types(each, typed)
    return Script(whole, columns, read, batches, **options)


def _continued(
    whole: Specification, read: tuple[Event, ...], seen: Mapping[str, set[str]]
) -> tuple[Event, ...]:
    """Returns the events with the specifications of changes as they fit the rows, also with their marks."""
    current, events = whole, list[Event]()
    for event in read:
        changed = event
        if event.spec is not None:
            spec: Any = event.spec
            if whole.position is not None and spec.position is None:
                spec = parts(spec).with_position(spec, whole.position)
            spec = parts(spec).for_columns(spec, seen)
            current = continuation(to_dict(current), spec, event.added_aggregates).spec
            changed = replace(event, spec=spec, marked=current)
        events.append(changed)
    return tuple(events)


def specification(spec: Any) -> Specification:
    """Returns the specification of a value that a test gives: a specification, or its dict form."""
    whole: Specification = from_dict(spec) if isinstance(spec, Mapping) else spec
    if not is_specification(whole):
        rule = "a test plays a specification, or its dict form"
        raise SpecError(f"spec={spec!r}", rule, "give one such as WindowOperator(...)")
    return whole


def _input(name: Any, names: tuple[str, ...], where: str) -> str:
    """Returns the name of an input, which is one of several."""
    if name not in names:
        rule = f"with several inputs an event names its input, one of {list(names)}"
        raise InputError(f"{where}={name!r}", rule, "name one of these")
    return str(name)


def _with_positions(whole: Specification, read: tuple[Event, ...]) -> tuple[Specification, tuple[Event, ...]]:
    """Returns the specification with a position if rows have one, and rows with it in columns of their own.

    The event times of the rows are whole microseconds.
    """
    for port in whole.ports:
        positions = [row["position"] for row in _rows_of(read, port) if _has_position(row)]
        if positions:
            whole = _with_position(whole, port, positions)
            position = whole.ports[port].position
            read = tuple(_mapped(event, port, partial(_spread, position=position)) for event in read)
    for port, entry in whole.ports.items():
        read = tuple(_mapped(event, port, partial(_timed, names=_times(entry))) for event in read)
    return whole, read


def _mapped(event: Event, port: str, change: Callable[[Row], Row]) -> Event:
    """Returns the event with other rows of an input."""
    if port not in event.rows:
        return event
    return replace(event, rows={**event.rows, port: tuple(map(change, event.rows[port]))})


def _rows_of(read: tuple[Event, ...], port: str) -> list[Row]:
    return [row for event in read for row in event.rows.get(port, ())]


def _columns(
    whole: Specification, port: str, rows: list[Row], types: Mapping[str, str], read: tuple[Event, ...]
) -> dict[str, str]:
    """Returns the types of the columns of a port."""
    entry = whole.ports[port]
    _check_columns(entry, rows, types)
    offset = [entry.position.offset] if entry.position else []
    whole_numbers = [*entry.time_columns, *gap_columns(entry.window), *offset]
    strings = dict.fromkeys(input_columns(entry.watermark), "string")
    return infer(
        [*rows, *_of_unknown(read, rows)],
        strings | dict(types),
        entry.columns_read,
        whole_numbers,
        parts(whole).boolean_columns(whole),
    )


def _shared(
    same: Iterable[Mapping[str, str]], rows: Mapping[str, list[Row]], types: dict[str, dict[str, str]]
) -> dict[str, dict[str, str]]:
    """Returns the types of each input, with those of columns without any value from another input.

    Args:
        same: columns by input that have one type.
    """
    for columns in same:
        known = [types[port].get(name) or inferred(rows[port], name) for port, name in columns.items()]
        kind = next((known_kind for known_kind in known if known_kind is not None), None)
        for (port, name), known_kind in zip(columns.items(), known, strict=True):
            if known_kind is None and kind is not None:
                types[port][name] = kind
    return types


def _times(spec: Entry) -> tuple[str, ...]:
    """Returns the column of event times, even if it is read only if the input has it (semantics 8.5)."""
    return spec.time_columns or (("event_time",) if spec.time == "event" else ())


def _event(event: Any, where: str, known: Mapping[str, set[str]], names: tuple[str, ...] | None) -> Event:
    """Returns an event. `names` are the inputs of an operator that has several, None if it has one."""
    op = event.get("op") if isinstance(event, Mapping) else None
    if not isinstance(op, str) or op not in known:
        raise InputError(
            f"{where}={event!r}", f"an event has an op of {sorted(known)}", "give {'op': ..., ...}"
        )
    _check_fields(event, op, known[op], where, _port_fields(event, op, names))
    if op == "change":
        return Event(op, spec=specification(event["spec"]), added_aggregates=event.get(_ADDED, "null"))
    if op == "evict":
        return Event(op, partition=_partition(event["partition"], f"{where}.partition"))
    if op == "add":
        return Event(op, rows=_batch(event, where, names))
    to = _instant(event["to"], f"{where}.to") if "to" in event else None
    if to is not None and not is_long(to):
        rule = "an instant is a whole number of microseconds of 64 bits, or a datetime"
        raise InputError(f"{where}.to={to!r}", rule, "give an int, or a datetime with a time zone")
    if names is None:
        return Event(op, to=to, source=event.get("input") if op == "watermark" else None)
    port = _input(event[_INPUT], names, f"{where}.{_INPUT}") if _INPUT in event else None
    return Event(op, to=to, source=port) if op == "watermark" else Event(op, to=to, port=port)


def _port_fields(event: Mapping[str, Any], op: str, names: tuple[str, ...] | None) -> set[str]:
    """Returns the further field that an event may have: mostly the one that names an input."""
    if op == "change":
        return {_ADDED}
    if names is None:
        return {_INPUT} if op == "watermark" else set()
    by_input = op == "add" and isinstance(event.get("rows"), Mapping)
    return {_INPUT} if op in ("add", "watermark", "finish") and not by_input else set()


def _batch(event: Mapping[str, Any], where: str, names: tuple[str, ...] | None) -> Batch:
    """Returns the rows of an "add" by input: of one input, which is named, or of several in one batch."""
    rows = event["rows"]
    if names is None:
        return {INPUT: _rows(rows, f"{where}.rows")}
    if not isinstance(rows, Mapping):
        return {_input(event.get(_INPUT), names, f"{where}.{_INPUT}"): _rows(rows, f"{where}.rows")}
    if not rows:
        rule = "rows of several inputs are given by input"
        raise InputError(f"{where}.rows={rows!r}", rule, f"give {{{names[0]!r}: [...]}}")
    for port in rows:
        _input(port, names, f"{where}.rows: {_INPUT}")
    return {port: _rows(rows[port], f"{where}.rows[{port!r}]") for port in names if port in rows}


def _check_fields(
    event: Mapping[str, Any], op: str, wanted: set[str], where: str, optional: set[str]
) -> None:
    """Checks that an event has exactly the wanted fields, and no others than the optional ones."""
    for name in WRONG_WORDS & set(event):
        rule = f"an event names an input in the field {_INPUT!r}"
        remedy = f"say {_INPUT!r}: {event[name]!r}"
        raise InputError(f"{where} has a field {name!r}: {dict(event)!r}", rule, remedy)
    rule = f"the fields of {op!r} are {sorted(wanted)}"
    missing = sorted(wanted - set(event))
    if missing:
        raise InputError(
            f"{where} lacks the field {missing[0]!r}: {dict(event)!r}", rule, f"give {missing[0]!r}"
        )
    others = sorted(set(event) - {"op", *wanted, *optional}, key=str)
    if others:
        raise InputError(
            f"{where} has a field {others[0]!r}: {dict(event)!r}", rule, f"leave {others[0]!r} out"
        )


def _instant(value: Any, where: str) -> Any:
    """Returns a datetime as microseconds, and any other value as it is."""
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


def _check_end(events: tuple[Event, ...], own: Mapping[str, Any]) -> None:
    ended = False
    for event in events:
        ended = ended or event.op == "finish"
        if event.op in own and ended:
            rule = "at the end of input all partitions are purged (semantics 10.12)"
            raise InputError(f"{event.op!r} after finish", rule, "do it before finish")


def _check_policies(spec: Specification, events: tuple[Event, ...]) -> None:
    ops = [event.op for event in events]
    if "reset" in ops and "checkpoint" not in ops[: ops.index("reset")]:
        raise InputError(
            "a reset without a checkpoint",
            "a reset returns to the last checkpoint",
            "make a checkpoint before it",
        )
    for event in events:
        if event.op == "evict":
            name_of(event.partition, spec.keys, f"an evict of {dict(event.partition)}")


def _check_partitions(types: Mapping[str, Mapping[str, str]], events: tuple[Event, ...]) -> None:
    for event in events:
        for name, value in event.partition.items():
            kind = types[INPUT][name]
            if ColumnType.parse(kind).fit(value) is MISFIT:
                fault = f"an evict of {dict(event.partition)}"
                raise InputError(fault, f"{name} is of the type {kind}", "give a value of this type")


def _partition(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not value:
        raise InputError(
            f"{where}={value!r}", "a partition is named by its columns", "give a dict such as {'k': 'a'}"
        )
    return dict(value)


def _check_watermarks(spec: Specification, events: tuple[Event, ...]) -> None:
    moves = [event for event in events if event.op == "watermark"]
    if not moves:
        return
    if len(spec.ports) > 1:
        for event in moves:
            for port in spec.ports if event.source is None else (event.source,):
                _check_outside(spec.ports[port], port)
        return
    [entry] = spec.ports.values()
    _check_outside(entry)
    names = entry.watermark.names if isinstance(entry.watermark, Inputs) else (None,)
    for event in moves:
        if event.source not in names:
            several = f"the inputs are {list(names)}"
            rule = several if names != (None,) else "the operator has one input, without a name"
            remedy = "name the input as in watermark=Inputs([...])"
            raise InputError(f"a watermark of the input {event.source!r}", rule, remedy)


def _check_outside(entry: Entry, side: str | None = None) -> None:
    """Refuses a watermark from outside where the operator, or the `side` of two, makes its own."""
    if counted(entry.window):
        rule = "the watermark of windows of rows is the number of rows received (semantics 8.6)"
        remedy = "add rows"
    elif side is not None and entry.time == "processing":
        rule = "rows of a side without event times have no watermark (semantics 36.13)"
        remedy = "leave it out"
    elif entry.time == "processing":
        rule = "with time='processing' the watermark is processing time (semantics 6.8)"
        remedy = "give {'op': 'clock', 'to': ...}"
    elif isinstance(entry.watermark, StreamTime):
        rule, remedy = "with StreamTime rows drive the watermark (semantics 12.8, 12.10)", "add rows"
    elif row_driven(entry.watermark) is not None:
        rule = "with Inputs(column=...) rows drive the watermarks of their inputs (semantics 12.9)"
        remedy = "add rows"
    else:
        return
    which = "" if side is None else f", of {side!r}"
    raise InputError(f"a watermark from outside{which}", rule, remedy)


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


def _with_position(spec: Specification, port: str, positions: list[Sequence[Any]]) -> Specification:
    """Returns the specification with a declared position: its own, or one for the positions of the rows.

    With several inputs the specification declares it itself.
    """
    declared, lengths = spec.ports[port].position, {len(position) for position in positions}
    if declared is None and port != INPUT:
        rule = "with several inputs rows have a position only if the specification declares one for theirs"
        raise InputError(f"a position in rows of {port!r}", rule, "declare it, or leave 'position' out")
    allowed = {2, 3} if declared is None or declared.source is not None else {2}
    if not lengths <= allowed:
        rule = (
            "a position is [partition, offset], or [source, partition, offset] where a source column "
            "is declared"
        )
        raise InputError(f"positions of {sorted(lengths)} items", rule, "give such lists")
    if declared is not None:
        return spec
    source = "source" if 3 in lengths else None
    positioned: Specification = parts(spec).with_position(spec, Position(source=source))
    return positioned


def _spread(row: Row, position: Position | None) -> Row:
    """Returns the row with its source position in the columns that the specification declares."""
    assert position is not None
    spread = {name: value for name, value in row.items() if name != "position" or not _has_position(row)}
    duplicates = [name for name in position.columns if name in spread]
    if duplicates:
        rule = "a row gives its position once, as a list or in its columns"
        raise InputError(f"row={dict(row)!r}", rule, f"leave out 'position' or {duplicates[0]!r}")
    values = (*(None,) * 3, *row.get("position", ()))[-len(position.columns) :]
    return {**spread, **dict(zip(position.columns, values, strict=True))}


def _check_columns(spec: Entry, rows: list[Row], types: Mapping[str, str]) -> None:
    """Refuses rows if neither they nor `types` have a column that the specification reads."""
    known = {*types, *(name for row in rows for name in row)}
    missing = [name for name in spec.columns_read if name not in known]
    if rows and missing:
        rule = f"the specification reads {list(spec.columns_read)}"
        raise InputError(
            f"no row has a column {missing[0]!r}", rule, "give it in a row, null in all of them, or in types"
        )
