# ruff: noqa: E501 - texts of SQL stand in a line each
"""Queries over windows of two tables, each with its rows. They run in process and on Spark."""

from datetime import UTC, datetime
from typing import Any, Final

import polars as pl


def at(minute: int, second: int = 0) -> datetime:
    """Returns a time behind 12 o'clock."""
    return datetime(2024, 1, 1, 12, minute, second, tzinfo=UTC)


def _last(minute: int) -> datetime:
    return at(minute, 59).replace(microsecond=999_999)


LEFT: Final = pl.DataFrame(
    {"ts": [at(1), at(6), at(7), at(11)], "k": ["a", "a", "b", "b"], "v": [1, 2, 5, 3]}
)
RIGHT: Final = pl.DataFrame({"ts": [at(2), at(8), at(12)], "k": ["a", "b", "b"], "w": [10, 20, 30]})

T: Final = "TUMBLE(t, ts, INTERVAL '5' MINUTES)"
U: Final = "TUMBLE(u, ts, INTERVAL '5' MINUTES)"
SUMS: Final = f"(SELECT k, window_start AS s, window_end AS e, sum(v) AS v FROM {T} GROUP BY k, s, e)"
OTHERS: Final = f"(SELECT k, window_start AS s, window_end AS e, sum(w) AS w FROM {U} GROUP BY k, s, e)"
STRUCTS: Final = (
    "(SELECT k, tumble(INTERVAL '5' MINUTES) AS window, sum(v) AS v FROM t GROUP BY 1, 2)",
    "(SELECT k, tumble(INTERVAL '5' MINUTES) AS window, sum(w) AS w FROM u GROUP BY 1, 2)",
)
PAIRS: Final = [("a", 1, 10), ("b", 3, 30), ("b", 5, 20)]

