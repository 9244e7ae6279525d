"""An event of a test, and how it is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeAlias

from panewise.chrono import instant_us
from panewise.errors import InputError, SpecError
from panewise.families import INPUT, WRONG_WORDS
from panewise.spec import Specification
from panewise.spec.codec import from_dict
from panewise.spec.codec.same_aggregates import AddedAggregates
from panewise.spec.column_values import is_long
from panewise.spec.protocol import is_specification
from panewise.testing.columns import Row

Batch: TypeAlias = Mapping[str, tuple[Row, ...]]  # the rows of an "add", by input
INPUT_FIELD: Final = "input"  # the field that names an input
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


def read_event(event: Any, where: str, known: Mapping[str, set[str]], names: tuple[str, ...] | None) -> Event:
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
    to = read_instant(event["to"], f"{where}.to") if "to" in event else None
    if to is not None and not is_long(to):
        rule = "an instant is a whole number of microseconds of 64 bits, or a datetime"
        raise InputError(f"{where}.to={to!r}", rule, "give an int, or a datetime with a time zone")
    if names is None:
        return Event(op, to=to, source=event.get("input") if op == "watermark" else None)
    port = _input(event[INPUT_FIELD], names, f"{where}.{INPUT_FIELD}") if INPUT_FIELD in event else None
    return Event(op, to=to, source=port) if op == "watermark" else Event(op, to=to, port=port)


def _port_fields(event: Mapping[str, Any], op: str, names: tuple[str, ...] | None) -> set[str]:
    """Returns the further field that an event may have: mostly the one that names an input."""
    if op == "change":
        return {_ADDED}
    if names is None:
        return {INPUT_FIELD} if op == "watermark" else set()
    by_input = op == "add" and isinstance(event.get("rows"), Mapping)
    return {INPUT_FIELD} if op in ("add", "watermark", "finish") and not by_input else set()


def _batch(event: Mapping[str, Any], where: str, names: tuple[str, ...] | None) -> Batch:
    """Returns the rows of an "add" by input: of one input, which is named, or of several in one batch."""
    rows = event["rows"]
    if names is None:
        return {INPUT: _rows(rows, f"{where}.rows")}
    if not isinstance(rows, Mapping):
        return {_input(event.get(INPUT_FIELD), names, f"{where}.{INPUT_FIELD}"): _rows(rows, f"{where}.rows")}
    if not rows:
        rule = "rows of several inputs are given by input"
        raise InputError(f"{where}.rows={rows!r}", rule, f"give {{{names[0]!r}: [...]}}")
    for port in rows:
        _input(port, names, f"{where}.rows: {INPUT_FIELD}")
    return {port: _rows(rows[port], f"{where}.rows[{port!r}]") for port in names if port in rows}


def _check_fields(
    event: Mapping[str, Any], op: str, wanted: set[str], where: str, optional: set[str]
) -> None:
    """Checks that an event has exactly the wanted fields, and no others than the optional ones."""
    for name in WRONG_WORDS & set(event):
        rule = f"an event names an input in the field {INPUT_FIELD!r}"
        remedy = f"say {INPUT_FIELD!r}: {event[name]!r}"
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


def read_instant(value: Any, where: str) -> Any:
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


def _partition(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not value:
        raise InputError(
            f"{where}={value!r}", "a partition is named by its columns", "give a dict such as {'k': 'a'}"
        )
    return dict(value)


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
