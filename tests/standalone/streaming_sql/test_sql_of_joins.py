"""Joins in process that Spark's SQL has, too. tests/spark/test_in_process_sql.py compares their rows."""

from datetime import UTC, datetime

import polars as pl
import pytest

from panewise.errors import SqlError
from panewise.standalone import SqlQuery, sql


def at(minute: int) -> datetime:
    return datetime(2024, 1, 1, 12, minute, tzinfo=UTC)


JOINED = {
    "a": pl.DataFrame({"ts": [at(1), at(2), at(3), at(9)], "k": ["a", "b", "a", None], "v": [1, 2, 4, 5]}),
    "b": pl.DataFrame({"ts": [at(1), at(5), at(3), at(9)], "k": ["a", "b", "b", "c"], "w": [10, 20, 40, 50]}),
    "c": pl.DataFrame({"ts": [at(1), at(2), at(4)], "k": ["a", "b", "c"], "z": [7, 8, 9]}),
}
MARK = " WATERMARK ts DELAY OF INTERVAL '0' SECONDS"
NEAR = "{}.ts BETWEEN a.ts AND a.ts + INTERVAL '10' MINUTES"
WITHIN = f"a JOIN b ON a.k = b.k AND {NEAR.format('b')}"
IN = "k {} IN (SELECT k FROM {}{} WHERE " + NEAR + ")"
# Spark computes these, too, without WATERMARK.
JOINS = [
    *(f"SELECT k, ts, v, w FROM a{MARK} {kind} JOIN b{MARK} USING (k, ts)" for kind in ("", "LEFT", "FULL")),
    f"SELECT * FROM a{MARK} RIGHT JOIN b{MARK} USING (ts, k)",
    f"SELECT * FROM a{MARK} LEFT SEMI JOIN b{MARK} USING (k, ts)",
    f"SELECT a.* EXCEPT (ts), w FROM {WITHIN}",
    f"SELECT w, b.* EXCEPT (k, W), a.* EXCEPT (k, ts) FROM {WITHIN}",
    f"SELECT * EXCEPT (v) FROM a{MARK} JOIN b{MARK} USING (k, ts)",
    f"SELECT * EXCEPT (ts, v) FROM a{MARK} FULL JOIN b{MARK} USING (k, ts)",
    f"SELECT v FROM a{MARK} WHERE {IN.format('', 'b', MARK, 'b')} AND {IN.format('', 'c', MARK, 'c')}",
    f"SELECT * FROM a WHERE v > 1 AND {IN.format('', 'b', '', 'b')} AND {IN.format('', 'c', '', 'c')}",
    f"SELECT v FROM a WHERE {IN.format('NOT', 'b', '', 'b')} AND {IN.format('NOT', 'c', '', 'c')}",
    f"SELECT upper(a.k) AS u, a.v * b.w AS p FROM {WITHIN}",
    f"SELECT upper(a.k) AS u, sum(v * w) AS s FROM {WITHIN} GROUP BY u, window(a.ts, '1 hour')",
]
TUMBLED = "TUMBLE({}, ts, INTERVAL '5' MINUTES)"


@pytest.mark.parametrize("text", JOINS)
def test_rows_have_columns(text: str) -> None:
    """semantics 46.165, 46.166, 46.29"""
    rows = sql(text, **JOINED).rows
    assert rows.height > 0


def test_all_columns_of_a_window_join_with_using() -> None:
    """semantics 46.166"""
    bounds = "USING (k, window_start, window_end)"
    named = f"SELECT * FROM (SELECT k, v, window_start, window_end FROM {TUMBLED.format('a')}) l "
    right = f"JOIN (SELECT k, w, window_start, window_end FROM {TUMBLED.format('b')}) r {bounds}"
    rows = sql(named + right, **JOINED).rows
    assert rows.columns == ["k", "window_start", "window_end", "v", "w"]
    assert rows.select("k", "v", "w").rows() == [("a", 1, 10), ("a", 4, 10), ("b", 2, 40)]
    semi = sql(named + "LEFT SEMI " + right, **JOINED).rows
    assert semi.columns == ["k", "window_start", "window_end", "v"]
    without = sql(named.replace("*", "* EXCEPT (v, window_end)", 1) + right, **JOINED).rows
    assert without.columns == ["k", "window_start", "w"]


REFUSED = [
    (f"SELECT * EXCEPT (x) FROM {WITHIN}", r"leave x out of EXCEPT"),
    (f"SELECT * EXCEPT (ts) FROM {WITHIN}", "both tables have a column ts"),
    (f"SELECT s.* EXCEPT (x) FROM {WITHIN}", "`t.*` has the columns of a joined table"),
    (f"SELECT v * w AS p, p + 1 AS q FROM {WITHIN}", "a column is of one table"),
    (f"SELECT * FROM {WITHIN}", "two columns"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_what_is_refused(text: str, message: str) -> None:
    """semantics 46.166, 46.119"""
    with pytest.raises(SqlError, match=message):
        sql(text, **JOINED)


ORDERED = f"""SELECT a.*, b.w, 2 * w AS x FROM a{MARK} LEFT JOIN b{MARK} ON a.k = b.k AND
    b.ts BETWEEN a.ts AND a.ts + INTERVAL '5' MINUTES EMIT"""


def test_rows_of_a_join_wait_for_the_watermark() -> None:
    """semantics 46.181"""
    schemas = {"a": {"ts": "timestamp", "v": "bigint"}, "b": {"ts": "timestamp", "w": "bigint"}}
    for schema in schemas.values():
        schema["k"] = "string"
    query = SqlQuery(f"{ORDERED} ON WINDOW CLOSE", **schemas)

    def emitted(a: list[int], b: list[int]) -> list[tuple[object, ...]]:
        left = pl.DataFrame({"ts": list(map(at, a)), "v": a, "k": "a"})
        right = pl.DataFrame({"ts": list(map(at, b)), "w": b, "k": "a"})
        return query.add(a=left, b=right).rows.select("v", "w", "x").rows()

    assert emitted([10, 5], [8]) == []
    assert emitted([15], [15]) == [(5, 8, 16)]  # that at 10 may yet be paired with a row at 15
    assert emitted([35], [35]) == [(10, 15, 30), (15, 15, 30)]
    assert query.finish().rows.select("v", "w").rows() == [(35, 35)]


def test_the_lateness_of_a_join_in_the_order_of_event_times() -> None:
    """semantics 46.25, 46.181"""
    lateness = sql(f"{ORDERED} AFTER WATERMARK, WITH LATENESS INTERVAL '1' MINUTE", **JOINED).rows
    assert lateness.columns == ["ts", "k", "v", "w", "x"]
    assert lateness["v"].to_list() == [1, 2, 4, 2, 5]
    timed = sql(f"SELECT v, join_time FROM {WITHIN} EMIT FINAL", **JOINED).rows
    assert timed.rows() == [(1, at(1)), (2, at(3)), (2, at(5))]
    with pytest.raises(SqlError, match="EMIT ON WINDOW CLOSE or EMIT WITH LATENESS"):
        sql(f"{ORDERED} EARLY EVERY 2 ROWS", **JOINED)
