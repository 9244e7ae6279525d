"""Serializes the state of listeners as JSON text (semantics 10.19).

Invariant: the values that the text restores are the same as those that were written, in type and in
structure. Within a step a listener works on its own objects, and in the next step on restored ones. Its
results must not depend on which.
"""

import json
import math
from typing import Any

from panewise.errors import InputError
from panewise.spec.column_values import is_text

_PLAIN = (int, bool, type(None))


def written(state: dict[str, Any], name: str) -> str:
    """Returns the attributes of a listener as JSON text.

    Values that JSON would restore as something else are refused. For example, a Counter would become a dict,
    and a list that two attributes share would become two lists.

    Args:
        state: the attributes, by name.
        name: the name of the listener, for error messages.

    Raises:
        InputError: if a value is refused; the message names it.

    >>> written({"seen": [1, None], "best": 2.5}, "best")
    '{"seen": [1, null], "best": 2.5}'
    """
    seen: set[int] = set()
    values: list[Any] = [state]
    for value in values:  # the loop appends the contents of each value
        kind = type(value)
        if kind is list or kind is dict:
            if id(value) in seen:
                raise _twice(value, name)
            if kind is dict and not all(type(key) is str for key in value):
                raise _no_json(repr(value), name)
            seen.add(id(value))
            values += [*value, *value.values()] if kind is dict else value
        elif kind not in _PLAIN and not _round_trips(value):
            raise _no_json(repr(value), name)
    try:
        return json.dumps(state, allow_nan=False)
    except (ValueError, RecursionError) as error:  # an int of thousands of digits; lists nested too deeply
        raise _no_json(f"what cannot be written ({error})", name) from error


def _round_trips(value: Any) -> bool:
    kind = type(value)  # JSON would restore two halves of a surrogate pair as one character
    return (kind is str and is_text(value)) or (kind is float and math.isfinite(value))


def _no_json(what: str, name: str) -> InputError:
    rule = "the attributes of a listener are its state, and are JSON values, of exactly these types"
    remedy = (
        "use None, bool, int, float that is finite, str, list and dict with string keys, such as "
        "dict(counter) and list(a_tuple)"
    )
    return InputError(f"{what} in the state of {name}", rule, remedy)


def _twice(value: Any, name: str) -> InputError:
    rule = "the attributes of a listener are its state, a JSON value, in which no list or dict occurs twice"
    remedy = "store it once, or store a copy: list(it), dict(it)"
    return InputError(f"{value!r} twice in the state of {name}", rule, remedy)
