"""Checks of what user-defined aggregates return: states and results (semantics 24.7, 24.20)."""

import json
from functools import cache
from typing import Any

from panewise.errors import InputError
from panewise.spec.aggregates.user_functions import UserFunctions
from panewise.spec.aggregates.user_merge import UserMergeAggregate
from panewise.spec.column_values import MISFIT, ColumnType


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
        remedy = "use None, numbers, strings, lists and dicts with string keys"
        raise InputError(f"{name!r}: state {state!r}", rule, remedy)
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
    """Returns the result as a value of its declared type.

    Where that is double, a whole number becomes one. A map becomes the list of its entries.

    Raises:
        InputError: if it is neither None nor a value of that type.
    """
    fitted = MISFIT if _has_tuple(value) else _type(user.result).fit(value)
    if fitted is MISFIT:
        rule = (
            f"the result of a user-defined aggregate is of its declared type, {user.result}, or None "
            "(semantics 24.20)"
        )
        remedy = "give such a value in finish, or declare another result"
        raise InputError(f"{user.name!r}: result {value!r}", rule, remedy)
    return fitted


@cache
def _type(name: str) -> ColumnType:
    return ColumnType.parse(name)


def _has_tuple(value: Any) -> bool:
    """Returns whether a value is or contains a tuple, which is no list."""
    if isinstance(value, dict):
        return any(map(_has_tuple, value.values()))
    return isinstance(value, tuple) or (isinstance(value, list) and any(map(_has_tuple, value)))
