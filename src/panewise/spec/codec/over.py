"""Converts OVER operators to plain dicts and back."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Final

from panewise.chrono import Duration
from panewise.errors import SpecError
from panewise.spec.aggregates.aggregate import FUNCTIONS, Aggregate, default_name
from panewise.spec.codec.aggregates import aggregate_from, plain_aggregate, position_from
from panewise.spec.codec.users import ANY_USER
from panewise.spec.codec.watermarks import plain_watermark, watermark_from
from panewise.spec.fields import Reader, duration, flag, members_of, names, or_null, text, wrong
from panewise.spec.frames import Frame
from panewise.spec.operators.over.operator import ROW_FUNCTIONS, OverColumn, OverOperator, RowFunction
from panewise.spec.position import Position
from panewise.spec.protocol import Users
from panewise.spec.watermarks import FixedLag, Inputs, StreamTime

COLUMNS: Final = "columns"  # the field that distinguishes an OVER operator from a window operator
NAMES: Final = tuple(field.name for field in fields(OverOperator))


def reads(document: Mapping[str, Any]) -> bool:
    """Returns whether the dict has new columns."""
    return COLUMNS in document


def to_dict(spec: OverOperator) -> dict[str, Any]:
    """Returns the operator as a dict of plain values, with every field.

    >>> from panewise import functions as F
    >>> to_dict(OverOperator(columns=[OverColumn(F.sum("v").alias("total"),
    ...     Frame("rows", -2, 0))]))["columns"]
    [{'fn': 'sum', 'column': 'v', 'name': 'total', 'frame': {'kind': 'rows', 'start': -2, 'end': 0}}]
    """
    return {
        name: _plain_columns(spec) if name == COLUMNS else plain_field(getattr(spec, name)) for name in NAMES
    }


def from_dict(document: Mapping[str, Any], users: Users) -> OverOperator:
    """Returns the operator that a dict describes.

    A dict without `null_keys` means False, which was the default of earlier releases.

    Raises:
        SpecError: as :func:`panewise.spec.codec.from_dict` does.
    """
    members = members_of(document, "", set(NAMES), required=(COLUMNS,))
    given = {name: _FIELDS[name](value, name) for name, value in members.items() if name != COLUMNS}
    return OverOperator(
        columns=_columns(members[COLUMNS], users["aggregates"]), **{"null_keys": False, **given}
    )


def complete(document: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the dict with the defaults of the fields that it leaves out."""
    return to_dict(from_dict(document, ANY_USER))


def plain_field(value: Any) -> Any:
    """Returns the value of a field as a plain value."""
    match value:
        case Duration():
            return value.us
        case tuple():
            return list(value)
        case FixedLag() | StreamTime() | Inputs():
            return plain_watermark(value)
        case Position():
            return {field.name: getattr(value, field.name) for field in fields(value)}
    return value


def _plain_columns(spec: OverOperator) -> list[dict[str, Any]]:
    return [_plain_function(column.what) | _plain_frame(column.frame) for column in spec.columns]


def _plain_function(what: Aggregate | RowFunction) -> dict[str, Any]:
    if not isinstance(what, RowFunction):
        return plain_aggregate(what)
    options = {name: value for name, value in (("n", what.n), ("default", what.default)) if value is not None}
    return {"fn": what.fn, "column": what.column, "name": what.name, **options}


def _plain_frame(frame: Frame | None) -> dict[str, Any]:
    return {} if frame is None else {"frame": {"kind": frame.kind, "start": frame.start, "end": frame.end}}


def _columns(value: Any, users: Mapping[str, Any]) -> list[OverColumn]:
    if not isinstance(value, (list, tuple)):
        raise wrong(COLUMNS, value, "a list of columns")
    return [_column(item, f"{COLUMNS}[{n}]", users) for n, item in enumerate(value)]


def _column(value: Any, where: str, users: Mapping[str, Any]) -> OverColumn:
    if not isinstance(value, Mapping):
        raise wrong(where, value, "an object with named fields")
    function = {name: item for name, item in value.items() if name != "frame"}
    frame = None if value.get("frame") is None else _frame(value["frame"], f"{where}.frame")
    fn = function.get("fn", "count")  # aggregate_from refuses a missing one
    if isinstance(fn, str) and fn in ROW_FUNCTIONS:
        return OverColumn(_row_function(function, where), frame)
    if not isinstance(fn, str) or fn not in FUNCTIONS:
        raise SpecError(
            f"{where}.fn={fn!r}",
            f"the functions are {sorted((*FUNCTIONS, *ROW_FUNCTIONS))}",
            "give one of these",
        )
    return OverColumn(aggregate_from(function, where, users), frame)


def _row_function(value: Mapping[str, Any], where: str) -> RowFunction:
    members = members_of(value, where, {"fn", "column", "name", "n", "default"}, required=("fn",))
    fn, column, default = members["fn"], members.get("column"), members.get("default")
    n = members.get("n", 1 if fn in ("lag", "lead") else None)
    name = f"{fn}()" if column is None else default_name(fn, column, n, default)
    return RowFunction(fn, column, text(members.get("name", name), f"{where}.name"), n, default)


def _frame(value: Any, where: str) -> Frame:
    members = members_of(value, where, {"kind", "start", "end"}, required=("kind",))
    return Frame(members["kind"], members.get("start"), members.get("end", 0))


_FIELDS: dict[str, Reader] = {
    **dict.fromkeys(("keys", "order"), names),
    "event_time": or_null(text),
    "position": or_null(position_from),
    "null_keys": flag,
    "max_future_skew": or_null(duration),
    "watermark": or_null(watermark_from(FixedLag, StreamTime, Inputs)),
}
