# ruff: noqa: E501 - texts of SQL stand in a line each
"""Queries over whole inputs, each with its rows, also in their order. They run in process and on Spark."""

from datetime import UTC, date, datetime
from decimal import Decimal
from math import nan
from typing import Any, Final

import polars as pl


def _at(minute: int) -> datetime:
    return datetime(2024, 1, 1, 12, minute, tzinfo=UTC)


LEFT: Final = pl.DataFrame(
    {
        "o": [3, 1, None, 2, 2],
        "k": ["a", "a", "b", "b", "a"],
        "v": [1, 2, 3, 4, 5],
        "d": [date(2024, 1, day) for day in (1, 2, 3, 5, 9)],
        "f": [1.5, -0.0, 0.0, None, nan],
        "m": [Decimal("1.25"), Decimal("-7.35"), None, Decimal(3), Decimal("0.05")],
        "ts": [_at(minute) for minute in (1, 5, 2, 9, 3)],
    },
    schema_overrides={"v": pl.Int32, "m": pl.Decimal(7, 2)},
)
RIGHT: Final = pl.DataFrame({"o": [1, None, 2, 2], "k": ["a", "b", "b", "b"], "w": [20, 30, 40, 40]})
WHOLE: Final = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"

QUERIES: Final[list[tuple[str, list[tuple[Any, ...]]]]] = [
    ("SELECT v, sum(v) OVER (PARTITION BY k) AS s FROM t", [(1, 8), (2, 8), (3, 7), (4, 7), (5, 8)]),
    ("SELECT v, count(*) OVER () AS n FROM t", [(n, 5) for n in range(1, 6)]),
    ("SELECT v, rank() OVER (ORDER BY o) AS r FROM t", [(3, 1), (2, 2), (4, 3), (5, 3), (1, 5)]),
    (
        "SELECT v, dense_rank() OVER (ORDER BY o DESC NULLS FIRST) AS r FROM t",
        [(3, 1), (1, 2), (4, 3), (5, 3), (2, 4)],
    ),
    (
        "SELECT v, row_number() OVER (PARTITION BY k ORDER BY v DESC) AS n FROM t",
        [(5, 1), (2, 2), (1, 3), (4, 1), (3, 2)],
    ),
    ("SELECT v, sum(v) OVER (ORDER BY k, o DESC) AS s FROM t", [(1, 1), (5, 6), (2, 8), (4, 12), (3, 15)]),
    (
        "SELECT v, sum(v) OVER (ORDER BY v % 2, k DESC) AS s FROM t",
        [(4, 4), (2, 6), (3, 9), (1, 15), (5, 15)],
    ),
    (
        "SELECT v, sum(v) OVER (ORDER BY d ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS s FROM t",
        [(1, 3), (2, 6), (3, 9), (4, 12), (5, 9)],
    ),
    (
        """SELECT v, sum(v) OVER (ORDER BY d RANGE BETWEEN INTERVAL 2 DAYS PRECEDING AND CURRENT ROW) AS s,
            count(*) OVER (ORDER BY d RANGE BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING) AS n FROM t""",
        [(1, 1, 0), (2, 3, 0), (3, 6, 1), (4, 7, 3), (5, 5, 4)],
    ),
    (
        """SELECT v, count(*) OVER (ORDER BY o RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS n,
            sum(v) OVER (ORDER BY o DESC RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS s FROM t WHERE o > 0""",
        [(1, 3, None), (2, 3, 10), (4, 4, 1), (5, 4, 1)],
    ),
    (
        "SELECT v, count(*) OVER (ORDER BY o RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS n FROM t",
        [(1, 3), (2, 3), (3, 1), (4, 4), (5, 4)],
    ),
    (
        "SELECT v, rank() OVER (ORDER BY f) AS up, rank() OVER (ORDER BY f DESC) AS down FROM t",
        [(4, 1, 5), (2, 2, 3), (3, 2, 3), (1, 4, 2), (5, 5, 1)],
    ),
    (
        f"""SELECT v, first_value(v) OVER (PARTITION BY k ORDER BY o DESC {WHOLE}) AS f,
            last_value(v) OVER (PARTITION BY k ORDER BY o DESC {WHOLE}) AS l, nth_value(v, 2) OVER (PARTITION BY k ORDER BY m {WHOLE}) AS o FROM t""",
        [(1, 1, 2, 5), (5, 1, 2, 5), (2, 1, 2, 5), (4, 4, 3, 4), (3, 4, 3, 4)],
    ),
    (
        "SELECT v, lag(v) OVER (ORDER BY k, v) AS b, lead(v, 2, 0) OVER (ORDER BY k, v) AS a FROM t",
        [(1, None, 5), (2, 1, 3), (5, 2, 4), (3, 5, 0), (4, 3, 0)],
    ),
    (
        "SELECT v, percent_rank() OVER (ORDER BY o) AS p, cume_dist() OVER (ORDER BY o) AS c FROM t",
        [(3, 0.0, 0.2), (2, 0.25, 0.4), (4, 0.5, 0.8), (5, 0.5, 0.8), (1, 1.0, 1.0)],
    ),
    (
        "SELECT v, ntile(2) OVER (ORDER BY v) AS two, ntile(3) OVER (PARTITION BY k ORDER BY v) AS three, ntile(9) OVER (ORDER BY v) AS nine FROM t",
        [(1, 1, 1, 1), (2, 1, 2, 2), (3, 1, 1, 3), (4, 2, 2, 4), (5, 2, 3, 5)],
    ),
    ("SELECT v FROM t QUALIFY max(v) OVER (PARTITION BY k) = v", [(4,), (5,)]),
    (
        "SELECT v, max(v) OVER (ORDER BY ts ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS m FROM t",
        [(1, 5), (3, 5), (5, 5), (2, 4), (4, 4)],
    ),
    (
        "SELECT v, sum(v) OVER w AS s, count(*) OVER (PARTITION BY k, k) AS v2 FROM t WINDOW w AS (PARTITION BY k ORDER BY v)",
        [(1, 1, 3), (2, 3, 3), (5, 8, 3), (3, 3, 2), (4, 7, 2)],
    ),
    ("SELECT k, sum(v) AS s FROM t GROUP BY k", [("a", 8), ("b", 7)]),
    ("SELECT count(*) AS n, sum(v) AS s, collect_list(v) AS l FROM t WHERE v > 100", [(0, None, [])]),
    ("SELECT count(*) + 1 AS n FROM t HAVING count(*) > 100", []),
    ("SELECT k, rank() OVER (ORDER BY sum(v) DESC) AS r FROM t GROUP BY k", [("a", 1), ("b", 2)]),
    (
        "SELECT k, o, count(*) AS n FROM t GROUP BY ROLLUP (k, o)",
        [
            ("a", 1, 1),
            ("a", 2, 1),
            ("a", 3, 1),
            ("b", None, 1),
            ("b", 2, 1),
            ("a", None, 3),
            ("b", None, 2),
            (None, None, 5),
        ],
    ),
    ("SELECT avg(s) AS a FROM (SELECT k, sum(v) AS s FROM t GROUP BY k)", [(7.5,)]),
    ("SELECT o, k FROM t EXCEPT SELECT o, k FROM u", [(3, "a"), (2, "a")]),
    ("SELECT k FROM t EXCEPT ALL SELECT k FROM u", [("a",), ("a",)]),
    ("SELECT o FROM t INTERSECT SELECT o FROM u", [(1,), (None,), (2,)]),
    ("SELECT k FROM t INTERSECT ALL SELECT k FROM u", [("a",), ("b",), ("b",)]),
    ("SELECT f FROM t EXCEPT SELECT 0.0D", [(1.5,), (None,), (nan,)]),
    ("SELECT 1 AS n, upper('a') AS u", [(1, "A")]),
    ("SELECT 1 AS n WHERE false", []),
    ("WITH c AS (SELECT 2 AS x) SELECT x + 1 AS y FROM c", [(3,)]),
    ("SELECT k, max(v) AS m FROM (SELECT * FROM t ORDER BY v LIMIT 3) GROUP BY k", [("a", 2), ("b", 3)]),
    (
        "SELECT CAST(m AS DECIMAL(5, 1)) AS a, CAST(m AS INT) AS b, CAST(m AS DOUBLE) AS c, CAST(m AS STRING) AS s FROM t WHERE v < 3",
        [(Decimal("1.3"), 1, 1.25, "1.25"), (Decimal("-7.4"), -7, -7.35, "-7.35")],
    ),
    (
        "SELECT CAST(v AS DECIMAL(3, 1)) AS a, CAST(f AS DECIMAL(3, 1)) AS b, CAST(' 12 ' AS INT) AS c, CAST('1.25' AS DECIMAL(3, 1)) AS d FROM t WHERE v = 1",
        [(Decimal("1.0"), Decimal("1.5"), 12, Decimal("1.3"))],
    ),
    (
        "SELECT CAST(ts AS STRING) AS a, CAST(d AS STRING) AS b, CAST(ts + INTERVAL '0.250' SECOND AS STRING) AS c FROM t WHERE v = 1",
        [("2024-01-01 12:01:00", "2024-01-01", "2024-01-01 12:01:00.25")],
    ),
    (
        "SELECT v, CASE WHEN v = 1 THEN m ELSE 0 END AS a, coalesce(m, v) AS b, coalesce(f, v) AS c FROM t WHERE v IN (1, 3, 4)",
        [
            (1, Decimal("1.25"), Decimal("1.25"), 1.5),
            (3, Decimal("0.00"), Decimal("3.00"), 0.0),
            (4, Decimal("0.00"), Decimal("3.00"), 4.0),
        ],
    ),
]


