"""The values of Python that fit a column: plain values in, values of the column's type out."""

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, localcontext
from typing import Any, Final

from panewise.chrono import instant_us, is_exact
from panewise.errors import InputError, SpecError
from panewise.spec.fields import is_whole
from panewise.spec.type_text import TypeTree, field_name, parse

MISFIT: Final = object()  # the result of `ColumnType.fit` for a value of another type
_EXACT = 200  # more digits than any decimal(p,s) has, so that no value is rounded before it is validated
BITS: Final = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_SIMPLE: Final = (
    *BITS,
    "float",
    "double",
    "string",
    "boolean",
    "date",
    "timestamp",
    "timestamp_ntz",
    "binary",
)
_NUMPY: Final = frozenset("iufb")  # the kinds of NumPy's numbers and truth values
_NUMBERS: Final = (*BITS, "float", "double", "decimal")
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - the beginning of times without a zone
_MICROSECOND: Final = timedelta(microseconds=1)
ENTRY: Final = ("key", "value")  # the fields of an entry of a map


@dataclass(frozen=True)
class ColumnType:
    """A column's type: a simple one, decimal(precision, scale), or a list, a struct or a map of types.

    Attributes:
        name: tinyint, smallint, int, bigint, float, double, string, boolean, date, timestamp, timestamp_ntz,
            binary, decimal, array, struct or map.
        precision: the number of digits of a decimal.
        scale: the number of its digits after the point.
        fields: the parts of a nested type by name. That of an array is named "element", those of a map are
            "key" and "value".

    >>> str(ColumnType.parse("MAP<string, struct<a bigint>>"))
    'map<string,struct<a:bigint>>'
    >>> ColumnType.parse("decimal(10,2)").fit(Decimal("1.5"))
    Decimal('1.50')
    >>> ColumnType.parse("map<string,array<double>>").fit({"a": [1, None]})
    [{'key': 'a', 'value': [1.0, None]}]
    """

    name: str
    precision: int = 0
    scale: int = 0
    fields: tuple[tuple[str, "ColumnType"], ...] = ()

    @classmethod
    def parse(cls, text: str) -> "ColumnType":
        """Returns the type with this name, as Spark's DDL writes it.

        Raises:
            InputError: if the name is unknown.
        """
        return cls._of_tree(parse(text), text)

    @classmethod
    def _of_tree(cls, tree: TypeTree, text: str) -> "ColumnType":
        if tree.fields:
            parts = {name: cls._of_tree(part, text) for name, part in tree.fields}
            return cls(tree.name, fields=tuple(parts.items()))
        if tree.name in _SIMPLE and not tree.digits:
            return cls(tree.name)
        precision, scale = tree.digits if len(tree.digits) == 2 else (0, 0)
        if tree.name != "decimal" or not scale <= precision <= 38 or precision == 0:
            rule = f"a type is {', '.join(_SIMPLE)}, decimal(p,s) with s <= p <= 38, array<T>, "
            raise InputError(f"type={text!r}", rule + "struct<name:T> or map<K,V>", "give one of these")
        return cls("decimal", precision, scale)

    def __str__(self) -> str:
        if self.name == "decimal":
            return f"decimal({self.precision},{self.scale})"
        named = self.name == "struct"
        parts = [f"{field_name(name)}:{part}" if named else str(part) for name, part in self.fields]
        return f"{self.name}<{','.join(parts)}>" if parts else self.name

    def fit(self, value: Any) -> Any:
        """Returns the value converted to this type; null for null, MISFIT for a value of another type.

        An instant becomes a whole number of microseconds, a time without a zone those since 1970 in its own
        zone, and a map a list of its entries. A number is rounded to a float.
        """
        if value is None:
            return None
        match self.name:
            case "array":
                return self._list(value)
            case "struct":
                return self._struct(value)
            case "map":
                return self._entries.fit(value)
        value = of_python(value)
        return self._number(value) if self.name in _NUMBERS else _other(value, self.name)

    def _number(self, value: Any) -> Any:
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
            return MISFIT
        if self.name in BITS:
            return value if is_whole_of(value, BITS[self.name]) else MISFIT
        return {"float": _float, "double": _double, "decimal": self._decimal}[self.name](value)

    @property
    def _entries(self) -> "ColumnType":
        """The type of a map's entries, which Polars has in its place."""
        return ColumnType("array", fields=(("element", ColumnType("struct", fields=self.fields)),))

    def _list(self, value: Any) -> Any:
        [(_, element)] = self.fields
        if isinstance(value, Mapping) and tuple(name for name, _ in element.fields) == ENTRY:
            value = [MISFIT if key is None else {"key": key, "value": value[key]} for key in value]
        if not isinstance(value, (list, tuple)):
            return MISFIT
        items = [element.fit(item) for item in value]
        return MISFIT if any(item is MISFIT for item in items) else items

    def _struct(self, value: Any) -> Any:
        if not isinstance(value, Mapping) or not set(value) <= {name for name, _ in self.fields}:
            return MISFIT
        values = {name: part.fit(value.get(name)) for name, part in self.fields}
        return MISFIT if any(item is MISFIT for item in values.values()) else values

    def _decimal(self, value: Any) -> Any:
        if not isinstance(value, Decimal) or not value.is_finite():
            return MISFIT
        with localcontext(prec=_EXACT):
            scaled = value.scaleb(self.scale)
            if scaled != scaled.to_integral_value() or abs(scaled) >= 10**self.precision:
                return MISFIT
            return Decimal(int(scaled)).scaleb(-self.scale)


def of_python(value: Any) -> Any:
    """Returns a number of NumPy as that of Python. Its instants are none: they may be nanoseconds (15.31)."""
    is_number = getattr(getattr(value, "dtype", None), "kind", None) in _NUMPY
    return value.item() if is_number and value.shape == () else value


def _other(value: Any, name: str) -> Any:
    """Returns a value that is no number."""
    if name.startswith("timestamp"):
        return _instant(value) if name == "timestamp" else _local_time(value)
    return value if _is_simple(value, name) else MISFIT


def _is_simple(value: Any, name: str) -> bool:
    match name:
        case "string":
            return is_text(value)
        case "boolean":
            return isinstance(value, bool)
        case "date":
            return isinstance(value, date) and not isinstance(value, datetime)
    return isinstance(value, bytes)


def _instant(value: Any) -> Any:
    """Returns a datetime with a time zone, or a whole number of microseconds, as the latter."""
    if not isinstance(value, datetime):
        return _whole(value)
    try:
        return instant_us(value)
    except SpecError:
        return MISFIT


def _local_time(value: Any) -> Any:
    """Returns a datetime without a time zone, or a whole number of microseconds, as the latter."""
    if not isinstance(value, datetime):
        return _whole(value)
    if value.tzinfo is not None or not is_exact(value):
        return MISFIT
    return (value - _EPOCH) // _MICROSECOND


def is_whole_of(value: Any, bits: int) -> bool:
    """Returns whether the value is a whole number that fits in so many bits."""
    most = 2 ** (bits - 1)
    return is_whole(value) and -most <= value < most


def is_long(value: Any) -> bool:
    """Returns whether the value is a whole number that fits in 64 bits."""
    return is_whole_of(value, 64)


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


def _float(value: Any) -> Any:
    """Returns the nearest number of 32 bits; MISFIT for one beyond their range."""
    double = _double(value)
    try:
        return double if double is MISFIT else struct.unpack("<f", struct.pack("<f", double))[0]
    except OverflowError:
        return MISFIT
