"""What is refused of the forms of other systems, and how the errors say what to write."""

import pytest

from panewise.errors import SqlError
from panewise.spec import AsOf
from panewise.sql import compile_sql
from panewise.sql.stages import DeduplicateStage, JoinStage, RowsStage

REFUSED = {
    "SELECT sum(v) OVER w FROM t WINDOW w AS (ORDER BY ts), W AS (ORDER BY id)": r"each window .*; w has two",
    "SELECT sum(v) OVER (w ORDER BY ts) FROM t WINDOW w AS (ORDER BY ts)": r"adds ORDER BY or a frame",
    "SELECT sum(v) OVER (w PARTITION BY k) FROM t WINDOW w AS (ORDER BY ts)": r"adds ORDER BY or a frame",
    "SELECT sum(v) OVER (w ORDER BY ts) FROM t WINDOW w AS (ROWS 1 PRECEDING)": r"adds ORDER BY or a frame",
    "SELECT sum(v) OVER x FROM t WINDOW w AS (ORDER BY ts)": r"x \| .* of the clause WINDOW: \['w'\]",
    "SELECT sum(v) OVER a FROM t WINDOW a AS (b), b AS (ORDER BY ts)": r"b \| .* of the clause WINDOW: \[\]",
    (
        "SELECT k, count(*) FROM SESSION(t PARTITION BY k, DESCRIPTOR(ts), DESCRIPTOR(k), INTERVAL '1' HOUR)"
        " GROUP BY k, window_start"
    ): r"given once, by PARTITION BY or by DESCRIPTOR",
    "SELECT a.v FROM a ASOF RIGHT JOIN b ON a.ts >= b.ts": r"ASOF RIGHT JOIN \| an as-of join looks for",
    "SELECT a.v FROM a ASOF FULL OUTER JOIN b ON a.ts >= b.ts": r"ASOF FULL OUTER JOIN \| an as-of join",
    "SELECT a.v FROM a ASOF LEFT JOIN b ON a.ts >= b.ts AND a.v > 1": r"a\.v > 1 \| .* selects left rows",
    "SELECT a.v FROM a ASOF JOIN b USING (k, ts)": r"write MATCH_CONDITION \(a\.ts >= b\.ts\)",
    "SELECT STREAM * FROM t": r"'STREAM' \| .* \| leave STREAM out",
    "SELECT STREAM DISTINCT k FROM t": r"'STREAM' \| .* \| leave STREAM out",
    "SELECT STREAM TUMBLE_END(ts, INTERVAL '1' HOUR) FROM t": r"'STREAM' \| .* \| leave STREAM out",
    "SELECT k FROM t GROUP BY FLOOR(ts TO HOUR)": r"write date_trunc\('HOUR', ts\) for FLOOR\(ts TO HOUR\)",
    "SELECT count(*) FROM t GROUP BY window(ts)": r"window is written as in Spark",
    "SELECT sum(v) OVER w FROM t WINDOW (ORDER BY ts)": r"not complete at",
    "SELECT v * FROM t": r"an expression that is not complete at 'FROM'",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    """semantics 46.13, 46.126, 46.127, 46.128"""
    with pytest.raises(SqlError, match=REFUSED[text]):
        compile_sql(text)


@pytest.mark.parametrize(
    "column", ["stream", "stream AS s", "stream, k", "stream * 2", "stream IN (1)", "t.stream"]
)
def test_a_column_may_be_called_stream(column: str) -> None:
    """semantics 46.13"""
    assert compile_sql(f"SELECT {column} FROM t WATERMARK ts DELAY OF INTERVAL '1' HOUR EMIT FINAL").stage


def test_a_window_of_the_clause_is_as_good_as_one_in_over() -> None:
    """semantics 46.33, 46.126: a deduplication stays one"""
    text = "SELECT * FROM t QUALIFY row_number() OVER w = 1 WINDOW w AS (PARTITION BY k ORDER BY PROCTIME())"
    assert isinstance(compile_sql(text).stage, DeduplicateStage)


def test_a_condition_on_right_rows_leaves_the_join_without_one() -> None:
    """semantics 46.128"""
    text = "SELECT a.v, b.w FROM a ASOF JOIN b ON a.ts >= b.ts AND b.w > 1 AND a.v > 2"
    stage = compile_sql(text).stage
    assert isinstance(stage, JoinStage)
    assert (stage.match, stage.condition) == (AsOf(), None)
    assert isinstance(stage.right, RowsStage)
    assert stage.right.where == "b.w > 1"
    limited = compile_sql(f"{text} AND a.ts <= b.ts + INTERVAL '1' HOUR").stage
    assert isinstance(limited, JoinStage)
    assert limited.condition is not None
