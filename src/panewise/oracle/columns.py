"""Types of in-process columns, and equality and order of their values (semantics 15, 15.2, 21.3, 23)."""

import math
import re
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.errors import InputError

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_NESTED = re.compile(r"(array|struct|map)<(.*)>", re.DOTALL)
_FIELD = re.compile(r"(`(?:[^`]|``)*`|\w+):(.*)", re.DOTALL)
_LIMITS = {"bigint": 2**63, "int": 2_147_483_648, "smallint": 32_768, "tinyint": 128}
_BEYOND_FLOAT = float.fromhex("0x1.FFFFFFp127")  # from here on the nearest of 32 bits is infinite
_PLAIN = (
    *_LIMITS,
    "double",
    "float",
    "string",
    "boolean",
    "date",
    "timestamp",
    "timestamp_ntz",
    "binary",
)


def checked_types(types: Mapping[str, str] | None) -> dict[str, str]:
    """Returns the types of columns by name, after a check of the names of the types."""
    checked = dict(types or {})
    for column, kind in checked.items():
        if kind not in _PLAIN and not _DECIMAL.fullmatch(kind) and not _NESTED.fullmatch(kind):
            rule = f"a type is {', '.join(_PLAIN)}, decimal(p,s), array<T>, struct<name:T> or map<K,V>"
            raise InputError(f"types[{column!r}]={kind!r}", rule, "give one of these")
    return checked


