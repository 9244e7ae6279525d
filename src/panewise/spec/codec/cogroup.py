"""Converts cogroups to plain dicts and back."""

import warnings
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from panewise.errors import SpecError, SpecWarning
from panewise.spec.aggregates.aggregate import default_name
from panewise.spec.aggregates.user_merge import MergeAggregate, UserMergeAggregate
from panewise.spec.codec.aggregates import aggregates_from
from panewise.spec.codec.join import plain_value, side_from
from panewise.spec.codec.users import ANY_USER
from panewise.spec.codec.watermarks import watermark_from
from panewise.spec.codec.windows import FIELDS as WINDOW_FIELDS
from panewise.spec.codec.windows import plain, with_function
from panewise.spec.fields import Reader, duration, members_of, or_null, text, wrong
from panewise.spec.operators.cogroup.operator import FIELDS_OF_WINDOWS, CogroupOperator
from panewise.spec.protocol import Users
from panewise.spec.watermarks import StreamTime
from panewise.spec.windows.custom import Custom

_NAMES: Final = tuple(field.name for field in fields(CogroupOperator))
_OF_SIDES: Final = ("left_aggregates", "right_aggregates")
_OF_BOTH: Final = "both_aggregates"


def reads(document: Mapping[str, Any]) -> bool:
    """Returns whether the dict has two sides and windows."""
    return "right" in document and "window" in document


def to_dict(spec: CogroupOperator) -> dict[str, Any]:
    """Returns the cogroup as a dict of plain values, with every field.

    >>> from panewise import Side, Tumbling
    >>> from panewise import functions as F
    >>> side = Side(keys=["id"])
    >>> spec = CogroupOperator(left=side, right=side, window=Tumbling(5),
    ...     left_aggregates=[F.count().alias("n")])
    >>> to_dict(spec)["left_aggregates"], to_dict(spec)["window"]
    ([{'fn': 'count', 'column': None, 'name': 'n'}], {'kind': 'tumbling', 'size': 5, 'origin': 0})
    """
    windows = {name: plain(getattr(spec, name)) for name in (*FIELDS_OF_WINDOWS, *_OF_SIDES)}
    both = [_plain_both(one) for one in spec.both_aggregates]
    others = {name: plain_value(getattr(spec, name)) for name in ("left", "right", "watermark", "idle_after")}
    found = {**windows, **others, _OF_BOTH: both}
    return {name: found[name] for name in _NAMES}


def from_dict(document: Mapping[str, Any], users: Users) -> CogroupOperator:
    """Returns the cogroup that a dict describes.

    Raises:
        SpecError: as :func:`panewise.spec.codec.from_dict` does.
    """
    members = members_of(document, "", set(_NAMES), required=("left", "right", "window"))
    values = {name: _FIELDS[name](value, name) for name, value in members.items() if name in _FIELDS}
    for name in set(_OF_SIDES) & members.keys():
        values[name] = aggregates_from(members[name], users["aggregates"], name)
    if _OF_BOTH in members:
        values[_OF_BOTH] = _both_from(members[_OF_BOTH], users["merge_aggregates"])
    if isinstance(values["window"], Custom):
        values["window"] = with_function(values["window"], users["windows"], "window")
    return CogroupOperator(**values)


def complete(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the dict with the defaults of the fields that it leaves out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)  # who built the operator has been warned
        return to_dict(from_dict(document, ANY_USER))


def _plain_both(what: MergeAggregate) -> dict[str, Any]:
    return {"user": what.user.name, "left": what.left, "right": what.right, "name": what.name}


def _both_from(value: Any, users: Mapping[str, Any]) -> tuple[MergeAggregate, ...]:
    if not isinstance(value, (list, tuple)):
        raise wrong(_OF_BOTH, value, "a list of aggregates")
    return tuple(_one_from(item, f"{_OF_BOTH}[{n}]", users) for n, item in enumerate(value))


def _one_from(value: Any, where: str, users: Mapping[str, Any]) -> MergeAggregate:
    needed = ("user", "left", "right")
    members = members_of(value, where, {*needed, "name"}, required=needed)
    given = {name: text(item, f"{where}.{name}") for name, item in members.items()}
    user = given["user"]
    if user not in users or not isinstance(users[user], UserMergeAggregate):
        known = sorted(name for name, one in users.items() if isinstance(one, UserMergeAggregate))
        rule = f"the user-defined aggregates of both sides that are given are {known}"
        raise SpecError(f"{where}.user={user!r}", rule, f"give user_aggregates={{{user!r}: ...}}")
    name = given.get("name", default_name(user, given["left"], given["right"]))
    return MergeAggregate(users[user], given["left"], given["right"], name)


_FIELDS: dict[str, Reader] = {
    **{name: WINDOW_FIELDS[name] for name in FIELDS_OF_WINDOWS},
    **dict.fromkeys(("left", "right"), side_from),
    "watermark": or_null(watermark_from(StreamTime)),
    "idle_after": or_null(duration),
}
