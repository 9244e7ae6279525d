"""Reads the state in the checkpoint of a query with Spark, as of a committed micro-batch.

It uses Spark's batch reader and changes nothing. :mod:`panewise.checkpoints` reads the same without Spark,
where it can.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from panewise.checkpoints.figures import (
    CheckpointFigures,
    OperatorFigures,
    ShardFigures,
    ShowProgress,
    silent,
)
from panewise.checkpoints.layout import VARIABLE, chosen, has_variable, no_checkpoint, nothing_of_ours
from panewise.checkpoints.reader import operator_figures
from panewise.checkpoints.shard import manifest_of, shard_figures
from panewise.checkpoints.state_values import Spilled
from panewise.errors import SetupError, StateError
from panewise.spark.session.failures import cause_of, spark_errors
from panewise.state import Manifest
from panewise.state.manifest import REMEDY, newest_record

_QUIET = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.driver.maxResultSize": "0",
}


@contextmanager
def session() -> Iterator[SparkSession]:
    """Yields the Spark session of this process, or else a small one for reading.

    Other machines cannot reach the ports of the small session, and it is stopped at the end.

    Raises:
        SetupError: if Spark does not start.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2]").appName("panewise state")
    builder = builder.config(map={**_QUIET, "spark.driver.memory": f"{_heap() >> 20}m"})
    try:
        started = builder.getOrCreate()
    except PySparkException as error:
        remedy = "set JAVA_HOME or PATH to one of them"
        raise SetupError(
            f"Spark does not start ({cause_of(error)})", "Spark 4 runs on Java 17 or 21", remedy
        ) from error
    try:
        yield started
    finally:
        started.stop()


def _heap() -> int:
    """Returns how many bytes the heap of the small session may have: half the memory, at least 1 GB.

    Spark has the stored state of one partition there. By default the heap has 1 GB.
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError):  # the limit of a container, "max" if there is none
        memory = min(memory, int(Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii")))
    return max(memory // 2, 1 << 30)


def read_state(
    spark: SparkSession, checkpoint: str, batch: int | None = None, progress: ShowProgress = silent
) -> CheckpointFigures:
    """Reads the state in a checkpoint, as of a micro-batch: by default the last one that was committed.

    The query may be running. The driver has the stored state of one partition of the state store in memory at
    a time.

    Raises:
        StateError: if there is no such checkpoint or micro-batch, if it has no state of panewise, or if the
            state is corrupt.
    """
    # PySpark 4.2's state reader needs the coordinator of state stores. A session creates that together
    # with its query manager.
    _ = spark.streams.active
    wanted = chosen(checkpoint, _committed(spark, checkpoint), batch)
    numbers = _operators(spark, checkpoint)

    def operator_of(place: int, number: int) -> OperatorFigures:
        def show(words: str, share: float) -> None:
            progress(words, (place + share) / len(numbers))

        return _operator_figures(spark, checkpoint, wanted, number, show)

    operators = tuple(operator_of(place, number) for place, number in enumerate(numbers))
    return CheckpointFigures(checkpoint, wanted, operators)


def _committed(spark: SparkSession, checkpoint: str) -> set[int]:
    """Returns the micro-batches that were committed. Spark writes a file for each."""
    try:
        files = spark.read.format("binaryFile").load(f"{checkpoint}/commits").select("path").collect()
    except spark_errors() as error:
        raise no_checkpoint(checkpoint, cause_of(error)) from error
    return {int(name) for name in (PurePosixPath(file.path).name for file in files) if name.isdecimal()}


def _operators(spark: SparkSession, checkpoint: str) -> list[int]:
    """Returns the numbers of panewise's operators in the query: those with its state variable."""
    rows = _rows(spark.read.format("state-metadata").load(checkpoint), checkpoint)
    ours = {row.operatorId for row in rows if has_variable(row.operatorProperties)}
    if not ours:
        raise nothing_of_ours(checkpoint)
    return sorted(ours)


def _operator_figures(
    spark: SparkSession, checkpoint: str, batch: int, operator: int, progress: ShowProgress
) -> OperatorFigures:
    reader = (
        spark.read.format("statestore")
        .option("path", checkpoint)
        .option("stateVarName", VARIABLE)
        .option("operatorId", operator)
    )
    state = reader.option("batchId", batch).option("flattenCollectionTypes", True).load()
    rows = _rows(
        state.select("partition_id", "key.shard", "user_map_key.name", "user_map_value.data"), checkpoint
    )
    manifest, shards = None, list[ShardFigures]()
    for shard, stored in _by_shard(rows):
        manifest = manifest or manifest_of(stored)
        progress(f"operator {operator}: shard {shard}", len(shards) / manifest.shards)
        shards.append(shard_figures(shard, stored))
    return operator_figures(operator, manifest or _record(spark, checkpoint), shards)


def _rows(df: DataFrame, checkpoint: str) -> Iterator[Any]:
    """Yields the rows by partition, because a state may be larger than what Spark collects at once."""
    try:
        yield from df.toLocalIterator()
    except spark_errors() as error:
        raise _unreadable(checkpoint, error) from error


def _unreadable(checkpoint: str, error: Exception) -> StateError:
    fault = f"checkpoint {checkpoint!r} ({cause_of(error)})"
    if "OutOfMemoryError" in str(error) or "Py4JNetworkError" in type(error).__name__:
        rule = "Spark loads the stored state of a partition into the memory of the driver"
        return StateError(fault, rule, "give read_state a session with more spark.driver.memory")
    rule = (
        "Spark can read the state of a micro-batch until it removes it "
        "(spark.sql.streaming.minBatchesToRetain)"
    )
    return StateError(fault, rule, f"give a later micro-batch, or {REMEDY}")


def _by_shard(rows: Iterable[Any]) -> Iterator[tuple[int, Mapping[str, bytes]]]:
    """Yields each shard with its manifest and runs by name, which are in a file.

    A shard is in one partition, and the rows of a partition follow each other.
    """
    for _, together in groupby(rows, key=lambda row: row.partition_id):
        with TemporaryDirectory(prefix="panewise-state-") as scratch:
            path, shards = Path(scratch) / "entries", dict[int, Spilled]()
            with path.open("ab") as file:
                for row in together:
                    shards.setdefault(row.shard, Spilled(path)).add(row.name, bytes(row.data), file)
            yield from shards.items()


def _record(spark: SparkSession, checkpoint: str) -> Manifest | None:
    """Returns the record of the operator that :mod:`panewise.spark.queries.writer` made, or None.

    It is needed as long as no shard has stored anything.
    """
    try:
        rows = spark.read.text(f"{checkpoint}/panewise/operator", wholetext=True).collect()
    except AnalysisException:  # no such path
        return None
    return newest_record(row[0] for row in rows)
