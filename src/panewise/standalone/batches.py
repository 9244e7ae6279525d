"""Makes the DataFrame that an operator takes from a batch of Polars or PyArrow."""

from typing import Any, Final, TypeAlias

import polars as pl
import pyarrow as pa

from panewise.engine.kernels.column_types import without_maps
from panewise.engine.protocol import Schema
from panewise.errors import InputError

Frame: TypeAlias = pl.DataFrame | pa.Table | pa.RecordBatch

_SMALLER: Final = (pl.Int8(), pl.Int16(), pl.Int32(), pl.UInt8(), pl.UInt16(), pl.UInt32())


def frame_for(schema: Schema, given: Any) -> pl.DataFrame:
    """Returns a batch with the columns of a schema. Other columns are left out.

    Columns are cast where no value can change: null to any type, shorter to longer numbers, instants to
    microseconds, maps to lists of their entries.
    """
    if isinstance(given, (pa.Table, pa.RecordBatch)):
        given = _read(given)
    if not isinstance(given, pl.DataFrame):
        rule = "a batch is a Polars DataFrame, or a table or record batch of PyArrow"
        raise InputError(f"a batch of the type {type(given).__name__}", rule, "give one of these")
    missing = [name for name in schema if name not in given.columns]
    if missing:
        rule = f"a batch has the columns of the schema: {list(schema)}"
        raise InputError(f"a batch without {missing[0]!r}", rule, "add the column, with nulls if need be")
    for name, dtype in schema.items():
        _check_instants(given[name], dtype)
    return given.select(_fitting(name, given.schema[name], dtype) for name, dtype in schema.items())


def _read(table: pa.Table | pa.RecordBatch) -> Any:
    """Returns a table or record batch of PyArrow as a DataFrame."""
    names = table.schema.names
    double = [name for name in names if names.count(name) > 1]
    if double:
        rule = "each column of a batch has a name of its own"
        raise InputError(f"a batch with two columns {double[0]!r}", rule, "rename one of them")
    return pl.from_arrow(table)


def _check_instants(column: pl.Series, wanted: pl.DataType) -> None:
    """Refuses instants that another unit of time cannot express, such as single nanoseconds."""
    given = column.dtype
    if not isinstance(given, pl.Datetime) or not isinstance(wanted, pl.Datetime):
        return
    if given.time_unit == wanted.time_unit:
        return
    there = column.dt.cast_time_unit(wanted.time_unit)
    if not column.eq_missing(there.dt.cast_time_unit(given.time_unit)).all():
        rule = f"the schema has {wanted} for it, and no value may change"
        raise InputError(f"column {column.name!r} of the type {given}", rule, "truncate the column")


def _fitting(name: str, given: pl.DataType, wanted: pl.DataType) -> pl.Expr:
    if given == wanted:
        return pl.col(name)
    instants = isinstance(given, pl.Datetime) and isinstance(wanted, pl.Datetime)
    casts = (
        given == pl.Null()
        or (given in _SMALLER and wanted == pl.Int64())
        or (given == pl.Float32() and wanted == pl.Float64())
        or (instants and _zone(given) is not None and _zone(wanted) is not None)
        or (given in (pl.Categorical, pl.Enum) and wanted == pl.String())
        or without_maps(given) == wanted
    )
    if not casts:
        rule = f"the schema has {wanted} for it"
        raise InputError(f"column {name!r} of the type {given}", rule, "cast the column")
    return pl.col(name).cast(wanted)


def _zone(dtype: Any) -> str | None:
    zone: str | None = dtype.time_zone
    return zone
