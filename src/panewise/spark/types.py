"""Spark schemas as Polars schemas and back."""

from collections.abc import Callable
from functools import partial
from inspect import signature
from typing import Any

import polars as pl
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from panewise.errors import SpecError

# From PySpark 4.2 the caller names the time zone of TIMESTAMP columns. PySpark 4.1 takes no zone and always uses UTC.
_takes_zone = "timezone" in signature(to_arrow_schema).parameters
arrow_schema: Callable[[StructType], pa.Schema] = partial(to_arrow_schema, timezone="UTC") if _takes_zone else to_arrow_schema


def polars_schema(schema: StructType) -> dict[str, pl.DataType]:
    """The columns as the engine sees them. Timestamps are microseconds in UTC.

    A map is a list of structs of `key` and `value`, on which everything in Polars works; :func:`arrow_of` makes it a map again.

    Raises:
        SpecError: for variant columns, which Polars does not have.
    """
    for field in schema.fields:
        if contains(field.dataType, VariantType):
            rule = "variants cannot pass through the operator"
            raise SpecError(f"column {field.name}: {field.dataType.simpleString()}", rule, f"drop {field.name}, or turn it into a string")
    return {name: _without_maps(dtype) for name, dtype in _with_maps(schema).items()}


def contains(dtype: DataType, kind: type[DataType]) -> bool:
    """Whether a type is one of the kind, or has one inside."""
    inner: list[DataType] = []
    match dtype:
        case ArrayType():
            inner = [dtype.elementType]
        case MapType():
            inner = [dtype.keyType, dtype.valueType]
        case StructType():
            inner = [field.dataType for field in dtype.fields]
    return isinstance(dtype, kind) or any(contains(one, kind) for one in inner)


def _with_maps(schema: StructType) -> dict[str, pl.DataType]:
    """The types that Polars gives to the columns."""
    return dict(pl.DataFrame(arrow_schema(schema).empty_table()).schema)


def _without_maps(dtype: Any) -> pl.DataType:
    """The type with lists of structs in the place of maps."""
    made: pl.DataType = dtype
    match dtype:
        case pl.Map():
            made = pl.List(pl.Struct({"key": _without_maps(dtype.key), "value": _without_maps(dtype.value)}))
        case pl.List():
            made = pl.List(_without_maps(dtype.inner))
        case pl.Struct():
            made = pl.Struct({field.name: _without_maps(field.dtype) for field in dtype.fields})
    return made


def spark_schema(schema: dict[str, pl.DataType]) -> StructType:
    """The columns as Spark sees them."""
    return from_arrow_schema(pl.DataFrame(schema=schema).to_arrow(compat_level=pl.CompatLevel.oldest()).schema, prefer_timestamp_ntz=True)


def arrow_of(frame: pl.DataFrame, schema: StructType) -> list[pa.RecordBatch]:
    """A frame as Arrow batches of exactly the schema."""
    mapped = [field.name for field in schema.fields if contains(field.dataType, MapType)]
    if mapped:
        types = _with_maps(schema)
        frame = frame.with_columns(pl.col(name).cast(types[name]) for name in mapped)
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    batches: list[pa.RecordBatch] = table.cast(arrow_schema(schema)).to_batches()
    return batches


def in_utc(table: pa.Table) -> pa.Table:
    """The table with all its timestamps in UTC, those inside structs, lists and maps as well; no value is copied.

    Spark labels timestamps with the session's time zone. That may be any name that Java accepts, such as ``+05:30``,
    ``GMT+8`` or ``PST``, of which Polars accepts only those of the IANA database. The label is dropped here, at the edge:
    the values are microseconds in UTC in any case.
    """
    return table.cast(pa.schema([field.with_type(_in_utc(field.type)) for field in table.schema]))


def _in_utc(dtype: pa.DataType) -> pa.DataType:
    def inside(field: pa.Field) -> pa.Field:
        return field.with_type(_in_utc(field.type))

    if pa.types.is_timestamp(dtype) and dtype.tz is not None:
        return pa.timestamp(dtype.unit, "UTC")
    if pa.types.is_struct(dtype):
        return pa.struct([inside(field) for field in dtype])
    if pa.types.is_map(dtype):
        return pa.map_(inside(dtype.key_field), inside(dtype.item_field))
    if pa.types.is_list(dtype):
        return pa.list_(inside(dtype.value_field))
    return pa.large_list(inside(dtype.value_field)) if pa.types.is_large_list(dtype) else dtype
