"""Errors of scripts: what is refused, and that a test reaches each place that raises one."""

import ast
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from panewise.errors import PanewiseError, SetupError, SqlError
from panewise.sql.script.application import compile_script
from panewise.sql.script.steps import InsertStep, SettingStep, Trigger
from tests.house.sources import SRC
from tests.sql import test_application, test_check_of_scripts, test_script

FOLDER = SRC / "sql" / "script"
VIEW = "CREATE TEMPORARY VIEW s (ts TIMESTAMP, k STRING, v INT) USING json LOCATION 'in';\n"
TABLE = "CREATE TABLE t (a INT, b INT) USING json OPTIONS (path 'out', checkpoint 'c', trigger 'once');\n"
KAFKA = "CREATE TEMPORARY VIEW s (a INT, topic STRING) USING kafka OPTIONS (include 'topic');"
ERRORS = [
    ("CREATE TABLE db.t USING json LOCATION 'p'", "a table or view of a script is in no database"),
    ("SET a b = 1", "SET has a key and a value"),
    ("CREATE TABLE t USING json LOCATION p", "a path follows LOCATION"),
    ("CREATE TEMPORARY VIEW s (t TIMESTAMP, WATERMARK FOR t AS u) USING json", "the watermark of a view is"),
    (
        "CREATE TEMP VIEW s (t TIMESTAMP, WATERMARK t DELAY OF CASE) USING json",
        "an interval is written as in",
    ),
    (TABLE + "INSERT INTO t (a b) SELECT 1", "the columns of INSERT stand in parentheses"),
    (TABLE + "INSERT INTO t (b, c) SELECT 1, 2", "a column c | an INSERT names columns of its table"),
    (TABLE + "INSERT INTO t (b, B) SELECT 1, 2", "a column b twice"),
    (
        VIEW + "CREATE TABLE t USING parquet LOCATION 'o'; INSERT INTO t SELECT k, v AS K FROM s",
        "a column k twice",
    ),
    (VIEW.replace("json", "jsn"), "jsn | the formats of Spark and of panewise are"),
    ("CREATE TABLE t USING parqet LOCATION 'o'", "write parquet, or the name of the class"),
    (VIEW.replace("v INT", "v BIGNT"), "write BIGINT"),
    ("CREATE TEMP VIEW s (t STRING, WATERMARK T DELAY OF '1 s') USING x", "WATERMARK T, of the type STRING"),
    ("CREATE TEMP VIEW s (t STRING) USING json OPTIONS (pth 'in')", "s | a view of files has a path"),
    ("CREATE TABLE t (a ARRAY<STRNG>) USING memory", "write STRING"),
    ("CREATE TABLE t (a QQ) USING memory", "write one of these"),
    (VIEW.strip().removesuffix(";") + TABLE, "write a semicolon before CREATE"),
    (
        VIEW + "SELECT sum(v) OVER (ORDER BY ts) AS n FROM s SELECT 2",
        "write a semicolon before SELECT if it begins another statement",
    ),
    (VIEW + TABLE + "INSERT INTO t SELECT v, v FROM TUMBEL(s, ts, INTERVAL '1' HOUR)", "write TUMBLE"),
    (TABLE + "INSERT INTO t (b) SELECT 1, 2 FROM t", "a table is read behind the INSERT INTO that writes it"),
    (VIEW + TABLE + "INSERT INTO t (b) SELECT k, v FROM s", "2 columns ['k', 'v'] | the columns of a query"),
    ("CREATE TABLE t USING memory; INSERT INTO t (a) SELECT 1", "a table that has declared them"),
    (
        "CREATE TABLE t USING console; INSERT INTO t SELECT 1; SELECT * FROM t",
        "cannot read a table of console",
    ),
    (TABLE + "DROP TABLE IF EXISTS T", "the tables and views of a script stay"),
    (VIEW + "ALTER VIEW s AS SELECT 1", "the tables and views of a script stay"),
    ("CREATE TEMPORARY VIEW s (a INT, a INT) USING json", "a column a twice"),
    (KAFKA, "a column topic twice"),
    ("CREATE TEMPORARY VIEW s USING json OPTIONS (trigger 'once')", "trigger is an option of a table"),
    (
        "CREATE TEMPORARY VIEW s USING json OPTIONS (initial_state 'f')",
        "initial_state is an option of a table",
    ),
    ("CREATE TABLE t USING memory OPTIONS (initial_stat 'f')", "write initial_state"),
    (
        VIEW
        + "CREATE TABLE t USING memory OPTIONS (initial_state 'f', checkpoint 'c');"
        + "INSERT INTO t SELECT k FROM s",
        "initial_state 'f' | only a query over a stream that panewise runs begins with a state",
    ),
    (
        "CREATE TABLE t USING memory OPTIONS (initial_state 'f'); INSERT INTO t SELECT 1",
        "initial_state 'f' | only a query over a stream that panewise runs begins with a state",
    ),
    ("CREATE TEMPORARY VIEW s (a INT) USING json OPTIONS (streming 'false')", "write streaming"),
    ("CREATE TEMP VIEW s (a INT) USING kafka OPTIONS (startingOfsets 'x')", "write startingOffsets"),
    ("CREATE TABLE t USING memory OPTIONS (streaming 'true')", "write it in the view of a source"),
    ("CREATE TABLE t USING delta OPTIONS (path 'p', checkpointLocation 'c')", "write checkpoint"),
    ("CREATE TABLE t USING delta OPTIONS (path 'p', outputMode 'complete')", "say with EMIT"),
    ("CREATE TEMP VIEW s (t TIMESTAMP) USING json OPTIONS (max_future_skew '1 h')", "bounds the event times"),
    (
        "CREATE TEMP VIEW s (t TIMESTAMP, WATERMARK t DELAY OF '1 s') USING x OPTIONS (max_future_skew 'h')",
        "an interval='h' | a duration is a sum",
    ),
    (
        "CREATE TABLE t USING delta LOCATION 'out/x'; CREATE TABLE u USING x OPTIONS (path './out/x')",
        "a path belongs to one query",
    ),
    ("CREATE TABLE t USING memory OPTIONS (trigger 'x')", "a trigger is 'available now'"),
    (
        VIEW + TABLE + "INSERT INTO t SELECT v, v FROM s ORDER BY v LIMIT 3",
        "ORDER BY v | the rows of a stream",
    ),
    (
        VIEW + TABLE + "INSERT INTO t SELECT CAST(NULL AS INT), count(*) FROM s GROUP BY k",
        "GROUP BY without a window",
    ),
]


