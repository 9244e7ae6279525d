"""Spark schemas as Polars schemas and back."""

from collections.abc import Callable
from functools import partial
from inspect import signature

import polars as pl
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from panewise.errors import SpecError

# From PySpark 4.2 the caller names the time zone of TIMESTAMP columns. PySpark 4.1 takes no zone and always uses UTC.
_takes_zone = "timezone" in signature(to_arrow_schema).parameters
_to_arrow: Callable[[StructType], pa.Schema] = partial(to_arrow_schema, timezone="UTC") if _takes_zone else to_arrow_schema


def polars_schema(schema: StructType) -> dict[str, pl.DataType]:
    """The columns as the engine sees them. Timestamps are microseconds in UTC.

    Raises:
        SpecError: for map and variant columns, which Polars has not.
    """
    for field in schema.fields:
        if _has_foreign(field.dataType):
            rule = "maps and variants cannot pass through the operator"
            raise SpecError(
                f"column {field.name}: {field.dataType.simpleString()}", rule, f"drop {field.name}, or turn it into a string or an array"
            )
    arrow = _to_arrow(schema)
    return dict(pl.DataFrame(arrow.empty_table()).schema)


def _has_foreign(dtype: DataType) -> bool:
    if isinstance(dtype, (MapType, VariantType)):
        return True
    if isinstance(dtype, ArrayType):
        return _has_foreign(dtype.elementType)
    return isinstance(dtype, StructType) and any(_has_foreign(f.dataType) for f in dtype.fields)


def spark_schema(schema: dict[str, pl.DataType]) -> StructType:
    """The columns as Spark sees them."""
    return from_arrow_schema(pl.DataFrame(schema=schema).to_arrow(compat_level=pl.CompatLevel.oldest()).schema, prefer_timestamp_ntz=True)


def arrow_of(frame: pl.DataFrame, schema: StructType) -> list[pa.RecordBatch]:
    """A frame as Arrow batches of exactly the schema."""
    table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
    batches: list[pa.RecordBatch] = table.cast(_to_arrow(schema)).to_batches()
    return batches
