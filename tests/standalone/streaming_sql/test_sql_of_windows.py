# ruff: noqa: E501 - texts of SQL stand in a line each
"""Queries over windows have in process the rows that are written beside them."""

from typing import Any

import polars as pl
import pytest

from panewise.errors import SqlError
from panewise.standalone import sql
from tests.sql.window_queries import LEFT, QUERIES, RIGHT, SUMS, T, U

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
    """semantics 46.140, 46.141, 46.143 to 46.147, 46.149, 46.152"""
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
