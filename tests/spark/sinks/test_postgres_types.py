"""The types of PostgreSQL for columns of Spark (semantics 49.43)."""

import pytest
from pyspark.sql import types as T

from panewise import SpecError
from panewise.spark.sinks.postgres_types import declared, postgres_type

TYPES = {
    T.BooleanType(): "boolean",
    T.ByteType(): "smallint",
    T.ShortType(): "smallint",
    T.IntegerType(): "integer",
    T.LongType(): "bigint",
    T.FloatType(): "real",
    T.DoubleType(): "double precision",
    T.DecimalType(38, 4): "numeric(38, 4)",
    T.StringType(): "text",
    T.BinaryType(): "bytea",
    T.DateType(): "date",
    T.TimestampType(): "timestamp with time zone",
    T.TimestampNTZType(): "timestamp without time zone",
    T.DayTimeIntervalType(): "interval",
    T.ArrayType(T.DecimalType(10, 2)): "numeric(10, 2)[]",
    T.ArrayType(T.ArrayType(T.LongType())): "jsonb",
    T.MapType(T.StringType(), T.DateType()): "jsonb",
    T.StructType([T.StructField("a", T.MapType(T.StringType(), T.LongType()))]): "jsonb",
}
REFUSED = (
    T.VariantType(),
    T.CalendarIntervalType(),
    T.YearMonthIntervalType(),
    T.NullType(),
    T.ArrayType(T.VariantType()),
    T.MapType(T.StringType(), T.ArrayType(T.NullType())),
)


@pytest.mark.parametrize(("dtype", "name"), TYPES.items(), ids=lambda value: str(value))
def test_types(dtype: T.DataType, name: str) -> None:
    """See semantics 49.43."""
    assert postgres_type(dtype) == name


@pytest.mark.parametrize("dtype", REFUSED, ids=str)
def test_types_that_postgres_lacks_are_refused(dtype: T.DataType) -> None:
    """The error names the column (semantics 49.43)."""
    with pytest.raises(SpecError, match=r"column v: .* \| PostgreSQL has no type for such values \| cast v"):
        declared([T.StructField("v", dtype)])


def test_long_names_are_refused() -> None:
    """See semantics 49.43."""
    with pytest.raises(SpecError, match=r"column é+ \| a name in PostgreSQL has at most 63 bytes \| give"):
        declared([T.StructField("é" * 32, T.LongType())])
