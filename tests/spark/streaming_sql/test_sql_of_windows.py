"""Queries over windows have on batches of Spark, and as streams, the rows that are written beside them."""

from typing import Any

import polars as pl
import pytest
from pyspark.sql import DataFrame, SparkSession

from panewise.spark import sql
from tests.nightly import first_here
from tests.sql.window_queries import QUERIES
from tests.standalone.streaming_sql.test_sql_of_windows import ordered, tables_in


@pytest.mark.parametrize(("text", "rows"), first_here(QUERIES, 3))
def test_rows_of_a_batch(spark: SparkSession, text: str, rows: list[tuple[Any, ...]]) -> None:
    """semantics 46, 46.140, 46.141, 46.143 to 46.147, 46.149, 46.152, 46.169"""
    tables = {name: spark.createDataFrame(df.to_arrow()) for name, df in tables_in(text).items()}
    result: Any = sql(text, **tables)
    emitted = result if isinstance(result, DataFrame) else getattr(result, _output(result))
    collected = pl.DataFrame(emitted.toArrow())
    assert ordered(collected.rows()) == ordered(rows)


def _output(result: Any) -> str:
    return "panes" if "panes" in dir(result) else "rows"
