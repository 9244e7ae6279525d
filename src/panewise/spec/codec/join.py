"""Converts joins to plain dicts and back."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, Final

from panewise.chrono import Duration
from panewise.spec.codec.aggregates import position_from
from panewise.spec.codec.conditions import condition_from, plain_condition
from panewise.spec.codec.join_streams import plain_streams, streams_from
from panewise.spec.codec.policy import plain_policy, policy_from
from panewise.spec.codec.users import ANY_USER
from panewise.spec.codec.watermarks import plain_watermark, watermark_from
from panewise.spec.codec.windows import FIELDS as WINDOW_FIELDS
from panewise.spec.codec.windows import plain, with_function
from panewise.spec.conditions import Node
from panewise.spec.fields import (
    Reader,
    duration,
    flag,
    kind_of,
    members_of,
    names,
    or_null,
    text,
    whole,
    wrong,
)
from panewise.spec.operators.join.columns import Selected
from panewise.spec.operators.join.match import AsOf, Interval, LastRows, Latest, Match
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.same_window import SameWindow
from panewise.spec.operators.join.side import Side
from panewise.spec.operators.join.streams import WindowedStreams
from panewise.spec.operators.policy.policies import CountPolicy, DeltaPolicy, TimePolicy
from panewise.spec.operators.windows import UNLIMITED
from panewise.spec.position import Position
from panewise.spec.protocol import Users
from panewise.spec.watermarks import FixedLag, StreamTime
from panewise.spec.windows.custom import Custom

MATCH: Final = "match"  # the field that distinguishes a join from other operators
_NAMES: Final = tuple(field.name for field in fields(JoinOperator))
_WINDOW_NAMES: Final = tuple(field.name for field in fields(SameWindow))
_MATCHES: Final = {
    kind.kind: kind for kind in (Interval, AsOf, SameWindow, LastRows, Latest, WindowedStreams)
}
_SIDE_NAMES: Final = tuple(field.name for field in fields(Side))


def reads(document: Mapping[str, Any]) -> bool:
    """Returns whether the dict has a match."""
    return MATCH in document


def to_dict(spec: JoinOperator) -> dict[str, Any]:
    """Returns the join as a dict of plain values, with every field.

    >>> side = Side(keys=["id"])
    >>> to_dict(JoinOperator(left=side, right=side, match=Interval(-2, 5), how="left"))["match"]
    {'kind': 'interval', 'lower': -2, 'upper': 5, 'closed': 'both', 'retain_for': None, 'retain_rows': None,
    'late': 'output'}
    """
    return {name: plain_value(getattr(spec, name)) for name in _NAMES}


def from_dict(document: Mapping[str, Any], users: Users) -> JoinOperator:
    """Returns the join that a dict describes.

    Raises:
        SpecError: as :func:`panewise.spec.codec.from_dict` does.
    """
    members = members_of(document, "", set(_NAMES), required=("left", "right", MATCH))
    values = {name: _FIELDS[name](value, name) for name, value in members.items()}
    return JoinOperator(**{**values, MATCH: _with_function(values[MATCH], users)})


def complete(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the dict with the defaults of the fields that it leaves out."""
    return to_dict(from_dict(document, ANY_USER))


def plain_value(value: Any) -> Any:
    """Returns the value of a field as lists, dicts, texts and numbers."""
    if isinstance(value, Node):
        return plain_condition(value)
    match value:
        case Duration():
            return value.us
        case tuple():
            return [plain_value(item) for item in value]
        case FixedLag() | StreamTime():
            return plain_watermark(value)
        case CountPolicy() | TimePolicy() | DeltaPolicy():
            return plain_policy(value)
        case Interval() | AsOf() | LastRows() | Latest() | SameWindow() | WindowedStreams():
            return {"kind": value.kind, **_plain_match(value)}
        case Side() | Selected() | Position():
            return _plain_fields(value)
    return value


def _plain_match(match: Match) -> dict[str, Any]:
    if isinstance(match, SameWindow):
        return {name: plain(getattr(match, name)) for name in _WINDOW_NAMES}
    if isinstance(match, WindowedStreams):
        return plain_streams(match)
    return _plain_fields(match)


def _plain_fields(value: Any) -> dict[str, Any]:
    return {field.name: plain_value(getattr(value, field.name)) for field in fields(value)}


