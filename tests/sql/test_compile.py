"""Texts compile to specifications without Spark, and errors show the place."""

import re

import pytest

import panewise as pw
from panewise import functions as F
from panewise.errors import SpecError, SqlError
from panewise.sql import compile_sql
from panewise.sql.over.compiler import with_free_names
from panewise.sql.parsing.emit import FORMS, INTERVAL, ROWS
from panewise.sql.stages import (
    OurStage,
    OverStage,
    RowsStage,
    SparkStage,
    TableStage,
    TableWatermark,
    WindowsStage,
    walk,
)
from panewise.sql.text.recognize import is_query, says_windows
from tests.sql.player import spec_of

TUMBLE = "FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' HOUR))"
GROUP = "GROUP BY k, window_start, window_end"


def windows(sql: str) -> WindowsStage:
    stage = compile_sql(sql).last
    assert isinstance(stage, WindowsStage)
    return stage


def test_the_specification_is_that_of_the_fluent_api() -> None:
    """semantics 46"""
    sql = f"SELECT k, sum(v) AS total {TUMBLE} {GROUP} EMIT EARLY EVERY 10 ROWS RETRACTING"
    assert spec_of(sql) == pw.WindowOperator(
        window=pw.Tumbling("1 hour"),
        keys=["k"],
        event_time="ts",
        trigger=pw.AfterWatermark(early=pw.AfterCount(10), late=pw.Always()),
        accumulation="retracting",
        aggregates=[F.sum("v").alias("total")],
    )


def test_expressions_are_characters_of_the_text() -> None:
    """semantics 46.2"""
    sql = f"SELECT k, nvl( sum( v*2 ) /*!*/, 0)  +  3 AS x {TUMBLE} WHERE a  <=> b {GROUP}"
    stage = windows(sql)
    assert stage.where == "a  <=> b"
    assert stage.outputs[1].text == "nvl( `sum( v*2 )` /*!*/, 0)  +  3"
    assert [(one.name, one.text) for one in stage.computed] == [("v*2", "v*2")]


@pytest.mark.parametrize(
    "text",
    [
        "filter(a, x -> x > 1)",
        "transform(a, x -> x + 1)[0]",
        "a.b.c",
        "CAST(a AS DECIMAL(10, 2))",
        "a::int",
        "CASE a WHEN 1 THEN 'x' ELSE NULL END",
        "a IS DISTINCT FROM 3",
        "a LIKE 'x%' ESCAPE '/'",
        "a RLIKE '[a|b]{2}'",
        "a NOT BETWEEN 1 AND 2 OR a IN (1, 2)",
        "date_add(a, 1)",
        "extract(YEAR FROM a)",
        "a DIV 2 % 3",
        "map('x', 1)['x']",
        "named_struct('a', 1).a",
        "INTERVAL '1:30' HOUR TO MINUTE + a",
        "TIMESTAMP '2024-01-01 00:00:00'",
        "left(a, 2) || substring(a, 1, 2)",
        "if(a > 1, 2, 3)",
        "~a & 3 ^ 4",
        "my_function(a, b => 1)",
        "r'\\d'",
        "X'1F'",
        "1.5D + 3L",
    ],
)
def test_expressions_of_spark(text: str) -> None:
    """semantics 46.2"""
    stage = windows(f"SELECT max({text}) AS m {TUMBLE} {GROUP}")
    assert [one.text for one in stage.computed] == [text]


def test_a_text_without_windows_is_sparks() -> None:
    """semantics 46.1"""
    assert not says_windows("SELECT a, count(*) FROM t GROUP BY a")
    assert not is_query("SHOW TABLES")
    sql = "SELECT a, count(*) OVER FROM t JOIN u ON t.a = u.a"
    assert says_windows(sql)
    stage = compile_sql(
        "WITH x AS (SELECT a FROM t) SELECT a, count(*) n FROM x JOIN u b USING (a) GROUP BY a"
    ).stage
    assert isinstance(stage, SparkStage)
    assert stage.parts == ("SELECT a, count(*) n FROM ", " JOIN ", " USING (a) GROUP BY a")
    assert not any(isinstance(one, OurStage) for one in walk(stage))


def test_the_watermark_of_a_table() -> None:
    """semantics 46.11"""
    sql = (
        "FROM t WATERMARK to_timestamp(x) AS ts DELAY OF INTERVAL '10' MINUTE o GROUP BY window(ts, '1 hour')"
    )
    read = windows(f"SELECT count(*) AS n {sql}").input
    assert isinstance(read, TableStage)
    assert read.alias == "o"
    assert read.watermark == TableWatermark("ts", pw.Duration.of("10 minutes"), "to_timestamp(x)")


