"""A query that resumes from damaged state fails or recovers; it never writes a wrong row."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from tests.faults.conftest import Expected, some_files
from tests.faults.rounds import Job
from tests.faults.rounds_of import OFTEN_SNAPSHOTS
from tests.faults.sinks import contents
from tests.faults.test_restarts import FILES, SPEC, Stage, without_numbers


def truncated(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    """Returns the data with one bit in the middle flipped."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def emptied(data: bytes) -> bytes:
    return b""


def damage(out: Path, suffix: str, how: Callable[[bytes], bytes], *, sums: bool) -> None:
    """Damages the newest file of a kind in every partition of the state.

    Without `sums`, Hadoop's checksums of these files are deleted.
    """
    done = 0
    for partition in (out / "checkpoint" / "state" / "0").glob("[0-9]*"):
        newest = max(
            partition.glob(f"*{suffix}"), key=lambda path: int(path.name.split(".")[0].split("_")[0])
        )
        newest.write_bytes(how(newest.read_bytes()))
        done += 1
        for beside in (
            () if sums else (*partition.glob(f".{newest.name}.crc"), *partition.glob(f"{newest.name}.crc"))
        ):
            beside.unlink()
    assert done == 2


def no_wrong_row(stage: Stage) -> None:
    """Checks that every written row is a row of a run without faults."""
    got, expected = without_numbers(contents(stage.out, FILES)), without_numbers(stage.expected)
    for kind, rows in got.items():
        assert rows <= expected[kind], kind


def fails_or_is_right(stage: Stage) -> None:
    try:
        stage.second()
    except StreamingQueryException:
        no_wrong_row(stage)
    else:
        stage.check()


@pytest.mark.nightly
@pytest.mark.parametrize(("how", "sums"), [(emptied, False), (truncated, True)])
def test_a_damaged_change_log(
    spark: SparkSession, undisturbed: Expected, tmp_path: Path, how: Callable[[bytes], bytes], sums: bool
) -> None:
    stage = Stage(spark, undisturbed, tmp_path)
    stage.first()
    damage(stage.out, ".changelog", how, sums=sums)
    with pytest.raises(StreamingQueryException):
        stage.second()
    no_wrong_row(stage)


@pytest.mark.nightly
def test_a_flipped_bit_in_a_change_log(spark: SparkSession, undisturbed: Expected, tmp_path: Path) -> None:
    """LZ4 detects nearly every flipped bit.

    A few decompress to the same bytes as before, such as another distance inside a run of zeros.
    """
    stage = Stage(spark, undisturbed, tmp_path)
    stage.first()
    damage(stage.out, ".changelog", flipped, sums=False)
    fails_or_is_right(stage)


@pytest.mark.soak
def test_a_damaged_snapshot(spark: SparkSession, undisturbed: Expected, tmp_path: Path) -> None:
    """Spark may resume without the snapshot, because all change logs from the start exist."""
    stage = Stage(spark, undisturbed, tmp_path)
    first = some_files(stage.all, tmp_path / "in", FILES // 2)
    snapshots = OFTEN_SNAPSHOTS | {
        "spark.sql.streaming.stateStore.minDeltasForSnapshot": "1",
        "job.finish": "never",
    }
    Job(tmp_path, first, SPEC, settings=snapshots).run()
    damage(stage.out, ".zip", flipped, sums=False)
    fails_or_is_right(stage)
