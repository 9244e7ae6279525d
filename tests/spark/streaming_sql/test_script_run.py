"""Scripts of SQL on Spark: sources, sinks, queries, figures, and a second run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

from panewise.checkpoints.export import export_checkpoint
from panewise.engine.checkpoint import EXPORT
from panewise.errors import SpecError, SqlError
from panewise.spark.queries.query import WindowQuery
from panewise.spark.sinks.appending import AppendingSink
from panewise.spark.streaming_sql.script_progress import HEADER, QueryFigures, cells
from panewise.spark.streaming_sql.script_remedies import of_scripts
from panewise.spark.streaming_sql.script_run import ScriptRun
from panewise.spark.streaming_sql.table_sinks import TableShape, TableSink, sink_of
from panewise.spark.streaming_sql.table_sources import decoded, source_of
from panewise.spec.evolution import REMEDY
from panewise.sql.parsing.syntax import TextSpan
from panewise.sql.script.application import compile_script
from panewise.sql.script.statements import ColumnSyntax
from panewise.sql.script.steps import SinkStep, SourceStep

ORDERS = [
    {"ts": "2024-01-01T12:01:00Z", "product": "a", "price": 2.5, "amount": 2},
    {"ts": "2024-01-01T12:02:00Z", "product": "a", "price": 2.5, "amount": 1},
    {"ts": "2024-01-01T14:02:00Z", "product": "b", "price": 1.5, "amount": 4},
    {"ts": None, "product": "b", "price": 1.5, "amount": 4},
]
SCRIPT = """
SET spark.sql.shuffle.partitions = 1; SET panewise.checkpoint = '{folder}/checkpoints';
SET panewise.trigger = 'available now';
CREATE TEMPORARY VIEW orders (
  ts TIMESTAMP, product STRING, price DECIMAL(10, 2), amount INT, WATERMARK ts DELAY OF INTERVAL '10' MINUTES
) USING json LOCATION '{folder}/orders';
CREATE TEMPORARY VIEW pairs AS SELECT product, window_start, sum(price * amount) AS r
  FROM TUMBLE(orders, ts, INTERVAL '1' HOUR) WHERE amount > 0 GROUP BY product, window_start, window_end;
CREATE TABLE bad USING json LOCATION '{folder}/bad';
CREATE TABLE revenue (product STRING, r DOUBLE) USING parquet
  OPTIONS (path '{folder}/revenue', invalid 'bad', finish 'at_end');
