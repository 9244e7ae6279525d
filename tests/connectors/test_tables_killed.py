"""Tables after kill -9 of the driver and of workers are those of a run without faults, row by row.

In each round of `make soak` one query writes all kinds of tables. The number of a round and the seed repeat
it.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

from panewise.spark import MemorySink, apply
from tests.campaigns import seed_of
from tests.connectors.database import Database, running
from tests.connectors.jars import DELTA, jars
from tests.faults.conftest import Expected
from tests.faults.rounds import Job, Plan
from tests.faults.rounds_of import played
from tests.faults.specs import ALL
from tests.faults.stream_files import DDL

pytestmark = [pytest.mark.soak, pytest.mark.rounds]

FILES, ROUNDS = 6, 64
SPECS = ("tumbling-retracting", "session-retracting")
KEY = ("k", "window_start", "window_end")
LEFT_OUT = ("processing_time",)  # differs from run to run


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with running() as database:
        yield database


@pytest.mark.parametrize("number", range(ROUNDS))
def test_tables_after_kills(
    tmp_path: Path, undisturbed: Expected, database: Database, record_property: Any, number: int
) -> None:
    """Every table has the rows of a run without faults (semantics 49.40, 49.41, 49.44, 49.46)."""
    database.run("DROP TABLE IF EXISTS current, everything, panewise_batches")
    spec = SPECS[number % 2]
    job = Job(
        tmp_path,
        undisturbed.source((1,) * FILES),
        spec,
        "local[2,4]" if number % 4 > 1 else "local[2]",
        {"job.dsn": database.dsn, "spark.jars": ",".join(map(str, jars(DELTA)))},
        module="tests.connectors.tables_job",
    )
    plan = Plan(
        seed_of(number), "worker" if number % 4 > 1 else "driver", FILES, kills=1 + number % 3, delay=4
    )
    story = played(job, plan, record_property)
    panes = panes_of(undisturbed, spec, job.cuts())
    check(lines(panes), lines(_copy(job.out / "delta_all-copy")), ["Delta", *story])
    check(lines(panes), lines(_copy(job.out / "files-copy")), ["Parquet", *story])
    check(lines(panes), lines(stored(database, "everything")), ["PostgreSQL", *story])
    current = lines(results(panes))
    check(current, lines(_copy(job.out / "delta_current-copy")), ["Delta", *story])
    check(current, lines(stored(database, "current")), ["PostgreSQL", *story])
    assert database.rows("SELECT count(*) FROM pg_class WHERE relname LIKE 'panewise_staging%'") == [(0,)]


def test_results_are_the_answer_of_the_batch(spark: SparkSession, undisturbed: Expected) -> None:
    """What the tables are compared with is what a batch of the rows that were not late has."""
    cuts = (1,) * FILES
    late = pl.read_parquet(undisturbed.folder(SPECS[0], cuts) / "late/batch_id=*/part-*.parquet")
    batch = spark.read.schema(DDL).parquet(str(undisturbed.source(cuts)))
    if len(late):
        batch = batch.exceptAll(
            spark.createDataFrame(late.select("row").unnest("row").to_arrow()).to(batch.schema)
        )
    answer = MemorySink()
    result: Any = apply(batch, ALL[SPECS[0]])
    result.write(panes=answer)
    columns = [*KEY, "n", "s"]
    expected = results(pl.DataFrame(answer.table())).select(columns)  # it has early panes, too
    check(lines(expected), lines(results(panes_of(undisturbed, SPECS[0], cuts)).select(columns)), [])


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


def _copy(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "part-*.parquet", hive_partitioning=False)


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
