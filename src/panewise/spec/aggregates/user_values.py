"""Checks of what user-defined aggregates return: states and results (semantics 24.7, 24.20)."""

import json
import math
from typing import Any

from panewise.errors import InputError
from panewise.spec.aggregates.user_functions import UserFunctions
from panewise.spec.aggregates.user_merge import UserMergeAggregate


def state_text(name: str, state: Any) -> str:
    """Returns a state as JSON text.

    A tuple, or a key that is not a string, would come back from JSON as something else, and is refused.

    >>> state_text("n", [1, None])
    '[1, null]'

    Raises:
        InputError: if the state is not a JSON value.
    """
    if not is_json(state):
        rule = "the state of a user-defined aggregate is a JSON value (semantics 24.7)"
        raise InputError(
            f"{name!r}: state {state!r}", rule, "use None, numbers, strings, lists and dicts with string keys"
        )
    return json.dumps(state)


def is_json(value: Any) -> bool:
    """Returns whether json.loads(json.dumps(value)) is the same value, as it is for NaN and infinities, too.

    >>> is_json({"n": [1, 2.5, None]}), is_json((1, 2)), is_json({1: "a"})
    (True, False, False)
    """
    if isinstance(value, list):
        return all(map(is_json, value))
    if isinstance(value, dict):
        return all(type(name) is str and is_json(item) for name, item in value.items())
    return value is None or type(value) in (bool, int, float, str)


def checked_result(user: UserFunctions | UserMergeAggregate, value: Any) -> Any:
    """Returns the result as a value of its declared type; where that is double, a whole number becomes one.

    Raises:
        InputError: if it is neither None nor a value of that type.
    """
    fits, converted = _as_type(value, user.result)
    if not fits:
        rule = (
            f"the result of a user-defined aggregate is of its declared type, {user.result}, or None "
            "(semantics 24.20)"
        )
        raise InputError(
            f"{user.name!r}: result {value!r}", rule, "give such a value in finish, or declare another result"
        )
    return converted


def _as_type(value: Any, kind: str) -> tuple[bool, Any]:
    """Returns whether a value fits a type, and the value as one of this type."""
    if value is None:
        return True, None
    if kind.startswith("array<"):
        items = (
            [_as_type(item, kind[len("array<") : -1]) for item in value]
            if isinstance(value, list)
            else [(False, None)]
        )
        return all(fits for fits, _ in items), [converted for _, converted in items]
    match kind:
        case "bigint":
            return type(value) is int and -(2**63) <= value < 2**63, value
        case "double":
            return _as_double(value)
        case "string":
            return isinstance(value, str), value
    return isinstance(value, bool), value


def _as_double(value: Any) -> tuple[bool, Any]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False, None
    try:
        return True, float(value)
    except OverflowError:  # a whole number beyond the largest double
        return False, math.inf
