"""Types of in-process columns, and equality and order of their values (semantics 15, 15.2, 21.3, 23)."""

import math
import re
import sys
from decimal import Decimal
from typing import Any

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.errors import InputError

_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_PLAIN = ("bigint", "double", "string", "boolean")


def check_type(column: str, kind: str) -> None:
    """Checks the name of a column's type.

    Raises:
        InputError: for an unknown name.
    """
    if kind not in _PLAIN and not _DECIMAL.fullmatch(kind):
        rule = "a type is bigint, double, string, boolean or decimal(p,s)"
        raise InputError(f"types[{column!r}]={kind!r}", rule, "give one of these")


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
    match kind:
        case "bigint":
            return is_long(value)
        case "double":
            return isinstance(value, float) or (is_integer(value) and abs(value) <= sys.float_info.max)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case _:
            return isinstance(value, Decimal) and _fits_decimal(value, kind)


def _fits_decimal(value: Decimal, kind: str) -> bool:
    if not value.is_finite():
        return False
    unscaled, places = Decimal(value).as_tuple(), decimal_scale(kind)
    precision = decimal_precision(kind)
    shift = places + int(unscaled.exponent)
    digits = "".join(map(str, unscaled.digits)).lstrip("0")
    lost = digits[shift:] if shift < 0 else ""
    return not lost.strip("0") and (not digits or len(digits) + shift <= precision)


def decimal_precision(kind: str) -> int:
    """Returns the precision p of a decimal(p,s); 0 for another type."""
    found = _DECIMAL.fullmatch(kind)
    return int(found[1]) if found else 0


def decimal_scale(kind: str) -> int:
    """Returns the scale s of a decimal(p,s); 0 for another type."""
    found = _DECIMAL.fullmatch(kind)
    return int(found[2]) if found else 0


def as_type(value: Any, kind: str | None) -> Any:
    """Returns the value as a column of the type contains it: a double column has only floats."""
    return float(value) if kind == "double" and value is not None else value


def same_value(one: Any, other: Any) -> bool:
    """Returns whether values are equal: null equals null, NaN equals NaN (semantics 21.3)."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same_value(a, b) for a, b in zip(one, other, strict=True))
    return (is_nan(one) and is_nan(other)) or bool(one == other)


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
