"""Converts deduplications to plain dicts and back."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from panewise.spec.codec.aggregates import position_from
from panewise.spec.codec.over import plain_field
from panewise.spec.codec.watermarks import watermark_from
from panewise.spec.fields import Reader, duration, flag, members_of, names, or_null, text
from panewise.spec.operators.deduplicate import UNLIMITED, DeduplicateOperator
from panewise.spec.protocol import Users
from panewise.spec.watermarks import FixedLag, Inputs, StreamTime

NAMES: Final = tuple(field.name for field in fields(DeduplicateOperator))


def reads(document: Mapping[str, Any]) -> bool:
    """Returns whether the dict says which rows are chosen, as only deduplications do."""
    return "keep" in document


def to_dict(spec: DeduplicateOperator) -> dict[str, Any]:
    """Returns the deduplication as a dict of plain values, with every field.

    >>> made = to_dict(DeduplicateOperator(keys=["id"], within="1 second"))
    >>> made["within"], made["keep"], made["emit"]
    (1000000, 'first', 'at_once')
    """
    return {name: plain_field(getattr(spec, name)) for name in NAMES}


def from_dict(document: Mapping[str, Any], users: Users) -> DeduplicateOperator:
    """Returns the deduplication that a dict describes.

    Raises:
        SpecError: as :func:`panewise.spec.codec.from_dict` does.
    """
    members = members_of(document, "", set(NAMES), required=("keys", "within", "keep"))
    return DeduplicateOperator(**{name: _FIELDS[name](value, name) for name, value in members.items()})


def complete(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the dict with the defaults of the fields that it leaves out."""
    return to_dict(from_dict(document, {}))


def _within(value: Any, where: str) -> Any:
    return value if value == UNLIMITED else duration(value, where)


_FIELDS: Mapping[str, Reader] = {
    **dict.fromkeys(("keys", "order"), names),
    **dict.fromkeys(("keep", "by"), text),
    "within": _within,
    "emit": or_null(text),
    "event_time": or_null(text),
    "position": or_null(position_from),
    "null_keys": flag,
    "max_future_skew": or_null(duration),
    "watermark": or_null(watermark_from(FixedLag, StreamTime, Inputs)),
}
