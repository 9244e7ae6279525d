"""Types of the columns in a list of events, given or inferred."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from panewise.spec.column_values import ColumnType

Row = Mapping[str, Any]
_INFERRED_PRECISION = 18


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
