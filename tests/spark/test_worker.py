"""What is settled in a Python worker of Spark, and nowhere else."""

import gc
import os
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

from panewise.spark.worker import settle


def _told(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    settle()
    for one in batches:
        told = {
            "frozen": pa.array([gc.get_freeze_count()] * one.num_rows),
            "threads": pa.array([os.environ["POLARS_MAX_THREADS"]] * one.num_rows),
        }
        yield pa.RecordBatch.from_pydict(told)


def test_a_worker_does_not_collect_its_modules_after_each_task(spark: SparkSession) -> None:
    row = spark.range(0, 1, 1, 1).mapInArrow(_told, "frozen BIGINT, threads STRING").collect()[0]
    assert row.frozen > 10_000
    assert row.threads == "1"


def test_a_driver_is_left_as_it_is() -> None:
    settle()
    assert gc.get_freeze_count() == 0
