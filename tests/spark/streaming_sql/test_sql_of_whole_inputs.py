"""Queries over whole inputs have on batches of Spark the rows that they have in process."""

from typing import Any

import polars as pl
import pytest
from pyspark.sql import DataFrame, SparkSession

from panewise.spark import sql
from tests.nightly import first_here
from tests.sql.whole_queries import QUERIES, SORTED, shown
from tests.standalone.streaming_sql.test_sql_of_whole_inputs import tables_of


@pytest.mark.parametrize(("text", "rows"), first_here([*QUERIES, *SORTED], 3))
def test_rows_of_a_batch(spark: SparkSession, text: str, rows: list[tuple[Any, ...]]) -> None:
    """semantics 46.1, 46.50, 46.170 to 46.173"""
    tables = {name: spark.createDataFrame(df.to_arrow()) for name, df in tables_of(text).items()}
    result: Any = sql(text, **tables)
    emitted = result if isinstance(result, DataFrame) else result.panes
    collected = shown(pl.DataFrame(emitted.toArrow()).rows())
    in_order = any(text == known for known, _ in SORTED)
    assert collected == shown(rows) if in_order else sorted(collected) == sorted(shown(rows))
