"""Values as bytes: one byte for the type, and the value.

Common scalars have short forms. Everything else is JSON, and only what JSON gives back unchanged is accepted.
"""

import json
import struct
from typing import Any

from panewise.errors import InputError

_REMEDY = "give bytes, a text, a number, a bool, or lists and dicts of them; encode other objects to bytes"
_BYTES, _INT, _TEXT, _FLOAT = b"bisf"
_SCALARS = (str, int, float, bool, type(None))


def encode_value(value: Any) -> bytes:
    """Returns the bytes of a value.

    >>> decode_value(encode_value({"sum": 3, "names": ["a", None]}))
    {'sum': 3, 'names': ['a', None]}

    Raises:
        InputError: if JSON would not return the value unchanged: a tuple, a dict with keys that are no texts,
            an object of another class; nested lists, or an int, that are too large for JSON.
    """
    kind = type(value)
    try:
        if kind is int:
            return b"i%d" % value
        if kind is bytes:
            return b"b%b" % value
        if kind is str:
            return b"s%b" % value.encode("utf-8", "surrogatepass")
        if kind is float:
            return b"f" + struct.pack(">d", value)
        return _json(value)
    except InputError:
        raise
    except (RecursionError, ValueError) as error:
        rule = "a value is nested some hundred levels deep, and an int has some thousand digits, at most"
        raise InputError(f"value=(a {type(value).__name__})", rule, _REMEDY) from error


def _json(value: object) -> bytes:
    if not _is_json(value):
        raise InputError(f"value={value!r}", "a value is bytes, or what JSON returns unchanged", _REMEDY)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return b"j" + text.encode("utf-8", "surrogatepass")  # escapes would join two halves of a pair


def decode_value(data: bytes) -> Any:
    """Returns the value of these bytes."""
    kind = data[0]
    if kind == _INT:
        return int(data[1:])
    if kind == _BYTES:
        return data[1:]
    if kind == _TEXT:
        return data[1:].decode("utf-8", "surrogatepass")
    if kind == _FLOAT:
        return struct.unpack(">d", data[1:])[0]
    return json.loads(data[1:].decode("utf-8", "surrogatepass"))


def _is_json(value: object) -> bool:
    if type(value) is list:
        return all(map(_is_json, value))
    if type(value) is dict:
        return all(type(name) is str for name in value) and all(map(_is_json, value.values()))
    return type(value) in _SCALARS
