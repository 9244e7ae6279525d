"""The schema of a DataFrame, which is read once.

A DataFrame never changes, but PySpark requests its schema from the JVM, and parses it, each time.
"""

from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType, TimestampType

_SCHEMA: Final = "_panewise_schema"  # the attribute of a DataFrame that has its schema


def schema_of(df: DataFrame) -> StructType:
    """Returns the schema of a DataFrame. Nobody may change it."""
    attributes: dict[str, Any] = df.__dict__  # Spark Connect takes an unknown attribute for a column
    schema: StructType | None = attributes.get(_SCHEMA)
    if schema is None:
        schema = attributes[_SCHEMA] = df.schema
    return schema


def column_names(df: DataFrame) -> list[str]:
    """Returns the names of the columns of a DataFrame."""
    return list(schema_of(df).names)


def instants_of(df: DataFrame) -> list[str]:
    """Returns the columns that can be an event time, those of the type TIMESTAMP (semantics 8.5)."""
    return [field.name for field in schema_of(df).fields if isinstance(field.dataType, TimestampType)]
