"""Joins of SQL as specifications, and what is wrong with them."""

import pytest

from panewise.errors import SqlError
from panewise.sql import compile_sql
from panewise.sql.stages import JoinStage, SparkStage
from tests.sql.test_compile import windows

JOIN = "FROM a JOIN b ON a.id = b.id AND b.us BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR"


def test_windows_over_a_join() -> None:
    """semantics 46.18, 46.20"""
    stage = windows(f"SELECT count(*) AS n FROM (SELECT a.id, us {JOIN}) GROUP BY window(us, '1 hour')")
    assert stage.spec.ports["input"].event_time == "join_time"
    assert isinstance(stage.input, JoinStage)
    assert (stage.input.timestamp, stage.input.items[-1].name) == ("right", "join_time")


def test_a_join_of_a_join() -> None:
    """semantics 46.18, 46.20"""
    inner = f"(SELECT a.id, a.ts {JOIN}) x"
    sql = (
        f"SELECT x.id, c.w FROM {inner} JOIN c ON x.id = c.id AND c.ts BETWEEN x.ts AND x.ts + INTERVAL 1 DAY"
    )
    stage = compile_sql(sql).stage
    assert isinstance(stage, JoinStage)
    assert stage.times == ("join_time", "ts")
    assert stage.spark is not None


def test_a_join_without_a_range_of_time_is_sparks() -> None:
    """semantics 46.20"""
    stage = compile_sql("SELECT a.id, b.w FROM a JOIN b ON a.id = b.id AND a.v < b.w").stage
    assert isinstance(stage, SparkStage)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT 1 AS x FROM a JOIN b ON a.id = b.id AND b.ts >= a.ts - INTERVAL 1 DAY", "no upper bound"),
        (
            "SELECT 1 AS x FROM a ASOF JOIN b ON a.ts >= b.ts AND a.v > b.w",
            "one of the comparisons in ON is that of the event times",
        ),
        (
            "SELECT 1 AS x FROM a ASOF JOIN b ON a.ts >= b.ts AND b.ts <= a.ts + INTERVAL 1 DAY",
            "limits the distance of the times",
        ),
        (f"SELECT * EXCEPT (w) {JOIN}", "all columns of a join"),
        (f"SELECT 1 AS x {JOIN.replace('JOIN', 'LEFT JOIN')} AND 1 IS NULL", "reads a column"),
        (f"SELECT 1 AS x {JOIN.replace('JOIN', 'LEFT JOIN')} AND NULL < 3", "reads a column"),
        ("SELECT 1 AS x FROM a ASOF JOIN b ON a.id = b.id", "ON or MATCH_CONDITION compares"),
        ("SELECT 1 AS x FROM a JOIN a OVER (ROWS 3 PRECEDING) ON a.id = a.id", "have different names"),
        (f"SELECT 1 AS x {JOIN.replace('JOIN', 'LEFT JOIN')} AND f(a.v)", "compares columns of its tables"),
        ("SELECT 1 AS x FROM a JOIN b OVER (ROWS x PRECEDING) ON a.id = b.id", "a number of rows follows"),
        ("SELECT 1 AS x FROM a JOIN b WITHIN x ON a.id = b.id", "an interval is expected"),
        (
            "SELECT 1 AS x FROM a JOIN b FOR SYSTEM_TIME AS OF b.ts ON a.id = b.id",
            "event time of the left side",
        ),
    ],
)
def test_what_is_wrong_with_a_join(sql: str, message: str) -> None:
    """semantics 46.13, 46.20"""
    with pytest.raises(SqlError, match=message):
        compile_sql(sql)
