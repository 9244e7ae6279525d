"""The events of a test: validates them and makes the script that a runtime plays."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from panewise.errors import InputError
from panewise.families import INPUT
from panewise.spec import Entry, Position, Specification, gap_columns, input_columns, parts
from panewise.spec.codec import to_dict
from panewise.spec.column_expressions import check_given
from panewise.spec.column_types import Type
from panewise.spec.evolution import continuation
from panewise.testing.columns import Row, infer, inferred
from panewise.testing.event import INPUT_FIELD, Batch, Event, read_event, read_instant, specification
from panewise.testing.event_checks import check_end, check_partitions, check_policies, check_watermarks
from panewise.testing.families import parts_for_tests

_FIELDS = {
    "add": {"rows"},
    "watermark": {"to"},
    "clock": {"to"},
    "restart": set[str](),
    "finish": set[str](),
    "change": {"spec"},
}


@dataclass(frozen=True)
class Script:
    """All that a runtime needs to play events.

    Args:
        events: the events; in their `rows` source positions are in columns, and event times in microseconds.
        added: the rows as the caller gave them, for each event.
        progress: whether each output has the progress after the event. Only the oracle has it.
    """

    spec: Specification
    types: Mapping[str, Mapping[str, str]]
    events: tuple[Event, ...]
    added: tuple[Batch, ...]
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
        return INPUT_FIELD if len(self.ports) > 1 else None


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
            specification cannot use (semantics 24.19), or no row has the column of an expression.
    """
    whole = specification(spec)
    own = parts_for_tests(whole)
    if not isinstance(events, Iterable):
        raise InputError(f"events={events!r}", "events are a list of dicts", "give a list")
    names = None if set(whole.ports) == {INPUT} else tuple(whole.ports)
    known = {**_FIELDS, **own.ops}
    read = tuple(read_event(event, f"events[{n}]", known, names) for n, event in enumerate(events))
    check_end(read, own.ops)
    check_watermarks(whole, read)
    check_policies(whole, read)
    batches = tuple(event.rows for event in read)
    whole, read = _with_positions(whole, read)
    rows = {port: _rows_of(read, port) for port in whole.ports}
    seen = {port: {name for row in port_rows for name in row} for port, port_rows in rows.items()}
    whole = parts(whole).for_columns(whole, seen)
    types = {} if types is None else types
    by_port: Any = {INPUT: types} if names is None else types
    _check_types(types, *(by_port.values() if isinstance(types, Mapping) else ()))
    read = _continued(whole, read, seen)
    by_port = _shared(
        own.same_types(whole), rows, {port: dict(by_port.get(port, {})) for port in whole.ports}
    )
    changed = [event.spec for event in read if event.spec is not None]
    columns = {port: _columns(whole, port, rows[port], by_port[port], read) for port in whole.ports}
    for spec_after in changed:
        columns = {port: _columns(spec_after, port, rows[port], columns[port], read) for port in whole.ports}
    check_partitions(columns, read)
    typed = {port: {name: Type(text) for name, text in of.items()} for port, of in columns.items()}
    for each in (whole, *changed):
        parts(each).check_types(each, typed)
    return Script(whole, columns, read, batches, **options)


def _check_types(*types: Any) -> None:
    """Refuses what is no mapping of the names of columns to their types."""
    for mapping in types:
        if not isinstance(mapping, Mapping):
            rule = "types are a dict of columns and their types; for several inputs one for each"
            raise InputError(f"types={mapping!r}", rule, 'give types such as {"v": "bigint"}')


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


def _timed(row: Row, names: Sequence[str]) -> Row:
    """Returns the row with its event time in microseconds."""
    return {name: read_instant(value, name) if name in names else value for name, value in row.items()}


def _of_unknown(events: tuple[Event, ...], rows: list[Row]) -> list[Row]:
    """Returns, as rows, the values that partitions to evict have in columns without a value in any row."""
    known = {name for row in rows for name, value in row.items() if value is not None}
    return [{name: value for name, value in event.partition.items() if name not in known} for event in events]


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
        check_given(missing[0])
        rule = f"the specification reads {list(spec.columns_read)}"
        raise InputError(
            f"no row has a column {missing[0]!r}", rule, "give it in a row, null in all of them, or in types"
        )
