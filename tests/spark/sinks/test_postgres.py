"""Tables of a real PostgreSQL server (semantics 49.40 to 49.44)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession

import panewise as pw
from panewise import SpecError
from panewise import functions as F
from panewise.spark import PostgresSink
from panewise.spark.sinks.base import SinkOutput
from panewise.spark.sinks.postgres_copy import CopyRows
from panewise.spark.sinks.postgres_statements import Statements
from tests.connectors.database import Database, running
from tests.connectors.jars import POSTGRES

SPEC = pw.WindowOperator(window=pw.Tumbling(10), keys=["k"], aggregates=[F.count().alias("n")])
DDL = "k STRING, window_start BIGINT, n BIGINT, op STRING, sequence BIGINT"


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with running() as database:
        yield database


def output(session: SparkSession, folder: Path, ddl: str = DDL, **fields: Any) -> SinkOutput:
    """Returns an output of a query, whose checkpoint is as Spark makes it."""
    (folder / "metadata").write_text(json.dumps({"id": str(folder)}), encoding="utf-8")
    schema = session.createDataFrame([], ddl).schema
    known: dict[str, Any] = {
        "name": "panes",
        "kind": "panes",
        "schema": schema,
        "spec": SPEC,
        "key": ("k", "window_start"),
        "sequence": "sequence",
        "op": "op",
        "session": session,
        "checkpoint": str(folder),
    }
    return SinkOutput(**(known | fields))


@dataclass(frozen=True)
class Query:
    """A sink with an output, as `write` calls it."""

    sink: PostgresSink
    output: SinkOutput

    def start(self) -> "Query":
        self.sink.check(self.output)
        self.sink.prepare(self.output)
        return self

    def write(self, batch_id: int, *rows: tuple[Any, ...]) -> None:
        """Writes rows, which are in the order of their sequence."""
        numbered = [(*row, batch_id * 1000 + number) for number, row in enumerate(rows)]
        frame = self.output.session.createDataFrame(numbered, self.output.schema)
        self.sink.write(frame, batch_id, self.output)


def test_results_replace_each_other(spark: SparkSession, database: Database, tmp_path: Path) -> None:
    """Rows of a key replace each other, or are deleted (semantics 49.40, 49.41, 49.44)."""
    sink = PostgresSink(database.dsn, "results", mode="upsert")
    query = Query(sink, output(spark, tmp_path)).start()
    query.write(0, ("a", 0, 1, "+"), ("a", 10, 1, "+"), (None, 0, 1, "+"), (None, None, 5, "+"))
    later = (
        ("a", 0, 1, "-"),
        ("a", 0, 2, "+"),
        ("a", 10, 1, "-"),
        (None, 0, 1, "-"),
        (None, None, 5, "-"),
        (None, None, 6, "+"),
        ("x", 0, 9, "-"),
    )
    for _ in range(2):
        query.write(1, *later)
    assert database.rows("SELECT k, window_start, n, sequence FROM results ORDER BY k") == [
        ("a", 0, 2, 1001),
        (None, None, 6, 1005),
    ]
    query.write(0, ("late", 0, 1, "+"))  # of a driver that is taken for dead
    assert database.rows("SELECT count(*) FROM results") == [(2,)]
    assert database.rows("SELECT target, batch FROM panewise_batches WHERE target = 'results'") == [
        ("results", 1)
    ]
    assert database.rows("SELECT count(*) FROM pg_class WHERE relname LIKE 'panewise_staging%'") == [(0,)]


def test_rows_are_added(spark: SparkSession, database: Database, tmp_path: Path) -> None:
    """Each once, and those of another checkpoint too (semantics 49.40)."""
    database.run("CREATE SCHEMA reports")
    sink = PostgresSink(database.dsn, 'reports.all "rows%"')
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        query = Query(sink, output(spark, tmp_path / name)).start()
        for _ in range(2):
            query.write(0, ("a", 0, 1, "+"), ("a", 0, 1, "-"))
    assert database.rows('SELECT n, op, count(*) FROM reports."all ""rows%""" GROUP BY 1, 2 ORDER BY 2') == [
        (1, "+", 2),
        (1, "-", 2),
    ]
    assert database.rows("SELECT count(DISTINCT query) FROM reports.panewise_batches") == [(2,)]