def test_global_windows_have_the_watermark_of_the_table() -> None:
    """semantics 46.10, 46.11"""
    plain = spec_of("SELECT k, count(*) AS n FROM t GROUP BY k EMIT CHANGES")
    marked = spec_of(
        "SELECT count(*) AS n FROM t WATERMARK ts DELAY OF INTERVAL 1 SECOND EMIT EVERY INTERVAL 1 MINUTE"
    )
    assert isinstance(plain, pw.WindowOperator)
    assert isinstance(marked, pw.WindowOperator)
    assert (plain.window, plain.time) == (pw.Global(), "processing")
    assert (marked.event_time, marked.trigger.early) == ("ts", pw.Every("1 minute"))  # type: ignore[union-attr]


def test_an_outer_select_has_no_state() -> None:
    """semantics 46.3"""
    sql = f"SELECT upper(kk) AS u FROM (SELECT k AS kk, count(*) AS n {TUMBLE} {GROUP}) x WHERE x.n > 2"
    stage = compile_sql(sql).stage
    assert isinstance(stage, RowsStage)
    assert isinstance(stage.input, WindowsStage)
    assert (stage.alias, stage.where) == ("x", "x.n > 2")


def test_partition_by_names_the_keys() -> None:
    """semantics 46.12"""
    session = "SESSION(TABLE t {}, DESCRIPTOR(ts), INTERVAL '5' MINUTES)"
    with pytest.raises(SqlError, match=r"PARTITION BY \| the windows of SESSION .* \| .*GROUP BY has k"):
        compile_sql(f"SELECT k, count(*) AS n FROM {session.format('')} {GROUP}")
    both = f"SELECT k, j, count(*) AS n FROM {session.format('PARTITION BY j, k')} {GROUP}, j"
    assert spec_of(both).ports["input"].keys == ("k", "j")
    hop = "HOP(TABLE t PARTITION BY j, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '1' HOUR)"
    assert spec_of(f"SELECT k, count(*) AS n FROM {hop} {GROUP}").ports["input"].keys == ("k",)


def test_what_spark_does_behind_a_batch() -> None:
    """semantics 46.16"""
    script = compile_sql(f"SELECT k, count(*) AS n {TUMBLE} {GROUP} ORDER BY n DESC LIMIT 3")
    assert script.tail == "ORDER BY n DESC LIMIT 3"
    with pytest.raises(SqlError, match=r"ORDER BY n \| the rows of a stream have no end"):
        compile_sql(f"SELECT * FROM (SELECT k, count(*) AS n {TUMBLE} {GROUP} ORDER BY n)")


