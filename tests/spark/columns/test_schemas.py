"""Tests that a DataFrame is asked for its schema once."""

from typing import Any

from pyspark.sql.types import LongType, StructField, StructType

from panewise.spark.columns.schemas import column_names, schema_of


class Counting:
    """In the place of a DataFrame: counts how often its schema is read."""

    reads = 0

    @property
    def schema(self) -> StructType:
        self.reads += 1
        return StructType([StructField("k", LongType()), StructField("v", LongType())])


def test_a_schema_is_read_once() -> None:
    df: Any = Counting()
    assert schema_of(df) is schema_of(df)
    assert (column_names(df), df.reads) == (["k", "v"], 1)


def test_columns_are_a_new_list() -> None:
    df: Any = Counting()
    column_names(df).append("more")
    assert column_names(df) == ["k", "v"]
