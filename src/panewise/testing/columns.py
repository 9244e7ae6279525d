"""Types of the columns in a list of events, given or inferred, and conversion of values to these types."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any, Final

from panewise.errors import InputError

Row = Mapping[str, Any]
MISFIT: Final = object()  # the result of `ColumnType.fit` for a value of another type
_DECIMAL = re.compile(r"^decimal\((\d+),\s*(\d+)\)$")
_INFERRED_PRECISION = 18
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
            return value if isinstance(value, str if self.name == "string" else bool) else MISFIT
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


def _whole(value: Any) -> Any:
    return value if is_long(value) else MISFIT


def _double(value: Any) -> Any:
    if isinstance(value, Decimal) or abs(value) > 1.7976931348623157e308 and isinstance(value, int):
        return MISFIT
    return float(value)


def infer(
    rows: Sequence[Row],
    given: Mapping[str, str],
    needed: Iterable[str],
    whole: Iterable[str],
    boolean: Iterable[str] = (),
) -> dict[str, str]:
    """Returns a type for each column of the rows and each needed column.

    A given type takes precedence over an inferred one.

    Args:
        rows: all rows of all events.
        given: the types that the caller gives.
        needed: columns that have a type even if no row has them.
        whole: columns that are bigint whatever their values are (event time, offset).
        boolean: columns that are boolean, instead of bigint, if they have no value.

    >>> infer([{"k": "a", "v": 1}, {"k": None, "v": 2.5}], {}, ["k", "w"], [])
    {'k': 'string', 'w': 'bigint', 'v': 'double'}
    """
    values: dict[str, list[Any]] = {name: [] for name in (*needed, *given)}
    for row in rows:
        for name, value in row.items():
            values.setdefault(name, []).append(value)
    known = {name: [value for value in column if value is not None] for name, column in values.items()}
    empty = dict.fromkeys(boolean, "boolean")
    types = {
        name: _inferred(column) if column else empty.get(name, "bigint") for name, column in known.items()
    }
    return (
        types
        | dict.fromkeys(whole, "bigint")
        | {name: str(ColumnType.of(text)) for name, text in given.items()}
    )


def _inferred(values: list[Any]) -> str:
    kinds = {_kind(value) for value in values}
    if kinds == {"bigint", "double"}:
        return "double"
    first = _kind(values[0])
    if first != "decimal":
        return first
    scales = [
        -int(value.as_tuple().exponent)
        for value in values
        if isinstance(value, Decimal) and value.is_finite()
    ]
    return f"decimal({_INFERRED_PRECISION},{min(max(0, *scales, 0), _INFERRED_PRECISION)})"


def _kind(value: Any) -> str:
    """Returns the type that a column of this value alone has; string for a value that fits no type."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "bigint"
    return "double" if isinstance(value, float) else "decimal" if isinstance(value, Decimal) else "string"
