"""Prepares Delta tables where there is something else, and gives two outputs one table under two names.

``python -m tests.connectors.delta_places_job OUT JARS``. It fails if a place is not refused or not accepted,
or a column has a name that is not taken.
"""

import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

import panewise as pw
from panewise import SpecError, SqlError
from panewise.spark import DeltaSink, ParquetSink, configure, windowed
from panewise.spark.sinks.base import BoundSink, SinkOutput
from panewise.spark.sinks.places import check_tables
from panewise.spark.streaming_sql.script_run import ScriptRun
from panewise.spec.conditions.text import in_backticks
from panewise.sql.script.application import compile_script
from tests.connectors.delta_sink import SETTINGS
from tests.faults.job import CONF

SPEC = pw.WindowOperator(window=pw.Tumbling(10), keys=["k"], aggregates=[pw.functions.count().alias("n")])

_SOMETHING_ELSE = "a DeltaSink writes to a Delta table, and something else is at this place"


def main(out: str, jars: str) -> None:
    settings = {**CONF, **SETTINGS, "spark.jars": jars, "spark.sql.warehouse.dir": f"{out}/tables"}
    builder = SparkSession.builder.master("local[2]").appName("panewise and Delta")
    for key, value in {**settings, "spark.local.dir": f"{out}/local"}.items():
        builder = builder.config(key, value)
    spark = configure(builder.getOrCreate(), local_checkpoints=True)
    rows = spark.range(1)
    Path(f"{out}/metadata").write_text(json.dumps({"id": "a query"}), encoding="utf-8")
    output = SinkOutput("late", "late", rows.schema, SPEC, (), None, None, spark, out)
    rows.write.parquet(f"{out}/files")
    rows.write.format("parquet").saveAsTable("files")
    spark.sql("CREATE VIEW shown AS SELECT * FROM files")
    rows.createOrReplaceTempView("passing")
    Path(f"{out}/empty").mkdir()
    _refused(output, _SOMETHING_ELSE, f"{out}/files", "files", "shown", "passing")
    assert [DeltaSink(table).named_directory(output) for table in ("made", "shown", "passing")] == [None] * 3
    for table in (f"{out}/empty", f"{out}/new", "made"):
        for _ in range(2):
            DeltaSink(table).prepare(output)
    (location,) = spark.sql("DESCRIBE DETAIL made").select("location").first() or ("",)
    for _ in range(2):
        DeltaSink("made").write(rows, 0, output)
    assert spark.table("made").count() == 1
    for other in ("default.Made", "`default`.made", "spark_catalog.default.made", str(location)):
        _check_one_table(output, "made", DeltaSink(other))
    _check_one_table(output, "made", ParquetSink(str(location)))
    _check_names(output, f"{out}/names")
    _check_values(output)
    DeltaSink("apart").prepare(output)
    assert not _are_one_table(output, "made", DeltaSink("apart"))
    _check_sources(spark, out)
    spark.stop()


def _check_sources(spark: SparkSession, out: str) -> None:
    """Checks that a query is refused that writes to a Delta table that it reads (semantics 49.60)."""
    rows, table = spark.range(1).selectExpr("id", "timestamp_seconds(id) AS ts"), f"{out}/read [1]"
    rows.write.format("delta").save(table)
    rows.write.format("delta").saveAsTable("read_by_name")
    by_path = spark.readStream.format("delta").option("PATH", table).load()
    by_name = spark.readStream.table("read_by_name")
    (location,) = spark.sql("DESCRIBE DETAIL read_by_name").select("location").first() or ("",)
    cases = [
        (by_path, DeltaSink(table), "checkpoint"),
        (by_path, ParquetSink(f"{table}/panes"), "checkpoint"),
        (by_path, DeltaSink("read_by_name"), "read [1]/checkpoint"),
        (by_name, DeltaSink("Read_by_name"), "checkpoint"),
        (by_name.where("id >= 0"), DeltaSink(str(location)), "checkpoint"),
        (by_path.union(by_name), DeltaSink("default.read_by_name", "upsert"), "checkpoint"),
    ]
    for stream, sink, checkpoint in cases:
        result = windowed(stream.withWatermark("ts", "1 second"), "ts").window(pw.Tumbling("1 minute"))
        start = partial(
            result.agg(pw.functions.count().alias("n")).write,
            panes=sink,
            checkpoint=f"{out}/{checkpoint}",
            available_now=True,
        )
        _fails(start, r"and a source that reads .* \| a query does not write where it reads")
        assert not Path(f"{out}/{checkpoint}").exists()
    text = f"""CREATE TEMPORARY VIEW s USING delta OPTIONS (path '{table}');
        CREATE TABLE t USING delta LOCATION '{table}' {{}};
        INSERT INTO t SELECT id, ts FROM s;"""
    _fails(
        ScriptRun(spark, compile_script(text.format(f"OPTIONS (checkpoint '{out}/c')"), {}), len).start,
        "the table t at",
    )


