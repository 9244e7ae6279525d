"""What all writers share: refusals, lengths, options and distinct calls."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from panewise.chrono import Duration
from panewise.errors import SqlError
from panewise.sql.text.parameters import literal


def unsaid(field: str, value: Any) -> SqlError:
    """Returns the error for a field that SQL cannot say."""
    rule = (
        "SQL has forms for windows, OVER, chains, joins, deduplications and Top-N, but "
        "not for every field (semantics 46.7, 46.22)"
    )
    return SqlError(f"{field}={value!r}", rule, "use the fluent API, or apply")


def different(field: str, calls: list[str]) -> list[str]:
    """Returns the calls, after checking that none occurs twice: a query computes equal calls once.

    Raises:
        SqlError: if one does.
    """
    twice = sorted({call for call in calls if calls.count(call) > 1})
    if twice:
        raise unsaid(f"{field}: twice", twice[0])
    return calls


def length(value: Any) -> str:
    """Returns a duration as an interval, or a number of rows.

    >>> length(Duration(-300_000_000))
    "- INTERVAL '5 minutes'"
    """
    if not isinstance(value, Duration):
        return f"{value.n} ROWS"
    sign = "- " if value.us < 0 else ""
    return f"{sign}INTERVAL '{str(value).removeprefix('-')}'"


def options_of(spec: Any, order: tuple[str, ...] = (), *, nulls: bool | None = None) -> str:
    """Returns the clause WITH of the table of an operator, empty without options.

    `nulls` is what `null_keys` is without the option; None if that depends on the keys.

    Raises:
        SqlError: for a position without an order, and names that cannot stand in a list.
    """
    options = {}
    if order:
        options["order"] = comma_separated("order", order)
    if spec.position is not None:
        position = spec.position
        if not position.ordered:
            raise unsaid("position", position)
        source = () if position.source is None else (position.source,)
        options["position"] = comma_separated("position", (position.partition, position.offset, *source))
    if spec.max_future_skew is not None:
        options["max_future_skew"] = literal(str(spec.max_future_skew))
    if spec.null_keys != (bool(spec.keys) if nulls is None else nulls):
        options["null_keys"] = str(spec.null_keys).lower()
    return f" WITH ({', '.join(f'{name} = {text}' for name, text in options.items())})" if options else ""


def comma_separated(field: str, names: tuple[str, ...]) -> str:
    """Returns names as a text with commas.

    Raises:
        SqlError: if a name has a comma, or spaces around it.
    """
    if any("," in name or name != name.strip() for name in names):
        raise unsaid(field, names)
    return literal(", ".join(names))


def check_fields(spec: Any, sayable: Mapping[str, Any]) -> None:
    """Refuses values of fields for which SQL has no words.

    A field may have the value that a text without such words means.

    Raises:
        SqlError: for the first of them.
    """
    for name, plain in sayable.items():
        if getattr(spec, name) != plain:
            raise unsaid(name, getattr(spec, name))


def check_plain(value: Any, plain: Any, prefix: str) -> None:
    """Refuses a value that differs in a field from `plain`, because SQL has no words for it.

    Raises:
        SqlError: for the first of them; its name has this prefix.
    """
    for field in fields(value):
        if getattr(value, field.name) != getattr(plain, field.name):
            raise unsaid(prefix + field.name, getattr(value, field.name))