CREATE TABLE big USING memory;
CREATE TABLE shown USING console;
INSERT INTO revenue SELECT product, r FROM pairs;
INSERT INTO big SELECT product, amount FROM orders WHERE amount > 1;
SELECT product, r FROM revenue ORDER BY r;
SELECT row.product, reason FROM bad;
INSERT INTO shown SELECT * FROM big WHERE amount > 3 AND product = 'b';
"""


def put(folder: Path, rows: list[dict[str, Any]], name: str) -> None:
    (folder / "orders").mkdir(exist_ok=True)
    (folder / "orders" / name).write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")


def run_script(spark: SparkSession, text: str) -> dict[str, QueryFigures]:
    """Runs a script to its end; returns the figures of its queries."""
    figures: dict[str, QueryFigures] = {}

    def wait(queries: Mapping[str, WindowQuery]) -> None:
        for name, query in queries.items():
            known = figures.setdefault(name, QueryFigures(name))
            known.update(query)
            query.awaitTermination()
            known.update(query)

    run = ScriptRun(spark, compile_script(text), wait)
    run.start()
    wait(run.queries)
    run.stop()
    return figures


@pytest.mark.spark
@pytest.mark.usefixtures("restored_settings")
def test_a_script(spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """semantics 46.40 to 46.42, 46.44 to 46.47"""
    put(tmp_path, ORDERS, "1.json")
    text = SCRIPT.format(folder=tmp_path)
    figures = run_script(spark, text)
    shown = capfd.readouterr().out
    assert "|a      |7.5|" in shown
    assert "|b      |event time is null|" in shown
    assert "shown, micro-batch 0:" in shown
    revenue = figures["revenue"]
    assert (revenue.rows_in, revenue.invalid, revenue.panes, revenue.state) == (4, 1, 2, "ended")
    assert cells(revenue)[:2] == ("revenue", "ended")
    assert len(cells(revenue)) == len(HEADER)
    assert figures["big"].rows_in == 3  # Spark's source filters
    rows = pl.DataFrame(spark.read.parquet(f"{tmp_path}/revenue").toArrow())
    assert sorted(rows.select("product", "r").rows()) == [("a", 7.5), ("b", 6.0)]


@pytest.mark.spark
@pytest.mark.usefixtures("restored_settings")
def test_what_spark_refuses_has_its_place_in_the_script(spark: SparkSession, tmp_path: Path) -> None:
    """semantics 46.43"""
    (tmp_path / "orders").mkdir()
    for old, new, line, message in (
        ("sum(price * amount) AS r", "sum(no_function(price)) AS r", 7, "UNRESOLVED_ROUTINE"),
        ("spark.sql.shuffle.partitions = 1", "spark.sql.shuffle.partitions = x", 2, "shuffle"),
        ("WHERE amount > 0", "WHERE no_function(amount)", 8, "UNRESOLVED_ROUTINE"),
        ("invalid 'bad'", "left_invalid 'bad'", 14, "the outputs are"),
    ):
        text = SCRIPT.format(folder=tmp_path)
        assert old in text
        with pytest.raises(SqlError, match=message) as raised:
            run_script(spark, text.replace(old, new))
        assert raised.value.line == line, message


@pytest.mark.spark
@pytest.mark.usefixtures("restored_settings")
def test_remedies_are_statements(spark: SparkSession, tmp_path: Path) -> None:
    """semantics 46.43, 47.9"""
    with pytest.raises(SqlError, match=r"PATH_NOT_FOUND.* \| correct the path, which is relative"):
        run_script(spark, SCRIPT.format(folder=tmp_path))
    before = "start once with the specification as it was and available_now=True, and change it then"
    assert of_scripts(before).endswith("and SET panewise.trigger = 'available now', and change it then")
    option = "the option initial_state of the table"
    assert of_scripts(EXPORT) == f"start from a new checkpoint, with the exported state as {option}"
    assert f"start from a new checkpoint, with {option}, which comes from the history" in of_scripts(REMEDY)


JOINED = """
SET spark.sql.shuffle.partitions = {parts}; SET panewise.checkpoint = '{folder}/checkpoints';
SET panewise.trigger = 'available now';
CREATE TEMPORARY VIEW orders (ts TIMESTAMP, product STRING, WATERMARK ts DELAY OF INTERVAL '10' MINUTES)
  USING json LOCATION '{folder}/orders';
CREATE TABLE {first} USING parquet LOCATION '{folder}/{first}';
CREATE TABLE pairs USING parquet LOCATION '{folder}/pairs';
INSERT INTO {first} SELECT product, window_start, count(*) AS n
  FROM TUMBLE(orders, ts, INTERVAL '1' HOUR) GROUP BY product, window_start, window_end;
{between}
INSERT INTO pairs SELECT a.product, a.ts FROM orders a JOIN orders b
  ON a.product = b.product AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '{minutes}' MINUTES;
