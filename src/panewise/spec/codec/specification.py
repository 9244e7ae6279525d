"""Converts specifications to plain dicts and to JSON, and back.

Durations and instants are whole microseconds. A field that is left out has its default, except `null_keys`,
which is then false. An unknown field is refused. User-defined aggregates, windows and listeners are written
by name; the reader looks these names up in the mappings that it is given.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import partial
from typing import Any, Final

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spec.aggregates.aggregate import Aggregate
from panewise.spec.aggregates.user import UserAggregate
from panewise.spec.codec import over, policy
from panewise.spec.codec.aggregates import Users, aggregates_from, plain_aggregate, position_from
from panewise.spec.codec.measures import plain_measure, read_gap, read_measure
from panewise.spec.codec.policy import UserListeners
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
    once_each,
    or_null,
    text,
    typed,
    whole,
    wrong,
)
from panewise.spec.operators.chain import Chain, Specification, Stage, chain_accumulation
from panewise.spec.operators.over.operator import FrameOperator
from panewise.spec.operators.policy.operator import StreamWindow
from panewise.spec.operators.windows import UNLIMITED, WindowOperator, default_event_time
from panewise.spec.position import Position
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
    AfterProcessingTime,
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

FORMAT_VERSION: Final = 1
# The values of fields that a document leaves out, where these are not the defaults of the constructor.
_LEFT_OUT: Final[dict[str, Any]] = {"null_keys": False}
_VERSION_FIELD = "panewise"
_THEN = "then"  # the field of the stages of a chain
_WINDOWS: dict[str, type] = {
    kind.kind: kind for kind in (Tumbling, Hopping, Cumulating, Calendar, Session, Sliding, Custom, Global)
}
_LEAVES = (AfterCount, AfterProcessingTime, Every, AfterEventTime, OnPunctuation, OnDelta, Always, Never)
_COMPOSITES = (AfterWatermark, Repeatedly, AfterAny, AfterAll, AfterEach, OrFinally)
_TRIGGERS: dict[str, type] = {kind.kind: kind for kind in (*_LEAVES, *_COMPOSITES)}
_EVICTORS: dict[str, type] = {kind.kind: kind for kind in (CountEvictor, TimeEvictor, DeltaEvictor)}

UserWindows = Mapping[str, Custom]


def to_dict(spec: Specification) -> dict[str, Any]:
    """Returns the specification as a dict of plain values, with every field.

    The dict of a chain is that of its operator, with the stages in the field `then`.

    >>> from panewise import functions as F
    >>> document = to_dict(WindowOperator(window=Tumbling(10), aggregates=[F.sum("v").alias("total")]))
    >>> document["window"], document["aggregates"]
    ({'kind': 'tumbling', 'size': 10, 'origin': 0}, [{'fn': 'sum', 'column': 'v', 'name': 'total'}])
    """
    if isinstance(spec, FrameOperator):
        return over.to_dict(spec)
    if isinstance(spec, StreamWindow):
        return policy.to_dict(spec)
    if isinstance(spec, Chain):
        return {**to_dict(spec.first), _THEN: _plain_stages(spec.stages)}
    return {field.name: _plain(getattr(spec, field.name)) for field in fields(WindowOperator)}


def from_dict(
    document: Mapping[str, Any],
    user_aggregates: Users | None = None,
    user_windows: UserWindows | None = None,
    user_listeners: UserListeners | None = None,
) -> Specification:
    """Returns the specification that a dict describes.

    Args:
        document: the dict, as :func:`to_dict` writes it. It may contain the version of the format.
        user_aggregates: the user-defined aggregates, by the names that the dict uses for them.
        user_windows: the user-defined windows, by name.
        user_listeners: the listeners of policy windows, by name.

    Raises:
        SpecError: if a field, kind or type is unknown, if a user-defined aggregate, window or listener is not
            in the mappings, or as the constructor does.

    >>> spec = from_dict({"window": {"kind": "tumbling", "size": 10}, "aggregates": [{"fn": "count"}]})
    >>> spec.window, spec.aggregates[0].name
    (Tumbling(size=Duration('10 microseconds'), origin=0), 'count(*)')
    """
    users = user_aggregates or {}
    if isinstance(document, Mapping) and policy.KIND in document:
        return policy.from_dict(_of_this_version(document), users, user_listeners or {})
    if _is_of_frames(document):
        return over.from_dict(_of_this_version(document), users)
    values = _read_fields(document, users, user_windows or {})
    stages = _stages(values.pop(_THEN, ()), users)
    first = WindowOperator(**values)
    return Chain(first, stages) if stages else first


def to_json(spec: Specification, indent: int | None = None) -> str:
    """Returns the specification as JSON text, with the version of the format.

    >>> from panewise import functions as F
    >>> to_json(WindowOperator(window=Global(), aggregates=[F.count()]))[:44]
    '{"panewise": 1, "window": {"kind": "global"}'
    """
    return json.dumps({_VERSION_FIELD: FORMAT_VERSION, **to_dict(spec)}, indent=indent, allow_nan=False)


def from_json(
    text: str | bytes,
    user_aggregates: Users | None = None,
    user_windows: UserWindows | None = None,
    user_listeners: UserListeners | None = None,
) -> Specification:
    """Returns the specification that a JSON text describes. The mappings are those of :func:`from_dict`.

    Raises:
        SpecError: if the text is not JSON or contains a field twice, or as :func:`from_dict` does.

    >>> from_json('{"window": {"kind": "global"}, "aggregates": [{"fn": "count", "name": "n"}]}').window
    Global()
    """
    try:
        document = json.loads(text, object_pairs_hook=once_each)
    except ValueError as error:
        if isinstance(error, SpecError):
            raise
        raise SpecError(
            f"text={text[:60]!r}", f"a specification is read from JSON ({error})", "give what to_json wrote"
        ) from error
    return from_dict(document, user_aggregates, user_windows, user_listeners)


def changed_fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Returns the top-level fields in which two dicts differ. A field that is left out has its default.

    >>> small = {"window": {"kind": "tumbling", "size": 10}, "aggregates": [{"fn": "count"}]}
    >>> changed_fields(small, {**small, "keys": ["k"], "drop_by": "window"})
    ['keys']
    """
    if policy.KIND in (*old, *new):
        return policy.changed_fields(_of_this_version(old), _of_this_version(new), _AnyUser())
    before, after = complete(old), complete(new)
    return [
        name for name in dict.fromkeys((*_FIELDS, _THEN, *over.NAMES)) if before.get(name) != after.get(name)
    ]


