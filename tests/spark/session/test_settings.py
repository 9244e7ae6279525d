"""Tests of `configure`: what it sets, checks and refuses."""

import warnings
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import panewise as pw
from panewise import functions as F
from panewise.errors import SetupError, ShufflePartitionsWarning
from panewise.spark import configure, windowed
from panewise.spark.session.settings import envelopes_in_small_batches


def faults_of_children(spark: Any) -> int:
    """Returns the page faults of the processes that the JVM has started and that have ended.

    Each process has some hundred.
    """
    pid = spark._jvm.java.lang.ProcessHandle.current().pid()
    after_name = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
    return int(after_name.split()[8])


def processes_cost(spark: SparkSession, folder: Path, *, local: bool) -> int:
    """Returns the page faults of the processes that a query of one micro-batch starts."""
    session = configure(spark.newSession(), local_checkpoints=local)
    session.range(3).write.parquet(str(folder / "in"))
    writer = session.readStream.schema("id BIGINT").parquet(str(folder / "in")).writeStream.format("noop")
    before = faults_of_children(spark)
    writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(
        availableNow=True
    ).start().awaitTermination()
    assert (folder / "checkpoint" / "commits" / "0").exists()
    return faults_of_children(spark) - before


def test_local_checkpoints_are_written_with_fewer_processes(spark: SparkSession, tmp_path: Path) -> None:
    default, local = (processes_cost(spark, tmp_path / str(local), local=local) for local in (False, True))
    assert 0 < local < default / 2


def test_a_worker_keeps_a_megabyte_or_more(spark: SparkSession) -> None:
    with pytest.raises(
        SetupError,
        match=r"^cache_mb=0 \| the cache of a worker has a megabyte or more \| give a number such as 1024",
    ):
        configure(spark, cache_mb=0)


def test_a_shuffle_has_a_partition_or_more(spark: SparkSession) -> None:
    with pytest.raises(
        SetupError,
        match=r"^shuffle_partitions=0 \| a shuffle has one partition or more \| give the number of cores",
    ):
        configure(spark, shuffle_partitions=0)


def test_shuffle_partitions(spark: SparkSession) -> None:
    """The number is set in the configured session alone."""
    session = configure(spark.newSession(), shuffle_partitions=4)
    assert session.conf.get("spark.sql.shuffle.partitions") == "4"
    number = spark.newSession().conf.get("spark.sql.shuffle.partitions")
    assert configure(spark.newSession()).conf.get("spark.sql.shuffle.partitions") == number != "4"


def test_many_shuffle_partitions(spark: SparkSession) -> None:
    """Up to four partitions for each core are accepted. A batch DataFrame may have any number."""

    def build(partitions: int, *, streaming: bool = True) -> None:
        session = configure(spark.newSession(), shuffle_partitions=partitions)
        source = session.readStream if streaming else session.read
        rate = (
            source.format("rate").load()
            if streaming
            else session.sql("SELECT now() AS timestamp, 1 AS value")
        )
        watched = rate.withWatermark("timestamp", "1 second")
        windowed(watched, "timestamp").window(pw.Tumbling("1 minute")).agg(F.count().alias("n"))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        build(8)
        build(200, streaming=False)
    with pytest.warns(
        ShufflePartitionsWarning,
        match=r"^spark.sql.shuffle.partitions=9 on 2 cores \| each partition costs a Python task and a "
        r"commit in every micro-batch, and a "
        r"checkpoint fixes their number \| call configure\(spark, shuffle_partitions=2\) before "
        r"the first start \[PW-",
    ) as caught:
        build(9)
    (shown,) = (one for one in caught if issubclass(one.category, ShufflePartitionsWarning))
    assert Path(shown.filename).name == "test_settings.py"


def test_a_further_call_changes_only_what_it_is_given(spark: SparkSession) -> None:
    session = configure(spark.newSession(), cache_mb=256, mirror_mb=0, metrics=None)
    configure(session, shuffle_partitions=3)
    names = (
        "panewise.cacheMegabytes",
        "panewise.mirrorMegabytes",
        "panewise.metrics",
        "spark.sql.shuffle.partitions",
    )
    assert [session.conf.get(name) for name in names] == ["256", "0", "", "3"]


def test_an_executor_keeps_no_megabyte_of_copies_or_more(spark: SparkSession) -> None:
    with pytest.raises(
        SetupError,
        match=r"^mirror_mb=-1 \| the mirror of an executor has 0 megabytes \(no mirror\) "
        r"or more \| give a number",
    ):
        configure(spark, mirror_mb=-1)


def test_arrow_batches_of_many_envelopes_are_bounded_by_bytes(spark: SparkSession) -> None:
    session, name = configure(spark.newSession()), "spark.sql.execution.arrow.maxBytesPerBatch"

    def inside(envelopes: int) -> str | None:
        with envelopes_in_small_batches(session, envelopes):
            return session.conf.get(name)

    unbounded = str(2**31 - 1)
    assert [inside(4), inside(5), session.conf.get(name)] == [unbounded, str(16 << 20), unbounded]
    session.conf.set(name, "1000")
    assert inside(5) == "1000"
