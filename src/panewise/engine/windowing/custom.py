"""Custom windows, which a function of the user returns for rows (semantics 6.6, 9.4).

The function is called when rows are validated. The rows then carry their windows.

Invariant: the windows of a row are sorted and distinct. So rows with the same windows share a slice, as rows
of fixed windows do. Cost: one call of the function for each batch; a few passes over the lists that it
returns or, if it returns no Series, Python code for each of its windows.
"""

from typing import Any

import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import END, OWN_WINDOWS, REASON, SLICE, START, TIME
from panewise.engine.ingest.validate import first_reason, split_by_reason
from panewise.errors import InputError
from panewise.spec import Custom

_WINDOWS = pl.List(pl.Struct({"start": pl.Int64(), "end": pl.Int64()}))
_RULE = (
    "a window function returns a list of windows for each row: a Series of "
    "List(Struct(start, end)) in whole microseconds"
)
_START, _END = pl.element().struct.field("start"), pl.element().struct.field("end")


def split(window: Custom, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the rows with their windows in ``__own``, and the rows without a window, with the reason.

    Raises:
        InputError: if the function does not return a list of windows for each row.
    """
    if rows.is_empty():
        return rows.with_columns(pl.lit(None, dtype=_WINDOWS).alias(OWN_WINDOWS)), rows.with_columns(
            pl.lit(None, dtype=pl.String).alias(REASON)
        )
    returned = window.function(rows.select(pl.col(TIME).alias("event_time"), *window.columns))
    is_list = isinstance(returned, (pl.Series, list))
    if not is_list or len(returned) != rows.height:
        description = f"{len(returned)} for {rows.height} rows" if is_list else type(returned).__name__
        remedy = "return one list for each row, in the order of the rows"
        raise InputError(f"windows of {window.name}: {description}", _RULE, remedy)
    validated = rows.hstack(
        _of_series(window, returned) if isinstance(returned, pl.Series) else _of_lists(window, returned)
    )
    assigned, others = split_by_reason(validated)
    return assigned, others.drop(OWN_WINDOWS)


def _of_series(window: Custom, returned: pl.Series) -> pl.DataFrame:
    """Returns the windows of each row, or the reason why it has none. The function returned a Series."""
    own = pl.col(OWN_WINDOWS)
    bad = own.is_null() | own.list.eval(
        (_START.is_null() | _END.is_null() | (_END <= _START)).fill_null(True)
    ).list.any().fill_null(False)
    tests = [(bad, f"{window.name} gave a bad window")]
    if window.merge:
        tests.append((own.list.len() > 1, f"{window.name} gave several windows"))
    tests.append((own.list.len() == 0, "gap"))
    reason = first_reason(tests).alias(REASON)
    return _typed(window, returned).to_frame().select(own.list.unique().list.sort(), reason)


def _typed(window: Custom, returned: pl.Series) -> pl.Series:
    """Returns the windows with bounds of 64 bits, if they are whole numbers `start` and `end`."""
    inner = returned.dtype.inner if isinstance(returned.dtype, pl.List) else returned.dtype
    if inner == pl.Null():  # no row has a window
        return returned.cast(_WINDOWS).alias(OWN_WINDOWS)
    fields = {field.name: field.dtype for field in inner.fields} if isinstance(inner, pl.Struct) else {}
    if (
        returned.dtype != pl.List(inner)
        or set(fields) != {"start", "end"}
        or not all(dtype.is_integer() for dtype in fields.values())
    ):
        raise InputError(f"windows of {window.name}: {returned.dtype}", _RULE, "return such a Series")
    bounds = pl.struct(_START.cast(pl.Int64).alias("start"), _END.cast(pl.Int64).alias("end"))
    return returned.alias(OWN_WINDOWS).to_frame().select(pl.col(OWN_WINDOWS).list.eval(bounds)).to_series()


def _of_lists(window: Custom, returned: list[Any]) -> pl.DataFrame:
    """Returns the windows of each row, or the reason why it has none. The function returned a list."""
    results = [_of_list(window, of_row) for of_row in returned]
    schema = {OWN_WINDOWS: _WINDOWS, REASON: pl.String()}
    return pl.DataFrame(results, schema=schema, orient="row")


def _of_list(window: Custom, returned: Any) -> tuple[list[dict[str, int]], str | None]:
    if not isinstance(returned, (list, tuple)) or any(not _is_window(pair) for pair in returned):
        return [], f"{window.name} gave a bad window"
    if window.merge and len(returned) > 1:
        return [], f"{window.name} gave several windows"
    own = sorted({(start, end) for start, end in returned if start >= MIN_INSTANT and end <= MAX_INSTANT})
    reason = None if own else "window out of range" if returned else "gap"
    return [{"start": start, "end": end} for start, end in own], reason


def _is_window(pair: Any) -> bool:
    whole = isinstance(pair, (list, tuple)) and len(pair) == 2 and all(type(bound) is int for bound in pair)
    return whole and pair[0] < pair[1]


def sliced(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the rows with a ``__slice``, and the slice, start and end of each of their windows.

    Rows with the same windows have the same number as their slice.
    """
    rows = rows.with_columns(pl.col(OWN_WINDOWS).rank("dense").cast(pl.Int64).alias(SLICE))
    pairs = rows.select(SLICE, OWN_WINDOWS).unique(SLICE).sort(SLICE).explode(OWN_WINDOWS)
    bounds = (
        pl.col(OWN_WINDOWS).struct.field(field).alias(name)
        for field, name in (("start", START), ("end", END))
    )
    return rows.drop(OWN_WINDOWS), pairs.select(SLICE, *bounds)