ERRORS = [
    ("SELECT", "the end of the text", "a SELECT has columns|an expression", 1, 7),
    ("SELECT a\nFROM TABLE(TUMBEL(TABLE t, ts))", "", "", 0, 0),
    (f"SELECT k, v {TUMBLE} {GROUP}", "v", "a column of a query with GROUP BY", 1, 11),
    (f"SELECT k,\n  count(*) {TUMBLE}\nGROUP BY k", "TUMBLE without them", "GROUP BY has the bounds", 2, 23),
    (f"SELECT * {TUMBLE} {GROUP}", r"\*", "keys, bounds and aggregates", 1, 8),
    (f"SELECT count(*) {TUMBLE} {GROUP} EMIT SOMETIMES", "'SOMETIMES'", "EMIT says when", 0, 0),
    (f"SELECT count(*) {TUMBLE} {GROUP} EMIT FINAL LATE UPDATE", "EMIT", "with FINAL the query", 0, 0),
    (f"SELECT count(*) {TUMBLE} {GROUP} EMIT UPDATE, EVERY 3 ROWS", "EVERY", "EMIT says once", 0, 0),
    (f"SELECT count(*) {TUMBLE} {GROUP} EMIT EVERY 0 ROWS", "n=0", "", 0, 0),
    (
        "SELECT count(*) FROM SESSION(t, ts, INTERVAL '1' MONTH) GROUP BY window_start, window_end",
        "",
        "no exact",
        1,
        37,
    ),
    ("SELECT count(*) FROM TUMBLE(t, ts) GROUP BY window_start, window_end", "no SIZE", "TUMBLE has", 1, 22),
    (
        "SELECT count(*) FROM TUMBLE(t, ts, SLIDE => INTERVAL '1' DAY) GROUP BY window_start, window_end",
        "INTERVAL",
        "TUMBLE has",
        0,
        0,
    ),
    (
        "SELECT listagg(v, k) FROM t GROUP BY window(ts, '1 hour')",
        r"listagg\(v, k\)",
        "listagg has a text, and may have a constant delimiter",
        1,
        8,
    ),
    ("SELECT sum(v) OVER (ORDER BY ts DESC) FROM t", "ORDER BY ts DESC", "arrive after it", 1, 8),
    (
        "SELECT rank() OVER (ORDER BY ts DESC, v) FROM t",
        "rank with ORDER BY ts DESC",
        "ranks in descending order",
        1,
        8,
    ),
    (
        "SELECT sum(v) OVER (ORDER BY ts DESC ROWS UNBOUNDED PRECEDING) FROM t",
        "UNBOUNDED PRECEDING",
        "arrive after it",
        1,
        8,
    ),
    (
        "SELECT sum(v) OVER (ORDER BY ts ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM t",
        "UNBOUNDED FOLLOWING",
        "no last row",
        1,
        8,
    ),
    (
        "SELECT sum(v) OVER (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES) FROM t",
        "exclude='ties'",
        "no time to compare",
        1,
        8,
    ),
    ("SELECT sum(v) OVER (PARTITION BY k) FROM t", "OVER without", "no last row", 1, 8),
    ("SELECT ntile(4) OVER (ORDER BY ts) FROM t", "ntile", "a whole partition", 1, 8),
    ("SELECT percent_rank() OVER (ORDER BY ts) FROM t", "percent_rank", "a whole partition", 1, 8),
    ("SELECT cume_dist() OVER (ORDER BY ts) FROM t", "cume_dist", "a whole partition", 1, 8),
    ("SELECT upper(v) OVER (ORDER BY ts) FROM t", "upper", "a function over a window is", 1, 8),
    ("SELECT sum(v FROM t GROUP BY window(ts, '1 hour')", "Expecting", "as in Spark's SQL", 1, 14),
    ("SELECT a FROM t WHERE 'x GROUP BY window(ts, '1 hour')", "", "end with the character", 0, 0),
    ("SELECT count(*) FROM t GROUP BY 3, window(ts, '1 hour')", "3", "1 to 1", 1, 33),
    ("SELECT k FROM t WHERE sum(v) > 1 GROUP BY k, window(ts, '1 hour')", "an aggregate in WHERE", "", 1, 23),
    (
        "SELECT array_agg(v ORDER BY v) FROM t GROUP BY window(ts, '1 hour')",
        "array_agg",
        "of their arrival",
        1,
        8,
    ),
    (
        "SELECT percentile_cont(0.9) WITHIN GROUP (ORDER BY v DESC) FROM t GROUP BY window(ts, '1 hour')",
        "DESC",
        "ascending",
        1,
        8,
    ),
    ("SELECT count(*) AS \"n\" FROM t GROUP BY window(ts, '1 hour')", "n", "a name", 1, 20),
    (
        "SELECT window(ts, '1 hour') AS w, max(w) FROM t GROUP BY w",
        "without a window",
        "an input column",
        1,
        1,
    ),
    ("SELECT 1 FROM TUMBLE(t, ts, INTERVAL '1' HOUR) x (a)", "x", "names of its table", 1, 15),
    ("SELECT sum(max(v)) FROM t GROUP BY window(ts, '1 hour')", "sum", "not from aggregates", 1, 8),
    ("SELECT rank() IGNORE NULLS OVER (ORDER BY ts) FROM t", "ignorenulls", "rank reads no values", 1, 8),
    ("SELECT s.*, sum(v) OVER (ORDER BY ts) FROM t", "s.*", "columns of a table of the query", 1, 8),
    ("SELECT DISTINCT k FROM TUMBLE(t, ts, INTERVAL '1' HOUR)", "SELECT DISTINCT", "does not have", 1, 1),
    (
        "SELECT count(*) FROM t GROUP BY k WINDOW TUMBLING (SIZE 1 HOUR)",
        "TUMBLING",
        "stands behind FROM",
        1,
        42,
    ),
    ("SELECT count(*) FROM t GROUP BY tumble()", "no SIZE", "TUMBLE has the arguments", 1, 33),
    (f"SELECT count(*) {TUMBLE} WHERE window_start > ts {GROUP}", "ts", "a column of a query", 0, 0),
    ("SELECT a FROM t EMIT EVERY 3 ROWS", "EMIT", "the rows of a SELECT|a row is emitted once", 1, 17),
]


