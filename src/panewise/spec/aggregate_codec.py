"""Aggregates as plain dicts, both ways. User-defined ones are written by name."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from panewise.errors import SpecError
from panewise.spec.aggregates import FUNCTIONS, Aggregate, default_name
from panewise.spec.readers import Reader, flag, members, number, or_null, text, whole, wrong
from panewise.spec.useraggregate import UserAggregate

Users = Mapping[str, UserAggregate]


def plain_aggregate(aggregate: Aggregate) -> dict[str, Any]:
    """Its function, column and name, and the options that differ from what they are in other functions."""
    options = [field for field in fields(aggregate) if field.name not in ("fn", "column", "name")]
    given = {field.name: getattr(aggregate, field.name) for field in options if getattr(aggregate, field.name) != field.default}
    named = {"user": aggregate.user.name} if aggregate.user is not None else {}
    return {"fn": aggregate.fn, "column": aggregate.column, "name": aggregate.name} | given | named


def aggregates(value: Any, users: Users, where: str = "aggregates") -> tuple[Aggregate, ...]:
    """Reads a list of aggregates."""
    if not isinstance(value, (list, tuple)):
        raise wrong(where, value, "a list of aggregates")
    return tuple(aggregate(item, f"{where}[{n}]", users) for n, item in enumerate(value))


def aggregate(value: Any, where: str, users: Users) -> Aggregate:
    """Reads one.

    Raises:
        SpecError: for a function or a field that is not known, or a user-defined aggregate that is not given.
    """
    told = members(value, where, set(_FIELDS), required=("fn",))
    given = {name: _FIELDS[name](item, f"{where}.{name}") for name, item in told.items()}
    fn, column, user = given["fn"], given.get("column"), given.pop("user", None)
    if fn not in FUNCTIONS:
        raise SpecError(f"{where}.fn={fn!r}", f"the functions are {sorted(FUNCTIONS)}", "give one of these")
    if user is not None and user not in users:
        known = f"the user-defined aggregates given are {sorted(users)}"
        raise SpecError(f"{where}.user={user!r}", known, f"give user_aggregates={{{user!r}: ...}}")
    for name, default in _DEFAULTS.get(fn, {}).items():
        given.setdefault(name, default)
    arguments = [given.get(name) for name in ("by", "n", "percentage")]
    made = {"name": default_name(user or fn, column, *arguments), "column": None, **given}
    return Aggregate(**made, user=None if user is None else users[user])


_FIELDS: dict[str, Reader] = {
    "fn": text,
    "column": or_null(text),
    "name": text,
    "ignorenulls": flag,
    **dict.fromkeys(("percentage", "rsd"), or_null(number)),
    **dict.fromkeys(("user", "by"), or_null(text)),
    "n": or_null(whole),
    "ascending": or_null(flag),
    "distinct": flag,
}
_DEFAULTS: dict[str, dict[str, Any]] = {  # as of the functions that make them
    "approx_count_distinct": {"rsd": 0.05},
    "sort_list": {"ascending": True},
    "top_n": {"ascending": False},
    "top_n_by": {"ascending": False},
}
