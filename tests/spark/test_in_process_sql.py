"""Expressions and transcripts of SQL have the same results in process and on Spark."""

from typing import Any

import polars as pl
import pytest
from pyspark.errors import ArithmeticException
from pyspark.sql import DataFrame, SparkSession

from panewise.spark import sql
from panewise.sql import compile_sql
from panewise.standalone import sql as in_process
from panewise.standalone.streaming_sql.sql_expressions import Scope
from tests.nightly import nightly
from tests.sql.expressions.test_spark_names import AGGREGATES, FUNCTIONS, PLAIN
from tests.sql.player import _sorted, documents, events_of
from tests.standalone.streaming_sql.test_sql_expressions import EXPRESSIONS, ROWS, computed
from tests.standalone.streaming_sql.test_sql_of_joins import JOINED, JOINS, MARK
from tests.standalone.streaming_sql.test_sql_of_windows import LISTED, WORDS
from tests.standalone.streaming_sql.test_sql_sets import QUERIES, TABLES, shown
from tests.standalone.streaming_sql.test_streaming_sql import frames_of, tables_of, wanted


def test_expressions_have_the_values_of_spark(spark: SparkSession) -> None:
    """semantics 46.52: but for `floor` and `ceil` outside BIGINT, which are an error from Spark 4.3 on."""
    df = spark.createDataFrame(ROWS.with_columns(row=pl.int_range(3)).to_arrow())
    df.createOrReplaceTempView("t")
    outside = [text for text in EXPRESSIONS if "1e300" in text] if spark.version >= "4.3" else []
    for text in outside:
        with pytest.raises(ArithmeticException, match="OVERFLOW"):
            spark.sql(f"SELECT {text} FROM t").collect()
    texts = [text for text in EXPRESSIONS if text not in outside]
    names = [f"c{number}" for number in range(len(texts))]
    columns = ", ".join(f"{text} AS {name}" for text, name in zip(texts, names, strict=True))
    table = pl.DataFrame(spark.sql(f"SELECT {columns} FROM t ORDER BY row").toArrow())
    for text, name in zip(texts, names, strict=True):
        here, there = computed(text), table[name].to_list()
        assert repr(here if len(here) > 1 else here * 3) == repr(there), text
        dtype = Scope(dict(ROWS.schema), "t").typed(text).dtype
        assert dtype == table.schema[name] or not isinstance(dtype, pl.Decimal), text


def test_unions_have_the_rows_of_spark(spark: SparkSession) -> None:
    """semantics 46.160"""
    frames = {name: spark.createDataFrame(table.to_arrow()) for name, table in TABLES.items()}
    for text in QUERIES:
        made = sql(text, **frames)
        there = pl.DataFrame((made if isinstance(made, DataFrame) else made.panes).toArrow())
        here = in_process(text, **TABLES).rows
        assert shown(here) == shown(there), text
        assert here.schema.dtypes() == [*map(_plain, there.schema.dtypes())], text


def test_texts_are_joined_as_by_spark(spark: SparkSession) -> None:
    """semantics 46.167"""
    words = spark.createDataFrame(WORDS.to_arrow())
    words.createOrReplaceTempView("words")
    for text in LISTED:
        there = pl.DataFrame(spark.sql(text).toArrow())
        assert shown(in_process(text, words=WORDS).rows) == shown(there), text
        assert shown(pl.DataFrame(sql(text, words=words).panes.toArrow())) == shown(there), text


def test_joins_have_the_rows_of_sparks_batch(spark: SparkSession) -> None:
    """semantics 46.165, 46.166, 46.29"""
    frames = {name: spark.createDataFrame(table.to_arrow()) for name, table in JOINED.items()}
    for name, frame in frames.items():
        frame.createOrReplaceTempView(name)
    for text in JOINS:
        there = pl.DataFrame(spark.sql(text.replace(MARK, "")).toArrow())
        assert shown(in_process(text, **JOINED).rows) == shown(there), text
    made = sql(JOINS[2], **frames)
    assert shown(pl.DataFrame(made.rows.toArrow())) == shown(in_process(JOINS[2], **JOINED).rows)


def _plain(dtype: Any) -> Any:
    return pl.Datetime("us", "UTC") if isinstance(dtype, pl.Datetime) else dtype


@pytest.mark.parametrize("names", [AGGREGATES, FUNCTIONS, PLAIN])
def test_columns_have_the_names_of_spark(spark: SparkSession, names: dict[str, str]) -> None:
    """semantics 46.105: Spark 4.1 has no FILTER in functions over windows."""
    if spark.version < "4.2":
        names = {text: name for text, name in names.items() if not {"FILTER", "OVER"} <= {*text.split()}}
    row = "timestamp'2024-01-01' AS ts, 'a' AS k, 1L AS v, 2L AS w, true AS b, 2.5D AS f, struct(1 AS x) AS r"
    df = spark.sql(f"SELECT {row}")
    assert spark.sql(f"SELECT {', '.join(names)} FROM {{t}} t", t=df).columns == [*names.values()]


BATCHES = [(file, document) for file, document in documents() if not {"events", "time"} & {*document}]


@pytest.mark.parametrize(
    "document",
    [nightly(document) for _, document in BATCHES],
    ids=[f"{file}: {document['name']}" for file, document in BATCHES],
)
def test_transcript_on_spark(spark: SparkSession, document: dict[str, Any]) -> None:
    """semantics 46, 46.50: the same rows as in process"""
    names = tables_of(compile_sql(document["sql"]).stage)
    frames = frames_of(names, events_of(document)[0])
    made = sql(document["sql"], **{name: spark.createDataFrame(df.to_arrow()) for name, df in frames.items()})
    rows = (
        made if isinstance(made, DataFrame) else getattr(made, "panes" if hasattr(made, "panes") else "rows")
    )
    assert _sorted(pl.DataFrame(rows.toArrow()).to_dicts()) == wanted(document)
