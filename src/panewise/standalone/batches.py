"""Makes the DataFrame that an operator takes from a batch of Polars or PyArrow."""

from typing import Any, Final, TypeAlias, cast

import polars as pl
import pyarrow as pa

from panewise.engine.kernels.column_types import without_maps
from panewise.engine.protocol import Schema
from panewise.errors import InputError

Frame: TypeAlias = pl.DataFrame | pa.Table | pa.RecordBatch

FRAMES: Final = "give one of these, such as pl.from_pandas(df) or frame.collect()"
UNSIGNED: Final = (pl.UInt8(), pl.UInt16(), pl.UInt32())  # those whose values all fit in BIGINT
_SMALLER: Final = (pl.Int8(), pl.Int16(), pl.Int32(), *UNSIGNED)


def frame_for(schema: Schema, batch: Any) -> pl.DataFrame:
    """Returns a batch with the columns of a schema. Other columns are left out.

    Columns are cast where no value can change: null to any type, shorter to longer numbers, instants to
    microseconds, maps to lists of their entries.
    """
    if isinstance(batch, (pa.Table, pa.RecordBatch)):
        batch = from_arrow(batch)
    if not isinstance(batch, pl.DataFrame):
        rule = "a batch is a Polars DataFrame, or a table or record batch of PyArrow"
        raise InputError(f"a batch of the type {type_name(type(batch))}", rule, FRAMES)
    missing = [name for name in schema if name not in batch.columns]
    if missing:
        rule = f"a batch has the columns of the schema: {list(schema)}"
        raise InputError(f"a batch without {missing[0]!r}", rule, "add the column, with nulls if need be")
    for name, dtype in schema.items():
        _check_instants(batch[name], dtype)
    return batch.select(_fit(name, batch.schema[name], dtype) for name, dtype in schema.items())


def type_name(kind: type) -> str:
    """Returns the name of a type with its package, as other packages have a DataFrame, too."""
    package = kind.__module__.partition(".")[0]
    return kind.__name__ if package == "builtins" else f"{package}.{kind.__name__}"


def spark_type(dtype: pl.DataType) -> pl.DataType:
    """Returns the type that a column of a frame has in SQL: signed numbers, and instants in microseconds."""
    if isinstance(dtype, pl.Datetime):
        return pl.Datetime("us", dtype.time_zone)
    return pl.Int64() if dtype in UNSIGNED else dtype


def from_arrow(table: pa.Table | pa.RecordBatch) -> pl.DataFrame:
    """Returns a table or record batch of PyArrow as a DataFrame.

    Raises:
        InputError: if two columns have one name.
    """
    names = table.schema.names
    double = [name for name in names if names.count(name) > 1]
    if double:
        rule = "each column of a batch has a name of its own"
        raise InputError(f"a batch with two columns {double[0]!r}", rule, "rename one of them")
    return cast(pl.DataFrame, pl.from_arrow(table))


def _check_instants(column: pl.Series, wanted: pl.DataType) -> None:
    """Refuses instants that another unit of time cannot express, such as single nanoseconds."""
    dtype = column.dtype
    if not isinstance(dtype, pl.Datetime) or not isinstance(wanted, pl.Datetime):
        return
    if dtype.time_unit == wanted.time_unit:
        return
    there = column.dt.cast_time_unit(wanted.time_unit)
    if not column.eq_missing(there.dt.cast_time_unit(dtype.time_unit)).all():
        rule = f"the schema has {wanted} for it, and no value may change"
        raise InputError(f"column {column.name!r} of the type {dtype}", rule, "truncate the column")


def _fit(name: str, dtype: pl.DataType, wanted: pl.DataType) -> pl.Expr:
    if dtype == wanted:
        return pl.col(name)
    casts = (
        dtype == pl.Null()
        or (dtype in _SMALLER and wanted == pl.Int64())
        or (dtype == pl.Float32() and wanted == pl.Float64())
        or (_has_zone(dtype) and _has_zone(wanted))
        or (dtype in (pl.Categorical, pl.Enum) and wanted == pl.String())
        or without_maps(dtype) == wanted
    )
    if not casts:
        rule = f"the schema has {wanted} for it"
        raise InputError(f"column {name!r} of the type {dtype}", rule, "cast the column")
    return pl.col(name).cast(wanted)


def _has_zone(dtype: pl.DataType) -> bool:
    return isinstance(dtype, pl.Datetime) and dtype.time_zone is not None
