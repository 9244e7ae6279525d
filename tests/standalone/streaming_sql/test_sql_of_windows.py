# ruff: noqa: E501 - texts of SQL stand in a line each
"""Queries over windows have in process the rows that are written beside them."""

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest

from panewise.errors import SqlError
from panewise.standalone import SqlQuery, sql
from tests.sql.window_queries import LEFT, QUERIES, RIGHT, SUMS, T, U, at

TABLES = {"t": LEFT, "u": RIGHT}


def tables_in(text: str) -> dict[str, pl.DataFrame]:
    """Returns the tables that a query names."""
    return {name: df for name, df in TABLES.items() if f"FROM {name}" in text or f"({name}," in text} | (
        {"u": RIGHT} if "JOIN u" in text else {}
    )


def ordered(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(rows, key=repr)


@pytest.mark.parametrize(("text", "rows"), QUERIES)
def test_rows(text: str, rows: list[tuple[Any, ...]]) -> None:
    """semantics 46.140, 46.141, 46.143 to 46.147, 46.149, 46.152, 46.169"""
    assert ordered(sql(text, **tables_in(text)).rows.rows()) == ordered(rows)


REFUSED = [
    (f"SELECT count(DISTINCT window_time) AS n FROM {T} GROUP BY window_start", "the same for all its rows"),
    (
        "SELECT t.k, u.w FROM t LEFT JOIN u FOR SYSTEM_TIME AS OF t.ts ON t.k = u.k AND t.v > 1",
        "ON compares the keys alone.*\nline 1, column 80",
    ),
    (
        f"""SELECT l.k FROM {T} l LEFT JOIN (SELECT * FROM {U} WHERE window_start > TIMESTAMP '2024-01-01') r
        ON l.window_start = r.window_start""",
        "has no condition on bounds of windows",
    ),
    (
        f"SELECT a.k FROM {SUMS} a JOIN {SUMS.replace('5', '10')} b ON a.k = b.k AND a.s = b.s",
        "in process there are selections",
    ),
    (
        "SELECT max(ws) AS m FROM (SELECT k, window_start AS ws FROM TUMBLE(t, ts, INTERVAL '5' MINUTES)) GROUP BY k, ws",
        "the same for all its rows",
    ),
    (
        """SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY ws ORDER BY v) AS n
        FROM (SELECT k, v, window_start AS ws FROM TUMBLE(t, ts, INTERVAL '5' MINUTES))) WHERE n <= 1""",
        "has no event time . name the columns",
    ),
    (
        """SELECT * FROM (SELECT k, v, ROW_NUMBER() OVER (PARTITION BY window_start ORDER BY v) AS n
        FROM (SELECT * FROM TUMBLE(t, ts, INTERVAL '5' MINUTES) WHERE window_start > TIMESTAMP '2024-01-01'))
        WHERE n <= 1""",
        "before they have windows . select them in WHERE",
    ),
    ("SELECT latest(v) AS n FROM t GROUP BY window(ts, '1 hour')", "latest is no aggregate here"),
    (
        """SELECT window_end, count(*) AS n
        FROM (SELECT * FROM CUMULATE(t, ts, INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)) GROUP BY window_end""",
        "both bounds of the windows of CUMULATE",
    ),
    (
        """SELECT v, window_end, count(*) AS n FROM (
            SELECT * FROM SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '5' MINUTES))
        GROUP BY v, window_start, window_end""",
        "given in both clauses",
    ),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_is_refused(text: str, message: str) -> None:
    """semantics 46.13, 46.140, 46.141, 46.146, 46.153"""
    with pytest.raises(SqlError, match=f"(?s){message}"):
        sql(text, **tables_in(text))


WORDS = pl.DataFrame(
    {
        "ts": [datetime(2024, 1, 1, 12, minute, tzinfo=UTC) for minute in range(5)],
        "k": ["a", "a", "b", "b", "c"],
        "x": ["q", "p", "p", "p", None],
    }
)
BY = "FROM words GROUP BY k, window(ts, '1 hour')"
# Spark computes these, too.
LISTED = [
    f"SELECT k, listagg(x, ', ') WITHIN GROUP (ORDER BY x) AS n {BY}",
    f"SELECT k, string_agg(DISTINCT x) WITHIN GROUP (ORDER BY x DESC) AS n {BY}",
    f"SELECT k, upper(listagg(x || k, '|') WITHIN GROUP (ORDER BY x || k)) AS n, count(*) AS m {BY}",
    f"SELECT k, listagg(x, '-') WITHIN GROUP (ORDER BY x) FILTER (WHERE k <> 'b') AS n {BY}",
    f"SELECT k, count(DISTINCT k, x) AS n {BY} HAVING string_agg(k, '') WITHIN GROUP (ORDER BY k) <> 'bb'",
]


def test_texts_are_joined() -> None:
    """semantics 46.167"""
    rows = {row[0]: row[1] for row in sql(LISTED[0], words=WORDS).rows.rows()}
    assert rows == {"a": "p, q", "b": "p, p", "c": None}
    arrived = sql(f"SELECT listagg(x) AS n {BY}", words=WORDS).rows["n"].to_list()
    assert arrived == ["qp", "pp", None]


@pytest.mark.parametrize(
    ("aggregate", "message"),
    [
        ("listagg(x, k)", "may have a constant delimiter"),
        ("listagg()", "may have a constant delimiter"),
        ("string_agg(x) WITHIN GROUP (ORDER BY k)", "in the order of its own texts"),
        ("listagg(x) OVER (ORDER BY ts)", "aggregates do not join texts|OVER"),
    ],
)
def test_what_joins_no_texts(aggregate: str, message: str) -> None:
    """semantics 46.167"""
    with pytest.raises(SqlError, match=message):
        sql(f"SELECT {aggregate} AS n {BY}", words=WORDS)


@pytest.mark.parametrize("key", ["l", "struct(k, x)"])
def test_arrays_and_structs_are_no_keys(key: str) -> None:
    """semantics 24.19"""
    words = WORDS.with_columns(l=pl.concat_list("k"))
    with pytest.raises(SqlError, match="a key is a simple value"):
        SqlQuery(f"SELECT count(*) AS n {BY.replace('k,', f'{key},')} EMIT CHANGES", words=dict(words.schema))


def test_rows_of_sessions_in_steps() -> None:
    """semantics 46.169"""
    text = """SELECT k, v, window_start FROM SESSION(t WATERMARK ts DELAY OF INTERVAL '0' SECONDS PARTITION BY k, ts, INTERVAL '2' MINUTES)
    WHERE v < 5"""
    query = SqlQuery(text, t=dict(LEFT.schema))
    assert query.add(t=LEFT[:3]).rows.rows() == [("a", 1, at(1))]
    assert query.add(t=LEFT[3:]).rows.rows() == [("a", 2, at(6))]
    late = query.add(t=LEFT[:1]).late
    assert late.unnest("row").select("ts", "k", "v", "reason").rows() == [(at(1), "a", 1, "expired")]
    assert query.finish().rows.rows() == [("b", 3, at(11))]


def test_the_first_panes_of_a_window_of_cql_have_the_event_time_of_its_input() -> None:
    """semantics 46.19, 46.23"""
    totals = (
        "SELECT k, window_start, window_end, sum(v) AS s FROM r [RANGE 5 MINUTES SLIDE 5 MINUTES] GROUP BY k"
    )
    text = f"""WITH r AS (SELECT * FROM t WATERMARK ts DELAY OF INTERVAL '0' SECONDS)
        SELECT k, s FROM (
            SELECT k, s, ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY s DESC) AS n
            FROM ({totals}))
        WHERE n <= 1"""
    assert sql(text, t=LEFT).rows.rows() == [("a", 1), ("b", 5), ("b", 3)]