"""


@pytest.mark.spark
@pytest.mark.usefixtures("restored_settings")
def test_a_refused_script_has_started_no_query(spark: SparkSession, tmp_path: Path) -> None:
    """semantics 46.158"""
    put(tmp_path, ORDERS, "1.json")
    between = "SET spark.sql.shuffle.partitions = 1;"  # the state of the first query has its own setting
    given = {"folder": tmp_path, "parts": 2, "between": between}
    figures = run_script(spark, JOINED.format(first="hourly", minutes=30, **given))
    assert {name: each.state for name, each in figures.items()} == {"hourly": "ended", "pairs": "ended"}
    record = (tmp_path / "checkpoints" / "hourly" / "offsets" / "0").read_text(encoding="utf-8")
    assert '"spark.sql.shuffle.partitions":"2"' in record
    assert spark.conf.get("spark.sql.shuffle.partitions") == "1"
    before = sorted(map(str, tmp_path.rglob("*")))
    for first in ("hourly", "daily"):
        with pytest.raises(SqlError, match="a state belongs to the match") as raised:
            run_script(spark, JOINED.format(first=first, minutes=40, **given))
        assert raised.value.line == 11
        assert sorted(map(str, tmp_path.rglob("*"))) == before
    late = "CREATE TABLE bad USING memory; CREATE TABLE other USING memory OPTIONS (late 'bad');\n"
    wrong = JOINED.format(first="daily", minutes=30, **given).replace(
        "INSERT INTO pairs", f"{late}INSERT INTO pairs", 1
    )
    with pytest.raises(SqlError, match="the outputs are"):
        run_script(spark, wrong.replace("INTO pairs SELECT", "INTO other SELECT"))
    assert sorted(map(str, tmp_path.rglob("*"))) == before
    another = "CREATE TABLE copy USING memory; INSERT INTO copy SELECT product FROM orders;\n"
    script = JOINED.format(first="hourly", minutes=30, **given).replace(
        "INSERT INTO", f"{another}INSERT INTO", 1
    )
    with pytest.raises(SqlError, match="the condition"):  # what stands behind the operator is checked, too
        run_script(
            spark, script.replace("window_end;", "window_end HAVING max(ts) > timestamp_seconds(0);", 1)
        )
    assert sorted(map(str, tmp_path.rglob("*"))) == before


COUNTS = """
SET panewise.trigger = 'available now'; SET spark.sql.shuffle.partitions = 1;
CREATE TEMPORARY VIEW orders (ts TIMESTAMP, product STRING, WATERMARK ts DELAY OF INTERVAL '1' SECOND)
  USING json LOCATION '{folder}/{orders}';