@pytest.mark.parametrize(("sql", "given", "rule", "line", "column"), [one for one in ERRORS if any(one[1:])])
def test_errors_show_the_place(sql: str, given: str, rule: str, line: int, column: int) -> None:
    """semantics 46.13"""
    with pytest.raises(SqlError) as caught:
        compile_sql(sql)
    error = caught.value
    assert re.search(given, error.given)
    assert re.search(rule, error.rule)
    assert error.remedy
    assert isinstance(error, SpecError)
    assert error.line is not None
    if line:
        assert (error.line, error.column) == (line, column)
    shown, caret = str(error).rsplit("\n", 2)[1:]
    assert shown.strip() == sql.split("\n")[error.line - 1].strip()
    assert caret.index("^") - 2 == (error.column or 0) - 1


def test_names_that_look_like_clauses() -> None:
    """semantics 46.2"""
    assert isinstance(compile_sql("SELECT emit.a, watermark FROM t emit").stage, RowsStage)
    assert spec_of(f"SELECT `window_start` AS k, count(*) AS size {TUMBLE} {GROUP}")


def test_windows_over_the_end_of_windows() -> None:
    """semantics 46.18"""
    inner = f"SELECT k, window_time AS rt, count(*) AS n {TUMBLE} {GROUP}"
    middle = f"SELECT rt AS r, n FROM ({inner}) WHERE n > 1"
    outer = f"FROM TABLE(TUMBLE(TABLE ({middle}), DESCRIPTOR(r), INTERVAL '1' DAY))"
    stage = windows(f"SELECT sum(n) AS n {outer} GROUP BY window_start, window_end")
    assert stage.spec.ports["input"].event_time == "timestamp"
    rows = stage.input
    assert isinstance(rows, RowsStage)
    assert [one.name for one in rows.outputs or ()] == ["r", "n", "timestamp"]
    assert isinstance(rows.input, WindowsStage)
    assert rows.input.spec.ports["input"].timestamp == "window_time"


@pytest.mark.parametrize(("end", "timestamp"), [("window_time", "window_time"), ("window_end", "end")])
def test_windows_over_the_end_of_windows_of_a_chain(end: str, timestamp: str) -> None:
    """semantics 46.18"""
    first = f"SELECT k, j, window_start, window_end, window_time, count(*) AS n {TUMBLE} {GROUP}, j"
    chain = f"SELECT k, {end} AS at, max(n) AS n FROM ({first}) {GROUP}"
    stage = windows(f"SELECT sum(n) AS n FROM ({chain}) GROUP BY window(at, '1 day')")
    assert stage.spec.ports["input"].event_time == "timestamp"
    assert isinstance(stage.input, WindowsStage)
    assert isinstance(stage.input.spec, pw.Chain)
    assert stage.input.spec.first.timestamp == timestamp


@pytest.mark.parametrize("time", ["window", "window_time(window)"])
def test_sparks_windows_over_windows(time: str) -> None:
    """semantics 46.18"""
    inner = "SELECT window, count(*) AS n FROM t GROUP BY window(ts, '1 hour')"
    stage = windows(f"SELECT sum(n) AS n FROM ({inner}) GROUP BY window({time}, '1 day')")
    assert stage.spec.ports["input"].event_time == "timestamp"


def test_what_a_stage_of_a_chain_cannot_have() -> None:
    """semantics 46.18"""
    inner = f"SELECT k, window_start, window_end, count(*) AS n {TUMBLE} {GROUP}"
    cumulated = inner.replace("TUMBLE(", "CUMULATE(").replace("'1' HOUR", "'1' HOUR, INTERVAL '1' DAY")
    for select, message in [
        (
            f"SELECT sum(n + 1) AS s FROM ({inner}) GROUP BY window_start, window_end",
            "reads their columns as they are",
        ),
        (
            f"SELECT sum(n) AS s FROM ({inner} EMIT CHANGES) WHERE n > 1 GROUP BY window_start, window_end",
            "cannot be selected before",
        ),
        (
            f"SELECT sum(n) AS s FROM ({cumulated}) GROUP BY window_start",
            "both bounds of the windows of CUMULATE",
        ),
    ]:
        with pytest.raises(SqlError, match=message):
            compile_sql(select)


