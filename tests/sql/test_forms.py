"""Windows of CQL, calendars, deduplications and options as specifications, and what is wrong with them."""

import pytest

import panewise as pw
from panewise.errors import SqlError
from panewise.sql import compile_sql
from panewise.sql.stages import (
    DeduplicateStage,
    JoinStage,
    RowsStage,
    SparkStage,
    TableStage,
    WindowsStage,
    run_options,
)
from panewise.sql.text.recognize import is_query, is_sparks, says_windows
from tests.sql.player import spec_of

BOUNDS = "GROUP BY window_start, window_end"


def test_what_is_a_query_of_cql() -> None:
    """semantics 46.1, 46.23, 46.26"""
    assert is_query("ISTREAM(SELECT v FROM t)")
    assert says_windows("SELECT sum(v) FROM t [PARTITION BY k ROWS 3] GROUP BY k")
    assert not is_sparks("RSTREAM(SELECT v FROM t)")
    assert not is_sparks("SELECT sum(v) FROM t [NOW]")
    assert is_sparks("SELECT a[1], istream FROM t")


@pytest.mark.parametrize(
    ("window", "wanted"),
    [
        ("[ROWS 3]", pw.Hopping(pw.rows(3), pw.rows(1))),
        ("[ROWS 6 SLIDE 2]", pw.Hopping(pw.rows(6), pw.rows(2))),
        ("[ROWS 2 SLIDE 2]", pw.Tumbling(pw.rows(2))),
        ("[RANGE 2 MINUTES ON ts]", pw.Sliding("2 minutes", "both")),
        ("[RANGE INTERVAL '2' HOURS SLIDE INTERVAL '1' HOUR ON ts]", pw.Hopping("2 hours", "1 hour")),
        ("[RANGE '1' HOUR SLIDE '1' HOUR ON ts]", pw.Tumbling("1 hour")),
        ("[NOW ON ts]", pw.Sliding(0)),
        ("[UNBOUNDED]", pw.Global()),
        ("[ROWS UNBOUNDED]", pw.Global()),
    ],
)
def test_windows_of_cql(window: str, wanted: pw.Window) -> None:
    """semantics 46.23"""
    spec = spec_of(f"SELECT sum(v) AS s FROM t {window} x")
    assert isinstance(spec, pw.WindowOperator)
    assert spec.window == wanted


def test_the_event_time_of_a_window_of_cql() -> None:
    """semantics 46.23"""
    for window, own in (("[RANGE 1 HOUR]", True), ("[NOW ON ts]", False), ("[ROWS 3]", False)):
        stage = compile_sql(f"SELECT count(*) AS n FROM t {window}").stage
        assert isinstance(stage, WindowsStage)
        assert stage.own_time == own
    marked = compile_sql("SELECT count(*) AS n FROM t [NOW] WATERMARK ts DELAY OF INTERVAL 1 SECOND").stage
    assert isinstance(marked, WindowsStage)
    assert (marked.own_time, marked.spec.ports["input"].event_time) == (False, "ts")


def test_the_contents_of_a_window_of_cql_that_retracts() -> None:
    """semantics 46.26"""
    stage = compile_sql("RSTREAM(SELECT sum(v) AS s FROM t [RANGE 1 HOUR] EMIT CHANGES, RETRACTING)").stage
    assert isinstance(stage, WindowsStage)
    assert stage.spec.ports["input"].accumulation == "accumulating"
    assert ([column.name for column in stage.outputs], stage.having) == (["s"], None)


def test_rows_of_a_window_of_cql_are_the_rows_of_the_table() -> None:
    """semantics 46.23, 46.26"""
    stage = compile_sql("ISTREAM(SELECT v FROM t [NOW] WHERE v > 1)").stage
    assert isinstance(stage, RowsStage)
    assert isinstance(stage.input, TableStage)
    assert stage.where == "v > 1"


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT k, sum(v) FROM t [ROWS 2] GROUP BY k", r"write \[PARTITION BY k ROWS 2\]"),
        ("SELECT sum(v) FROM t [PARTITION BY k ROWS 2]", r"write \[ROWS 2\]"),
        ("SELECT sum(v) FROM t [ROWS 0]", "a number of rows is whole, 1 or more"),
        ("SELECT sum(v) FROM t [LAST 3]", "a table may have a window of CQL"),
        ("DSTREAM(SELECT v FROM t)", "DSTREAM has the retractions"),
        ("DSTREAM(SELECT sum(v) FROM t [ROWS 2])", "DSTREAM has the retractions"),
        ("ISTREAM(SELECT sum(v) FROM t GROUP BY k EMIT CHANGES DISCARDING)", "EMIT says once"),
        (
            f"SELECT 1 FROM TUMBLE(t, ts, SIZE => INTERVAL '1' HOUR, ZONE => 'UTC') {BOUNDS}",
            "have a size in days",
        ),
        (f"SELECT 1 FROM TUMBLE(t, ts, INTERVAL '1' MONTH, ZONE => 'Mars') {BOUNDS}", "IANA time zone"),
        (f"SELECT 1 FROM TUMBLE(t, ts, INTERVAL '1' MONTH, ZONE => k) {BOUNDS}", "are strings"),
        (f"SELECT 1 FROM TUMBLE(t, ts, INTERVAL '1' MONTH, INTERVAL '1' DAY) {BOUNDS}", "leave it out"),
        (f"SELECT 1 FROM HOP(t, ts, INTERVAL '1' DAY, INTERVAL '1' MONTH) {BOUNDS}", "no exact length"),
        (f"SELECT 1 FROM HOP(t, ts, INTERVAL '1' DAY, INTERVAL '2' DAY, ZONE => 'UTC') {BOUNDS}", "HOP has"),
        ("SELECT k FROM t WITH (shards = many)", "shards is a number"),
        ("SELECT k FROM t WITH (finish = soon)", "finish is 'never' or 'at_end'"),
        (
            "SELECT DISTINCT k FROM t WATERMARK ts DELAY OF INTERVAL 1 SECOND EMIT EVERY INTERVAL 1 HOUR",
            "emitted once",
        ),
    ],
)
def test_what_is_wrong(sql: str, message: str) -> None:
    """semantics 46.13, 46.23, 46.26, 46.33, 46.35, 46.36"""
    with pytest.raises(SqlError, match=message) as caught:
        compile_sql(sql)
    assert caught.value.line == 1


