"""Arrival order, validation and values of the rows of a batch (semantics 3, 4.1, 15), and stored rows."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.oracle.columns import as_type, fits, is_integer, is_long, is_nan, sort_key
from panewise.oracle.windowing.assign import exists, windows_of
from panewise.oracle.windowing.custom import given_windows, no_windows_reason
from panewise.spec import (
    Custom,
    Entry,
    Hopping,
    counted,
    gap_columns,
    input_columns,
    row_driven,
)
from panewise.spec.operators.policy.policies import DeltaPolicy

Types = dict[str, str]


@dataclass(frozen=True)
class Row:
    """A valid row.

    Attributes:
        added: the row as it was added.
        time: its event time; in windows of rows its number, which is set after validation (semantics 8, 9.5).
        key: the values of its key columns, as :func:`as_key` returns them.
        values: the columns that are read; all columns if the operator passes rows on.
    """

    added: dict[str, Any]
    time: int
    key: tuple[Any, ...]
    values: dict[str, Any]


def read_row(spec: Entry, types: Types, added: dict[str, Any], processing_time: int) -> Row:
    """Reads a row that has been validated."""
    values = {name: as_type(added.get(name), types.get(name)) for name in spec.columns_read}
    if spec.whole_rows:
        values = _all_values(types, added) | values
    key = tuple(as_key(values[name]) for name in spec.keys)
    return Row(added, _time_of(spec, added, processing_time), key, values)


def _time_of(spec: Entry, added: dict[str, Any], processing_time: int) -> Any:
    if counted(spec.window):
        return None
    return processing_time if spec.time == "processing" else added[spec.time_columns[0]]


def _all_values(types: Types, row: dict[str, Any]) -> dict[str, Any]:
    """Returns the values of all columns of the input.

    Columns that the specification does not read are not validated: a value of a wrong type becomes null.
    """
    cells = {name: row.get(name) for name in (*types, *row) if not name.startswith("__")}
    return {
        name: as_type(value, types.get(name)) if fits(value, types.get(name)) else None
        for name, value in cells.items()
    }


def as_key(value: Any) -> Any:
    """Returns the value as a key: -0.0 becomes 0.0, and NaN equals NaN (semantics 15.2).

    Every NaN becomes the same object, because Python takes identical objects in tuples as equal.
    """
    if is_nan(value):
        return math.nan
    return 0.0 if isinstance(value, float) and value == 0 else value


def arrival_order(spec: Entry, types: Types, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the rows of a batch in arrival order; unreadable values count as null (semantics 3)."""
    names = spec.position.columns if spec.position else spec.order or spec.time_columns

    def key(row: dict[str, Any]) -> list[tuple[Any, ...]]:
        return [sort_key(row.get(name) if _fits(spec, types, name, row) else None) for name in names]

    return sorted(rows, key=key)  # stable: rows that tie keep their order


def _fits(spec: Entry, types: Types, name: str, row: dict[str, Any]) -> bool:
    value = row.get(name)
    if value is None:
        return True
    if name in spec.time_columns:
        return is_long(value)
    whole = (*gap_columns(spec.window), *([spec.position.offset] if spec.position else []))
    if name not in types and name in whole:
        return is_long(value)
    if name not in types and name in input_columns(spec.watermark):
        return isinstance(value, str)
    if name not in types and spec.position is not None and name == spec.position.partition:
        return is_long(value) or isinstance(value, str)
    return fits(value, types.get(name))


def invalid_reason(spec: Entry, types: Types, row: dict[str, Any], processing_time: int) -> str | None:
    """Returns the reason why the row is invalid; None if it is valid.

    The reasons are tested in the order of semantics 15. Gaps in windows of rows are tested later (8.3).
    """
    return (
        _event_time(spec, row)
        or invalid_key_reason(spec, row)
        or _position(spec, row)
        or _wrong_type(spec, types, row)
        or _too_far_ahead(spec, row, processing_time)
        or _bad_input(spec, row)
        or _bad_gap(spec, row)
        or _no_window(spec, types, row, processing_time)
    )


def _event_time(spec: Entry, row: dict[str, Any]) -> str | None:
    if not spec.time_columns:
        return None
    t = row.get(spec.time_columns[0])
    if t is None:
        return "event time is null"
    if not is_integer(t):
        return "event time is not a timestamp"
    return "event time out of range" if t == MIN_INSTANT or not is_long(t) else None


