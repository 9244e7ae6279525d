"""The types of PostgreSQL for columns of Spark."""

from collections.abc import Iterable
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructField,
    StructType,
    UserDefinedType,
)

from panewise.errors import SpecError
from panewise.spark.columns.column_types import inner_types
from panewise.spark.sinks.json_options import JSON_OPTIONS

_LONGEST: Final = 63  # bytes in a name; PostgreSQL cuts what is longer
_JSON: Final = "jsonb"
# By the name of the class, as not every version of PySpark has all of them.
_TYPES: Final = {
    "BooleanType": "boolean",
    "ByteType": "smallint",
    "ShortType": "smallint",
    "IntegerType": "integer",
    "LongType": "bigint",
    "FloatType": "real",
    "DoubleType": "double precision",
    "StringType": "text",
    "BinaryType": "bytea",
    "DateType": "date",
    "TimestampType": "timestamp with time zone",
    "TimestampNTZType": "timestamp without time zone",
    "TimeType": "time without time zone",
    "DayTimeIntervalType": "interval",
}


def postgres_type(dtype: DataType) -> str | None:
    """Returns the type of a column of PostgreSQL, or None if there is none.

    >>> from pyspark.sql.types import ArrayType, DecimalType, LongType
    >>> postgres_type(DecimalType(10, 2)), postgres_type(ArrayType(LongType()))
    ('numeric(10, 2)', 'bigint[]')
    """
    match dtype:
        case UserDefinedType():
            return None
        case DecimalType():
            return f"numeric({dtype.precision}, {dtype.scale})"
        case ArrayType() if (element := _plain(dtype.elementType)) is not None:
            return f"{element}[]"
        case ArrayType() | MapType() | StructType():
            return _JSON if all(map(postgres_type, inner_types(dtype))) else None
    return _plain(dtype)


def _plain(dtype: DataType) -> str | None:
    if isinstance(dtype, DecimalType):
        return postgres_type(dtype)
    return _TYPES.get(type(dtype).__name__)


def declared(fields: Iterable[StructField]) -> dict[str, str]:
    """Returns the types of columns by name.

    Raises:
        SpecError: for a column of a type that PostgreSQL does not have, and a name that is too long.
    """
    types: dict[str, str] = {}
    for field in fields:
        dtype = postgres_type(field.dataType)
        if dtype is None:
            fault = f"column {field.name}: {field.dataType.simpleString()}"
            rule = "PostgreSQL has no type for such values"
            raise SpecError(fault, rule, f"cast {field.name} to a string, or leave it out")
        if len(field.name.encode()) > _LONGEST:
            rule = f"a name in PostgreSQL has at most {_LONGEST} bytes"
            raise SpecError(f"column {field.name}", rule, "give it a shorter alias")
        types[field.name] = dtype
    return types


def as_copied(column: Column, dtype: DataType) -> Column:
    """Returns a column as COPY takes it: nested values, other than lists of plain ones, are JSON."""
    if postgres_type(dtype) == _JSON:
        return F.to_json(column, JSON_OPTIONS)
    return column