def test_a_task_that_runs_twice_counts_once(
    spark: SparkSession, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of an attempt whose result Spark did not take are not merged (semantics 49.44)."""

    class TwiceCopied(CopyRows):
        """A task whose first attempt was lost after it had copied its rows."""

        def __call__(self, batches: Any) -> Any:
            listed = list(batches)
            list(CopyRows.__call__(self, listed))
            yield from CopyRows.__call__(self, listed)

    monkeypatch.setattr("panewise.spark.sinks.postgres.CopyRows", TwiceCopied)
    Query(PostgresSink(database.dsn, "attempts"), output(spark, tmp_path)).start().write(0, ("a", 0, 1, "+"))
    assert database.rows("SELECT count(*) FROM attempts") == [(1,)]


def test_a_driver_that_is_taken_for_dead(
    spark: SparkSession, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on while the query is restarted, and the rows are there once (semantics 49.40, 49.44)."""
    query = Query(PostgresSink(database.dsn, "drivers"), output(spark, tmp_path)).start()
    copied, restarted = PostgresSink._copied, list[bool]()

    def then_restarted(self: PostgresSink, *arguments: Any) -> list[str]:
        attempts = copied(self, *arguments)
        if not restarted:
            restarted.append(True)
            query.write(0, ("a", 0, 1, "+"))  # of the restarted query, before the first driver merges
        return attempts

    monkeypatch.setattr(PostgresSink, "_copied", then_restarted)
    query.write(0, ("a", 0, 1, "+"))
    assert database.rows("SELECT count(*) FROM drivers") == [(1,)]
    assert database.rows("SELECT count(*) FROM pg_class WHERE relname LIKE 'panewise_staging%'") == [(0,)]
    first = Statements("drivers", {"n": "bigint"}, (), "a query", 0, "first")
    second = replace(first, attempt="second")
    database.run(first.make_staging())
    (drop,) = database.rows(second.leftovers())
    database.run(*drop)
    with pytest.raises(psycopg.errors.UndefinedTable):
        database.run(first.note_batch(), first.insert([]))
    assert not database.rows(first.is_written())


ALL_TYPES = """
SELECT true AS b, CAST(-1 AS TINYINT) AS i8, CAST(2 AS SMALLINT) AS i16, 3 AS i32, 4L AS i64,
  CAST('NaN' AS DOUBLE) AS f64, CAST(0.5 AS FLOAT) AS f32, CAST(1.25 AS DECIMAL(10, 2)) AS d,
  'tab\\t, \\\\ and \\'' AS s, X'00FF' AS y, DATE'2024-02-29' AS day,
  TIMESTAMP'2024-01-01 00:00:00.000001Z' AS t, TIMESTAMP_NTZ'2024-01-01 01:02:03' AS local,
  INTERVAL '1 02:03:04.5' DAY TO SECOND AS i, array(1, NULL) AS list, array('a', '{"') AS texts,
  named_struct('a', 1, 'b', CAST(NULL AS INT)) AS struct, map('k', array(1L)) AS map,
  CAST(NULL AS STRING) AS nothing, '' AS empty, array(array(1)) AS nested
"""


def test_all_types(spark: SparkSession, database: Database, tmp_path: Path) -> None:
    """See semantics 49.43."""
    frame = spark.sql(ALL_TYPES)
    fields = {"schema": frame.schema, "kind": "late", "name": "late", "op": None, "key": ()}
    query = Query(PostgresSink(database.dsn, "types"), output(spark, tmp_path, **fields)).start()
    query.sink.write(frame, 0, query.output)
    (row,) = database.rows("SELECT *, f64 = 'NaN' FROM types")
    assert row[:5] == (True, -1, 2, 3, 4)
    assert row[6:12] == (0.5, Decimal("1.25"), "tab\t, \\ and '", b"\x00\xff", date(2024, 2, 29), row[11])
    assert row[11] == datetime(2024, 1, 1, microsecond=1, tzinfo=UTC)
    assert row[12:14] == (datetime(2024, 1, 1, 1, 2, 3), timedelta(days=1, hours=2, minutes=3, seconds=4.5))  # noqa: DTZ001
    assert row[14:] == ([1, None], ["a", '{"'], {"a": 1, "b": None}, {"k": [1]}, None, "", [[1]], True)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("k text, n bigint, sequence bigint", 'column "window_start" of relation "there" does not exist'),
        (
            "k text, window_start bigint, n bigint, sequence bigint",
            "there is no unique or exclusion constraint",
        ),
        (
            "k text, window_start bigint, n date, sequence bigint, UNIQUE (k, window_start)",
            'column "n" is of type date',
        ),
    ],
)
def test_a_table_that_cannot_take_the_rows_is_refused(
    spark: SparkSession, database: Database, tmp_path: Path, table: str, message: str
) -> None:
    """Before the query starts (semantics 49.42)."""
    database.run("DROP TABLE IF EXISTS there", f"CREATE TABLE there ({table})")
    query = Query(PostgresSink(database.dsn, "there", mode="upsert"), output(spark, tmp_path))
    with pytest.raises(SpecError, match=message) as raised:
        query.start()
    assert "panewise@" not in str(raised.value)  # a dsn may have a password


@pytest.mark.parametrize(
    ("fields", "arguments", "message"),
    [
        (
            {"kind": "late"},
            {"mode": "upsert"},
            r"panes with mode='upsert' \| late rows, .* replace no others",
        ),
        ({"key": ()}, {"mode": "upsert"}, r"panes with mode='upsert' \| rows without .* \| give key="),
        (
            {},
            {"mode": "upsert", "key": ["op"]},
            r"panes with the key 'op' \| the columns are k, .* \| give names",
        ),
    ],
)
def test_outputs_that_have_no_results_are_refused(
    spark: SparkSession, tmp_path: Path, fields: dict[str, Any], arguments: dict[str, Any], message: str
) -> None:
    """See semantics 49.41."""
    with pytest.raises(SpecError, match=message):
        PostgresSink("", "t", **arguments).check(output(spark, tmp_path, **fields))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mode": "update"}, r"PostgresSink\(mode='update'\) \| a table is written with .* \| give one"),
        ({"key": ["k"]}, r"PostgresSink\(key=\['k'\]\) \| a table to which rows are only added needs no key"),
        ({"mode": "upsert", "key": "k"}, r"PostgresSink\(key='k'\) \| a key is a sequence"),
        ({"mode": "upsert", "key": ["k", "k"]}, r"PostgresSink\(key=\['k', 'k'\]\) \| a key is"),
        ({"table": "a.b.c"}, r"PostgresSink\(table='a.b.c'\) \| a table has a name"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        PostgresSink(**({"dsn": "", "table": "t"} | arguments))


@pytest.mark.nightly
@pytest.mark.parametrize("coordinate", POSTGRES[1:])
def test_the_oldest_server(spark: SparkSession, tmp_path: Path, coordinate: str) -> None:
    """PostgreSQL 15 is the first that takes null as a value of a key."""
    with running(coordinate) as old:
        test_results_replace_each_other(spark, old, tmp_path)