QUERIES: Final[list[tuple[str, list[tuple[Any, ...]]]]] = [
    (
        f"""SELECT k, ws, count(*) AS n
        FROM (SELECT k, v, window_start AS ws FROM {T} WHERE window_end > TIMESTAMP '2024-01-01 12:05:00')
        WHERE ws < TIMESTAMP '2024-01-01 12:10:00' AND v > 2 GROUP BY k, ws""",
        [("b", at(5), 1)],
    ),
    (
        f"""SELECT ws, count(*) AS n FROM (
            SELECT * FROM (
                SELECT k, v, window_start AS ws, window_end AS we,
                    ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY v DESC) AS r FROM {T})
            WHERE r <= 1)
        GROUP BY ws""",
        [(at(0), 1), (at(5), 1), (at(10), 1)],
    ),
    (
        f"""SELECT * FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY window_start ORDER BY v DESC) AS r
            FROM (SELECT * FROM {T} WHERE v > 1))
        WHERE r = 1""",
        [(at(7), "b", 5, at(5), at(10), _last(9), 1), (at(11), "b", 3, at(10), at(15), _last(14), 1)],
    ),
    (
        f"""SELECT l.k, l.v, r.w, r.window_time AS e FROM {T} l LEFT JOIN {U} r
        ON l.k = r.k AND l.window_start = r.window_start""",
        [("a", 1, 10, _last(4)), ("a", 2, None, None), ("b", 3, 30, _last(14)), ("b", 5, 20, _last(9))],
    ),
    (
        f"""SELECT l.k, l.v, r.w FROM (SELECT * FROM {T} WHERE window_start >= TIMESTAMP '2024-01-01 12:05:00') l
        JOIN {U} r ON l.k = r.k AND l.window_end = r.window_end""",
        PAIRS[1:],
    ),
    (f"SELECT a.k, a.v, b.w FROM {SUMS} a JOIN {OTHERS} b ON a.k = b.k AND a.s = b.s AND a.e = b.e", PAIRS),
    (f"SELECT a.k, a.v, b.w FROM {SUMS} a, {OTHERS} b WHERE a.k = b.k AND a.s = b.s", PAIRS),
    (
        f"SELECT * FROM {SUMS} a JOIN (SELECT k AS l, e AS f, w FROM {OTHERS}) b ON a.k = b.l AND a.e = b.f",
        [
            ("a", at(0), at(5), 1, "a", at(5), 10),
            ("b", at(5), at(10), 5, "b", at(10), 20),
            ("b", at(10), at(15), 3, "b", at(15), 30),
        ],
    ),
    (
        f"SELECT * FROM {SUMS} a FULL JOIN {OTHERS} b USING (k, s, e)",
        [
            ("a", at(0), at(5), 1, 10),
            ("a", at(5), at(10), 2, None),
            ("b", at(5), at(10), 5, 20),
            ("b", at(10), at(15), 3, 30),
        ],
    ),
    (
        f"SELECT a.k, a.v, b.w FROM {STRUCTS[0]} a JOIN {STRUCTS[1]} b ON a.k = b.k AND a.window = b.window",
        PAIRS,
    ),
    (
        f"""SELECT window.start AS s, v, w FROM (
            SELECT a.window AS window, a.v, b.w FROM {STRUCTS[0]} a FULL JOIN {STRUCTS[1]} b
            ON a.k = b.k AND a.window.start = b.window.start)""",
        [(at(0), 1, 10), (at(5), 2, None), (at(5), 5, 20), (at(10), 3, 30)],
    ),
    (
        f"SELECT a.k, a.window.end AS e FROM {STRUCTS[0]} a JOIN {STRUCTS[1]} b ON a.k = b.k AND a.window = b.window",
        [("a", at(5)), ("b", at(10)), ("b", at(15))],
    ),
    (
        f"SELECT * FROM {SUMS} a WHERE EXISTS (SELECT 1 FROM {OTHERS} b WHERE a.s = b.s AND a.k = b.k)",
        [("a", at(0), at(5), 1), ("b", at(5), at(10), 5), ("b", at(10), at(15), 3)],
    ),
    (
        f"SELECT a.k, a.v FROM {SUMS} a WHERE a.k NOT IN (SELECT b.k FROM {OTHERS} b WHERE a.s = b.s)",
        [("a", 2)],
    ),
    (
        f"""SELECT window.start AS s, k, v FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY window ORDER BY v DESC) AS r FROM {STRUCTS[0]})
        WHERE r = 1""",
        [(at(0), "a", 1), (at(5), "b", 5), (at(10), "b", 3)],
    ),
    (
        f"""SELECT window.start AS s, k, v FROM (
            SELECT *, ROW_NUMBER() OVER (PARTITION BY window ORDER BY v DESC) AS r
            FROM (SELECT k, v, window FROM {STRUCTS[0]} WHERE v > 1))
        WHERE r = 1""",
        [(at(5), "b", 5), (at(10), "b", 3)],
    ),
    (
        """SELECT v, window_start AS s, window_end AS e
        FROM CUMULATE(t, ts, INTERVAL '5' MINUTES, INTERVAL '10' MINUTES, INTERVAL '2' MINUTES) WHERE v < 3""",
        [(1, at(0).replace(hour=11, minute=52), at(2)), (2, at(2), at(7)), (2, at(2), at(12))],
    ),
    (
        """SELECT k, w, v FROM (
            SELECT t.k AS k, u.w AS w, t.v AS v, ROW_NUMBER() OVER (PARTITION BY t.k ORDER BY u.w DESC) AS r
            FROM t JOIN u ON t.k = u.k AND u.ts BETWEEN t.ts AND t.ts + INTERVAL '10' MINUTES)
        WHERE r = 1""",
        [("a", 10, 1, "+"), ("b", 30, 5, "+")],
    ),
    ("SELECT t.k, u.w FROM t JOIN u FOR SYSTEM_TIME AS OF t.ts ON t.k = u.k", [("a", 10), ("b", 20)]),
    (
        """WITH r AS (
            SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n FROM u) WHERE n = 1)
        SELECT t.k, count(*) AS c FROM t JOIN r FOR SYSTEM_TIME AS OF t.ts ON t.k = r.k
        GROUP BY t.k EMIT CHANGES""",
        [("a", 1), ("b", 1)],
    ),
    (
        "SELECT * FROM SESSION(t, ts, INTERVAL '2' MINUTES)",
        [
            (at(1), "a", 1, at(1), at(3), _last(2)),
            (at(6), "a", 2, at(6), at(9), _last(8)),
            (at(7), "b", 5, at(6), at(9), _last(8)),
            (at(11), "b", 3, at(11), at(13), _last(12)),
        ],
    ),
    (
        """SELECT x.v + 1 AS v, window_end FROM SESSION(t, DESCRIPTOR(ts), DESCRIPTOR(k), INTERVAL '4' MINUTES) x
        WHERE x.v <> 5""",
        [(2, at(5)), (3, at(10)), (4, at(15))],
    ),
    (
        """SELECT window_start AS ws, v FROM (SELECT * FROM SESSION(t, ts, INTERVAL '4' MINUTES)) WHERE v > 1
        UNION ALL SELECT window_start, w FROM TUMBLE(u, ts, INTERVAL '5' MINUTES) WHERE w > 10""",
        [(at(6), 2), (at(6), 5), (at(6), 3), (at(5), 20), (at(10), 30)],
    ),
    (  # windows over the panes of a chain
        f"""SELECT window_start AS s, sum(v) AS v FROM TUMBLE(TABLE (
            SELECT window_time AS at, max(v) AS v
            FROM (SELECT k, window_start, window_end, window_time, sum(v) AS v FROM {T} GROUP BY k, window_start, window_end)
            GROUP BY window_start, window_end), DESCRIPTOR(at), INTERVAL '10' MINUTES)
        GROUP BY window_start, window_end""",
        [(at(0), 6), (at(10), 3)],
    ),
]