CREATE TABLE counts USING parquet OPTIONS (path '{folder}/{name}', checkpoint '{folder}/{name}-c'{more});
INSERT INTO counts SELECT {what} FROM orders GROUP BY product, window(ts, '1 day') EMIT CHANGES;
"""


@pytest.mark.spark
@pytest.mark.usefixtures("restored_settings")
def test_a_query_begins_with_an_exported_state(spark: SparkSession, tmp_path: Path) -> None:
    """semantics 46.164, 48.9"""
    put(tmp_path, ORDERS, "1.json")
    file, given = tmp_path / "file", {"folder": tmp_path, "what": "product, count(*) AS n"}
    run_script(spark, COUNTS.format(orders="orders", name="first", more="", **given))
    export_checkpoint(f"{tmp_path}/first-c", str(file))
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "1.json").write_text(json.dumps(ORDERS[0]), encoding="utf-8")
    begun = {"orders": "new", "name": "second", "more": f", initial_state '{file}'"}
    with pytest.raises(SqlError, match=r"48\.7.*\n*line 6") as raised:
        run_script(spark, COUNTS.format(**begun, **{**given, "what": "product, max(ts) AS n"}))
    assert raised.value.line == 6
    assert not (tmp_path / "second-c").exists()
    run_script(spark, COUNTS.format(**begun, **given))
    before, after = (
        sum(row.n for row in spark.read.parquet(f"{tmp_path}/{name}").collect() if row.product == "a")
        for name in ("first", "second")
    )
    assert after == before + 1
    file.unlink()
    run_script(spark, COUNTS.format(**begun, **given))  # the checkpoint has begun with it
    with pytest.raises(SqlError, match="initial_state"):
        run_script(spark, COUNTS.format(**{**begun, "name": "first"}, **given))


def sinks_of(text: str) -> list[Any]:
    return [sink_of(step, "q") for step in compile_script(text).steps if isinstance(step, SinkStep)]


def test_sinks_of_formats() -> None:
    """semantics 46.44"""
    kafka, delta, other, memory = sinks_of(
        """CREATE TABLE k USING kafka OPTIONS (key 'a', topic 't');
        CREATE TABLE d USING delta LOCATION '/d';
        CREATE TABLE o (a INT) USING org.example OPTIONS (x 1, late 'k');
        CREATE TABLE m USING memory"""
    )
    assert (kafka.put, kafka.key) == (AppendingSink("kafka", {"topic": "t"}, "q"), "a")
    assert (delta.put, delta.shape) == (AppendingSink("delta", {"path": "/d"}, "q"), TableShape())
    assert (other.put, other.shape.ddl) == (AppendingSink("org.example", {"x": "1"}, "q"), "`a` INT")
    assert memory.in_driver


def test_rows_that_stay_in_the_driver_are_refused_through_connect() -> None:
    """semantics 46.114"""
    for sink in sinks_of("CREATE TABLE m USING memory; CREATE TABLE c USING console"):
        with pytest.raises(SpecError, match=r"^m \| through Connect a stream is written by the server"):
            sink.check(object(), "m", streaming=True)
        sink.check(object(), "m", streaming=False)


@pytest.mark.spark
def test_what_appends_and_reads_back(spark: SparkSession, tmp_path: Path) -> None:
    """semantics 46.44"""
    rows = spark.range(2).selectExpr("id", "id + 1 AS b")
    shape = TableShape((("x", "STRING"), ("y", "INT")))
    appending = AppendingSink("parquet", {"path": f"{tmp_path}/p"}, "q")
    sink = TableSink(shape, appending, appending.read, in_driver=False)
    sink(rows, 0)
    assert sink.read(spark, None).dtypes == [("x", "string"), ("y", "int")]
    (memory,) = sinks_of("CREATE TABLE m USING memory")
    assert memory.read(spark, rows.schema).count() == 0
    for batch in (0, 1, 1):
        memory(rows, batch)
    assert memory.read(spark, None).count() == 4


@pytest.mark.spark
def test_a_table_and_a_generated_source(spark: SparkSession, tmp_path: Path) -> None:
    """semantics 46.42"""
    put(tmp_path, ORDERS, "1.json")
    text = f"""CREATE TEMPORARY VIEW a USING json LOCATION '{tmp_path}/orders';
    CREATE TEMPORARY VIEW b USING rate OPTIONS (rowsPerSecond 1)"""
    table, stream = (
        source_of(spark, step) for step in compile_script(text).steps if isinstance(step, SourceStep)
    )
    assert (table.isStreaming, table.count(), stream.isStreaming) == (False, 4, True)


@pytest.mark.spark
def test_values_of_messages_become_columns(spark: SparkSession) -> None:
    """semantics 46.42"""
    messages = spark.sql(
        """SELECT CAST(value AS BINARY) AS value, 3 AS partition, 'x' AS topic
        FROM VALUES ('{"a": 1, "b c": "p"}'), ('no json') AS t(value)"""
    )
    columns = ({"a": "INT", "b c": "STRING"}).items()
    declared = tuple(ColumnSyntax(name, type_, TextSpan(0, 0)) for name, type_ in columns)
    rows = decoded(messages, declared, "json", ("partition",))
    assert [tuple(row) for row in rows.collect()] == [(1, "p", 3), (None, None, 3)]
    lines = messages.selectExpr("CAST('7,q' AS BINARY) AS value").limit(1)
    assert [tuple(row) for row in decoded(lines, declared, "csv", ()).collect()] == [(7, "q")]
