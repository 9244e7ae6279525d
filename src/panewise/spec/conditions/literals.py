"""Literals of conditions: a type under its Spark name, and a value that JSON can contain (semantics 38.2)."""

import math
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from numbers import Integral
from typing import Any, Final

from panewise.chrono import instant_us
from panewise.errors import SpecError
from panewise.spec.column_types import Type
from panewise.spec.column_values import is_long, is_text

MAX_DIGITS: Final = 38  # of a decimal
NOT_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
TYPES: Final = ("bigint", "boolean", "date", "decimal(p,s)", "double", "string", "timestamp")
_DECIMAL_TEXT = re.compile(r"-?\d+(\.\d+)?")
_DATE_TEXT = re.compile(r"\d{4}-\d\d-\d\d")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Literal:
    """A constant of a condition.

    Args:
        type: one of `TYPES`.
        value: a bool, an int, a float or a str. The value of a double that is not finite is "NaN", "Infinity"
            or "-Infinity". A decimal and a date are texts, a timestamp is microseconds since 1970.

    Raises:
        SpecError: if the value is not of the type.
    """

    type: str
    value: bool | int | float | str

    def __post_init__(self) -> None:
        if not is_literal(self.type, self.value):
            problem = f"literal type={self.type!r}, value={self.value!r}"
            rule = f"the types of literals are {', '.join(TYPES)}"
            raise SpecError(problem, rule, "give a type, and a value of it")

    @property
    def python(self) -> Any:
        """The value as Python has it: a bool, int, float, str, Decimal or date; a timestamp is an int."""
        if self.type == "double":
            return NOT_FINITE.get(str(self.value), self.value)
        if self.type == "date":
            return date.fromisoformat(str(self.value))
        return Decimal(str(self.value)) if self.type.startswith("decimal") else self.value

    def __str__(self) -> str:
        match self.type:
            case "boolean":
                return "TRUE" if self.value else "FALSE"
            case "string":
                return "'" + str(self.value).replace("'", "''") + "'"
            case "date":
                return f"DATE '{self.value}'"
            case "timestamp":
                return _timestamp_text(int(self.value))
            case "double" if self.value in NOT_FINITE:
                return f"DOUBLE '{self.value}'"
        return str(self.value)


def is_literal(kind: Any, value: Any) -> bool:
    """Returns whether a value has the plain form of values of this type.

    >>> is_literal("bigint", 1), is_literal("bigint", True), is_literal("decimal(3,2)", "1.50")
    (True, False, True)
    """
    match kind:
        case "boolean":
            return isinstance(value, bool)
        case "bigint" | "timestamp":
            return is_long(value)
        case "double":
            return math.isfinite(value) if isinstance(value, float) else value in tuple(NOT_FINITE)
        case "string":
            return is_text(value)
        case "date":
            return isinstance(value, str) and _is_date(value)
    return isinstance(kind, str) and isinstance(value, str) and _is_decimal(kind, value)


def _is_date(value: str) -> bool:
    try:
        return _DATE_TEXT.fullmatch(value) is not None and bool(date.fromisoformat(value))
    except ValueError:
        return False


def _is_decimal(kind: str, value: str) -> bool:
    return _DECIMAL_TEXT.fullmatch(value) is not None and (kind, value) == _plain_decimal(Decimal(value))


def literal_of(value: Any) -> Literal:
    """Returns the literal for a value of Python.

    >>> literal_of(2), literal_of(float("nan")).value, literal_of(Decimal("1.50")).type
    (Literal(type='bigint', value=2), 'NaN', 'decimal(3,2)')

    Raises:
        SpecError: if the value is null, of a type that conditions do not know, or out of range.
    """
    match value:
        case None:
            rule = "a comparison or a sum with null is null, and matches nothing"
            raise SpecError("None in a condition", rule, "test for null with .is_null()")
        case bool():
            return Literal("boolean", value)
        case Integral():
            return _whole(int(value))
        case float():
            return Literal("double", _plain_float(float(value)))
        case str():
            return _text(str(value))
        case Decimal():
            return _decimal(value)
        case datetime():
            return Literal("timestamp", instant_us(value, "literal"))
        case date():
            return Literal("date", value.isoformat())
    rule = "a literal is a bool, int, float, str, Decimal, date, or a datetime with a time zone"
    raise SpecError(f"literal={value!r}", rule, "give one of these, or a column: left(name), right(name)")


def _whole(value: int) -> Literal:
    if not is_long(value):
        raise SpecError(f"literal={value}", "a whole number fits in 64 bits", "give a Decimal or a float")
    return Literal("bigint", value)


def _plain_float(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _text(value: str) -> Literal:
    if not is_text(value):
        rule = "a string contains characters that UTF-8 can encode"
        raise SpecError(f"literal={value!r}", rule, "leave surrogates out")
    return Literal("string", value)


def _decimal(value: Decimal) -> Literal:
    kind, text = _plain_decimal(value) if value.is_finite() else ("", "")
    if not kind or Type(kind).digits[0] > MAX_DIGITS:
        rule = f"a decimal is finite and has up to {MAX_DIGITS} digits"
        raise SpecError(f"literal={value!r}", rule, "give a shorter decimal, or a float")
    return Literal(kind, text)


def _plain_decimal(value: Decimal) -> tuple[str, str]:
    """Returns the type and the text of a finite decimal. It has the digits that are given: 1.50 has three."""
    digits, exponent = value.as_tuple().digits, int(value.as_tuple().exponent)
    whole = len(digits) + exponent if any(digits) else 0  # digits before the point
    scale = max(0, -exponent)
    precision = max(1, whole + scale, scale)
    if precision > MAX_DIGITS:  # the text would be as long
        return f"decimal({precision},{scale})", ""
    return f"decimal({precision},{scale})", format(value if value else value.copy_abs(), "f")


def _timestamp_text(us: int) -> str:
    try:
        instant = _EPOCH + timedelta(microseconds=us)
    except OverflowError:
        return f"TIMESTAMP_MICROS({us})"
    return f"TIMESTAMP '{instant.isoformat(sep=' ').replace('+00:00', 'Z')}'"
