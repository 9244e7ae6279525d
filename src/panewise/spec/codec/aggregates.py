"""Converts aggregates and positions to plain dicts and back. The codecs of all specifications use it."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeAlias

from panewise.errors import SpecError
from panewise.spec.aggregates.aggregate import FUNCTIONS, Aggregate, default_name
from panewise.spec.aggregates.order_columns import OrderColumn, names_of
from panewise.spec.aggregates.user import UserAggregate
from panewise.spec.aggregates.user_functions import UserFunctions
from panewise.spec.fields import Reader, flag, members_of, names, number, or_null, text, whole, wrong
from panewise.spec.position import Position

Users: TypeAlias = Mapping[str, UserAggregate]


def plain_aggregate(aggregate: Aggregate) -> dict[str, Any]:
    """Returns the aggregate as a dict: its function, column and name, and the options that are set."""
    options = [field for field in fields(aggregate) if field.name not in ("fn", "column", "name")]
    given = {
        field.name: _written(getattr(aggregate, field.name))
        for field in options
        if getattr(aggregate, field.name) != field.default
    }
    return {"fn": aggregate.fn, "column": aggregate.column, "name": aggregate.name} | given


def _written(value: Any) -> Any:
    if isinstance(value, tuple):
        return [one if isinstance(one, str) else _written_order(one) for one in value]
    return value.name if isinstance(value, UserFunctions) else value


def _written_order(column: OrderColumn) -> dict[str, Any]:
    return {"column": column.column, "ascending": column.ascending}


def aggregates_from(value: Any, users: Users, where: str = "aggregates") -> tuple[Aggregate, ...]:
    """Returns the aggregates that a list of dicts describes.

    Args:
        value: the list.
        users: the user-defined aggregates, by the names that the dicts use for them.
        where: where the list is in the document, for error messages.

    Raises:
        SpecError: if the value is not a list, or as :func:`aggregate_from` does.
    """
    if not isinstance(value, (list, tuple)):
        raise wrong(where, value, "a list of aggregates")
    return tuple(aggregate_from(item, f"{where}[{n}]", users) for n, item in enumerate(value))


def aggregate_from(value: Any, where: str, users: Users) -> Aggregate:
    """Returns the aggregate that a dict describes.

    Raises:
        SpecError: if the function or a field is unknown, a field is missing or of the wrong type, or `users`
            lacks the user-defined aggregate.
    """
    members = members_of(value, where, set(_AGGREGATE), required=("fn",))
    given = {name: _AGGREGATE[name](item, f"{where}.{name}") for name, item in members.items()}
    fn, column, user = given["fn"], given.get("column"), given.pop("user", None)
    if fn not in FUNCTIONS:
        raise SpecError(f"{where}.fn={fn!r}", f"the functions are {sorted(FUNCTIONS)}", "give one of these")
    if user is not None and user not in users:
        known = f"the user-defined aggregates given are {sorted(users)}"
        raise SpecError(f"{where}.user={user!r}", known, f"give user_aggregates={{{user!r}: ...}}")
    for name, default in _AGGREGATE_DEFAULTS.get(fn, {}).items():
        given.setdefault(name, default)
    further = names_of(given.get("then_by", ()), ascending=fn == "min_by" or given.get("ascending") is True)
    arguments = [given.get("by"), *further, *given.get("more", ()), given.get("n"), given.get("percentage")]
    made = {"name": default_name(user or fn, column, *arguments), "column": None, **given}
    return Aggregate(**made, user=None if user is None else users[user])


def position_from(value: Any, where: str) -> Position:
    """Returns the source position that a dict describes.

    Raises:
        SpecError: if a field is unknown or of the wrong type, or as the constructor does.
    """
    readers: dict[str, Reader] = {
        "partition": text,
        "offset": text,
        "source": or_null(text),
        "ordered": flag,
        "remember": or_null(whole),
    }
    members = members_of(value, where, set(readers))
    return Position(**{name: readers[name](given, f"{where}.{name}") for name, given in members.items()})


def _order_columns(value: Any, where: str) -> tuple[OrderColumn, ...]:
    if not isinstance(value, (list, tuple)):
        raise wrong(where, value, "a list of order columns")
    readers: dict[str, Reader] = {"column": text, "ascending": flag}
    found = list[OrderColumn]()
    for n, item in enumerate(value):
        place = f"{where}[{n}]"
        members = members_of(item, place, set(readers), required=tuple(readers))
        found.append(OrderColumn(*(readers[name](members[name], f"{place}.{name}") for name in readers)))
    return tuple(found)


_AGGREGATE: dict[str, Reader] = {
    "fn": text,
    "column": or_null(text),
    "name": text,
    "ignorenulls": flag,
    **dict.fromkeys(("percentage", "rsd"), or_null(number)),
    **dict.fromkeys(("user", "by"), or_null(text)),
    "then_by": _order_columns,
    "n": or_null(whole),
    "ascending": or_null(flag),
    "distinct": flag,
    "nulls": text,
    "condition": or_null(text),
    "more": names,
}
_AGGREGATE_DEFAULTS: dict[str, dict[str, Any]] = {  # the defaults of panewise.functions
    "approx_count_distinct": {"rsd": 0.05},
    "sort_list": {"ascending": True},
    "top_n": {"ascending": False},
    "top_n_by": {"ascending": False},
}
