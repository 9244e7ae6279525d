"""Spark schemas as Polars schemas and back."""

import polars as pl
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, VariantType

from panewise.errors import SpecError


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
    arrow = to_arrow_schema(schema, timezone="UTC")
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
    batches: list[pa.RecordBatch] = table.cast(to_arrow_schema(schema, timezone="UTC")).to_batches()
    return batches
