"""Converts window operators to plain dicts and back.

Durations and instants are whole microseconds.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import partial
from typing import Any, Final

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.aggregates.user_functions import UserFunctions
from panewise.spec.codec.aggregates import aggregates_from, plain_aggregate, position_from
from panewise.spec.codec.measures import plain_measure, read_gap, read_measure
from panewise.spec.codec.users import ANY_USER
from panewise.spec.codec.watermarks import plain_watermark, watermark_from
from panewise.spec.evictors import CountEvictor, DeltaEvictor, TimeEvictor
from panewise.spec.fields import (
    Reader,
    duration,
    flag,
    kind_of,
    members_of,
    names,
    number,
    or_null,
    text,
    typed,
    whole,
    wrong,
)
from panewise.spec.operators.panes import default_accumulation
from panewise.spec.operators.windows import UNLIMITED, WindowOperator, default_event_time
from panewise.spec.position import Position
from panewise.spec.protocol import Users
from panewise.spec.triggers.composite import (
    DEFAULT_TRIGGER,
    AfterAll,
    AfterAny,
    AfterEach,
    AfterWatermark,
    OrFinally,
    Repeatedly,
    default_on_time,
)
from panewise.spec.triggers.simple import (
    AfterCount,
    AfterEventTime,
    AfterEventTimeDelay,
    AfterProcessingTime,
    AfterSilence,
    Always,
    Every,
    Never,
    OnDelta,
    OnPunctuation,
)
from panewise.spec.watermarks import FixedLag, Inputs, StreamTime
from panewise.spec.windows.custom import Custom
from panewise.spec.windows.kinds import Calendar, Cumulating, Global, Hopping, Session, Tumbling
from panewise.spec.windows.measure import Rows
from panewise.spec.windows.sliding import Sliding

# The values of fields that a document leaves out, where these are not the defaults of the constructor.
_LEFT_OUT: Final[dict[str, Any]] = {"null_keys": False}
THEN: Final = "then"  # the field of the stages of a chain; a window operator has none or an empty list
_WINDOWS: dict[str, type] = {
    kind.kind: kind for kind in (Tumbling, Hopping, Cumulating, Calendar, Session, Sliding, Custom, Global)
}
_LEAVES = (
    *(AfterCount, AfterProcessingTime, AfterSilence, Every, AfterEventTime, AfterEventTimeDelay),
    *(OnPunctuation, OnDelta, Always, Never),
)
_COMPOSITES = (AfterWatermark, Repeatedly, AfterAny, AfterAll, AfterEach, OrFinally)
_TRIGGERS: dict[str, type] = {kind.kind: kind for kind in (*_LEAVES, *_COMPOSITES)}
_EVICTORS: dict[str, type] = {kind.kind: kind for kind in (CountEvictor, TimeEvictor, DeltaEvictor)}


def reads(document: Mapping[str, Any]) -> bool:
    """Returns True: a document without the mark of another family is of this one."""
    return True


def to_dict(spec: WindowOperator) -> dict[str, Any]:
    """Returns the operator as a dict of plain values, with every field.

    >>> from panewise import functions as F
    >>> document = to_dict(WindowOperator(window=Tumbling(10), aggregates=[F.sum("v").alias("total")]))
    >>> document["window"], document["aggregates"]
    ({'kind': 'tumbling', 'size': 10, 'origin': 0}, [{'fn': 'sum', 'column': 'v', 'name': 'total'}])
    """
    return {field.name: plain(getattr(spec, field.name)) for field in fields(WindowOperator)}


def from_dict(document: Mapping[str, Any], users: Users) -> WindowOperator:
    """Returns the operator that a dict describes."""
    return WindowOperator(**arguments(document, users))


def complete(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the dict with the defaults of the fields that it leaves out.

    No operator is built for this, so its warnings are not repeated.
    """
    given = arguments(document, ANY_USER)
    accumulation = default_accumulation(given["window"])
    return completed(given, accumulation)


def completed(given: Mapping[str, Any], accumulation: str) -> dict[str, Any]:
    """Returns the arguments of the constructor as plain values, with the defaults of those left out."""
    known = {
        "accumulation": accumulation,
        "on_time": default_on_time(given.get("trigger", DEFAULT_TRIGGER)),
        **given,
    }
    known["event_time"] = known.get("event_time") or default_event_time(known["window"])
    return {
        name: plain(known.get(name, default))
        for name, default in _defaults(WindowOperator).items()
        if name in FIELDS
    }


def plain(value: Any) -> Any:
    """Returns the value of a field as lists, dicts, texts and numbers."""
    if isinstance(value, (Duration, Rows)):
        return plain_measure(value)
    if isinstance(value, UserFunctions):
        return value.name
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    if isinstance(value, Aggregate):
        return plain_aggregate(value)
    if isinstance(value, Position):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, (FixedLag, StreamTime, Inputs)):
        return plain_watermark(value)
    if type(value) in (*_WINDOWS.values(), *_TRIGGERS.values(), *_EVICTORS.values()):
        return {"kind": value.kind, **{name: plain(getattr(value, name)) for name in _parts_of(type(value))}}
    return value


