"""What `configure` sets."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from panewise.errors import SetupError
from panewise.spark import configure


def faults_of_children(spark: Any) -> int:
    """Page faults of processes that the JVM has started and that have ended; each of them has some hundred."""
    pid = spark._jvm.java.lang.ProcessHandle.current().pid()
    after_name = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
    return int(after_name.split()[8])


def processes_cost(spark: SparkSession, folder: Path, *, local: bool) -> int:
    """What is spent on processes by a query of one micro-batch."""
    session = configure(spark.newSession(), local_checkpoints=local)
    session.range(3).write.parquet(str(folder / "in"))
    writer = session.readStream.schema("id BIGINT").parquet(str(folder / "in")).writeStream.format("noop")
    before = faults_of_children(spark)
    writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start().awaitTermination()
    assert (folder / "checkpoint" / "commits" / "0").exists()
    return faults_of_children(spark) - before


def test_local_checkpoints_are_written_with_fewer_processes(spark: SparkSession, tmp_path: Path) -> None:
    default, local = (processes_cost(spark, tmp_path / str(local), local=local) for local in (False, True))
    assert 0 < local < default / 2


def test_a_worker_keeps_a_megabyte_or_more(spark: SparkSession) -> None:
    with pytest.raises(SetupError, match=r"^cache_mb=0 \| a worker keeps a megabyte of state or more \| give a number such as 1024"):
        configure(spark, cache_mb=0)
