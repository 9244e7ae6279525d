"""UNION, DISTINCT and VALUES in process. tests/spark/test_in_process_sql.py compares them with Spark."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import polars as pl
import pytest

from panewise.errors import SqlError
from panewise.standalone import SqlQuery, sql


def at(minute: int, hour: int = 12) -> datetime:
    return datetime(2024, 1, 1, hour, minute, tzinfo=UTC)


TABLES = {
    "t": pl.DataFrame(
        {
            "ts": [at(1), at(2), at(3, 13), None],
            "k": ["a", "b", "a", None],
            "v": [1, 2, 4, None],
            "l": [["x", None], [], None, ["y"]],
            "f": [0.0, -0.0, float("nan"), float("nan")],
        }
    ),
    "u": pl.DataFrame(
        {"at": [at(5)], "k": ["c"], "v": [7], "d": [Decimal("1.50")]},
        schema_overrides={"v": pl.Int32, "d": pl.Decimal(5, 2)},
    ),
}
HOURLY = "SELECT k, count(*) AS n FROM t GROUP BY k, window(ts, '1 hour')"
BOTH = "SELECT ts, k, v FROM t UNION ALL SELECT at, k, v FROM u"
NOON = "TIMESTAMP '2024-01-01 12:00:00'"

# Spark computes these, too.
QUERIES = [
    "SELECT k, v FROM t UNION ALL SELECT k, v FROM u",
    "SELECT k AS a FROM t WHERE v > 1 UNION SELECT k FROM t UNION ALL SELECT k FROM u",
    "SELECT v FROM u UNION ALL (SELECT f FROM t UNION SELECT v FROM t)",
    "SELECT d FROM u UNION ALL SELECT v FROM u UNION ALL VALUES (1.125)",
    "SELECT NULL AS x FROM t UNION ALL SELECT k FROM u",
    f"SELECT k, sum(v) AS s FROM ({BOTH}) GROUP BY k, window(ts, '1 hour')",
    f"{HOURLY} UNION ALL SELECT k, v FROM u",
    f"WITH h AS ({HOURLY}) SELECT k FROM h UNION SELECT k FROM h WHERE n > 1 UNION ALL SELECT k FROM u",
    f"SELECT DISTINCT n + 1 AS m FROM ({HOURLY})",
    "SELECT DISTINCT upper(k) AS u, v > 1 AS b FROM t x WHERE x.ts IS NOT NULL",
    "SELECT DISTINCT f FROM t",
    "SELECT DISTINCT struct(k, 1 AS one) AS s FROM t",
    "SELECT DISTINCT * EXCEPT (ts, v, f, l) FROM t",
    "SELECT explode(l), k, v + 1 AS w FROM t",
    "SELECT *, explode(t.l) AS e FROM t WHERE v IS NULL",
    "SELECT e, count(*) AS n FROM (SELECT ts, explode(l) AS e FROM t) GROUP BY e, window(ts, '1 day')",
    "VALUES (1, 'a'), (2L, NULL), (-3, 'b')",
    "SELECT b, a + 1 AS c FROM VALUES (1, 'a'), (2.5, NULL) AS x(a, b) WHERE a < 2",
    "SELECT * FROM VALUES 1, 2",
    "WITH x(a, b) AS (VALUES (1, TRUE), (NULL, FALSE)) SELECT * FROM x UNION ALL SELECT v, v > 1 FROM t",
    f"SELECT sum(v) AS s FROM (VALUES ({NOON}, 5), ({NOON}, 6)) AS x(ts, v) GROUP BY window(ts, '1 hour')",
]


def shown(rows: pl.DataFrame) -> list[str]:
    return [str(rows.columns), *sorted(map(repr, rows.rows()))]


@pytest.mark.parametrize("text", QUERIES)
def test_rows_have_columns(text: str) -> None:
    """semantics 46.160, 46.168"""
    rows = sql(text, **TABLES).rows
    assert rows.height > 0


def test_rows() -> None:
    """semantics 46.160"""
    rows = [sql(text, **TABLES).rows.rows() for text in QUERIES[:3]]
    assert rows[0] == [("a", 1), ("b", 2), ("a", 4), (None, None), ("c", 7)]
    assert rows[1] == [("b",), ("a",), (None,), ("c",)]
    assert repr(rows[2]) == "[(7.0,), (0.0,), (nan,), (1.0,), (2.0,), (4.0,), (None,)]"


REFUSED = [
    ("SELECT k FROM t UNION ALL SELECT k, v FROM u", r"both sides have as many columns; .*\n.*column 17"),
    ("SELECT k FROM t UNION ALL SELECT v FROM u", r"DOUBLE: k of the type String, .*CAST\(v AS"),
    ("SELECT f FROM t UNION ALL SELECT d FROM u", "numbers, not DECIMAL and DOUBLE"),
    ("SELECT k FROM t UNION ALL TABLE u", "in process there are selections"),
    ("SELECT k FROM t UNION (SELECT k FROM u ORDER BY k LIMIT 1)", "in process there are selections"),
    ("SELECT k FROM t UNION SELECT sha2(k, 256) FROM u", r"sha2\(\.\.\.\) .*(?s:.*)column 30"),
    ("SELECT DISTINCT struct(f) AS s FROM t", "DISTINCT has no DOUBLE in an array or a struct"),
    ("VALUES (1, 2), (3)", "as many values as the first, 2"),
    ("VALUES (1), ('a')", "DOUBLE: Int32 and String"),
    ("VALUES (1) AS x(a)", "a name behind VALUES stands in FROM"),
    ("VALUES (k)", "a column k"),
    ("SELECT explode(k) AS e FROM t", r"explode of String \| in process it takes a list"),
    ("SELECT explode(l), explode(l) FROM t", "one call of explode"),
    ("SELECT posexplode(l) FROM t", r"posexplode\(\.\.\.\)"),
    ("SELECT size(explode(l)) AS n FROM t", r"explode\(\.\.\.\)"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_is_refused(text: str, message: str) -> None:
    """semantics 46.160"""
    with pytest.raises(SqlError, match=message):
        sql(text, **TABLES)


@pytest.mark.parametrize("text", ["SELECT DISTINCT k FROM t", "SELECT v FROM t UNION ALL VALUES (1)"])
def test_what_has_no_end_in_steps(text: str) -> None:
    """semantics 46.160"""
    with pytest.raises(SqlError, match="no end"):
        SqlQuery(text, t=dict(TABLES["t"].schema))


def query(text: str) -> tuple[SqlQuery, Any]:
    schemas = {name: dict(frame.schema) for name, frame in TABLES.items()}
    made = SqlQuery(text, **{name: columns for name, columns in schemas.items() if f" {name} " in text})
    return made, lambda **tables: made.add(**tables)


def test_the_watermark_of_a_union_is_the_lower_one() -> None:
    """semantics 46.160"""
    text = """
        SELECT k, count(*) AS n FROM (
          SELECT ts, k FROM t WATERMARK ts DELAY OF INTERVAL '0' SECONDS
          UNION ALL SELECT at, k FROM u WATERMARK at DELAY OF INTERVAL '0' SECONDS)
        GROUP BY k, window(ts, '1 hour')
    """
    made, add = query(text)
    assert add(t=TABLES["t"]).rows.rows() == []
    assert add(u=TABLES["u"]).rows.rows() == []
    later = TABLES["u"].with_columns(at=pl.lit(at(5, 14)))
    assert sorted(add(u=later).rows.rows()) == [("a", 1), ("b", 1), ("c", 1)]
    assert sorted(made.finish().rows.rows()) == [("a", 1), ("c", 1)]


def test_a_query_of_with_that_is_read_twice_counts_its_late_rows_once() -> None:
    """semantics 46.160"""
    marked = HOURLY.replace("FROM t", "FROM t WATERMARK ts DELAY OF INTERVAL '0' SECONDS")
    made, add = query(f"WITH h AS ({marked}) SELECT k, n FROM h UNION ALL SELECT k, n FROM h")
    assert add(t=TABLES["t"].head(3)).rows.height == 4
    assert add(t=TABLES["t"].head(1)).late.height == 1
    assert made.finish().rows.rows() == [("a", 1), ("a", 1)]


def test_equal_queries_count_their_late_rows_once() -> None:
    """semantics 46.160: a window join reads a query of WITH, or one that is written twice."""
    tumbled = """SELECT window_start, window_end, k, count(*) AS n
        FROM TUMBLE(TABLE t WATERMARK ts DELAY OF INTERVAL '0' SECONDS, ts, INTERVAL '1' HOUR)
        GROUP BY window_start, window_end, k"""
    bounds = "USING (window_start, window_end, k)"
    for text in (
        f"WITH h AS ({tumbled}) SELECT l.n, r.n AS m FROM h l JOIN h r {bounds}",
        f"SELECT l.n, r.n AS m FROM ({tumbled}) l JOIN ({tumbled}) r {bounds}",
    ):
        made, add = query(text)
        assert add(t=TABLES["t"].head(3)).rows.height == 2
        assert add(t=TABLES["t"].head(1)).late.height == 1
        assert made.finish().rows.rows() == [(1, 1)]