def shown(rows: list[tuple[Any, ...]]) -> list[str]:
    """Returns rows as texts, in which NaN is equal to itself."""
    return [repr(row) for row in rows]


SORTED: Final[list[tuple[str, list[tuple[Any, ...]]]]] = [
    ("SELECT v FROM t ORDER BY o DESC, v DESC", [(1,), (5,), (4,), (2,), (3,)]),
    ("SELECT v + 1 AS w FROM t ORDER BY w DESC LIMIT 2 OFFSET 1", [(5,), (4,)]),
    ("SELECT k, sum(v) FROM t GROUP BY k ORDER BY sum(v)", [("b", 7), ("a", 8)]),
    (
        "SELECT k, o FROM t ORDER BY 2 NULLS LAST, t.k LIMIT ALL",
        [("a", 1), ("a", 2), ("b", 2), ("a", 3), ("b", None)],
    ),
    ("SELECT v AS x FROM t WHERE v > 1 ORDER BY k DESC, x DESC", [(4,), (3,), (5,), (2,)]),
    ("SELECT k FROM t UNION SELECT 'c' ORDER BY k DESC", [("c",), ("b",), ("a",)]),
    (
        "SELECT sum(v) AS s FROM TUMBLE(t, ts, INTERVAL '5' MINUTES) GROUP BY window_start ORDER BY s LIMIT 1",
        [(6,)],
    ),
]
