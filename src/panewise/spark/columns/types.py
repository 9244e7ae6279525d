"""Converts schemas between Spark and Polars, and frames to Arrow batches for Spark."""

from collections.abc import Callable
from functools import lru_cache, partial
from inspect import signature

import polars as pl
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from panewise.engine.kernels.column_types import polars_type, without_maps
from panewise.spark.columns.column_types import check_names_and_types, parts_of
from panewise.spec.column_values import ColumnType

# From PySpark 4.2 on the caller names the time zone of TIMESTAMP columns. PySpark 4.1 takes no zone and
# always uses UTC.
_accepts_zone = "timezone" in signature(to_arrow_schema).parameters
_arrow_schema: Callable[[StructType], pa.Schema] = (
    partial(to_arrow_schema, timezone="UTC") if _accepts_zone else to_arrow_schema
)


def arrow_schema(schema: StructType) -> pa.Schema:
    """Returns the columns with their types in Arrow. Inner fields and elements may be null."""
    return in_utc(_arrow_schema(schema))


def polars_schema(schema: StructType) -> dict[str, pl.DataType]:
    """Returns the columns with their types in the engine. Timestamps are microseconds in UTC.

    A map is a list of structs of `key` and `value`, because all of Polars works with these.
    :class:`panewise.spark.workers.unpack.ArrowColumns` turns the list into a map again.
    """
    check_names_and_types(schema.fields)
    return {name: without_maps(dtype) for name, dtype in with_maps(schema).items()}


def contains(dtype: DataType, kind: type[DataType]) -> bool:
    """Returns whether a type is of the kind, or contains such a type."""
    return any(isinstance(part, kind) for part in parts_of(dtype))


def with_maps(schema: StructType) -> dict[str, pl.DataType]:
    """Returns the columns with the types that Polars gives them, maps included."""
    return dict(pl.DataFrame(arrow_schema(schema).empty_table()).schema)


def spark_schema(schema: dict[str, pl.DataType]) -> StructType:
    """Returns the columns with their types in Spark."""
    return from_arrow_schema(
        pl.DataFrame(schema=schema).to_arrow(compat_level=pl.CompatLevel.oldest()).schema,
        prefer_timestamp_ntz=True,
    )


def spark_type(kind: ColumnType) -> DataType:
    """Returns Spark's type of a column type.

    >>> spark_type(ColumnType.parse("map<string,decimal(10,2)>")).simpleString()
    'map<string,decimal(10,2)>'
    """
    inner = {name: spark_type(part) for name, part in kind.fields}
    match kind.name:
        case "array":
            return ArrayType(inner["element"])
        case "struct":
            return StructType([StructField(name, part) for name, part in inner.items()])
        case "map":
            return MapType(inner["key"], inner["value"])
    return spark_schema({"value": polars_type(kind)})["value"].dataType


def is_lossless(dtype: DataType) -> bool:
    """Returns whether a type survives the way into the engine and back.

    Maps, user-defined types, geometries, collations and the units of intervals are not.
    """
    again = spark_schema(polars_schema(StructType([StructField("column", dtype)])))
    return again["column"].dataType.simpleString() == dtype.simpleString()


@lru_cache(maxsize=32)
def in_utc(schema: pa.Schema) -> pa.Schema:
    """Returns the columns with all timestamps in UTC, also inside structs, lists and maps.

    Spark labels timestamps with the time zone of the session. That may be any name that Java accepts, such as
    ``+05:30``, ``GMT+8`` or ``PST``. Polars accepts only the names of the IANA database. So the label is
    replaced. The values are microseconds in UTC in any case, so a cast to these columns copies none.
    """
    return pa.schema([field.with_type(_relaxed_type(field.type)) for field in schema])


def _relaxed_type(dtype: pa.DataType) -> pa.DataType:
    """Returns a type with timestamps in UTC, and with fields and elements that may be null.

    A struct that is null has fields that are null, whatever Spark says of them. pyarrow does not cast these
    to fields that may not be null.
    """

    def inside(field: pa.Field) -> pa.Field:
        return field.with_type(_relaxed_type(field.type)).with_nullable(True)

    if pa.types.is_timestamp(dtype) and dtype.tz is not None:
        return pa.timestamp(dtype.unit, "UTC")
    if pa.types.is_struct(dtype):
        return pa.struct([inside(field) for field in dtype])
    if pa.types.is_map(dtype):
        return pa.map_(inside(dtype.key_field).with_nullable(False), inside(dtype.item_field))
    if pa.types.is_list(dtype):
        return pa.list_(inside(dtype.value_field))
    return pa.large_list(inside(dtype.value_field)) if pa.types.is_large_list(dtype) else dtype
