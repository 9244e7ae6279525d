"""The specification that a manifest records, read without the functions that users defined for it."""

import warnings
from typing import Any

from panewise.engine.checkpoint import unreadable_spec
from panewise.errors import SpecError, SpecWarning
from panewise.spec import Custom, Specification, UserAggregate, WindowListener
from panewise.spec.codec import from_dict
from panewise.state import Manifest


def recorded_spec(manifest: Manifest) -> Specification:
    """The specification of a state; of user-defined aggregates, windows and listeners only the names are known.

    Raises:
        StateError: if it is none.
    """
    plain = manifest.spec
    stages = [plain, *_dicts(plain.get("then"))]
    told = [what for stage in stages for name in ("aggregates", "columns") for what in _dicts(stage.get(name))]
    users = {what["user"] for what in told if isinstance(what.get("user"), str)}
    (window, *_), (listener, *_) = [*_dicts([plain.get("window")]), {}], [*_dicts([plain.get("listener")]), {}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SpecWarning)  # it was told when the query was built
        try:
            known = {name: UserAggregate(name, init=str, accumulate=max, merge=max, finish=str) for name in users}
            listeners = {name: WindowListener(object, name=name, outputs=listener.get("outputs", {})) for name in _names(listener)}
            return from_dict(plain, known, {name: Custom(len, name=name) for name in _names(window)} or None, listeners or None)
        except SpecError as error:
            raise unreadable_spec(error) from error


def _dicts(value: Any) -> list[dict[str, Any]]:
    """The JSON objects in a list, if it is one."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _names(value: dict[str, Any]) -> list[str]:
    """The name that a JSON object has, if it has one."""
    name = value.get("name")
    return [name] if isinstance(name, str) and name else []
