"""A query is killed while its state is exported and imported, or while it takes over a changed specification.

After restarts its sinks have what they have without faults, and the results are those of a batch.
`make rounds` plays such rounds for all operators (test_together.py).
"""

from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl
import pytest
from pyspark.sql import SparkSession

from panewise.spark import MemorySink, apply
from tests.campaigns import seed_of
from tests.faults.conftest import Expected, without_slow_starts
from tests.faults.moved_job import BEGINS, ENDED, FIRST, SECOND, STATE, Way, run
from tests.faults.rounds import Job, Plan, cuts_of
from tests.faults.rounds_of import played
from tests.faults.sinks import Contents, check_same, contents
from tests.faults.specs import ALL
from tests.faults.stream_files import DDL
from tests.faults.test_restarts import without_numbers

FILES = 6
HALF = FILES // 2
STEPS = FILES + 4  # moments of a kill: micro-batches, also those without rows, and steps between both parts
KEY = ("k", "window_start", "window_end")
Cuts: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass
class MovedJob(Job):
    """A job in two parts."""

    module: str = "tests.faults.moved_job"

    def commits(self) -> int:
        """Returns how many steps are done: micro-batches, and marks between the parts."""
        batches = self.out.glob("*/checkpoint/commits/[0-9]*")
        return len(list(batches)) + sum((self.out / mark).exists() for mark in (ENDED, STATE, BEGINS))


def both_cuts(out: Path) -> Cuts:
    """Returns the number of files of each micro-batch with data, of both parts."""
    first, second = (cuts_of(out / part / "checkpoint") for part in (FIRST, SECOND))
    if second:
        return first, second
    ends = [sum(first[: place + 1]) for place in range(len(first))]
    place = ends.index(HALF) + 1
    return first[:place], first[place:]


def sinks(out: Path) -> Contents:
    """Returns the rows of both parts."""
    both: Contents = {}
    for part in (FIRST, SECOND):
        if (out / part).exists():
            for kind, rows in without_numbers(contents(out / part, FILES)).items():
                both[kind] = both.get(kind, Counter()) + rows
    return both


class InParts:
    """Runs of both parts without faults, each once, with these numbers of files in their micro-batches."""

    def __init__(self, spark: SparkSession, undisturbed: Expected, factory: pytest.TempPathFactory) -> None:
        self._spark, self.undisturbed, self._factory = spark, undisturbed, factory
        self._folders: dict[Any, Path] = {}

    def prepare(self, runs: Iterable[tuple[str, Way, Cuts]]) -> None:
        """Makes several runs that are missing, some at the same time."""
        missing = [run for run in dict.fromkeys(runs) if run not in self._folders]
        for _, _, (first, second) in missing:
            self.undisturbed.source(first + second)
        with ThreadPoolExecutor(4) as threads:
            for done in [threads.submit(self, *run) for run in missing]:
                done.result()

    def __call__(self, name: str, way: Way, cuts: Cuts) -> Path:
        """Returns the folder of a run."""
        key = (name, way, cuts)
        if key not in self._folders:
            out, source = (
                self._factory.mktemp("parts") / name,
                str(self.undisturbed.source(cuts[0] + cuts[1])),
            )
            without_slow_starts(out, lambda: run(self._spark, source, str(out), name, way, len(cuts[0])))
            self._folders[key] = out
        return self._folders[key]


@pytest.fixture(scope="session")
def in_parts(spark: SparkSession, undisturbed: Expected, tmp_path_factory: pytest.TempPathFactory) -> InParts:
    return InParts(spark, undisturbed, tmp_path_factory)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("way", "name"), [("moved", "session-retracting"), ("changed", "tumbling-accumulating")]
)
def test_the_driver_is_killed_between_the_parts(
    spark: SparkSession, in_parts: InParts, tmp_path: Path, record_property: Any, way: Way, name: str
) -> None:
    """The results are those of a batch (semantics 33, 47.9, 48.9)."""
    settings = {"job.way": way, "job.first": str(HALF), "job.checkpoints": "local"}
    job = MovedJob(tmp_path, in_parts.undisturbed.source((1,) * FILES), name, "local[2]", settings)
    story = played(job, Plan(seed_of(2), "driver", STEPS, kills=2, delay=1), record_property)
    assert any("killed" in line for line in story), story
    check_same(sinks(job.out), sinks(in_parts(name, way, both_cuts(job.out))), [*story, both_cuts(job.out)])
    assert results(_rows(job.out, "panes")) == answer(spark, in_parts.undisturbed, job.out, name)


def answer(spark: SparkSession, undisturbed: Expected, out: Path, name: str) -> Counter[str]:
    """Returns the results of a batch of the rows that were not late."""
    late = _rows(out, "late")
    batch = spark.read.schema(DDL).parquet(str(undisturbed.source((1,) * FILES)))
    if len(late):
        rows = spark.createDataFrame(late.select("row").unnest("row").to_arrow()).to(batch.schema)
        batch = batch.exceptAll(rows)
    sink = MemorySink()
    result: Any = apply(batch, ALL[name])
    result.write(panes=sink)
    return results(pl.DataFrame(sink.table()))


def results(panes: pl.DataFrame) -> Counter[str]:
    """Returns the last pane of each window, unless it is a retraction."""
    last = {tuple(row[name] for name in KEY): row for row in panes.iter_rows(named=True)}
    rows = (row for row in last.values() if row.get("op", "+") == "+")
    return Counter(str([*(str(row[name])[:19] for name in KEY), row["n"], row["s"]]) for row in rows)


def _rows(out: Path, kind: str) -> pl.DataFrame:
    """Returns the rows of an output, in the order of their micro-batches."""
    frames = []
    for part in (FIRST, SECOND):
        folders = (out / part / kind).glob("batch_id=*")
        for folder in sorted(folders, key=lambda folder: int(folder.name.removeprefix("batch_id="))):
            frames += [
                pl.read_parquet(path, hive_partitioning=False) for path in sorted(folder.glob("part-*"))
            ]
    return pl.concat(frames, how="diagonal")