def test_options_of_a_table() -> None:
    """semantics 46.11"""
    options = "WITH (position = 'p, o', max_future_skew = '1 hour', null_keys = false)"
    spec = spec_of(f"SELECT k, count(*) AS n FROM t {options} GROUP BY k, window(ts, '1 hour')")
    assert isinstance(spec, pw.WindowOperator)
    assert spec.position == pw.Position("p", "o")
    assert (spec.max_future_skew, spec.null_keys) == (pw.Duration.of("1 hour"), False)
    over = spec_of("SELECT sum(v) OVER (ORDER BY ts) AS s FROM t WITH (max_future_skew = '1 minute')")
    assert isinstance(over, pw.OverOperator)
    assert over.max_future_skew == pw.Duration.of("1 minute")
    read = windows(
        "SELECT count(*) AS n FROM t WITH ('split-size' = 5) x GROUP BY window(ts, '1 hour')"
    ).input
    assert isinstance(read, TableStage)
    assert (read.text, read.alias) == ("t WITH ('split-size' = 5)", "x")
    with pytest.raises(SqlError, match="null_keys is true or false"):
        compile_sql("SELECT count(*) FROM t WITH (null_keys = 3) GROUP BY window(ts, '1 hour')")


def test_a_gap_that_depends_on_the_row() -> None:
    """semantics 46.6"""
    gap = "CASE WHEN k = 'a' THEN '1 hour' ELSE '5 minutes' END"
    stage = windows(f"SELECT count(*) AS n FROM t GROUP BY session_window(ts, {gap})")
    assert stage.spec.ports["input"].window == pw.Session("gap of the session", touching="merge")
    assert [(one.name, one.text) for one in stage.computed] == [
        ("gap of the session", f"((ts + CAST(({gap}) AS INTERVAL)) - ts)")
    ]


def test_a_union_has_the_windows_of_its_parts() -> None:
    """semantics 46.18"""
    part = "SELECT count(*) AS n FROM t GROUP BY window(ts, '1 hour')"
    over = "SELECT sum(v) OVER (ORDER BY ts) AS n FROM t"
    stage = compile_sql(f"{part} UNION ALL {over} UNION ALL SELECT v FROM t").stage
    assert isinstance(stage, SparkStage)
    assert [type(one) for one, _ in stage.tables] == [WindowsStage, OverStage, TableStage]


def test_functions_over_panes() -> None:
    """semantics 46.14, 46.18"""
    inner = f"SELECT k, window_time AS rt, sum(v) AS s {TUMBLE} {GROUP}"
    script = compile_sql(f"SELECT *, lag(s) OVER (PARTITION BY k ORDER BY rt) AS before FROM ({inner})")
    over = script.last
    assert over is not None
    assert over.spec.ports["input"].event_time == "timestamp"


def test_a_function_may_have_the_name_of_a_column() -> None:
    """semantics 46.14"""
    stage = compile_sql("SELECT k, sum(w) OVER (ORDER BY ts) AS v FROM t").stage
    assert isinstance(stage, OverStage)
    assert [one.name for one in stage.spec.columns] == ["v"]
    free = with_free_names(stage, ["ts", "k", "v", "w"])
    assert [one.name for one in free.spec.columns] == ["v OVER"]
    assert free.outputs is not None
    assert [(one.text, one.name) for one in free.outputs] == [("k", "k"), ("`v OVER`", "v")]
    same = compile_sql("SELECT sum(v) OVER (ORDER BY ts) AS v FROM t").stage
    assert isinstance(same, OverStage)
    assert same.spec.columns[0].name == "sum(v) OVER (ORDER BY ts)"


@pytest.mark.parametrize("words", FORMS, ids=" ".join)
def test_each_form_of_emit(words: tuple[str, ...]) -> None:
    """semantics 46.7"""
    text = " ".join(words).replace(INTERVAL, "INTERVAL '1' HOUR").replace(ROWS, "3 ROWS")
    form = FORMS[words]
    spec = spec_of(f"SELECT count(*) AS n {TUMBLE} GROUP BY window_start, window_end EMIT {text}")
    assert isinstance(spec, pw.WindowOperator)
    assert form.meaning
    if form.part in ("early", "late"):
        assert isinstance(spec.trigger, pw.AfterWatermark)
        part = getattr(spec.trigger, form.part)
        assert (part is None) == (words == ("LATE", "NEVER"))
        assert part is None or type(part) in (type(form.value), form.value)
    elif form.part == "accumulation":
        assert spec.accumulation == form.value
    elif form.part == "lateness":
        assert spec.allowed_lateness in ("unlimited", pw.Duration.of("1 hour"))