def _parts_of(kind: type) -> list[str]:
    """Returns the fields that are written. A function is not written."""
    return [field.name for field in fields(kind) if field.name != "function"]


def arguments(document: Any, users: Users) -> dict[str, Any]:
    """Returns the arguments of the constructor that a dict contains. It may also have stages."""
    members = members_of(document, "", {"panewise", *FIELDS, THEN}, required=("window", "aggregates"))
    values = {
        name: FIELDS[name](value, name)
        for name, value in members.items()
        if name in FIELDS and name != "aggregates"
    }
    if isinstance(values["window"], Custom):
        values["window"] = with_function(values["window"], users["windows"], "window")
    return {**_LEFT_OUT, **values, "aggregates": aggregates_from(members["aggregates"], users["aggregates"])}


def with_function(window: Custom, windows: Mapping[str, Any], where: str) -> Custom:
    """Returns the window with the function that is given for its name. `where` names the window in errors.

    Raises:
        SpecError: if no function is given.
    """
    if window.name not in windows:
        known = f"the user-defined windows given are {sorted(windows)}"
        raise SpecError(f"{where}.name={window.name!r}", known, f"give user_windows={{{window.name!r}: ...}}")
    return replace(window, function=windows[window.name].function)


def _merge(value: Any, where: str) -> Any:
    return value if value == "touching" else typed(bool, "true, false or 'touching'")(value, where)


def _lateness(value: Any, where: str) -> Any:
    return (
        value
        if value == UNLIMITED
        else Duration(typed(int, f"a whole number of microseconds, or {UNLIMITED!r}")(value, where))
    )


def _delta(value: Any, where: str) -> bool | tuple[str, ...]:
    if not isinstance(value, (bool, list, tuple)):
        raise wrong(where, value, "true, false or a list of column names")
    return value if isinstance(value, bool) else names(value, where)


def _kind(kinds: dict[str, type]) -> Reader:
    """Returns a reader of windows, triggers or evictors. `kind` names the class, which defines the fields."""

    def read(value: Any, where: str) -> Any:
        kind = kind_of(value, where, kinds)
        # `len` is a placeholder: _with_function replaces it by the function of this name.
        made: Callable[..., Any] = partial(Custom, len) if kinds[kind] is Custom else kinds[kind]
        parts = {name: _PARTS[name] for name in _parts_of(kinds[kind])}
        required = tuple(
            name for name, default in _defaults(made).items() if default is inspect.Parameter.empty
        )
        members = members_of(value, where, {"kind", *parts}, required)
        values = {name: parts[name](members[name], f"{where}.{name}") for name in parts if name in members}
        return made(*values.pop("triggers", ()), **values)

    return read


def _trigger(value: Any, where: str) -> Any:
    return _kind(_TRIGGERS)(value, where)


def _triggers(value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise wrong(where, value, "a list of triggers")
    return tuple(_trigger(part, f"{where}[{n}]") for n, part in enumerate(value))


def _defaults(made: Callable[..., Any]) -> dict[str, Any]:
    return {name: parameter.default for name, parameter in inspect.signature(made).parameters.items()}


_PARTS: dict[str, Reader] = {
    **dict.fromkeys(("size", "hop"), read_measure),
    **dict.fromkeys(("step", "period", "delay", "duration", "offset"), duration),
    "align": or_null(duration),
    **dict.fromkeys(("origin", "n"), whole),
    **dict.fromkeys(("early", "late"), or_null(_trigger)),
    **dict.fromkeys(("trigger", "main", "until"), _trigger),
    "triggers": _triggers,
    "column": text,
    **dict.fromkeys(("amount", "threshold"), number),
    "gap": read_gap,
    **dict.fromkeys(("gaps", "after", "aligned", "only_when_full"), flag),
    "columns": names,
    "merge": _merge,
    **dict.fromkeys(("name", "touching", "closed", "anchor", "unit", "zone", "week_start"), text),
}
FIELDS: dict[str, Reader] = {
    "window": _kind(_WINDOWS),
    "aggregates": text,  # not used: `arguments` reads these with the user-defined ones
    "keys": names,
    "trigger": _trigger,
    "allowed_lateness": _lateness,
    "order": names,
    "position": or_null(position_from),
    "evictor": or_null(_kind(_EVICTORS)),
    "delta": _delta,
    "null_keys": flag,
    "only_updated": flag,
    "timestamp": or_null(text),
    "max_future_skew": or_null(duration),
    "watermark": or_null(watermark_from(FixedLag, StreamTime, Inputs)),
    "event_time": or_null(text),
    **dict.fromkeys(("time", "accumulation", "drop_by", "on_time", "closing", "evaluate"), text),
}
