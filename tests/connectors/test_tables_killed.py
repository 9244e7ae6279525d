"""A kill -9 hits queries with tables of every kind, and each table has afterwards what it has without faults.

Each round has a query for each table of `TABLES` and each of `SPECS`. Its number and the seed repeat it.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

from panewise.spark import MemorySink, apply
from tests.campaigns import seed_of
from tests.connectors.broker import Broker
from tests.connectors.database import Database, running
from tests.connectors.jars import DELTA, KAFKA_CONNECTOR, jars
from tests.connectors.tables_job import TABLES, stored_as
from tests.faults.conftest import Expected
from tests.faults.rounds import cuts_of
from tests.faults.specs import ALL
from tests.faults.stream_files import DDL
from tests.faults.test_together import FILES, Round, python
from tests.faults.together import every_difference, play_together, record

__all__ = ["python"]

pytestmark = [pytest.mark.soak, pytest.mark.rounds]

KEY = ("k", "window_start", "window_end")
LEFT_OUT = ("processing_time",)  # differs from run to run

ROUNDS = 8
SPECS = ("cumulating-retracting", "hopping-retracting", "session-retracting", "tumbling-retracting")
DISJOINT = ("session-retracting", "tumbling-retracting")  # specifications whose windows do not overlap
NAMES = tuple(f"{table}.{spec}" for table in TABLES for spec in SPECS)


@dataclass(frozen=True)
class Servers:
    """The servers that the tables are on."""

    database: Database
    broker: Broker


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with running() as database:
        yield database


@pytest.fixture
def servers(database: Database, tmp_path: Path) -> Iterator[Servers]:
    """Yields a new broker, and a database without the tables."""
    database.run(f"DROP TABLE IF EXISTS {', '.join(map(stored_as, NAMES))}, panewise_batches")
    with Broker(tmp_path / "broker", 2).running() as broker:
        yield Servers(database, broker)


@pytest.mark.parametrize("number", range(ROUNDS))
def test_rounds_of_tables(
    tmp_path: Path,
    undisturbed: Expected,
    servers: Servers,
    python: str,
    record_property: Any,
    number: int,
) -> None:
    """semantics 49.16, 49.40, 49.41, 49.44, 49.46"""
    chosen = Round(NAMES, FILES, seed_of(number), number)
    source, database = undisturbed.source((1,) * FILES), servers.database
    job = chosen.job(tmp_path, source, python, dsn=database.dsn, broker=servers.broker.address)
    job.module = "tests.connectors.tables_job"
    job.settings = {**job.settings, "spark.jars": ",".join(map(str, [*jars(DELTA), *jars(KAFKA_CONNECTOR)]))}
    outcome = play_together(job, chosen.kills)
    cuts = {name: cuts_of(job.query(name) / "checkpoint") for name in NAMES}
    undisturbed.prepare((name.partition(".")[2], of) for name, of in cuts.items())
    with every_difference() as compare:
        for name, of in cuts.items():
            with compare(name):
                panes = panes_of(undisturbed, name.partition(".")[2], of)
                check_table(panes, job.query(name), database, outcome.story)
    assert database.rows("SELECT count(*) FROM pg_class WHERE relname LIKE 'panewise_staging%'") == [(0,)]
    record(record_property, outcome, chosen.kills, lambda name: name.partition(".")[0])


def check_table(panes: pl.DataFrame, folder: Path, database: Database, story: list[str]) -> None:
    """Checks that a table has the rows of a run without faults."""
    kind, _, mode = folder.name.partition(".")[0].partition("-")
    expected = results(panes) if mode == "upsert" else panes
    if kind == "kafka":
        check(_values(expected), _records(folder / "copy", mode), [folder.name, *story])
        return
    table = stored(database, stored_as(folder.name)) if kind == "postgres" else _copy(folder / "copy")
    check(lines(expected), lines(table), [folder.name, *story])


def _copy(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "part-*.parquet", hive_partitioning=False)


def _records(folder: Path, mode: str) -> Counter[str]:
    """Returns the records of a topic as a reader sees them, who leaves out what was written again (49.10).

    In upsert mode they are the last records of the keys, without tombstones.
    """
    last: dict[bytes, int] = {}
    records, table = list[dict[str, Any]](), dict[bytes, Any]()
    for row in _copy(folder).sort("partition", "offset").iter_rows(named=True):
        sequence = int(next(one["value"] for one in row["headers"] if one["key"] == "sequence"))
        value = None if row["value"] is None else json.loads(row["value"])
        table[row["key"]] = value
        if sequence > last.get(row["key"], -1):
            last[row["key"]] = sequence
            records.append(value)
    kept = [one for one in table.values() if one is not None] if mode == "upsert" else records
    return Counter(str([one["k"], *(one[name][:19] for name in KEY[1:]), one["n"], one["s"]]) for one in kept)


def _values(panes: pl.DataFrame) -> Counter[str]:
    rows = panes.iter_rows(named=True)
    return Counter(
        str([row["k"], *(row[name].isoformat()[:19] for name in KEY[1:]), row["n"], row["s"]]) for row in rows
    )


@pytest.mark.parametrize("spec", DISJOINT)
def test_results_are_the_answer_of_the_batch(spark: SparkSession, undisturbed: Expected, spec: str) -> None:
    """What the tables are compared with is what a batch of the rows that were not late has.

    Where windows overlap there is no such batch: a row can be late for one of its windows only.
    """
    cuts = (1,) * FILES
    late = pl.read_parquet(undisturbed.folder(spec, cuts) / "late/batch_id=*/part-*.parquet")
    batch = spark.read.schema(DDL).parquet(str(undisturbed.source(cuts)))
    if len(late):
        batch = batch.exceptAll(
            spark.createDataFrame(late.select("row").unnest("row").to_arrow()).to(batch.schema)
        )
    answer = MemorySink()
    result: Any = apply(batch, ALL[spec])
    result.write(panes=answer)
    columns = [*KEY, "n", "s"]
    expected = results(pl.DataFrame(answer.table())).select(columns)  # it has early panes, too
    check(lines(expected), lines(results(panes_of(undisturbed, spec, cuts)).select(columns)), [])


def panes_of(undisturbed: Expected, spec: str, cuts: tuple[int, ...]) -> pl.DataFrame:
    """Returns all panes of a run without faults, in the order of their micro-batches."""
    folders = undisturbed.folder(spec, cuts).glob("panes/batch_id=*")
    ordered = sorted(folders, key=lambda folder: int(folder.name.removeprefix("batch_id=")))
    paths = [path for folder in ordered for path in sorted(folder.glob("part-*.parquet"))]
    return pl.concat([pl.read_parquet(path, hive_partitioning=False) for path in paths])


def results(panes: pl.DataFrame) -> pl.DataFrame:
    """Returns the last pane of each window, unless it is a retraction."""
    last = {tuple(row[name] for name in KEY): row for row in panes.iter_rows(named=True)}
    rows = [row for row in last.values() if row["op"] == "+"]
    return pl.DataFrame(rows, schema=panes.schema).drop("op")


def stored(database: Database, table: str) -> pl.DataFrame:
    names = f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}'"
    columns = [name for (name,) in database.rows(f"{names} ORDER BY ordinal_position")]
    rows = [dict(zip(columns, row, strict=True)) for row in database.rows(f"SELECT * FROM {table}")]
    return pl.DataFrame(rows, infer_schema_length=None)


def lines(frame: pl.DataFrame) -> Counter[str]:
    """Returns the rows as texts, with columns in the order of their names."""
    columns = sorted({*frame.columns} - {*LEFT_OUT})
    micros = [pl.col(pl.Datetime).dt.cast_time_unit("us").dt.convert_time_zone("UTC")]
    return Counter(str(row) for row in frame.with_columns(micros).select(columns).iter_rows(named=True))


def check(expected: Counter[str], actual: Counter[str], story: list[str]) -> None:
    missing, surplus = expected - actual, actual - expected
    shown = "\n".join(
        [*(f"- {row}" for row in sorted(missing)[:5]), *(f"+ {row}" for row in sorted(surplus)[:5])]
    )
    assert not missing, f"{missing.total()} missing, {surplus.total()} too many\n{shown}\n{story}"
    assert not surplus, f"{surplus.total()} too many\n{shown}\n{story}"
