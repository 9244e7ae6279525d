"""What users of scripts do: other columns, other checkpoints, other settings, and what ends a script."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from panewise.errors import SqlError
from panewise.spark.sinks.base import QueryId
from panewise.spark.sinks.files import FileSink
from panewise.spark.streaming_sql import script_session as sessions
from panewise.spark.streaming_sql.script_run import ScriptRun
from panewise.spark.streaming_sql.table_sinks import FileTable, KafkaTable, TableShape
from panewise.sql.script.application import compile_script
from tests.spark.streaming_sql.test_script_run import put, run_script
from tests.sql.test_check_of_scripts import ROWS, VIEWS

pytestmark = pytest.mark.spark

EVENTS: list[dict[str, Any]] = [
    {"ts": "2024-01-01T12:01:00Z", "k": "a", "v": 1, "batch_id": 7},
    {"ts": "2024-01-01T12:02:00Z", "k": "b", "v": "no number"},
    {"k": "c;", "v": 5, "unknown": 1},
]
SOURCES = """
SET panewise.checkpoint = '{folder}/checkpoints'; SET panewise.trigger = 'available now';
CREATE TEMPORARY VIEW t (ts TIMESTAMP, k STRING, v INT, batch_id INT, WATERMARK ts DELAY OF INTERVAL '1' HOUR)
  USING json LOCATION '{folder}/orders';
CREATE TEMPORARY VIEW b (k STRING, v INT, batch_id INT)
  USING json OPTIONS (path '{folder}/orders', streaming 'false');
"""
Script = Callable[[str], str]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Returns a function that puts the sources before statements."""
    put(tmp_path, EVENTS, "1.json")
    return lambda text: (SOURCES + text).format(folder=tmp_path)


@pytest.mark.usefixtures("restored_settings")
@pytest.mark.filterwarnings("ignore::panewise.errors.SpecWarning")
def test_what_the_check_knows_of_views_runs(spark: SparkSession, tmp_path: Path) -> None:
    """semantics 46.43"""
    put(tmp_path, EVENTS, "1.json")
    for view_query, query in VIEWS:
        text = ROWS.replace("'in'", f"'{tmp_path}/orders'") + (
            f"CREATE TEMPORARY VIEW x AS {view_query};\nCREATE TEMPORARY VIEW y AS {query};"
        )
        ScriptRun(spark, compile_script(text, {}), lambda queries: None).start()


@pytest.mark.usefixtures("restored_settings")
def test_columns_and_names(spark: SparkSession, script: Script, capfd: pytest.CaptureFixture[str]) -> None:
    """semantics 46.44, 46.93, 46.94"""
    text = """
    CREATE TABLE kept USING parquet LOCATION '{folder}/kept'; INSERT INTO kept SELECT k, batch_id FROM t;
    SELECT batch_id, k FROM kept WHERE batch_id IS NOT NULL;
    CREATE TABLE l (a STRING, n INT, x DOUBLE) USING memory; INSERT INTO l (n, A) SELECT v, k FROM b;
    SELECT * FROM l WHERE n > 1;
    CREATE TABLE twice (p INT, q INT) USING json LOCATION '{folder}/twice';
    INSERT INTO twice SELECT v, v FROM b;
    SELECT * FROM twice WHERE p = 5;
    CREATE TEMPORARY VIEW `my view` AS SELECT k FROM b WHERE k = 'c;'; CREATE TABLE `my table` USING memory;
    INSERT INTO `my table` SELECT k AS only FROM `my view`;
    WITH l AS (SELECT * FROM `my table`) SELECT * FROM l;
    -- the end; of the script"""
    run_script(spark, script(text))
    shown = capfd.readouterr().out
    for row in ("|7       |a  |", "|c; |5  |NULL|", "|5  |5  |", "|only|\n+----+\n|c;  |"):
        assert row in shown, shown


def test_a_new_checkpoint_does_not_overwrite_rows(
    spark: SparkSession, script: Script, tmp_path: Path
) -> None:
    """semantics 46.95"""
    text = script(
        "CREATE TABLE p USING json LOCATION '{folder}/p'; INSERT INTO p SELECT k FROM t WHERE v > 9;"
    )
    run_script(spark, text)
    run_script(spark, text)  # it continues
    with pytest.raises(SqlError, match="rows of another checkpoint"):
        run_script(spark, text.replace("/checkpoints", "/others"))
    run_script(spark, text.replace("FROM t", "FROM b"))  # a batch replaces micro-batch 0
    (tmp_path / "p" / "batch_id=1").mkdir()
    with pytest.raises(SqlError, match="rows of a stream at"):
        run_script(spark, text.replace("FROM t", "FROM b"))
    assert sorted(path.name for path in (tmp_path / "p").iterdir()) == [
        "batch_id=-1",
        "batch_id=0",
        "batch_id=1",
    ]
    first = QueryId().read(spark, f"{tmp_path}/checkpoints/p")
    (tmp_path / "o").mkdir()
    (tmp_path / "o" / "metadata").write_text(json.dumps({"id": "another"}), encoding="utf-8")
    assert first != QueryId().read(spark, f"{tmp_path}/o") == "another"