def is_integer(value: Any) -> bool:
    """Returns whether the value is an int and not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_long(value: Any) -> bool:
    """Returns whether the value is an integer that fits in 64 bits."""
    return is_integer(value) and MIN_INSTANT <= value <= MAX_INSTANT


def is_nan(value: Any) -> bool:
    """Returns whether the value is the float NaN."""
    return isinstance(value, float) and math.isnan(value)


def fits(value: Any, kind: str | None) -> bool:
    """Returns whether a value is of the type; null is of every type. Without a type every value fits."""
    if value is None or kind is None:
        return True
    if kind in _LIMITS:
        return is_integer(value) and -_LIMITS[kind] <= value < _LIMITS[kind]
    if kind in _FITS:
        return _FITS[kind](value)
    if _NESTED.fullmatch(kind):
        return _fits_nested(value, kind)
    return isinstance(value, Decimal) and _fits_decimal(value, kind)


_FITS: dict[str, Callable[[Any], bool]] = {
    "double": lambda value: (
        isinstance(value, float) or (is_integer(value) and abs(value) <= sys.float_info.max)
    ),
    "float": lambda value: (
        (isinstance(value, float) and (is_nan(value) or math.isinf(value) or abs(value) < _BEYOND_FLOAT))
        or (is_integer(value) and abs(value) < _BEYOND_FLOAT)
    ),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "date": lambda value: isinstance(value, date) and not isinstance(value, datetime),
    "timestamp": lambda value: is_long(value) or (_is_time(value) and value.tzinfo is not None),
    "timestamp_ntz": lambda value: is_long(value) or (_is_time(value) and value.tzinfo is None),
    "binary": lambda value: isinstance(value, bytes),
}


def _is_time(value: Any) -> bool:
    """Returns whether a value is a datetime without a fraction of a microsecond, which that of pandas has."""
    return isinstance(value, datetime) and not getattr(value, "nanosecond", 0)


def _fits_nested(value: Any, kind: str) -> bool:
    fields = fields_of(kind)
    if kind.startswith("struct"):
        known = isinstance(value, Mapping) and all(name in fields for name in value)
        return known and all(fits(value.get(name), part) for name, part in fields.items())
    if isinstance(value, Mapping):
        return _has_entries(kind) and all(
            key is not None and fits({"key": key, "value": item}, _element(kind))
            for key, item in value.items()
        )
    return isinstance(value, (list, tuple)) and all(fits(item, _element(kind)) for item in value)


def fields_of(kind: str) -> dict[str, str]:
    """Returns the types in a nested type by name; that of an array is "element".

    >>> fields_of("struct<a:array<bigint>,b:map<string,double>>")
    {'a': 'array<bigint>', 'b': 'map<string,double>'}
    """
    nested = _NESTED.fullmatch(kind)
    if not nested:
        return {}
    parts = list(_between_commas(nested[2]))
    if nested[1] != "struct":
        return dict(zip(["element"] if nested[1] == "array" else ["key", "value"], parts, strict=True))
    named = [field for part in parts if (field := _FIELD.fullmatch(part))]
    return {_unquoted(field[1]): field[2] for field in named}


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _between_commas(text: str) -> Iterator[str]:
    """Yields the parts of a text between commas that are in no brackets and no quoted names."""
    depth, start, quoted = 0, 0, False
    for place, sign in enumerate(text):
        quoted ^= sign == "`"
        if quoted:
            continue
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and depth == 0:
            yield text[start:place]
            start = place + 1
    yield text[start:]


def _element(kind: str) -> str:
    """Returns the type of the elements of a list, or of the entries of a map."""
    fields = fields_of(kind)
    return fields.get("element") or f"struct<key:{fields['key']},value:{fields['value']}>"


def _has_entries(kind: str) -> bool:
    return list(fields_of(_element(kind))) == ["key", "value"] and _element(kind).startswith("struct")


def _fits_decimal(value: Decimal, kind: str) -> bool:
    if not value.is_finite():
        return False
    unscaled, (precision, places) = value.as_tuple(), digits_of(kind)
    shift = places + int(unscaled.exponent)
    digits = "".join(map(str, unscaled.digits)).lstrip("0")
    lost = digits[shift:] if shift < 0 else ""
    return not lost.strip("0") and (not digits or len(digits) + shift <= precision)


def digits_of(kind: str) -> tuple[int, int]:
    """Returns precision and scale of a decimal(p,s); (0, 0) for another type."""
    numbers = _DECIMAL.fullmatch(kind)
    return (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)


def as_type(value: Any, kind: str | None) -> Any:
    """Returns the value as a column of the type contains it.

    A double column has only floats and a float column those of 32 bits. An instant is a whole number of
    microseconds, a struct has all fields, and a map is a list of its entries (semantics 31.20).
    """
    if value is None or kind is None:
        return value
    if kind == "double":
        return float(value)
    if kind == "float":
        return array("f", [value])[0]
    if isinstance(value, datetime) and kind.startswith("timestamp"):
        epoch = _EPOCH if kind == "timestamp" else _EPOCH.replace(tzinfo=None)
        return (value - epoch) // timedelta(microseconds=1)
    if kind.startswith("struct"):
        return {name: as_type(value.get(name), part) for name, part in fields_of(kind).items()}
    if not _NESTED.fullmatch(kind):
        return value
    if isinstance(value, Mapping):
        value = [{"key": key, "value": item} for key, item in value.items()]
    return [as_type(item, _element(kind)) for item in value]


def same_value(value: Any, other: Any) -> bool:
    """Returns whether values are equal: null equals null, NaN equals NaN (semantics 21.3)."""
    if isinstance(value, list) and isinstance(other, list):
        return len(value) == len(other) and all(same_value(a, b) for a, b in zip(value, other, strict=True))
    if isinstance(value, dict) and isinstance(other, dict):
        return value.keys() == other.keys() and all(same_value(value[name], other[name]) for name in value)
    return (is_nan(value) and is_nan(other)) or bool(value == other)


def sort_key(value: Any) -> tuple[Any, ...]:
    """Returns a sort key: nulls come first, and NaN after all other numbers (semantics 23).

    Values of types that cannot be compared are ordered by the names of their types.
    """
    if value is None:
        return (0,)
    if is_nan(value):
        return (1, "", 1, 0)
    if isinstance(value, (int, float, Decimal)):
        return (1, "", 0, value)
    return (1, type(value).__name__, 0, value)