@pytest.mark.parametrize(("script", "message"), ERRORS)
def test_an_error_has_a_place(script: str, message: str) -> None:
    """semantics 46.40 to 46.46, 46.93"""
    with pytest.raises(SqlError) as raised:
        compile_script(script)
    error = raised.value
    assert message in str(error)
    assert error.line is not None
    shown, caret = str(error).rsplit("\n", 2)[1:]
    assert shown.strip() == script.split("\n")[error.line - 1].strip()
    assert caret.strip(" ").startswith("^")


def test_what_queries_write_is_apart(tmp_path: Path) -> None:
    """semantics 49.56"""
    tables = "CREATE TABLE a USING json LOCATION '{0}/o'; CREATE TABLE b USING json LOCATION '{0}/o/in'; "
    two = tables + "INSERT INTO a SELECT 1 AS n; INSERT INTO b SELECT 1 AS n;"
    with pytest.raises(SqlError, match=r"the table b at .*, inside the table a at .* a reader of"):
        compile_script(two.format(tmp_path))
    text = (
        f"SET panewise.checkpoint = '{tmp_path}/o'; {VIEW}"
        f"CREATE TABLE a USING json LOCATION '{tmp_path}/o'; INSERT INTO a SELECT v FROM s;"
    )
    with pytest.raises(SqlError, match=r"the checkpoint of a at .*, inside the table a at"):
        compile_script(text)
    (tmp_path / "o" / "a").mkdir(parents=True)
    (tmp_path / "o" / "a" / "metadata").touch()
    compile_script(text)  # the query continues


def test_the_caret_is_below_the_whole_clause() -> None:
    """semantics 46.16, 46.43"""
    query = "SELECT k, sum(v) OVER (PARTITION BY k ORDER BY ts) AS s FROM s WATERMARK ts DELAY OF '1 hour'"
    for tail in ("ORDER BY k, s DESC", "LIMIT 3", "ORDER BY k LIMIT 3 OFFSET 1"):
        with pytest.raises(SqlError) as raised:
            compile_script(f"{VIEW}{TABLE}INSERT INTO t {query} {tail} -- of all")
        lines = str(raised.value).split("\n")
        assert lines[0].startswith(f"{tail} | the rows of a stream have no end")
        assert lines[-2][lines[-1].index("^") :].startswith(tail)
        assert lines[-1].count("^") == len(tail)


@pytest.mark.parametrize(
    ("conf", "message"),
    [
        ({"panewise.trigger": "never"}, "--conf panewise.trigger=never | a trigger is"),
        ({"panewise.finish": "soon"}, "finish is at_end or never"),
        ({"panewise.triger": "once"}, "the settings of panewise are"),
    ],
)
def test_a_setting_of_the_command_is_checked(conf: dict[str, str], message: str) -> None:
    """semantics 46.91"""
    with pytest.raises(SetupError) as raised:
        compile_script("SELECT 1", conf)
    assert message in str(raised.value)


