"""Types of the columns in a list of events: given, or inferred from the values; and whether a value fits its type."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any, Final

from panewise.errors import InputError

Row = Mapping[str, Any]
MISFIT: Final = object()  # what `ColumnType.fit` gives for a value of another type
_DECIMAL = re.compile(r"^decimal\((\d+),\s*(\d+)\)$")
_INFERRED_PRECISION = 18
_EXACT = 200  # digits; more than any decimal(p,s) has, so that nothing is rounded before it is judged


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
        """Reads a type's name.

        Raises:
            InputError: if it is none of those known.
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
        """The value as this type holds it; MISFIT if it is of another type. Null fits."""
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
    """Whether the value is a whole number of 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _whole(value: Any) -> Any:
    return value if is_long(value) else MISFIT


def _double(value: Any) -> Any:
    if isinstance(value, Decimal) or abs(value) > 1.7976931348623157e308 and isinstance(value, int):
        return MISFIT
    return float(value)


def infer(
    rows: Sequence[Row], given: Mapping[str, str], needed: Iterable[str], whole: Iterable[str], boolean: Iterable[str] = ()
) -> dict[str, str]:
    """A type for each column of the rows and each needed one.

    Args:
        rows: every row of every event.
        given: types that the caller names.
        needed: columns that have a type even if no row has them.
        whole: columns that are bigint whatever they hold (event time, offset).
        boolean: columns that are boolean if they hold nothing.

    >>> infer([{"k": "a", "v": 1}, {"k": None, "v": 2.5}], {}, ["k", "w"], [])
    {'k': 'string', 'w': 'bigint', 'v': 'double'}
    """
    values: dict[str, list[Any]] = {name: [] for name in (*needed, *given)}
    for row in rows:
        for name, value in row.items():
            values.setdefault(name, []).append(value)
    known = {name: [value for value in column if value is not None] for name, column in values.items()}
    empty = dict.fromkeys(boolean, "boolean")
    types = {name: _inferred(column) if column else empty.get(name, "bigint") for name, column in known.items()}
    return types | dict.fromkeys(whole, "bigint") | {name: str(ColumnType.of(text)) for name, text in given.items()}


def _inferred(values: list[Any]) -> str:
    kinds = {_kind(value) for value in values}
    if kinds == {"bigint", "double"}:
        return "double"
    first = _kind(values[0])
    if first != "decimal":
        return first
    scales = [-int(value.as_tuple().exponent) for value in values if isinstance(value, Decimal) and value.is_finite()]
    return f"decimal({_INFERRED_PRECISION},{min(max(0, *scales, 0), _INFERRED_PRECISION)})"


def _kind(value: Any) -> str:
    """The type that the value alone would give its column; a value that fits nowhere says string."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "bigint"
    return "double" if isinstance(value, float) else "decimal" if isinstance(value, Decimal) else "string"
