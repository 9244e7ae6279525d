"""Tables of a real PostgreSQL server (semantics 49.40 to 49.44)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import psycopg
import pytest
from pyspark.sql import SparkSession

import panewise as pw
from panewise import SetupError, SpecError, StateError
from panewise import functions as F
from panewise.spark import PostgresSink
from panewise.spark.sinks.base import BoundSink, SinkOutput
from panewise.spark.sinks.places import check_tables
from panewise.spark.sinks.postgres_copy import CopyRows
from panewise.spark.sinks.postgres_statements import Statements
from panewise.spark.sinks.postgres_table import prepare_table
from panewise.spark.sinks.preparation import prepare_batch
from panewise.spark.sinks.table_modes import TableMode
from panewise.spec.conditions.text import in_backticks
from tests.connectors.database import Database, running
from tests.connectors.jars import POSTGRES

SPEC = pw.WindowOperator(window=pw.Tumbling(10), keys=["k"], aggregates=[F.count().alias("n")])
STAGING = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'panewise_staging%'"
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
    assert database.rows("SELECT target, batch FROM panewise_batches WHERE target LIKE 'results%'") == [
        ("results panes", 1)
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

    def then_restarted(self: PostgresSink, *arguments: Any) -> dict[str, int]:
        attempts = copied(self, *arguments)
        if not restarted:
            restarted.append(True)
            query.write(0, ("a", 0, 1, "+"))  # of the restarted query, before the first driver merges
        return attempts

    monkeypatch.setattr(PostgresSink, "_copied", then_restarted)
    query.write(0, ("a", 0, 1, "+"))
    assert database.rows("SELECT count(*) FROM drivers") == [(1,)]
    assert database.rows("SELECT count(*) FROM pg_class WHERE relname LIKE 'panewise_staging%'") == [(0,)]
    first = Statements("drivers", {"n": "bigint"}, (), "a query", 0, "first", "panes")
    second = replace(first, attempt="second")
    database.run(first.make_staging())
    (drop,) = database.rows(second.leftovers())
    database.run(*drop)
    with pytest.raises(psycopg.errors.UndefinedTable):
        database.run(first.note_batch(), first.insert([]))
    assert not database.rows(first.is_written())


def test_a_crash_of_the_server_between_copying_and_merging(
    spark: SparkSession, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It empties the staging table; the micro-batch is then repeated (semantics 49.44)."""
    query = Query(PostgresSink(database.dsn, "crashes"), output(spark, tmp_path)).start()
    copied = PostgresSink._copied

    def then_emptied(self: PostgresSink, rows: Any, statements: Statements, *more: Any) -> dict[str, int]:
        attempts = copied(self, rows, statements, *more)
        database.run(f"TRUNCATE {statements.staging}")
        return attempts

    monkeypatch.setattr(PostgresSink, "_copied", then_emptied)
    with pytest.raises(StateError, match=r"^0 of 2 rows in .* \| .* a crash of the server .* \| start the"):
        query.write(0, ("a", 0, 1, "+"), ("b", 0, 1, "+"))
    monkeypatch.undo()
    query.write(0, ("a", 0, 1, "+"), ("b", 0, 1, "+"))
    assert database.rows("SELECT count(*) FROM crashes") == [(2,)]


def test_two_spellings_of_one_table(spark: SparkSession, database: Database, tmp_path: Path) -> None:
    """They are refused as two outputs of a query (semantics 49.50)."""
    other = f"{database.dsn}?application_name=other"
    tables = (
        (database.dsn, "spelled", "panes"),
        (other, "public.spelled", "late"),
        (other, "apart", "invalid"),
    )
    sinks = {
        name: BoundSink(PostgresSink(dsn, table), output(spark, tmp_path, name=name))
        for dsn, table, name in tables
    }
    with pytest.raises(
        SpecError, match=r"panes and late with the sink .* \| two outputs of a query have one"
    ):
        prepare_batch(spark, sinks)
    for name in ("panes", "invalid"):
        Query(sinks[name].sink, sinks[name].output).start().write(0, (name, 0, 1, "+"))  # type: ignore[arg-type]
    check_tables({name: sinks[name] for name in ("panes", "invalid")})
    assert database.rows("SELECT count(*) FROM spelled") == [(1,)]


