"""Converts the windows of windowed stream joins to plain dicts and back."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from panewise.spec.codec.measures import read_measure
from panewise.spec.codec.windows import FIELDS, plain
from panewise.spec.fields import Reader, duration, members_of, or_null, whole
from panewise.spec.operators.join.streams import JoinWindow, WindowedStreams

_NAMES: Final = tuple(field.name for field in fields(JoinWindow))


def plain_streams(match: WindowedStreams) -> dict[str, Any]:
    """Returns the fields of a match as plain values.

    >>> from panewise import rows
    >>> plain_streams(WindowedStreams(JoinWindow(rows(3))))["left"]
    {'window': {'rows': 3}, 'early': {'kind': 'always'}, 'late': None, 'retention': None,
    'retention_rows': None}
    """
    return {side: {name: plain(getattr(one, name)) for name in _NAMES} for side, one in match.windows.items()}


def streams_from(value: Any, where: str) -> WindowedStreams:
    """Returns the match that a dict describes.

    Raises:
        SpecError: if the dict has other fields, or a value is not one of its field.
    """
    members = members_of(value, where, {"kind", "left", "right"})
    sides = {side: _join_window(members[side], f"{where}.{side}") for side in members.keys() - {"kind"}}
    return WindowedStreams(**sides)


def _join_window(value: Any, where: str) -> JoinWindow:
    members = members_of(value, where, set(_NAMES))
    return JoinWindow(**{name: _FIELDS[name](one, f"{where}.{name}") for name, one in members.items()})


def _window(value: Any, where: str) -> Any:
    if isinstance(value, Mapping) and "kind" in value:
        return FIELDS["window"](value, where)
    return read_measure(value, where)


_policy: Final = or_null(FIELDS["trigger"])
_FIELDS: dict[str, Reader] = {
    "window": or_null(_window),
    "early": _policy,
    "late": _policy,
    "retention": or_null(duration),
    "retention_rows": or_null(whole),
}
