"""Reads the specification in a manifest without the functions that the user defined for it."""

import warnings
from typing import Any

from panewise.engine.checkpoint import unreadable_spec
from panewise.errors import SpecError, SpecWarning
from panewise.spec import Custom, Specification, UserAggregate, WindowListener
from panewise.spec.codec.specification import from_dict
from panewise.state import Manifest


def recorded_spec(manifest: Manifest) -> Specification:
    """Returns the specification in a manifest.

    User-defined aggregates, windows and listeners have their names, and placeholders for their functions.

    Raises:
        StateError: if the specification is not valid.
    """
    plain = manifest.spec
    stages = [plain, *_dicts(plain.get("then"))]
    told = [
        what for stage in stages for name in ("aggregates", "columns") for what in _dicts(stage.get(name))
    ]
    users = {what["user"] for what in told if isinstance(what.get("user"), str)}
    (window, *_), (listener, *_) = (
        [*_dicts([plain.get("window")]), {}],
        [*_dicts([plain.get("listener")]), {}],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)  # the user was warned when the query was built
        try:
            known = {
                name: UserAggregate(name, init=str, accumulate=max, merge=max, finish=str) for name in users
            }
            listeners = {
                name: WindowListener(object, name=name, outputs=listener.get("outputs", {}))
                for name in _names(listener)
            }
            return from_dict(
                plain,
                known,
                {name: Custom(len, name=name) for name in _names(window)} or None,
                listeners or None,
            )
        except SpecError as error:
            raise unreadable_spec(error) from error


def _dicts(value: Any) -> list[dict[str, Any]]:
    """Returns the JSON objects in a list, none if the value is not a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _names(value: dict[str, Any]) -> list[str]:
    """Returns a list of the name of a JSON object, empty if it has no name."""
    name = value.get("name")
    return [name] if isinstance(name, str) and name else []
