"""Pipes are SELECTs in FROM of each other."""

import polars as pl
import pytest

from panewise.errors import SqlError
from panewise.sql import compile_sql
from panewise.sql.stages import EndlessError, SparkStage
from panewise.sql.text.pipes import without_pipes
from panewise.standalone import SqlQuery, sql
from tests.standalone.streaming_sql.test_streaming_sql import EMPTY

SAME = {
    "SELECT a | b FROM t WHERE c = '|>'": "SELECT a | b FROM t WHERE c = '|>'",
    "FROM t |> WHERE a > 1 |> WHERE b > 2": "SELECT * FROM t WHERE (a > 1) AND (b > 2)",
    "FROM t x |> EXTEND 1 AS a |> WHERE x.b > a": (
        "SELECT * FROM (SELECT *, 1 AS a FROM t x) AS x WHERE x.b > a"
    ),
    "FROM t |> DROP a, b": "SELECT * EXCEPT (a, b) FROM t",
    "VALUES (1) |> SELECT col1": "SELECT col1 FROM (VALUES (1))",
    "FROM t |> WHERE a |> AS q |> SELECT q.a": "SELECT q.a FROM (SELECT * FROM t WHERE a) AS q",
    "FROM t |> AGGREGATE count(*) |> SELECT 1": "SELECT 1 FROM (SELECT count(*) FROM t)",
    "FROM t |> AGGREGATE GROUP BY a, f(a, b) AS c": "SELECT a, f(a, b) AS c FROM t GROUP BY a, f(a, b)",
    "FROM t |> ORDER BY a |> LIMIT 3 |> SELECT b": "SELECT b FROM (SELECT * FROM t ORDER BY a LIMIT 3)",
    "FROM t |> WHERE a |> JOIN u USING (k)": "SELECT * FROM (SELECT * FROM t WHERE a) AS t JOIN u USING (k)",
    "FROM t |> UNION ALL (FROM u |> SELECT a)": "(SELECT * FROM t) UNION ALL (SELECT a FROM u)",
    "WITH a AS (FROM t |> WHERE b), c (d) AS (SELECT 1) FROM a |> SELECT b EMIT CHANGES": (
        "WITH a AS (SELECT * FROM t WHERE b), c (d) AS (SELECT 1) SELECT b FROM a EMIT CHANGES"
    ),
    "SELECT a FROM (FROM t |> SELECT a) WHERE a IN (TABLE u |> SELECT b)": (
        "SELECT a FROM (SELECT a FROM t) WHERE a IN (SELECT b FROM u)"
    ),
}
WRONG = {
    "FROM t |> SET a = 1": "'SET'",
    "FROM t |>": "the end of the text",
    "FROM t |> |> SELECT a": r"'\|>'",
    "FROM t |> AGGREGATE sum(v) GROUP BY 1": "a column of the rows before it",
    "FROM t |> SELECT a b c |> SELECT a": "'c'",
    "|> SELECT a": "a pipe follows a query",
}


@pytest.mark.parametrize(("text", "plain"), SAME.items())
def test_a_pipe_is_a_query_in_from(text: str, plain: str) -> None:
    """semantics 46.154"""
    written = without_pipes(text)
    assert plain == (text if written is None else written.sql)


@pytest.mark.parametrize(("text", "message"), WRONG.items())
def test_what_is_wrong(text: str, message: str) -> None:
    """semantics 46.154"""
    with pytest.raises(SqlError, match=message) as raised:
        compile_sql(text)
    assert raised.value.line == 1


def test_errors_have_places_in_the_text_of_the_pipe() -> None:
    """semantics 46.13, 46.154"""
    text = "FROM t |> WHERE v > 1 |> AGGREGATE sum(v) AS s GROUP BY k"
    stage = compile_sql(text).stage
    assert isinstance(stage, SparkStage)
    with pytest.raises(EndlessError, match=f"line 1, column {text.index('k', 30) + 1}") as endless:
        SqlQuery(text, t=EMPTY)
    assert text in str(endless.value)
    joined = "FROM t |> AGGREGATE try_sum(v) AS s GROUP BY window(ts, '1 hour')"
    with pytest.raises(SqlError, match="line 1, column 21"):
        sql(joined, t=pl.DataFrame(schema=EMPTY))


@pytest.mark.parametrize(
    ("text", "part", "length"),
    [
        ("FROM t |> WHERE k = 'v' |> AGGREGATE sum(v) AS s GROUP BY k", "k", 1),
        ("FROM t |> WHERE v > 1 |> SELECT v b c", "c", 1),
        ("FROM t |> JOIN u ON t.k = u.k |> SELECT k, v FROM x", "SELECT", 1),
        ("FROM t |> WHERE v > 1 |> AGGREGATE median(v, 3) GROUP BY window(ts, '1h')", "median", 12),
        ("FROM t |> AGGREGATE sum(v) AS v GROUP BY window(ts, '1 hour') |> ORDER BY v", "ORDER", 10),
    ],
)
def test_a_place_is_where_the_user_has_written_it(text: str, part: str, length: int) -> None:
    """semantics 46.13, 46.154: not where the same characters stand before."""
    with pytest.raises(SqlError) as raised:
        SqlQuery(text, t=EMPTY)
    place = text.rindex(part)
    assert (raised.value.sql, raised.value.start) == (text, place), raised.value
    assert str(raised.value).endswith(" " * (place + 2) + "^" * length)


def test_queries_in_queries_take_no_time() -> None:
    """semantics 46.154"""
    text = "FROM t |> WHERE a"
    for _ in range(60):
        text = f"FROM t |> WHERE a IN ({text}) |> AGGREGATE max(b IN (TABLE u |> SELECT c)) |> LIMIT 3"
    written = without_pipes(text)
    assert written is not None
    assert "|>" not in written.sql
