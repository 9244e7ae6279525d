"""Restarts with other numbers of cores, shuffle partitions and shards, and after state was written twice."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.faults.conftest import Expected, some_files
from tests.faults.job import Asked, begin
from tests.faults.rounds import Job
from tests.faults.rounds_of import OFTEN_SNAPSHOTS
from tests.faults.sinks import Contents, check_same, contents

FILES = 4
SPEC = "tumbling-retracting"


@contextmanager
def partitions(spark: SparkSession, number: int) -> Iterator[None]:
    before = spark.conf.get("spark.sql.shuffle.partitions", "2")
    spark.conf.set("spark.sql.shuffle.partitions", str(number))
    try:
        yield
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", str(before))


class Stage:
    """A job in two halves, of which this process runs the first, and may run the second."""

    def __init__(self, spark: SparkSession, undisturbed: Expected, folder: Path) -> None:
        self.spark, self.folder, self.out = spark, folder, folder / "out"
        self.all, self.expected = undisturbed.in_halves(SPEC, FILES)

    def first(self, shards: str = "") -> None:
        source = some_files(self.all, self.folder / "in", FILES // 2)
        begin(self.spark, str(source), str(self.out), SPEC, Asked("never", shards)).awaitTermination()

    def second(self, shards: str = "") -> None:
        source = some_files(self.all, self.folder / "in", FILES)
        begin(self.spark, str(source), str(self.out), SPEC, Asked(shards=shards)).awaitTermination()

    def check(self) -> None:
        # The counts are left out, because they have a row for each shard. Other tests compare their sums.
        got, expected = without_numbers(contents(self.out, FILES)), without_numbers(self.expected)
        check_same(got, expected, "second half resumed")


def without_numbers(sinks: Contents) -> Contents:
    """Returns the rows without the numbers of their micro-batches, and leaves out the counts.

    The numbers depend on where runs end; the counts depend on the shards.
    """
    kept: Contents = {}
    for kind, rows in sinks.items():
        if kind != "counts":
            kept[kind] = Counter()
            for row, times in rows.items():
                kept[kind][row.split(" ", 2)[2]] += times
    return kept


@pytest.fixture
def stage(spark: SparkSession, undisturbed: Expected, tmp_path: Path) -> Stage:
    return Stage(spark, undisturbed, tmp_path)


@pytest.mark.soak
def test_fewer_cores(stage: Stage) -> None:
    """By default the number of shards is that of the shuffle partitions, not that of the cores."""
    stage.first()
    some_files(stage.all, stage.folder / "in", FILES)
    Job(stage.folder, stage.folder / "in", SPEC, "local[1]", {"spark.default.parallelism": "1"}).run()
    stage.check()


@pytest.mark.nightly
@pytest.mark.parametrize("shards", [pytest.param("", marks=pytest.mark.soak), "3"])
def test_other_shuffle_partitions(stage: Stage, shards: str) -> None:
    """Spark keeps the checkpoint's number of partitions, and panewise its number of shards, given or not."""
    stage.first(shards)
    with partitions(stage.spark, 5):
        stage.second(shards)
    stage.check()


@pytest.mark.soak
def test_a_snapshot_of_a_micro_batch_that_was_repeated(undisturbed: Expected, tmp_path: Path) -> None:
    """A sink fails after its micro-batch's snapshot is stored; the repeated batch writes only a change log.

    A later restart loads the snapshot of the first attempt and the change logs since the second. Spark relies
    on both attempts having written the same state.
    """
    source, expected = undisturbed.in_halves(SPEC, FILES)
    first = some_files(source, tmp_path / "in", FILES // 2)
    snapshots = OFTEN_SNAPSHOTS | {"spark.sql.streaming.stateStore.minDeltasForSnapshot": "1"}
    with pytest.raises(AssertionError, match="the sink fails after the snapshots"):
        Job(tmp_path, first, SPEC, settings={**snapshots, "job.finish": "never", "job.fails_at": "1"}).run()
    Job(tmp_path, first, SPEC, settings={"job.finish": "never"}).run()
    Job(tmp_path, some_files(source, tmp_path / "in", FILES), SPEC).run()
    check_same(without_numbers(contents(tmp_path / "out", FILES)), without_numbers(expected), "")
