"""A kill -9 hits queries with tables of every kind, and each table has afterwards what it has without faults.

Each round has two queries for each kind of table. The number of a round and the seed repeat it.
"""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.campaigns import seed_of
from tests.connectors.broker import Broker
from tests.connectors.database import Database, running
from tests.connectors.jars import DELTA, KAFKA_CONNECTOR, jars
from tests.connectors.test_tables_killed import KEY, check, lines, panes_of, results, stored
from tests.connectors.together_tables_job import TABLES, stored_as
from tests.faults.conftest import Expected
from tests.faults.rounds import cuts_of
from tests.faults.test_together import FILES, Round, python
from tests.faults.together import every_difference, play_together, record

__all__ = ["python"]

pytestmark = [pytest.mark.soak, pytest.mark.rounds]

ROUNDS = 12
SPECS = ("session-retracting", "tumbling-retracting")
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
    job.module = "tests.connectors.together_tables_job"
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
