"""Makes typed DataFrames from dict rows, with flags for values that do not fit their type (semantics 15)."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import polars as pl

from panewise.spec import Entry
from panewise.testing.columns import MISFIT, ColumnType, Row, is_long

ROW: Final = "__row"  # the row's number in its batch
BAD_TIME: Final = "__bad_time"  # whether the event time is neither null nor a whole number
OUT_OF_RANGE: Final = "__out_of_range"  # whether the event time does not fit in 64 bits
BAD_TYPE: Final = "__bad_type"  # the first column read (event times aside) whose value has another type
FLAGS: Final = {ROW: pl.Int64(), BAD_TIME: pl.Boolean(), OUT_OF_RANGE: pl.Boolean(), BAD_TYPE: pl.String()}
# Values that replace misfits in keys and positions, except the first misfit of a row. A null there would be
# another reason why the row is invalid, and one that is tested earlier.
_REPLACEMENTS: Final = {"bigint": 0, "double": 0.0, "string": "", "boolean": False, "decimal": 0}


def schema(types: Mapping[str, str]) -> dict[str, pl.DataType]:
    """Returns the columns of the DataFrame with their types, without the flags.

    >>> schema({"k": "string", "d": "decimal(10,2)"})
    {'k': String, 'd': Decimal(precision=10, scale=2)}
    """
    return {name: _dtype(ColumnType.of(text)) for name, text in types.items()}


def _dtype(column: ColumnType) -> pl.DataType:
    if column.name == "decimal":
        return pl.Decimal(column.precision, column.scale)
    return {"bigint": pl.Int64(), "double": pl.Float64(), "string": pl.String(), "boolean": pl.Boolean()}[
        column.name
    ]


def frame(spec: Entry, types: Mapping[str, str], rows: Sequence[Row]) -> pl.DataFrame:
    """Returns the rows as a DataFrame: the columns of `types`, then the flags."""
    columns = {name: ColumnType.of(text) for name, text in types.items()}
    records = [_record(spec, columns, row) | {ROW: number} for number, row in enumerate(rows)]
    return pl.DataFrame(records, schema=schema(types) | FLAGS, orient="row")


def _record(spec: Entry, columns: Mapping[str, ColumnType], row: Row) -> dict[str, Any]:
    cells = {name: column.fit(row.get(name)) for name, column in columns.items()}
    time = next((row.get(name) for name in spec.time_columns), None)
    whole = isinstance(time, int) and not isinstance(time, bool)
    misfits = [name for name in spec.columns_read if cells[name] is MISFIT and name not in spec.time_columns]
    first = misfits[0] if misfits else None
    replaced = {*spec.keys, *(spec.position.columns if spec.position else ())} - {first, *spec.time_columns}
    for name, value in cells.items():
        if value is MISFIT:
            cells[name] = _REPLACEMENTS[columns[name].name] if name in replaced else None
    return cells | {
        BAD_TIME: time is not None and not whole,
        OUT_OF_RANGE: whole and not is_long(time),
        BAD_TYPE: first,
    }
