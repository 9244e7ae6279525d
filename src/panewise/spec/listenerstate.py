"""The state of a listener: values that come back from JSON text as what they were (semantics 10.19)."""

import json
import math
from typing import Any

from panewise.errors import InputError

_PLAIN = (int, bool, type(None))


def written(state: dict[str, Any], name: str) -> str:
    """The attributes of the listener of this name as JSON text.

    Only what comes back as it was is let through, as an object goes on with what it has within a step, and with what comes back from
    the text in the next one: nothing may depend on which it is. So a Counter is refused, which would come back as a dict, and a list
    that two attributes name, which would come back as two.

    Raises:
        InputError: naming what is no such value.

    >>> written({"seen": [1, None], "best": 2.5}, "best")
    '{"seen": [1, null], "best": 2.5}'
    """
    met: set[int] = set()
    left: list[Any] = [state]
    for value in left:  # it grows by what the values hold
        kind = type(value)
        if kind is list or kind is dict:
            if id(value) in met:
                raise _twice(value, name)
            if kind is dict and not all(type(key) is str for key in value):
                raise _no_json(repr(value), name)
            met.add(id(value))
            left += [*value, *value.values()] if kind is dict else value
        elif kind not in _PLAIN and not _comes_back(value):
            raise _no_json(repr(value), name)
    try:
        return json.dumps(state, allow_nan=False)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, lists in lists in lists
        raise _no_json(f"what cannot be written ({error})", name) from error


def _comes_back(value: Any) -> bool:
    kind = type(value)
    return (kind is str and is_text(value)) or (kind is float and math.isfinite(value))


def is_text(value: str) -> bool:
    """Whether a string can be written in UTF-8. Half of a surrogate pair cannot, and two halves come back from JSON as one letter.

    >>> is_text("e" + chr(0x301)), is_text(chr(0xD83D))
    (True, False)
    """
    if value.isascii():
        return True
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_json(what: str, name: str) -> InputError:
    rule = "the attributes of a listener are its state, and are JSON values, of exactly these types"
    remedy = "use None, bool, int, float that is finite, str, list and dict with string keys, such as dict(counter) and list(a_tuple)"
    return InputError(f"{what} in the state of {name}", rule, remedy)


def _twice(value: Any, name: str) -> InputError:
    rule = "the attributes of a listener are its state, a JSON value, in which no list or dict stands in two places"
    return InputError(f"{value!r} twice in the state of {name}", rule, "keep it once, or a copy of it: list(it), dict(it)")