ENDLESS = "SET panewise.trigger = '1 hour'; CREATE TABLE z USING memory; INSERT INTO z "
HOURLY = (
    "CREATE TEMPORARY VIEW w AS SELECT k, count(*) AS n FROM TUMBLE(t, ts, INTERVAL '1' HOUR) "
    "GROUP BY k, window_start; "
)


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        ("{end} SELECT a.k FROM t a LEFT JOIN t c ON a.k = c.k AND a.ts = c.ts", "outer join"),
        (HOURLY + "{end} SELECT k, n FROM w UNION ALL SELECT k, v FROM t", "view with windows"),
        (
            ENDLESS
            + "SELECT count(*) FROM TUMBLE(t WITH (finish = 'at_end'), ts, '1 hour') GROUP BY window_start",
            "only a run that ends can end its input",
        ),
        ("CREATE TABLE z (a BOOLEAN) USING memory; INSERT INTO z SELECT ts FROM t", "DATATYPE_MISMATCH"),
        (
            "CREATE TABLE z (a INT) USING memory; INSERT INTO z SELECT k, v FROM t UNION ALL SELECT '', 1",
            "2 columns",
        ),
        (
            HOURLY + "CREATE TABLE l USING memory; CREATE TABLE z USING memory OPTIONS (late 'l'); "
            "INSERT INTO z SELECT n FROM w UNION ALL SELECT v FROM t",
            "only a query that panewise runs has late",
        ),
        (
            "CREATE TABLE z USING kafka OPTIONS (topic 'p'); INSERT INTO z SELECT k AS value, v FROM t",
            "a column v | with a column `value`",
        ),
        (
            "CREATE TABLE z USING kafka OPTIONS (topic 'p', key 'id'); INSERT INTO z SELECT k FROM t",
            "UNRESOLVED_COLUMN",
        ),
    ],
)
@pytest.mark.usefixtures("restored_settings")
def test_what_is_refused_before_a_query_starts(
    spark: SparkSession, script: Script, statements: str, message: str
) -> None:
    """semantics 46.43 to 46.45, 46.92, 46.98"""
    end = "CREATE TABLE z USING memory OPTIONS (finish 'at_end'); INSERT INTO z"
    with pytest.raises(SqlError) as raised:
        run_script(spark, script(statements.replace("{end}", end)))
    assert message in str(raised.value)
    assert raised.value.line is not None
    assert not [query for query in spark.streams.active if query.name == "z"]


@pytest.mark.usefixtures("restored_settings")
def test_a_stream_that_only_spark_knows_has_a_checkpoint(spark: SparkSession, script: Script) -> None:
    """semantics 46.45"""
    text = script(
        "CREATE OR REPLACE GLOBAL TEMPORARY VIEW hidden AS SELECT * FROM t; "
        "CREATE TABLE z USING memory; INSERT INTO z SELECT k FROM global_temp.hidden"
    )
    with pytest.raises(SqlError, match="a query over a stream has a checkpoint"):
        run_script(spark, text.replace("SET panewise.checkpoint", "SET spark.x"))
    assert run_script(spark, text)["z"].rows_in == 3


def test_messages(spark: SparkSession) -> None:
    """semantics 46.98"""
    rows = spark.sql("SELECT 1 AS a, 'x' AS b")
    sink = messages("b")
    assert [row.asDict() for row in sink.shaped(rows).collect()] == [{"value": '{"a":1,"b":"x"}', "key": "x"}]
    message = rows.selectExpr("b AS value", "'p' AS key", "'q' AS topic")
    plain = messages(None).shaped(message).collect()[0].asDict()
    assert plain == {"value": "x", "key": "p", "topic": "q"}
    keyed = rows.selectExpr("b AS value", "a AS id")
    assert messages("id").shaped(keyed).collect()[0].asDict() == {"value": "x", "key": "1"}


def messages(key: str | None) -> KafkaTable:
    """Returns the table of a topic, which is not written to."""
    return KafkaTable(TableShape(), lambda rows, batch_id: None, None, in_driver=False, key=key)


@pytest.mark.usefixtures("restored_settings")
def test_settings_of_the_command(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    """semantics 46.41, 46.91"""
    text = "SET spark.sql.session.timeZone = 'Asia/Tokyo'; SET TIME ZONE 'UTC'; SET spark.x = 1; "
    text += "SELECT current_timezone()"
    application = compile_script(
        text, {"spark.sql.session.timeZone": "Europe/Paris", "panewise.finish": "never"}
    )
    session, is_new = sessions.script_session(application)
    assert (session, is_new) == (spark, False)
    ScriptRun(spark, application, lambda queries: None).start()
    assert "Europe/Paris" in capfd.readouterr().out
    assert spark.conf.get("spark.x") == "1"
    assert spark.conf.get("panewise.finish", None) is None


def test_a_new_session_has_the_settings_before_the_first_query(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """semantics 46.41, 46.91"""
    given: dict[str, str] = {}

    class Builder:
        """A builder that notes settings."""

        def appName(self, name: str) -> "Builder":
            return self

        def config(self, **settings: dict[str, str]) -> "Builder":
            given.update(settings["map"])
            return self

        def getOrCreate(self) -> SparkSession:
            return spark

    text = "SET spark.a = 1; SET spark.b = 2; SET panewise.trigger = once; SELECT 1; SET spark.c = 3;"
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(SparkSession, "builder", Builder())
    monkeypatch.setattr(sessions, "configure", lambda session, **options: given.update(options) or session)
    monkeypatch.setattr(sessions, "keep_settings", lambda session, settings: None)
    assert sessions.script_session(compile_script(text, {"spark.b": "5"})) == (spark, True)
    # The master is that of spark-submit, and so are the shuffle partitions.
    assert given == {
        "spark.ui.showConsoleProgress": "false",
        "spark.a": "1",
        "spark.b": "5",
        "shuffle_partitions": None,
    }


def test_a_file_table_is_read_by_its_directories(tmp_path: Path) -> None:
    """semantics 46.94"""
    sink = FileTable(TableShape((("batch_id", "INT"),)), FileSink(str(tmp_path), "json"))
    assert sink.path == str(tmp_path)
    with pytest.raises(AssertionError):
        messages(None).read(None, None)  # type: ignore[arg-type]
