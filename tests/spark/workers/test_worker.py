"""Tests of settings that apply in the Python workers of Spark, and nowhere else."""

import gc
import os
import resource
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from panewise.spark.workers.microbatch import _mirror as mirror_of_worker
from panewise.spark.workers.worker import settle


def _told(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle()
    for one in batches:
        told = {
            "frozen": pa.array([gc.get_freeze_count()] * one.num_rows),
            "threads": pa.array([os.environ["POLARS_MAX_THREADS"]] * one.num_rows),
            "memory": pa.array([os.environ["_RJEM_MALLOC_CONF"]] * one.num_rows),
        }
        yield pa.RecordBatch.from_pydict(told)


def _faults(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields the number of page faults while 60 MB are written and freed for the third time."""
    settle()
    for one in batches:
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
            lists = [b"x" * (20 << 20) for _ in range(3)]
            del lists
            after = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        yield pa.RecordBatch.from_pydict({"faults": [after - before] * one.num_rows})


def test_a_worker_does_not_collect_its_modules_after_each_task(spark: SparkSession) -> None:
    row = (
        spark.range(0, 1, 1, 1).mapInArrow(_told, "frozen BIGINT, threads STRING, memory STRING").collect()[0]
    )
    assert row.frozen > 10_000
    assert row.threads == "1"
    assert row.memory.split(",")[-2:] == ["dirty_decay_ms:10000", "muzzy_decay_ms:10000"]


@pytest.mark.skipif(sys.platform != "linux", reason="a worker keeps memory by means of glibc")
def test_a_worker_keeps_memory_for_the_next_micro_batch(spark: SparkSession) -> None:
    row = spark.range(0, 1, 1, 1).mapInArrow(_faults, "faults BIGINT").collect()[0]
    assert row.faults < 1_000  # 60 MB are 15,000 pages


def test_a_driver_is_left_as_it_is() -> None:
    frozen = gc.get_freeze_count()  # the process of the tests has frozen what it has imported
    settle()
    assert gc.get_freeze_count() == frozen


def test_a_machine_without_a_temporary_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mirror is in Spark's local directory if nothing else is writable, as in a read-only container."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc/self"])
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/other")
    mirror_of_worker.__wrapped__().write("a", b"stream")
    assert [path.parent for path in tmp_path.rglob("*.run")] == [tmp_path / "panewise"]