def complete(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the dict with the defaults of the fields that it leaves out.

    A window operator is not built for this, so its warnings are not repeated.
    """
    if policy.KIND in document:
        return policy.complete(_of_this_version(document), _AnyUser())
    if _is_of_frames(document):
        return over.to_dict(over.from_dict(_of_this_version(document), _AnyUser()))
    given = _read_fields(document, _AnyUser(), _AnyWindow())
    stages = _stages(given.pop(_THEN, ()), _AnyUser())
    given["event_time"] = given.get("event_time") or default_event_time(given["window"])
    only_updated = bool(given.get("only_updated"))
    accumulation = chain_accumulation(given["window"], given["aggregates"], stages, only_updated=only_updated)
    given.setdefault("accumulation", accumulation)
    given.setdefault("on_time", default_on_time(given.get("trigger", DEFAULT_TRIGGER)))
    told = {
        name: _plain(given.get(name, default))
        for name, default in _defaults(WindowOperator).items()
        if name in _FIELDS
    }
    return {**told, _THEN: _plain_stages(stages)} if stages else told


class _AnyUser(dict[str, UserAggregate]):
    """Contains an aggregate for every name, so that dicts can be compared without the real ones."""

    def __missing__(self, name: str) -> UserAggregate:
        return UserAggregate(name, init=str, accumulate=max, merge=max, finish=str)

    def __contains__(self, name: object) -> bool:
        return True


class _AnyWindow(dict[str, Custom]):
    """Contains windows for every name, for the same reason."""

    def __missing__(self, name: str) -> Custom:
        return Custom(len, name=name)

    def __contains__(self, name: object) -> bool:
        return True


def _plain(value: Any) -> Any:
    """Returns the value of a field as lists, dicts, texts and numbers."""
    if isinstance(value, (Duration, Rows)):
        return plain_measure(value)
    if isinstance(value, UserAggregate):
        return value.name
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, Aggregate):
        return plain_aggregate(value)
    if isinstance(value, Position):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, (FixedLag, StreamTime, Inputs)):
        return plain_watermark(value)
    if type(value) in (*_WINDOWS.values(), *_TRIGGERS.values(), *_EVICTORS.values()):
        return {"kind": value.kind, **{name: _plain(getattr(value, name)) for name in _parts_of(type(value))}}
    return value


def _parts_of(kind: type) -> list[str]:
    """Returns the fields that are written. A function is not written."""
    return [field.name for field in fields(kind) if field.name != "function"]


def _read_fields(document: Any, users: Users, windows: UserWindows) -> dict[str, Any]:
    """Returns the arguments of the constructor that a dict contains, and its stages as they are written."""
    members = _of_this_version(
        members_of(document, "", {_VERSION_FIELD, *_FIELDS, _THEN}, required=("window", "aggregates"))
    )
    values = {
        name: _FIELDS[name](value, name)
        for name, value in members.items()
        if name in _FIELDS and name != "aggregates"
    }
    if isinstance(values["window"], Custom):
        values["window"] = _with_function(values["window"], windows)
    then = {_THEN: members[_THEN]} if _THEN in members else {}
    return {**_LEFT_OUT, **values, "aggregates": aggregates_from(members["aggregates"], users), **then}


def _is_of_frames(document: Any) -> bool:
    return isinstance(document, Mapping) and over.COLUMNS in document


def _of_this_version(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the dict without the version of its format. Refuses any other version than `FORMAT_VERSION`."""
    members = dict(document)
    version = members.pop(_VERSION_FIELD, FORMAT_VERSION)
    if version != FORMAT_VERSION or isinstance(version, bool):
        rule = f"this release reads version {FORMAT_VERSION} of the format"
        raise SpecError(f"{_VERSION_FIELD}={version!r}", rule, "read it with the release that wrote it")
    return members


def _with_function(window: Custom, windows: UserWindows) -> Custom:
    if window.name not in windows:
        known = f"the user-defined windows given are {sorted(windows)}"
        raise SpecError(f"window.name={window.name!r}", known, f"give user_windows={{{window.name!r}: ...}}")
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


def _plain_stages(stages: tuple[Stage, ...]) -> list[dict[str, Any]]:
    return [{"keys": list(stage.keys), "aggregates": _plain(stage.aggregates)} for stage in stages]


def _stages(value: Any, users: Users) -> tuple[Stage, ...]:
    """Returns the stages of a chain that a list of dicts describes."""
    if not isinstance(value, (list, tuple)):
        raise wrong(_THEN, value, "a list of stages")
    made = []
    for n, item in enumerate(value):
        members = members_of(item, f"{_THEN}[{n}]", {"keys", "aggregates"}, required=("aggregates",))
        keys = names(members.get("keys", ()), f"{_THEN}[{n}].keys")
        made.append(
            Stage(
                keys=keys,
                aggregates=aggregates_from(members["aggregates"], users, f"{_THEN}[{n}].aggregates"),
            )
        )
    return tuple(made)


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
_FIELDS: dict[str, Reader] = {
    "window": _kind(_WINDOWS),
    "aggregates": text,  # not used: _read_fields reads these with the user-defined ones
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
