"""Converts windows over joins to plain dicts and back.

The dict is that of the join, with a field `then` that has the dict of the windows.
"""

from collections.abc import Mapping
from typing import Any, Final

from panewise.spec.codec import chain, join, windows
from panewise.spec.fields import wrong
from panewise.spec.operators.windowed_join import WindowedJoin
from panewise.spec.protocol import Users

THEN: Final = "then"


def reads(document: Mapping[str, Any]) -> bool:
    """Returns whether the dict has a match and windows."""
    return join.reads(document) and THEN in document


def to_dict(spec: WindowedJoin) -> dict[str, Any]:
    """Returns the specification as a dict of plain values, with every field."""
    written: Any = chain if hasattr(spec.windows, "stages") else windows
    return {**join.to_dict(spec.join), THEN: written.to_dict(spec.windows)}


def from_dict(document: Mapping[str, Any], users: Users) -> WindowedJoin:
    """Returns the specification that a dict describes.

    Raises:
        SpecError: as :func:`panewise.spec.codec.from_dict` does.
    """
    first, after = _parted(document)
    return WindowedJoin(join.from_dict(first, users), _of(after).from_dict(after, users))


def complete(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the dict with the defaults of the fields that it leaves out."""
    first, after = _parted(document)
    return {**join.complete(first), THEN: _of(after).complete(after)}


def _parted(document: Mapping[str, Any]) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """Returns the document of the join, and that of the windows."""
    after = document[THEN]
    if not isinstance(after, Mapping):
        raise wrong(THEN, after, "the windows over the join, as a dict")
    return {name: value for name, value in document.items() if name != THEN}, after


def _of(document: Mapping[str, Any]) -> Any:
    return chain if chain.reads(document) else windows
