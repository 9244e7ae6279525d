"""All stages of an operator share Python workers."""

import os

import pytest
from pyspark.sql import SparkSession

import panewise as pw
from panewise.spark import windowed
from panewise.spark.session.worker_pool import one_worker_pool
from tests.spark.conftest import Feed, emitted

_NAME = "SPARK_SIMPLIFIED_TRACEBACK"
_SETTING = "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled"

# Rows are accumulated where they are read, and results are made by the step. The parent of a worker is the
# process that starts all workers of a pool.
pools = pw.UserAggregate(
    "pools",
    init=lambda: 0,
    accumulate=lambda _, value: os.getppid(),
    merge=max,
    finish=lambda first: f"{first} {os.getppid()}",
    result="string",
    commutative=True,
)


@pytest.mark.spark
def test_pack_and_step_have_one_pool(feed: Feed) -> None:
    feed.put((0, "a", 1), (100, "a", 2))
    stream = feed.stream().withWatermark("ts", "1 second")
    panes = windowed(stream, "ts").window(pw.Tumbling("1 minute")).agg(pools("v").alias("pools")).panes
    (text,) = emitted(feed, panes)["pools"]
    first, second = text.split()
    assert first == second


@pytest.mark.spark
def test_the_environment_is_restored(spark: SparkSession) -> None:
    environment = spark.sparkContext.environment
    before = dict(environment)
    with one_worker_pool(spark):
        assert environment == {**before, _NAME: "1"}
    assert environment == before
    environment[_NAME] = "of the user"
    try:
        with one_worker_pool(spark):
            assert environment[_NAME] == "1"
        assert environment[_NAME] == "of the user"
    finally:
        del environment[_NAME]


@pytest.mark.spark
def test_the_setting_of_spark_decides(spark: SparkSession) -> None:
    """Without simplified tracebacks Spark sets no variable for any function."""
    session = spark.newSession()
    session.conf.set(_SETTING, "false")
    with one_worker_pool(session):
        assert _NAME not in session.sparkContext.environment