def test_settings_of_the_command_take_precedence() -> None:
    """semantics 46.41, 46.91"""
    text = (
        "SET panewise.trigger = '1 hour'; SET spark.a = 1;"
        + VIEW
        + ("CREATE TABLE t USING memory; INSERT INTO t SELECT v FROM s;")
    )
    conf = {"PANEWISE.TRIGGER": "once", "panewise.checkpoint": "c", "panewise.finish": "at_end"}
    application = compile_script(text, conf)
    insert = next(step for step in application.steps if isinstance(step, InsertStep))
    assert (insert.trigger, insert.checkpoint, insert.at_end) == (Trigger(available_now=True), "c/t", True)
    settings = [step for step in application.steps if isinstance(step, SettingStep)]
    assert [(step.own, step.replaced) for step in settings] == [(True, True), (False, False)]
    assert application.session_settings == {}
    assert "the command makes it" in application.explain()


def test_a_batch_is_explained_as_one() -> None:
    """semantics 46.45, 46.47"""
    text = "SET panewise.checkpoint = 'c'; CREATE TABLE t USING memory; INSERT INTO t SELECT 1 AS a;"
    words = compile_script(text).explain()
    assert "writes its rows, and ends" in words
    assert "runs until stopped" not in words
    assert "checkpoint c" not in words
    stream = compile_script(VIEW + text.replace("SELECT 1 AS a", "SELECT v FROM s"))
    assert "runs until stopped" in stream.explain()


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE l USING memory; WITH l AS (SELECT 1 AS a), b (x) AS (SELECT a FROM l) SELECT x FROM b",
        "DROP VIEW IF EXISTS s; CREATE OR REPLACE TEMP VIEW s AS SELECT 1 AS a; SELECT a FROM s /* ; */",
        "SET VARIABLE x = 1; DECLARE y INT; SET TIME ZONE 'UTC'; SET CATALOG c",
        "CREATE TABLE IF NOT EXISTS t (a INT) USING memory; INSERT INTO t (a) VALUES (1); TABLE t; -- all",
        "CREATE TABLE t USING csv OPTIONS (path 's3a://b/./x', header true); INSERT INTO t (SELECT 1)",
        VIEW.replace("json LOCATION 'in'", "json OPTIONS (path 'in', streaming 'false')")
        + "SELECT sum(k) OVER (PARTITION BY v ORDER BY ts) AS s FROM s ORDER BY s",
    ],
)
def test_what_is_not_refused(text: str) -> None:
    """semantics 46.40, 46.43, 46.46"""
    assert compile_script(text).explain()


def sites() -> set[tuple[str, int, int]]:
    """Returns where errors are raised: the file, and the first and the last line."""
    return {
        (path.name, node.lineno, node.end_lineno or node.lineno)
        for path in FOLDER.glob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Raise)
        and isinstance(node.exc, ast.Call)
        and "placed" not in ast.unparse(node)
    }


def scripts() -> list[str]:
    """Returns the scripts with errors of these tests."""
    listed = [script for script, _ in ERRORS]
    listed += [text for text, *_ in test_script.WRONG]
    listed += [test_application.changed(old, new) for old, new, *_ in test_application.WRONG]
    for module in (test_application, test_check_of_scripts):
        for value in vars(module).values():
            marks = [mark for mark in getattr(value, "pytestmark", ()) if mark.name == "parametrize"]
            rows = [row for mark in marks for row in mark.args[1] if isinstance(row, tuple)]
            listed += [row[0] for row in rows if isinstance(row[0], str)]
            if module is test_check_of_scripts:
                listed += [_with_view(*row[:2]) for row in rows if len(row) == 3]
    return listed


def _with_view(view_query: str, query: str) -> str:
    head, end = test_check_of_scripts.ROWS, test_check_of_scripts.END
    return f"{head}CREATE TEMPORARY VIEW x AS {view_query};\n{end} {query};"


def test_each_error_site_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 46.40 to 46.46"""
    reached: set[tuple[str, int]] = set()
    make = PanewiseError.__init__

    def noted(self: PanewiseError, *values: Any, **named: Any) -> None:
        frame: Any = sys._getframe(1)
        while frame is not None:
            if "panewise/sql/script/" in frame.f_code.co_filename:
                reached.add((frame.f_code.co_filename.rsplit("/", 1)[1], frame.f_lineno))
            frame = frame.f_back
        make(self, *values, **named)

    monkeypatch.setattr(PanewiseError, "__init__", noted)
    for script in scripts():
        with suppress(PanewiseError):
            compile_script(script)
    with suppress(SetupError):
        compile_script("SELECT 1", {"panewise.finish": "x"})
    missed = [
        site
        for site in sorted(sites())
        if not any(name == site[0] and site[1] <= line <= site[2] for name, line in reached)
    ]
    assert not missed, missed
