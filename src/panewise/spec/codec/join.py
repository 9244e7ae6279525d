"""Converts joins to plain dicts and back."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from panewise.chrono import Duration
from panewise.matches import MATCHES
from panewise.spec.codec.aggregates import position_from
from panewise.spec.codec.conditions import condition_from, plain_condition
from panewise.spec.codec.policy import plain_policy
from panewise.spec.codec.users import ANY_USER
from panewise.spec.codec.watermarks import plain_watermark, watermark_from
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
    wrong,
)
from panewise.spec.operators.join.columns import Selected
from panewise.spec.operators.join.match_parts import match_parts, parts_of_kind
from panewise.spec.operators.join.operator import JoinOperator
from panewise.spec.operators.join.side import Side
from panewise.spec.operators.policy.policies import CountPolicy, DeltaPolicy, TimePolicy
from panewise.spec.position import Position
from panewise.spec.protocol import Users
from panewise.spec.watermarks import FixedLag, StreamTime

MATCH: Final = "match"  # the field that distinguishes a join from other operators
_NAMES: Final = tuple(field.name for field in fields(JoinOperator))
_SIDE_NAMES: Final = tuple(field.name for field in fields(Side))


def reads(document: Mapping[str, Any]) -> bool:
    """Returns whether the dict has a match."""
    return MATCH in document


def to_dict(spec: JoinOperator) -> dict[str, Any]:
    """Returns the join as a dict of plain values, with every field.

    >>> from panewise import Interval
    >>> side = Side(keys=["id"])
    >>> to_dict(JoinOperator(left=side, right=side, match=Interval(-2, 5), how="left"))["match"]
    {'kind': 'interval', 'lower': -2, 'upper': 5, 'closed': 'both', 'retain_for': None, 'retain_rows': None,
    'late': 'output'}
    """
    match = {"kind": spec.match.kind, **match_parts(spec.match).to_dict(spec.match)}
    return {name: match if name == MATCH else plain_value(getattr(spec, name)) for name in _NAMES}


def from_dict(document: Mapping[str, Any], users: Users) -> JoinOperator:
    """Returns the join that a dict describes.

    Raises:
        SpecError: as :func:`panewise.spec.codec.from_dict` does.
    """
    members = members_of(document, "", set(_NAMES), required=("left", "right", MATCH))
    values = {name: _FIELDS[name](value, name) for name, value in members.items()}
    match = values[MATCH]
    return JoinOperator(**{**values, MATCH: match_parts(match).with_functions(match, users)})


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
        case Side() | Selected() | Position():
            return plain_fields(value)
    return value


def plain_fields(value: Any) -> dict[str, Any]:
    """Returns the fields of a value as plain values."""
    return {field.name: plain_value(getattr(value, field.name)) for field in fields(value)}


def _match(value: Any, where: str) -> Any:
    return parts_of_kind(kind_of(value, where, MATCHES)).from_dict(value, where)


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