def test_what_failed_attempts_leave(
    spark: SparkSession, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failing attempt drops its staging table, the next one what a killed one left (semantics 49.52)."""
    sink = PostgresSink(database.dsn, "leaving")
    batch = Query(sink, output(spark, tmp_path, checkpoint=None)).start()

    def failing(*arguments: Any) -> dict[str, int]:
        raise RuntimeError("a task fails")

    with monkeypatch.context() as patched:
        patched.setattr(PostgresSink, "_copied", failing)
        with pytest.raises(RuntimeError, match="a task fails"):
            batch.write(0, ("a", 0, 1, "+"))
    assert staging(database) == []
    killed, used, other = (
        Statements(table, {"n": "bigint"}, (), None, 0, attempt, "panes")
        for table, attempt in (("leaving", "killed"), ("leaving", "used"), ("kept", "killed"))
    )
    database.run(*(statements.make_staging() for statements in (killed, used, other)))
    with psycopg.connect(database.dsn) as connection:
        connection.execute(b"SET idle_in_transaction_session_timeout = '1h'")
        connection.execute(used.lock().encode())
        assert connection.execute(b"SHOW idle_in_transaction_session_timeout").fetchone() == ("0",)
        batch.write(0, ("a", 0, 1, "+"))
        assert staging(database) == sorted(each.staging.strip('"') for each in (used, other))
    database.run(*(statements.drop_staging() for statements in (used, other)))


def staging(database: Database) -> list[str]:
    """Returns the names of all staging tables."""
    return [name for (name,) in database.rows(f"{STAGING} ORDER BY relname")]


def test_a_table_of_another_schema_of_the_search_path(
    spark: SparkSession, database: Database, tmp_path: Path
) -> None:
    """It is the table; no other is created in the first schema (semantics 49.42)."""
    database.run("CREATE SCHEMA nearer", "CREATE TABLE farther (k text, window_start bigint, n bigint)")
    database.run("ALTER TABLE farther ADD op text, ADD sequence bigint")
    sink = PostgresSink(f"{database.dsn}?options=-csearch_path%3Dnearer,public", "farther")
    Query(sink, output(spark, tmp_path)).start().write(0, ("a", 0, 1, "+"))
    assert database.rows("SELECT count(*) FROM public.farther") == [(1,)]


ALL_TYPES = """
SELECT true AS b, CAST(-1 AS TINYINT) AS i8, CAST(2 AS SMALLINT) AS i16, 3 AS i32, 4L AS i64,
  CAST('NaN' AS DOUBLE) AS f64, CAST(0.5 AS FLOAT) AS f32, CAST(1.25 AS DECIMAL(10, 2)) AS d,
  'tab\\t, \\\\ and \\'' AS s, X'00FF' AS y, DATE'2024-02-29' AS day,
  TIMESTAMP'2024-01-01 00:00:00.000001Z' AS t, TIMESTAMP_NTZ'2024-01-01 01:02:03' AS local,
  INTERVAL '1 02:03:04.5' DAY TO SECOND AS i, array(1, NULL) AS list, array('a', '{"') AS texts,
  named_struct('a', 1, 'b', CAST(NULL AS INT)) AS struct, map('k', array(1L)) AS map,
  named_struct('at', TIMESTAMP'2024-01-01 00:00:00.000001Z') AS inner,
  CAST(NULL AS STRING) AS nothing, '' AS empty, array(array(1)) AS nested
"""
INNER = {"at": "2024-01-01T00:00:00.000001Z"}


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
    assert row[14:] == ([1, None], ["a", '{"'], {"a": 1, "b": None}, {"k": [1]}, INNER, None, "", [[1]], True)


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
        (
            "k text, window_start bigint, n integer, sequence bigint, PRIMARY KEY (k, window_start)",
            r"the rows have n bigint, and the table has integer there \| change the table",
        ),
        (
            (
                "k text, window_start bigint, n bigint, sequence bigint, z int NOT NULL, "
                "UNIQUE (k, window_start)"
            ),
            r"the rows have no column z, which is NOT NULL and has no default .* \| change the table",
        ),
        (
            "k text, window_start bigint, n bigint, sequence bigint, UNIQUE (k, window_start)",
            r"to its unique index nulls are different \| make the index NULLS NOT DISTINCT",
        ),
    ],
)
def test_a_table_that_cannot_take_the_rows_is_refused(
    spark: SparkSession, database: Database, tmp_path: Path, table: str, message: str
) -> None:
    """Before the query starts (semantics 49.42, 49.54)."""
    database.run("DROP TABLE IF EXISTS there", f"CREATE TABLE there ({table})")
    query = Query(PostgresSink(database.dsn, "there", mode="upsert"), output(spark, tmp_path))
    with pytest.raises(SpecError, match=message) as raised:
        query.start()
    assert "panewise@" not in str(raised.value)  # a dsn may have a password


@pytest.mark.parametrize("mode", ["append", "upsert"])
@pytest.mark.parametrize(
    ("made", "kind"),
    [
        ("VIEW {} AS SELECT * FROM shown", "a view"),
        ("MATERIALIZED VIEW {} AS SELECT * FROM shown", "a materialized view"),
        ("SEQUENCE {}", "a sequence"),
        ("INDEX {} ON shown (k)", "no table"),
    ],
)
def test_what_is_no_table_is_refused(
    spark: SparkSession, database: Database, tmp_path: Path, made: str, kind: str, mode: TableMode
) -> None:
    """Before the query starts, although PostgreSQL can insert into a view (semantics 49.63)."""
    columns = "k text, window_start bigint, n bigint, op text, sequence bigint, UNIQUE (k, window_start)"
    name = f"no_{kind.replace(' ', '_')}_{mode}"
    database.run(f"CREATE TABLE IF NOT EXISTS shown ({columns})", f"CREATE {made.format(name)}")
    query = Query(PostgresSink(database.dsn, name, mode), output(spark, tmp_path))
    message = f"writes to a table of the server, and this is {kind} .* \\| give the table from which its rows"
    with pytest.raises(SpecError, match=message):
        query.start()


def test_a_partitioned_table_takes_rows(spark: SparkSession, database: Database, tmp_path: Path) -> None:
    """semantics 49.63"""
    columns = "k text, window_start bigint NOT NULL, n bigint, op text, sequence bigint"
    database.run(
        f"CREATE TABLE parted ({columns}) PARTITION BY RANGE (window_start)",
        "CREATE TABLE parted_0 PARTITION OF parted FOR VALUES FROM (0) TO (10)",
    )
    Query(PostgresSink(database.dsn, "parted"), output(spark, tmp_path)).start().write(0, ("a", 0, 1, "+"))
    assert database.rows("SELECT count(*) FROM parted") == [(1,)]


@pytest.mark.parametrize(
    "key", ["PRIMARY KEY (window_start, k)", "UNIQUE NULLS NOT DISTINCT (k, window_start) INCLUDE (n)"]
)
def test_a_table_that_can_take_the_rows(
    spark: SparkSession, database: Database, tmp_path: Path, key: str
) -> None:
    """Nulls of its key are equal, or refused (semantics 49.42)."""
    columns = "k text, window_start bigint, n bigint, sequence bigint, more text"
    database.run("DROP TABLE IF EXISTS taking", f"CREATE TABLE taking ({columns}, {key})")
    query = Query(PostgresSink(database.dsn, "taking", mode="upsert"), output(spark, tmp_path)).start()
    query.write(0, ("a", 0, 1, "+"))
    query.write(1, ("a", 0, 2, "+"))
    assert database.rows("SELECT k, n FROM taking") == [("a", 2)]


def test_a_table_that_fills_its_own_columns(spark: SparkSession, database: Database, tmp_path: Path) -> None:
    """By defaults, identities, domains and triggers (semantics 49.42, 49.54)."""
    columns = (
        "k text, window_start bigint, n bigint, op text, sequence bigint, one int NOT NULL DEFAULT 1, "
        "number bigint NOT NULL GENERATED ALWAYS AS IDENTITY, "
        "twice bigint NOT NULL GENERATED ALWAYS AS (2 * n) STORED"
    )
    database.run(
        "CREATE DOMAIN two AS int DEFAULT 2",
        f"CREATE TABLE filled ({columns}, two two NOT NULL)",
        "CREATE TABLE filled_by_a_trigger (LIKE filled INCLUDING ALL, late boolean NOT NULL)",
        "CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN NEW.late = false; RETURN NEW; END'",
        "CREATE TRIGGER filling BEFORE INSERT ON filled_by_a_trigger FOR EACH ROW EXECUTE FUNCTION fill()",
    )
    for table in ("filled", "filled_by_a_trigger"):
        query = Query(PostgresSink(database.dsn, table), output(spark, tmp_path)).start()
        query.write(0, ("a", 0, 3, "+"))
        assert database.rows(f"SELECT one, number, twice, two FROM {table}") == [(1, 1, 6, 2)]


ODD_NAMES = [
    "a.b",
    "a`b",
    "*",
    'a"b',
    "User",
    "end",
    "__attempt",
    "__deleted",
    "last",
    "column_1",
    "__operation",
]


@pytest.mark.parametrize("mode", ["append", "upsert"])
def test_any_name_of_a_column(spark: SparkSession, database: Database, tmp_path: Path, mode: Any) -> None:
    """Names with dots, backticks and quotes, and those of the sink's own columns (semantics 49.40, 49.41)."""
    ddl = ", ".join(f"{in_backticks(name)} STRING" for name in ODD_NAMES)
    fields = {"ddl": f"{ddl}, op STRING, sequence BIGINT", "key": tuple(ODD_NAMES)}
    sink = PostgresSink(database.dsn, f"odd_names_{mode}", mode=mode)
    query = Query(sink, output(spark, tmp_path, **fields)).start()
    query.write(0, (*"abcdefghijk", "+"), (*"lmnopqrstuv", "+"))
    query.write(1, (*"lmnopqrstuv", "-"))
    rows = database.rows(f"SELECT * FROM odd_names_{mode} ORDER BY sequence")
    written = [(*"abcdefghijk", "+", 0), (*"lmnopqrstuv", "+", 1), (*"lmnopqrstuv", "-", 1000)]
    assert rows == (written if mode == "append" else [(*"abcdefghijk", 0)])


def test_a_name_that_the_server_refuses(spark: SparkSession, database: Database, tmp_path: Path) -> None:
    query = Query(PostgresSink(database.dsn, "odd"), output(spark, tmp_path, ddl="xmin STRING"))
    with pytest.raises(SpecError, match=r"conflicts with a system column name \| .* another name"):
        query.start()


@pytest.mark.parametrize(
    ("sink", "error", "message"),
    [
        (
            PostgresSink("postgresql://u:secret@127.0.0.1:1/x", "t"),
            SetupError,
            r"cannot be reached: .* \| start the server",
        ),
        (PostgresSink("secret", "t"), SpecError, r"\| a dsn is a URL .* \| give one"),
        (
            PostgresSink("", "missing.t"),
            SpecError,
            r"cannot be made: schema .* does not exist \| create the schema",
        ),
    ],
)
def test_a_database_that_cannot_be_written(
    spark: SparkSession,
    database: Database,
    tmp_path: Path,
    sink: PostgresSink,
    error: type[Exception],
    message: str,
) -> None:
    """Errors say what to do, and do not show the dsn (semantics 49.42)."""
    sink = sink if sink.dsn else replace(sink, dsn=database.dsn)
    with pytest.raises(error, match=message) as raised:
        Query(sink, output(spark, tmp_path)).start()
    assert "secret" not in str(raised.value)


def test_an_older_server_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """See semantics 49.42."""
    connection = MagicMock()
    connection.info.server_version = 140012
    connection.__exit__.return_value = None
    monkeypatch.setattr(psycopg, "connect", lambda dsn: connection)
    statements = Statements("t", {"n": "bigint"}, (), None, 0, "first", "panes")
    with pytest.raises(SetupError, match=r"^t \| .* 15 or newer, and the server has 14 \| write to a newer"):
        prepare_table("", statements, "t")


@pytest.mark.parametrize(
    ("fields", "arguments", "message"),
    [
        (
            {"kind": "late"},
            {"mode": "upsert"},
            r"panes with mode='upsert' \| late rows, .* are only appended",
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