def invalid_key_reason(spec: Any, row: Mapping[str, Any]) -> str | None:
    """Returns the reason why a row is invalid because of its keys; None if it is not."""
    if spec.null_keys:
        return None
    for name in spec.keys:
        if row.get(name) is None:
            return f"key {name} is null (null_keys=False)"
    for name in spec.keys:
        if is_nan(row.get(name)):
            return f"key {name} is NaN (null_keys=False)"
    return None


def _position(spec: Entry, row: dict[str, Any]) -> str | None:
    if spec.position is None:
        return None
    needed = (spec.position.partition, spec.position.offset)
    return "position is null" if any(row.get(name) is None for name in needed) else None


def _wrong_type(spec: Entry, types: Types, row: dict[str, Any]) -> str | None:
    for name in spec.columns_read:
        if not _fits(spec, types, name, row):
            return f"{name} has the wrong type"
    return None


def _too_far_ahead(spec: Entry, row: dict[str, Any], processing_time: int) -> str | None:
    skew = spec.max_future_skew
    ahead = skew is not None and row[spec.time_columns[0]] > processing_time + skew.us
    return "event time is too far ahead" if ahead else None


def _bad_input(spec: Entry, row: dict[str, Any]) -> str | None:
    """Tests the name of the row's input, if rows drive the watermarks of inputs (semantics 12.9)."""
    inputs = row_driven(spec.watermark)
    if inputs is None or inputs.column is None:
        return None
    name = row.get(inputs.column)
    if name is None:
        return f"input {inputs.column} is null"
    return None if name in inputs.names else f"input {inputs.column} is unknown"


def _bad_gap(spec: Entry, row: dict[str, Any]) -> str | None:
    """Tests the gap of a row, in sessions with a gap for each row (semantics 9.3)."""
    for name in gap_columns(spec.window):
        gap = row.get(name)
        if gap is None:
            return f"gap {name} is null"
        if gap <= 0:
            return f"gap {name} is not above zero"
    return None


def _no_window(spec: Entry, types: Types, row: dict[str, Any], processing_time: int) -> str | None:
    # OVER operators and policies assign no windows; in windows of rows the row has no number yet.
    if spec.window is None or counted(spec.window):
        return None
    parsed = read_row(spec, types, row, processing_time)
    t, values = parsed.time, parsed.values
    if isinstance(spec.window, Custom):
        reason = no_windows_reason(spec.window, given_windows(spec.window, t, values))
        if reason is not None:
            return reason
    windows = windows_of(spec.window, t, values)
    if not windows and isinstance(spec.window, Hopping):
        return "gap"
    return None if any(exists(bounds) for bounds in windows) else "window out of range"


def invalid_delta_reason(columns: Iterable[str], row: Row) -> str | None:
    """Returns the reason why a row is invalid because of the columns of deltas; None if it is not (10.4)."""
    for name in columns:
        if row.values[name] is None:
            return f"delta {name} is null"
        if is_nan(row.values[name]):
            return f"delta {name} is NaN"
    return None


def exceeds(policy: DeltaPolicy, new: Mapping[str, Any], old: Mapping[str, Any]) -> bool:
    """Returns whether the new value minus the old one is more than the amount (semantics 10.4)."""
    after, before = new[policy.column], old[policy.column]
    if isinstance(after, Decimal):
        return Fraction(after) - Fraction(before) > Fraction(policy.size)
    return bool(after - before > policy.size)


def stored_window(
    keys: dict[str, Any], start: int, end: int | None, *, timed: bool, pending: int = 1
) -> dict[str, Any]:
    """Returns rows that are stored without a window as one; without an event time it has no bounds."""
    return {
        **keys,
        "window_start": start if timed else None,
        "window_end": min(end, MAX_INSTANT) if timed and end is not None else None,
        "pending": pending,
        "closed": False,
    }


def place_of_stored(window: dict[str, Any], keys: tuple[str, ...]) -> list[Any]:
    """Returns a sort key of what :func:`stored_window` returns: end, start, keys, with nulls first."""
    return [sort_key(window[name]) for name in ("window_end", "window_start", *keys, "pending")]
