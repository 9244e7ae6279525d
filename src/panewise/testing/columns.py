"""Types of the columns in a list of events, given or inferred."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from panewise.spec.column_values import ColumnType

Row = Mapping[str, Any]
_INFERRED_PRECISION = 18


def infer(
    rows: Sequence[Row],
    declared: Mapping[str, str],
    needed: Iterable[str],
    whole: Iterable[str],
    boolean: Iterable[str] = (),
) -> dict[str, str]:
    """Returns a type for each column of the rows and each needed column.

    A given type takes precedence over an inferred one. Dicts are inferred as structs: give the type of a map.

    Args:
        needed: columns that have a type even if no row has them.
        whole: columns that are bigint whatever their values are (event time, offset).
        boolean: columns that are boolean, instead of bigint, if they have no value.

    >>> infer([{"k": "a", "v": 1}, {"k": None, "v": 2.5}], {}, ["k", "w"], [])
    {'k': 'string', 'w': 'bigint', 'v': 'double'}
    >>> infer([{"l": []}, {"l": [{"a": 1.5}, {"b": "x"}]}], {}, [], [])
    {'l': 'array<struct<a:double,b:string>>'}
    """
    values: dict[str, list[Any]] = {name: [] for name in (*needed, *declared)}
    for row in rows:
        for name, value in row.items():
            values.setdefault(name, []).append(value)
    known = {
        name: [value for value in column if value is not None]
        for name, column in values.items()
        if name not in declared
    }
    empty = dict.fromkeys(boolean, "boolean")
    types = {
        name: str(_inferred(column)) if column else empty.get(name, "bigint")
        for name, column in known.items()
    }
    return (
        types
        | dict.fromkeys(whole, "bigint")
        | {name: str(ColumnType.parse(text)) for name, text in declared.items()}
    )


def inferred(rows: Iterable[Row], name: str) -> str | None:
    """Returns the type of a column as :func:`infer` does; None if it has no value."""
    values = [row[name] for row in rows if row.get(name) is not None]
    return str(_inferred(values)) if values else None


def _inferred(values: list[Any]) -> ColumnType:
    """Returns the type of the values, of which none is null. An empty dict has no field that shows a type."""
    values = [value for value in values if not _is_empty(value)] or values
    kinds = {_kind(value) for value in values}
    if kinds == {"bigint", "double"}:
        return ColumnType("double")
    match _kind(values[0]):
        case "array":
            items = [item for value in values if _kind(value) == "array" for item in value]
            return ColumnType("array", fields=(("element", _of_parts(items)),))
        case "struct":
            structs = [value for value in values if _kind(value) == "struct"]
            names = dict.fromkeys(name for value in structs for name in value)
            parts = [(str(name), _of_parts([value.get(name) for value in structs])) for name in names]
            return ColumnType("struct", fields=tuple(parts))
        case "decimal":
            return _decimal(values)
        case first:
            return ColumnType(first)


def _of_parts(values: list[Any]) -> ColumnType:
    """Returns the type of the values inside lists or structs; bigint if all of them are null."""
    known = [value for value in values if value is not None]
    return _inferred(known) if known else ColumnType("bigint")


def _decimal(values: list[Any]) -> ColumnType:
    scales = [
        -int(value.as_tuple().exponent)
        for value in values
        if isinstance(value, Decimal) and value.is_finite()
    ]
    return ColumnType("decimal", _INFERRED_PRECISION, min(max(0, *scales, 0), _INFERRED_PRECISION))


_KINDS: Final[Mapping[type, str]] = {  # a subclass is before its class
    bool: "boolean",
    int: "bigint",
    float: "double",
    Decimal: "decimal",
    datetime: "timestamp",
    date: "date",
    bytes: "binary",
    list: "array",
    tuple: "array",
    Mapping: "struct",
}


def _is_empty(value: Any) -> bool:
    """Returns whether a value is an empty dict. Arrays of NumPy do not compare to True or False."""
    return isinstance(value, Mapping) and not value


def _kind(value: Any) -> str:
    """Returns the type that a column of this value alone has; string for a value that fits no type."""
    if _is_empty(value):
        return "string"
    if isinstance(value, datetime) and value.tzinfo is None:
        return "timestamp_ntz"
    return next((name for kind, name in _KINDS.items() if isinstance(value, kind)), "string")
