"""Joins of SQL as specifications, and what is wrong with them."""

import pytest

from panewise import SameWindow
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
        (f"SELECT c.* EXCEPT (w) {JOIN}", "the columns of a joined table"),
        (f"SELECT 1 AS x {JOIN.replace('JOIN', 'LEFT JOIN')} AND 1 IS NULL", "reads a column"),
        (f"SELECT 1 AS x {JOIN.replace('JOIN', 'LEFT JOIN')} AND NULL < 3", "reads a column"),
        ("SELECT 1 AS x FROM a ASOF JOIN b ON a.id = b.id", "ON or MATCH_CONDITION compares"),
        ("SELECT 1 AS x FROM a JOIN a OVER (ROWS 3 PRECEDING) ON a.id = a.id", "have different names"),
        (
            f"SELECT 1 AS x {JOIN.replace('JOIN', 'LEFT JOIN')} AND f(a.v, b.id)",
            "compares columns of its tables",
        ),
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


SESSIONS = """(SELECT * FROM SESSION(a, ts, INTERVAL 1 HOUR)) a
JOIN (SELECT * FROM SESSION(b, ts, INTERVAL 1 HOUR)) b
ON a.k = b.k AND a.window_start = b.window_start AND a.window_end = b.window_end"""
RANGE = "b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR"


def test_spark_joins_the_rows_of_a_join_with_a_further_table() -> None:
    """semantics 46.28"""
    both = f"a JOIN b ON a.k = b.k AND {RANGE}"
    sql = f"SELECT a.k, b.v AS w, d.name FROM {both} JOIN d ON d.k = a.k WHERE d.v > 1"
    stage = compile_sql(sql).stage
    assert isinstance(stage, SparkStage)
    assert isinstance(stage.tables[0][0], JoinStage)
    assert stage.parts[-1] == " ON d.k = joined.`a.k` WHERE d.v > 1"
    assert isinstance(
        compile_sql("SELECT * FROM a JOIN b ON a.k = b.k JOIN c ON b.k = c.k").stage, SparkStage
    )
    named = compile_sql(
        f"WITH joined AS (SELECT k FROM d) SELECT a.v FROM {both} JOIN joined ON a.k = joined.k"
    )
    assert isinstance(named.stage, SparkStage)
    assert named.stage.parts[-1] == " ON joined_.`a.k` = joined.k"


def test_spark_has_queries_in_where_without_a_range_of_time() -> None:
    """semantics 46.29"""
    for where in (
        "k IN (SELECT k FROM b)",
        "EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
        "v > (SELECT max(v) FROM b)",
    ):
        assert isinstance(compile_sql(f"SELECT v FROM a WHERE {where}").stage, SparkStage)


@pytest.mark.parametrize(
    ("value", "selected", "stage"),
    [
        ("k", "k", JoinStage),
        ("k", "", SparkStage),
        ("k", "k, v", SparkStage),
        ("k", "*", SparkStage),
        ("(k, v)", "k, v", SparkStage),
    ],
)
def test_in_compares_one_value_with_one_column(value: str, selected: str, stage: type) -> None:
    """semantics 46.29"""
    inner = f"SELECT {selected} FROM b WHERE b.ts BETWEEN a.ts AND a.ts + INTERVAL '1' HOUR"
    assert isinstance(compile_sql(f"SELECT v FROM a WHERE {value} IN ({inner})").stage, stage)


def test_a_window_function_in_a_subquery_needs_no_name() -> None:
    """semantics 46.29"""
    stage = compile_sql(
        "SELECT v FROM TUMBLE(a, ts, INTERVAL '1' HOUR) L "
        "WHERE k IN (SELECT k FROM TUMBLE(b, ts, INTERVAL '1' HOUR)"
        " WHERE window_start = L.window_start AND window_end = L.window_end)"
    ).stage
    assert isinstance(stage, JoinStage)
    assert (stage.names, stage.how, stage.keys) == (("L", "subquery"), "semi", (("k", "k"),))


def test_a_window_function_is_joined_with_a_query_of_windows() -> None:
    """semantics 46.20"""
    windows = "TUMBLE(b, ts, INTERVAL '1' HOUR)"
    bounds = "a.window_start = b.window_start AND a.window_end = b.window_end"
    sql = f"SELECT a.v FROM TUMBLE(a, ts, INTERVAL '1' HOUR) a JOIN (SELECT * FROM {windows}) b ON {bounds}"
    stage = compile_sql(sql).stage
    assert isinstance(stage, JoinStage)
    assert isinstance(stage.match, SameWindow)


def test_errors_behind_a_join_show_the_text_of_the_user() -> None:
    """semantics 46.13, 46.28"""
    sql = (
        f"SELECT a.k, sum(b.w) AS s\nFROM a JOIN b ON a.k = b.k AND {RANGE}\nGROUP BY a.k, window(a.ts, 'x')"
    )
    with pytest.raises(SqlError) as caught:
        compile_sql(sql)
    assert (caught.value.line, caught.value.column) == (3, 28)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        (f"SELECT *, count(*) FROM a JOIN b ON {RANGE} GROUP BY window(a.ts, '1 hour')", "names its columns"),
        (f"SELECT * FROM a JOIN b ON {RANGE} JOIN c ON a.k = c.k", "names its columns with their tables"),
        ("SELECT 1 AS x FROM a [ROW] JOIN b ON a.k = b.k", "a number of rows follows ROWS"),
        ("SELECT 1 AS x FROM a [PARTITION BY k NOW] JOIN b ON a.k = b.k", "for windows of rows"),
        (
            "SELECT 1 AS x FROM a JOIN b OVER (ROWS 3 PRECEDING) ON a.k = b.k EMIT EVERY 2 ROWS",
            "are released by EMIT",
        ),
        (f"SELECT 1 AS x FROM a JOIN b ON {RANGE} EMIT WITH LATENESS UNLIMITED", "a limited lateness"),
        (
            "SELECT 1 AS x FROM a RIGHT JOIN b OVER (ROWS 3 PRECEDING) ON a.k = b.k",
            "write one of JOIN, INNER",
        ),
        (
            "SELECT 1 AS x FROM a FULL JOIN b FOR SYSTEM_TIME AS OF a.ts ON a.k = b.k",
            "write one of JOIN, INNER",
        ),
        (f"SELECT 1 AS x FROM {SESSIONS}", "the sessions of a window join"),
    ],
)
def test_what_is_wrong_with_windows_and_policies_of_joins(sql: str, message: str) -> None:
    """semantics 27.2, 46.13, 46.24, 46.25, 46.28, 46.31"""
    with pytest.raises(SqlError, match=message):
        compile_sql(sql)