def _check_names(output: SinkOutput, table: str) -> None:
    """Checks that upserts take any names of columns, also those of the sink's own (semantics 49.41)."""
    names = ("a.b", "a`b", "last", "__operation", "User")
    ddl = ", ".join(f"{in_backticks(name)} STRING" for name in names)
    session = output.session
    rows = session.createDataFrame(
        [(*"abcde", "+", 0), (*"fghij", "+", 1), (*"fghij", "-", 2)], f"{ddl}, op STRING, sequence BIGINT"
    )
    fields = {"name": "panes", "kind": "panes", "schema": rows.schema, "key": names, "op": "op"}
    panes = replace(output, **fields, sequence="sequence")
    sink = DeltaSink(table, mode="upsert")
    assert sink.is_missing(panes)
    sink.prepare(panes)
    assert not sink.is_missing(panes)
    sink.write(rows, 0, panes)
    assert [tuple(row) for row in session.read.format("delta").load(table).collect()] == [(*"abcde", 0)]


def _check_values(output: SinkOutput) -> None:
    """Checks that a table whose columns nothing fills is refused, and others are taken (semantics 49.54)."""
    columns, spark = "(id BIGINT, more INT NOT NULL {}) USING delta", output.session
    defaults = "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
    spark.sql(f"CREATE TABLE unfilled {columns.format('')}")
    spark.sql(f"CREATE TABLE filled {columns.format('DEFAULT 5')} {defaults}")
    spark.sql(f"CREATE TABLE computed {columns.format('GENERATED ALWAYS AS (CAST(id AS INT))')}")
    for table in ("filled", "computed"):
        DeltaSink(table).prepare(output)
        DeltaSink(table).write(spark.range(1), 0, output)
        assert spark.table(table).count() == 1
    _refused(output, "the rows have no column more, which is NOT NULL", "unfilled")
    _check_constraints(output)


def _check_constraints(output: SinkOutput) -> None:
    """Checks that a table is refused whose CHECK constraint no row fulfils (semantics 49.64)."""
    spark = output.session
    columns = "(id BIGINT, more INT) USING delta"
    for number, condition in enumerate(("more > 0 OR more IS NULL", "id + 1 > 0", "more > 0")):
        spark.sql(f"CREATE TABLE constrained_{number} {columns}")
        spark.sql(f"ALTER TABLE constrained_{number} ADD CONSTRAINT own CHECK ({condition})")
    message = "have no column more, and null there violates CHECK (more > 0) (semantics 49.64)"
    _refused(output, message, "constrained_2")
    for table in ("constrained_0", "constrained_1"):
        DeltaSink(table).prepare(output)
        DeltaSink(table).write(spark.range(1), 0, output)
        assert spark.table(table).count() == 1


def _check_one_table(output: SinkOutput, table: str, other: DeltaSink | ParquetSink) -> None:
    assert _are_one_table(output, table, other), f"{table} and {other} are accepted"


def _are_one_table(output: SinkOutput, table: str, other: DeltaSink | ParquetSink) -> bool:
    """Returns whether two outputs are refused because they have one table."""
    second = BoundSink(other, replace(output, name="invalid")) if isinstance(other, DeltaSink) else other
    try:
        check_tables({"late": BoundSink(DeltaSink(table), output), "invalid": second})
    except SpecError as error:
        return "two outputs of a query have one place" in str(error)
    return False


def _refused(output: SinkOutput, message: str, *tables: str) -> None:
    for table in tables:
        _fails(partial(DeltaSink(table).prepare, output), re.escape(message))


def _fails(start: Callable[[], object], message: str) -> None:
    """Checks that `start` raises an error with this message, a regular expression."""
    try:
        start()
    except (SpecError, SqlError) as error:
        if re.search(message, str(error)) is None:
            raise
    else:
        raise AssertionError(f"{start} is accepted")


if __name__ == "__main__":
    main(*sys.argv[1:])
