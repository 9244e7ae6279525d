"""Drawn queries, and the transcripts of SQL, have on a batch the rows of Spark's SQL, and those expected."""

from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession

from panewise.spark import sql
from panewise.sql import compile_sql
from panewise.sql.stages import TableStage, walk
from tests.engine.effort import FULL, examples
from tests.nightly import first_here
from tests.spark.conftest import at
from tests.sql.drawn_queries import SetsQuery, grouped_queries, over_queries, sets_queries
from tests.sql.drawn_queries import rows as drawn_rows
from tests.sql.player import documents, events_of

CASES = st.one_of(
    st.tuples(grouped_queries(), drawn_rows(different=False)),
    st.tuples(over_queries(), drawn_rows(different=True)),
)


def rows_of(result: Any) -> DataFrame:
    if isinstance(result, DataFrame):
        return result
    df: DataFrame = result.panes if "panes" in dir(result) else result.rows
    return df


def collected(df: DataFrame) -> list[str]:
    return sorted(repr(_rounded(row.asDict(recursive=True))) for row in df.collect())


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in sorted(value.items())}
    return float(f"{value:.9g}") if isinstance(value, float) else value


@given(CASES)
@examples(60 if FULL else 4)
def test_a_drawn_query_has_the_rows_of_sparks_sql(
    spark: SparkSession, case: tuple[str, list[tuple[Any, ...]]]
) -> None:
    """semantics 46, 46.3, 46.6, 46.9, 46.14"""
    text, values = case
    df = spark.createDataFrame([(at(ts), k, v) for ts, k, v in values], "ts TIMESTAMP, k STRING, v BIGINT")
    assert collected(rows_of(sql(text, t=df))) == collected(spark.sql(text, t=df)), text


@given(sets_queries(), drawn_rows(different=False))
@examples(30 if FULL else 3)
def test_drawn_sets_have_the_rows_of_sparks_sql(
    spark: SparkSession, query: SetsQuery, values: list[tuple[Any, ...]]
) -> None:
    """semantics 46.17"""
    # Spark has neither `grouping` of expressions in HAVING, nor `grouping_id` without the window.
    assume("HAVING grouping" not in query.ours and "grouping_id" not in query.ours)
    df = spark.createDataFrame([(at(ts), k, v) for ts, k, v in values], "ts TIMESTAMP, k STRING, v BIGINT")
    assert collected(rows_of(sql(query.ours, t=df))) == collected(spark.sql(query.spark, t=df)), query.ours


def test_the_event_time_of_the_only_timestamp_and_names_in_other_spellings(spark: SparkSession) -> None:
    """semantics 46.62, 46.66"""
    df = spark.createDataFrame([(at(1), "a"), (at(2), "a"), (at(11), "a")], "ts TIMESTAMP, k STRING")
    text = "SELECT K, window.start AS s, count(*) AS n FROM T GROUP BY k, tumble(INTERVAL 10 SECONDS)"
    same = "SELECT k AS K, window.start AS s, count(*) AS n FROM {t} GROUP BY k, window(ts, '10 seconds')"
    assert collected(rows_of(sql(text, t=df))) == collected(spark.sql(same, t=df))
    spelled = "SELECT count(*) AS n FROM TUMBLE(t, TS, INTERVAL 10 SECONDS) GROUP BY window_start"
    assert collected(rows_of(sql(spelled, t=df))) == ["{'n': 1}", "{'n': 2}"]


def rows_by_table(document: Any) -> dict[str, Any]:
    """Returns the rows by table. A query that is written again has other names of tables."""
    event = events_of(document)[0]
    stages = [stage for stage in walk(compile_sql(document["sql"]).stage) if isinstance(stage, TableStage)]
    return {str(stage.name): event.get("rows", event.get(stage.alias or stage.name)) for stage in stages}


def _has_named_tables(document: Any) -> bool:
    rows = rows_by_table(document)
    return "None" not in rows and None not in rows.values()


# Documents without events of their own: their rows come at once.
BATCHES = [
    (f"{file}: {document['name']}", document)
    for file, document in documents()
    if "events" not in document and "expect" in document and _has_named_tables(document)
]


@pytest.mark.parametrize(("name", "document"), first_here(BATCHES, 3))
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_a_transcript_has_its_rows_on_a_batch(spark: SparkSession, name: str, document: Any) -> None:
    """semantics 46"""
    dfs: dict[str, Any] = {table: _frame(spark, values) for table, values in rows_by_table(document).items()}
    result = rows_of(sql(document["sql"], **dfs))
    columns = list(document["expect"][0]) if document["expect"] else []
    expected = _frame(spark, events_of({"events": [{"rows": document["expect"]}]})[0]["rows"])
    assert _rows(result.select(columns)) == _rows(expected.select(columns)), name


def _frame(spark: SparkSession, values: list[dict[str, Any]]) -> DataFrame:
    return spark.createDataFrame(pl.DataFrame(values, infer_schema_length=None).to_arrow())


def _rows(df: DataFrame) -> list[str]:
    values = [row.asDict(recursive=True) for row in df.collect()]
    return sorted(repr({name: _number(value) for name, value in sorted(row.items())}) for row in values)


def _number(value: Any) -> Any:
    whole = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(f"{value:.9g}") if whole else value
