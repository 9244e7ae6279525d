"""Prepares Delta tables where there is something else, and gives two outputs one table under two names.

``python -m tests.connectors.delta_places_job OUT JARS``. It fails if a place is not refused or not accepted,
or a column has a name that is not taken.
"""

import json
import sys
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

import panewise as pw
from panewise import SpecError
from panewise.spark import DeltaSink, ParquetSink, configure
from panewise.spark.sinks.base import BoundSink, SinkOutput
from panewise.spark.sinks.places import check_tables
from panewise.spec.conditions.text import in_backticks
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
    spark.stop()


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
        try:
            DeltaSink(table).prepare(output)
        except SpecError as error:
            if message not in str(error):
                raise
        else:
            raise AssertionError(f"{table} is accepted")


if __name__ == "__main__":
    main(*sys.argv[1:])
