"""Converts specifications of policy windows to plain dicts and back.

The field `stream_window` distinguishes these dicts from those of other specifications. A listener is written
as its name and outputs. When it is read, it is looked up by its name among the listeners of the caller.
"""

from collections.abc import Mapping
from dataclasses import fields
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spec.codec.aggregates import aggregates_from, plain_aggregate, position_from
from panewise.spec.codec.users import ANY_USER, AnyListener
from panewise.spec.fields import (
    Reader,
    duration,
    flag,
    kind_of,
    members_of,
    names,
    or_null,
    text,
    typed,
    whole,
    wrong,
)
from panewise.spec.operators.policy.listener import WindowListener
from panewise.spec.operators.policy.operator import StreamWindow
from panewise.spec.operators.policy.policies import (
    CountPolicy,
    DeltaPolicy,
    PartitionAge,
    PartitionCount,
    PunctPolicy,
    TimePolicy,
    TupleCount,
)
from panewise.spec.position import Position
from panewise.spec.protocol import Users

KIND: Final = "stream_window"
_POLICIES: dict[str, type] = {kind.kind: kind for kind in (CountPolicy, TimePolicy, DeltaPolicy, PunctPolicy)}
_PARTITION_POLICIES: dict[str, type] = {
    kind.kind: kind for kind in (PartitionAge, PartitionCount, TupleCount)
}


def reads(document: Mapping[str, Any]) -> bool:
    """Returns whether the dict has the kind of policy windows."""
    return KIND in document


def to_dict(spec: StreamWindow) -> dict[str, Any]:
    """Returns the specification as a dict of plain values, with every field. Durations are microseconds.

    >>> from panewise.streamwindow import StreamWindow, count
    >>> document = to_dict(StreamWindow.tumbling(count(3)))
    >>> document["stream_window"], document["evict"]
    ('tumbling', {'kind': 'count', 'n': 3})
    """
    return {KIND: spec.kind} | {
        field.name: plain_policy(getattr(spec, field.name))
        for field in fields(StreamWindow)
        if field.name != "kind"
    }


def plain_policy(value: Any) -> Any:
    """Returns a policy, or another value of a specification of policy windows, as plain values."""
    match value:
        case DeltaPolicy(column=column, amount=Duration() as amount):
            return {"kind": value.kind, "column": column, "amount": {"us": amount.us}}
        case (
            CountPolicy()
            | TimePolicy()
            | DeltaPolicy()
            | PunctPolicy()
            | PartitionAge()
            | PartitionCount()
            | TupleCount()
        ):
            return {
                "kind": value.kind,
                **{field.name: plain_policy(getattr(value, field.name)) for field in fields(value)},
            }
        case Duration():
            return value.us
        case Decimal():
            return str(value)
        case tuple():
            return [plain_aggregate(item) if hasattr(item, "fn") else item for item in value]
        case WindowListener():
            return {"name": value.name, "outputs": dict(value.outputs)}
        case Position():
            return {field.name: getattr(value, field.name) for field in fields(value)}
    return value


def from_dict(document: Mapping[str, Any], users: Users) -> StreamWindow:
    """Returns the specification that a dict describes. A missing `null_keys` means False (semantics 15.4).

    Raises:
        SpecError: for a field, kind or type that is not known; for an unknown user aggregate or listener; and
            as the constructor does.
    """
    readers = _readers(users)
    members = members_of(document, "", set(readers), required=(KIND, "evict"))
    values = {name: readers[name](value, name) for name, value in members.items()}
    return StreamWindow(kind=values.pop(KIND), **{"null_keys": False, **values})


def complete(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the dict with the defaults of the fields that it leaves out."""
    return to_dict(from_dict(document, ANY_USER))


def _readers(users: Users) -> dict[str, Reader]:
    return {
        KIND: text,
        "evict": policy_from(_POLICIES),
        "trigger": or_null(policy_from(_POLICIES)),
        "partition_eviction": or_null(policy_from(_PARTITION_POLICIES)),
        **dict.fromkeys(("partition_by", "order"), names),
        **dict.fromkeys(("events", "columns"), or_null(names)),
        "aggregates": lambda value, where: aggregates_from(value, users["aggregates"], where),
        "listener": or_null(lambda value, where: _listener(value, where, users["listeners"])),
        **dict.fromkeys(("only_when_full", "skip_unchanged", "flush_on_final", "null_keys"), flag),
        "position": or_null(position_from),
    }


def policy_from(kinds: dict[str, type]) -> Reader:
    """Returns a reader of policies of these kinds."""

    def read(value: Any, where: str) -> Any:
        kind = kind_of(value, where, kinds)
        parts = {field.name: _PARTS[field.name] for field in fields(kinds[kind])}
        members = members_of(value, where, {"kind", *parts}, tuple(parts))
        return kinds[kind](
            **{name: read_part(members[name], f"{where}.{name}") for name, read_part in parts.items()}
        )

    return read


def _amount(value: Any, where: str) -> Any:
    """Reads the amount of a delta: a number, a string for a decimal, or {"us": N} for a duration."""
    if isinstance(value, Mapping):
        return duration(members_of(value, where, {"us"}, required=("us",))["us"], f"{where}.us")
    wanted = "a number, a decimal as a string, or a duration as {'us': N}"
    if not isinstance(value, str):
        return typed((int, float), wanted)(value, where)
    try:
        return Decimal(value)
    except InvalidOperation:
        raise wrong(where, value, wanted) from None


_PARTS: dict[str, Reader] = {"n": whole, "duration": duration, "column": text, "amount": _amount}


def _listener(value: Any, where: str, listeners: Mapping[str, Any]) -> WindowListener:
    any_listener = isinstance(listeners, AnyListener)  # a placeholder cannot say what its outputs are
    members = members_of(
        value,
        where,
        {"name", "outputs"},
        required=("name", "outputs") if any_listener else ("name",),
    )
    name = text(members["name"], f"{where}.name")
    if any_listener:
        return WindowListener(object, name=name, outputs=members["outputs"])
    if name not in listeners:
        known = f"the listeners given are {sorted(listeners)}"
        raise SpecError(f"{where}.name={name!r}", known, f"give user_listeners={{{name!r}: ...}}")
    found: WindowListener = listeners[name]
    if dict(found.outputs) != members.get("outputs", dict(found.outputs)):
        rule = f"the outputs of the listener given as {name!r} are {dict(found.outputs)}"
        raise SpecError(f"{where}.outputs={members['outputs']!r}", rule, "leave outputs out, or give these")
    return found
