"""The values of Python that fit a column: plain values in, values of the column's type out."""

import re
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any, Final

from panewise.errors import InputError

MISFIT: Final = object()  # the result of `ColumnType.fit` for a value of another type
_DECIMAL = re.compile(r"^decimal\((\d+),\s*(\d+)\)$")
_EXACT = 200  # more digits than any decimal(p,s) has, so that no value is rounded before it is validated


@dataclass(frozen=True)
class ColumnType:
    """A column's type: bigint, double, string, boolean or decimal(precision, scale).

    >>> ColumnType.of("decimal(10,2)").fit(Decimal("1.5"))
    Decimal('1.50')
    """

    name: str
    precision: int = 0
    scale: int = 0

    @classmethod
    def of(cls, text: str) -> "ColumnType":
        """Returns the type with this name.

        Raises:
            InputError: if the name is unknown.
        """
        if text in ("bigint", "double", "string", "boolean"):
            return cls(text)
        match = _DECIMAL.match(text) if isinstance(text, str) else None
        if match is None or not int(match[2]) <= int(match[1]) <= 38 or int(match[1]) == 0:
            rule = "a type is bigint, double, string, boolean or decimal(p,s) with s <= p <= 38"
            raise InputError(f"type={text!r}", rule, "give one of these")
        return cls("decimal", int(match[1]), int(match[2]))

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})" if self.name == "decimal" else self.name

    def fit(self, value: Any) -> Any:
        """Returns the value converted to this type; null for null, MISFIT for a value of another type."""
        if value is None:
            return None
        if self.name in ("string", "boolean"):
            fits = is_text(value) if self.name == "string" else isinstance(value, bool)
            return value if fits else MISFIT
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
            return MISFIT
        return {"bigint": _whole, "double": _double, "decimal": self._decimal}[self.name](value)

    def _decimal(self, value: Any) -> Any:
        if not isinstance(value, Decimal) or not value.is_finite():
            return MISFIT
        with localcontext(prec=_EXACT):
            scaled = value.scaleb(self.scale)
            if scaled != scaled.to_integral_value() or abs(scaled) >= 10**self.precision:
                return MISFIT
            return Decimal(int(scaled)).scaleb(-self.scale)


def is_long(value: Any) -> bool:
    """Returns whether the value is a whole number that fits in 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def is_text(value: Any) -> bool:
    r"""Returns whether the value is a text that UTF-8 can encode.

    >>> is_text("ä"), is_text("\ud800"), is_text(b"a")
    (True, False, False)
    """
    if not isinstance(value, str):
        return False
    try:
        return value.isascii() or bool(value.encode())
    except UnicodeEncodeError:
        return False


def _whole(value: Any) -> Any:
    return value if is_long(value) else MISFIT


def _double(value: Any) -> Any:
    if isinstance(value, Decimal) or abs(value) > 1.7976931348623157e308 and isinstance(value, int):
        return MISFIT
    return float(value)
