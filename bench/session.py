"""The Spark session of all measurements, and the stream that all queries read."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from pyspark.sql import DataFrame, SparkSession

from bench.data import Events
from panewise.spark import configure

_STATIC = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "4g",
    "spark.driver.extraJavaOptions": "-Xms4g -XX:+AlwaysPreTouch",
    # else the first minute is spent on page faults of a heap that grows
    "spark.python.unix.domain.socket.enabled": "true",
}
_SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.files.openCostInBytes": "1",  # else a file of a few MB is cut into unequal halves
    "spark.sql.streaming.numRecentProgressUpdates": "10000",
    "spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows": "false",
    # costs native a look-up per write: 0.41 s, without 0.36 s
}


def start(master: str = "local[2]", more: Mapping[str, str] = MappingProxyType({})) -> SparkSession:
    """Starts a session, by default on two cores, with further settings."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(master).appName("panewise bench")
    for name, value in {**_STATIC, **more}.items():
        builder = builder.config(name, value)
    return beside(builder.getOrCreate())


def beside(spark: SparkSession) -> SparkSession:
    """Returns a new session of the same Spark that has the settings of the benchmarks."""
    session = configure(spark.newSession(), local_checkpoints=True)
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)
    return session


@contextmanager
def settings(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Changes settings for the queries that start inside, and restores them at the end."""
    before = {name: spark.conf.get(name, None) for name in values}
    for name, value in values.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            spark.conf.unset(name) if old is None else spark.conf.set(name, old)


def read(spark: SparkSession, events: Events) -> DataFrame:
    """Returns the events as a stream, one file for each micro-batch."""
    stream = spark.readStream.schema("ts TIMESTAMP, k BIGINT, v BIGINT").option("maxFilesPerTrigger", 1)
    return stream.parquet(str(events.directory))