def test_calendars() -> None:
    """semantics 46.36"""
    weeks = "SIZE => INTERVAL '2' WEEKS, WEEK_START => 'sunday'"
    spec = spec_of(f"SELECT count(*) AS n FROM TUMBLE(t, ts, {weeks}) {BOUNDS}")
    assert isinstance(spec, pw.WindowOperator)
    assert spec.window == pw.Calendar("week", 2, week_start="sunday")
    plain = spec_of(f"SELECT count(*) AS n FROM TUMBLE(t, ts, INTERVAL '2' WEEKS) {BOUNDS}")
    assert isinstance(plain, pw.WindowOperator)
    assert plain.window == pw.Tumbling("14 days")


def test_how_spark_runs_an_operator() -> None:
    """semantics 46.35"""
    options = "WITH (shards = 4, finish = 'at_end', clock = '10 seconds', null_keys = false)"
    stage = compile_sql(f"SELECT k, count(*) AS n FROM t {options} GROUP BY k, window(ts, '1 hour')").stage
    assert isinstance(stage, WindowsStage)
    assert run_options(stage) == {"shards": 4, "finish": "at_end", "clock": pw.Duration.of("10 seconds")}
    assert not stage.spec.ports["input"].null_keys
    outer = compile_sql(f"SELECT n + 1 AS m FROM ({'SELECT count(*) AS n FROM t [ROWS 2]'})").stage
    assert run_options(outer) == {}


def test_deduplications() -> None:
    """semantics 46.33"""
    marked = "FROM t WITH (order = 'id') WATERMARK ts DELAY OF INTERVAL 1 SECOND"
    first = "ROW_NUMBER() OVER (PARTITION BY k ORDER BY {}) = 1"
    stage = compile_sql(f"SELECT k {marked} QUALIFY {first.format('ts')}").stage
    assert isinstance(stage, DeduplicateStage)
    assert (stage.spec.by, stage.spec.emit, stage.spec.order) == ("event_time", "retracting", ("id",))
    for order in ("v", "ts DESC", "ts, v", "ts NULLS LAST", "ts + INTERVAL 1 DAY"):
        other = compile_sql(f"SELECT k {marked} QUALIFY {first.format(order)}").stage
        assert isinstance(other, WindowsStage), order
    every = compile_sql(f"SELECT k {marked} QUALIFY {first.format('ts')} EMIT EVERY 2 ROWS").stage
    assert isinstance(every, WindowsStage)
    plain = marked.replace("WITH (order = 'id') ", "")
    assert isinstance(compile_sql(f"SELECT DISTINCT * {plain}").stage, SparkStage)
    assert isinstance(compile_sql("SELECT DISTINCT k FROM t").stage, SparkStage)


def test_what_has_no_result_on_a_stream() -> None:
    """semantics 46.27"""
    for sql in ("SELECT k, count(*) FROM t GROUP BY k", "SELECT max(v) FROM t", "SELECT k FROM t ORDER BY k"):
        stage = compile_sql(sql).stage
        assert isinstance(stage, SparkStage)
        assert stage.endless is not None
    limited = compile_sql("SELECT k FROM t LIMIT 3").stage
    assert isinstance(limited, SparkStage)
    assert limited.endless is None


def test_groups_of_first_rows_that_spark_has() -> None:
    """semantics 46.27, 46.38"""
    numbered = "SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS rn FROM t"
    stage = compile_sql(f"SELECT k, sum(v) AS s FROM ({numbered}) WHERE rn <= 2 GROUP BY k").stage
    assert isinstance(stage, SparkStage)
    assert isinstance(stage.tables[0][0], RowsStage)
    assert stage.endless is not None


def test_the_lateness_and_the_policy_of_a_join() -> None:
    """semantics 46.25"""
    over = "SELECT a.v FROM a JOIN b OVER (ORDER BY ts RANGE 1 MINUTE PRECEDING) ON a.k = b.k"
    stage = compile_sql(f"{over} EMIT EVERY INTERVAL '10' SECONDS, WITH LATENESS INTERVAL '1' HOUR").stage
    assert isinstance(stage, JoinStage)
    assert stage.lateness == pw.Duration.of("1 hour")
    every = pw.Every("10 seconds", aligned=True)
    assert stage.match == pw.WindowedStreams(
        pw.JoinWindow(early=every), pw.JoinWindow(pw.Tumbling("1 minute"), early=every, late=every)
    )
    each = compile_sql(over, update="each").stage
    assert isinstance(each, JoinStage)
    assert each.match == pw.WindowedStreams(pw.JoinWindow(), pw.JoinWindow(pw.Tumbling("1 minute")))
