"""Top-N queries as specifications, and what is wrong with them."""

import pytest

from panewise.errors import SqlError
from panewise.sql import compile_sql
from panewise.sql.stages import RowsStage, SparkStage, WindowsStage
from tests.sql.test_compile import GROUP, TUMBLE

PANES = f"SELECT k, window_start, window_end, count(*) AS n {TUMBLE} {GROUP}"

EARLY = "EMIT EARLY EVERY UPDATE"


NUMBERED = "SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY n) AS rn FROM"


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (f"SELECT k FROM ({NUMBERED} ({PANES} {EARLY}) WHERE n > 1) WHERE rn <= 1", "windows that fire once"),
        (
            f"SELECT k FROM ({NUMBERED} ({PANES} HAVING k > 1 {EARLY})) WHERE rn <= 1",
            "windows that fire once",
        ),
        (f"SELECT * FROM ({NUMBERED} (SELECT *, n + 1 FROM ({PANES}))) WHERE rn <= 1", "name the columns"),
        (
            "SELECT sum(v) OVER (ORDER BY ts) FROM t QUALIFY ROW_NUMBER() OVER (ORDER BY v) <= 1",
            "one function over a window",
        ),
        (
            "SELECT k FROM (SELECT k, ROW_NUMBER() OVER (ORDER BY v) AS n FROM t HAVING k > 1) WHERE n <= 1",
            "has FROM and WHERE",
        ),
        ("WITH r AS (SELECT ROW_NUMBER() OVER (ORDER BY v DESC) AS n FROM t) SELECT k FROM t", "DESC"),
    ],
)
def test_what_a_top_n_cannot_have(sql: str, message: str) -> None:
    """semantics 46.13, 46.19, 46.100"""
    with pytest.raises(SqlError, match=message):
        compile_sql(sql)


@pytest.mark.parametrize("more", ["JOIN d ON t.k = d.k", "LATERAL VIEW explode(ws) AS w"])
def test_a_top_n_of_what_spark_joins(more: str) -> None:
    """semantics 46.19"""
    numbered = f"SELECT k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY w) AS n FROM t {more} WHERE w > 1"
    rows = compile_sql(f"SELECT k FROM ({numbered}) WHERE n <= 2").stage
    assert isinstance(rows, RowsStage)
    assert isinstance(rows.input, WindowsStage)
    assert isinstance(rows.input.input, SparkStage)
    assert more[-10:] in rows.input.input.parts[-1]


TOP = "SELECT k, v FROM t QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) <= 3"
FIRST = (
    "SELECT k, v FROM t WATERMARK ts DELAY OF INTERVAL '0' SECONDS"
    " QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts) = 1"
)


@pytest.mark.parametrize(
    ("sql", "remedy"),
    [
        (f"SELECT k, sum(v) AS s FROM ({TOP}) GROUP BY k EMIT CHANGES", "number the rows of windows"),
        (f"SELECT k, sum(v) OVER (ORDER BY v) AS s FROM ({TOP})", "number the rows of windows"),
        (f"SELECT a.k FROM ({TOP}) a JOIN b OVER (LATEST) ON a.k = b.k", "number the rows of windows"),
        (
            f"SELECT k, max(v) AS m FROM ({FIRST}) GROUP BY k EMIT CHANGES",
            "add EMIT AFTER WATERMARK",
        ),
        (
            "SELECT s FROM (SELECT sum(v) AS s FROM t EMIT CHANGES, RETRACTING) GROUP BY s EMIT CHANGES",
            "leave RETRACTING out",
        ),
    ],
)
def test_an_operator_over_rows_that_are_retracted(sql: str, remedy: str) -> None:
    """semantics 46.102"""
    with pytest.raises(SqlError, match=f"retracts rows later.*{remedy}"):
        compile_sql(sql)


@pytest.mark.parametrize("word", ["ISTREAM", "DSTREAM"])
def test_streams_of_a_deduplication(word: str) -> None:
    """semantics 46.101"""
    stage = compile_sql(f"{word}({FIRST})").stage
    assert isinstance(stage, RowsStage)
    assert stage.where == ("op = '+'" if word == "ISTREAM" else "op = '-'")
    with pytest.raises(SqlError, match="use ISTREAM"):
        compile_sql(f"RSTREAM({FIRST})")