def _match(value: Any, where: str) -> Match:
    kind = kind_of(value, where, _MATCHES)
    if kind == SameWindow.kind:
        members = members_of(value, where, {"kind", *_WINDOW_NAMES}, required=("window",))
        found = {
            name: WINDOW_FIELDS[name](members[name], f"{where}.{name}") for name in members.keys() - {"kind"}
        }
        return SameWindow(**found)
    if kind == WindowedStreams.kind:
        return streams_from(value, where)
    if kind == AsOf.kind:
        members = members_of(value, where, {"kind", "strategy", "tolerance", "allow_exact_matches"})
        tolerance = or_null(duration)(members.get("tolerance"), f"{where}.tolerance")
        exact = flag(members.get("allow_exact_matches", True), f"{where}.allow_exact_matches")
        return AsOf(members.get("strategy", "backward"), tolerance, allow_exact_matches=exact)
    if kind == Latest.kind:
        members = members_of(value, where, {"kind", "ttl", "deletes"})
        ttl = or_null(duration)(members.get("ttl"), f"{where}.ttl")
        return Latest(ttl, or_null(_columns)(members.get("deletes"), f"{where}.deletes"))
    if kind == LastRows.kind:
        members = members_of(value, where, {"kind", "right", "left", "order"}, required=("right",))
        right, left = (_window(members.get(side), f"{where}.{side}") for side in ("right", "left"))
        return LastRows(right, left, members.get("order", "arrival"))
    return _interval(value, where)


def _interval(value: Any, where: str) -> Interval:
    names = {"kind", "lower", "upper", "closed", "retain_for", "retain_rows", "late"}
    members = members_of(value, where, names, required=("lower", "upper"))
    lower, upper = (or_null(duration)(members.get(name), f"{where}.{name}") for name in ("lower", "upper"))
    limit = members.get("retain_for")
    limit = limit if limit == UNLIMITED else or_null(duration)(limit, f"{where}.retain_for")
    count = or_null(whole)(members.get("retain_rows"), f"{where}.retain_rows")
    closed, late = members.get("closed", "both"), members.get("late", "output")
    return Interval(lower, upper, closed, retain_for=limit, retain_rows=count, late=late)


def _with_function(match: Match, users: Users) -> Match:
    """Returns a match whose custom windows have the function of their name, any other as it is."""
    if not isinstance(match, SameWindow) or not isinstance(match.window, Custom):
        return match
    return replace(match, window=with_function(match.window, users["windows"], f"{MATCH}.window"))


def _columns(value: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(value, (list, tuple)):
        raise wrong(where, value, "a list with a column or null for each side")
    return tuple(or_null(text)(one, f"{where}[{n}]") for n, one in enumerate(value))


def side_from(value: Any, where: str) -> Side:
    """Returns the side that a dict describes."""
    members = members_of(value, where, set(_SIDE_NAMES))
    return Side(**{name: _SIDE_FIELDS[name](item, f"{where}.{name}") for name, item in members.items()})


def _selected(value: Any, where: str) -> list[Selected]:
    if not isinstance(value, (list, tuple)):
        raise wrong(where, value, "a list of columns")
    found = []
    for n, item in enumerate(value):
        members = members_of(item, f"{where}[{n}]", {"side", "column", "name"}, required=("side", "column"))
        found.append(Selected(**members))
    return found


_window: Final = or_null(policy_from({kind.kind: kind for kind in (CountPolicy, TimePolicy, DeltaPolicy)}))
_SIDE_FIELDS: dict[str, Reader] = {
    **dict.fromkeys(("keys", "order"), names),
    "prefix": text,
    "event_time": or_null(text),
    "position": or_null(position_from),
    "null_keys": flag,
    "max_future_skew": or_null(duration),
    "watermark": or_null(watermark_from(FixedLag, StreamTime)),
    "allowed_lateness": duration,
}
_FIELDS: dict[str, Reader] = {
    **dict.fromkeys(("left", "right"), side_from),
    **dict.fromkeys(("how", "evaluate"), text),
    **dict.fromkeys(("unmatched", "timestamp"), or_null(text)),
    MATCH: _match,
    "condition": or_null(condition_from),
    "select": or_null(_selected),
    "watermark": or_null(watermark_from(StreamTime)),
    "idle_after": or_null(duration),
}
