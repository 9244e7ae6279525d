"""Reads the state in the checkpoint of a query, as of a committed micro-batch.

It uses Spark's batch reader and changes nothing.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import PurePosixPath
from typing import Any, cast

import polars as pl
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from panewise.engine.checkpoint import runs_of
from panewise.engine.columns import END, TOMBSTONE
from panewise.engine.protocol import engine_parts
from panewise.engine.store.run import RunRows, Shape
from panewise.engine.store.stored_table import StoredTable
from panewise.errors import SetupError, StateError
from panewise.spark.recorded_spec import recorded_spec
from panewise.spec import Specification
from panewise.state import Manifest, Run
from panewise.state.manifest import REMEDY
from panewise.state.run_format import check, checksum, decode
from panewise.state.run_store import missing

_STATE, _MANIFEST = "panewise", "manifest"
_QUIET = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
}
_GIVE_CHECKPOINT = "give the checkpoint= of write()"


@dataclass(frozen=True)
class ShardState:
    """The state of one shard. Instants are in microseconds (semantics 1).

    The clocks are those of the shard's last commit. A shard commits when its state changes, not because time
    has passed.

    Attributes:
        shard: the number of the shard.
        windows: how many windows are stored. In a chain these are the windows of the operator, in an OVER
            operator the rows that wait for the watermark.
        keys: how many different keys the windows have.
        runs: how many runs are stored.
        bytes: the stored length of the runs.
        watermark: the watermark, None if there is none.
        processing_time: the processing time.
        finished: whether the input has ended.
        oldest_end: the lowest end of a window, None without windows that end in time.
        newest_end: the highest end of a window, None without windows that end in time.
    """

    shard: int
    windows: int = 0
    keys: int = 0
    runs: int = 0
    bytes: int = 0
    watermark: int | None = None
    processing_time: int = 0
    finished: bool = False
    oldest_end: int | None = None
    newest_end: int | None = None


@dataclass(frozen=True)
class OperatorState:
    """The state of one operator of a query.

    `shard_count` is the number of shards. `shards` has only those that have stored anything.
    """

    operator: int
    spec: Specification | None
    shard_count: int
    shards: tuple[ShardState, ...]

    @property
    def total(self) -> ShardState:
        """The sums over all shards, as shard -1, with the latest of their clocks."""
        shards = self.shards
        ends = [end for shard in shards for end in (shard.oldest_end, shard.newest_end) if end is not None]
        return ShardState(
            shard=-1,
            windows=sum(shard.windows for shard in shards),
            keys=sum(shard.keys for shard in shards),
            runs=sum(shard.runs for shard in shards),
            bytes=sum(shard.bytes for shard in shards),
            watermark=max((shard.watermark for shard in shards if shard.watermark is not None), default=None),
            processing_time=max((shard.processing_time for shard in shards), default=0),
            finished=bool(shards) and all(shard.finished for shard in shards),
            oldest_end=min(ends, default=None),
            newest_end=max(ends, default=None),
        )


@dataclass(frozen=True)
class CheckpointState:
    """The state of the operators of a query when a micro-batch was committed."""

    checkpoint: str
    batch: int
    operators: tuple[OperatorState, ...]


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
    for name, value in _QUIET.items():
        builder = builder.config(name, value)
    try:
        made = builder.getOrCreate()
    except PySparkException as error:
        remedy = "set JAVA_HOME or PATH to one of them"
        raise SetupError(
            f"Spark does not start ({_reason(error)})", "Spark 4 runs on Java 17 or 21", remedy
        ) from error
    try:
        yield made
    finally:
        made.stop()


def read_state(spark: SparkSession, checkpoint: str, batch: int | None = None) -> CheckpointState:
    """Reads the state in a checkpoint, as of a micro-batch: by default the last one that was committed.

    The query may be running.

    Raises:
        StateError: if there is no such checkpoint or micro-batch, if it has no state of panewise, or if the
            state is corrupt.
    """
    # PySpark 4.2's state reader asks for the coordinator of state stores. A session creates that together
    # with its query manager.
    _ = spark.streams.active
    committed = _committed(spark, checkpoint)
    wanted = max(committed) if batch is None else batch
    if wanted not in committed:
        known = f"the micro-batches in this checkpoint are {min(committed)} to {max(committed)}"
        raise StateError(f"batch={wanted}", known, "give one of them, or leave it out for the last one")
    operators = _operators(spark, checkpoint)
    return CheckpointState(
        checkpoint, wanted, tuple(_operator_state(spark, checkpoint, wanted, number) for number in operators)
    )


def shard_state(shard: int, stored: Mapping[str, bytes]) -> ShardState:
    """Returns the state of a shard, from its manifest and its runs by name.

    Raises:
        StateError: if they are corrupt, incomplete, or of an unknown format.
    """
    try:
        manifest = _manifest(stored)
        spec = recorded_spec(manifest)
        sizes = [len(_sound(stored, run)) for run in manifest.runs]
        found = engine_parts(spec).inspect(spec, manifest.header, _Tables(manifest.runs, stored))
    except StateError as error:
        raise StateError(f"shard {shard}: {error.given}", error.rule, error.remedy) from error
    rows, clocks = found.rows, found.clocks
    ends = rows[END] if found.ends_in_time and not rows.is_empty() else pl.Series(dtype=pl.Int64())
    return ShardState(
        shard,
        windows=rows.height,
        keys=rows.select(found.keys).n_unique() if rows.height else 0,
        runs=len(sizes),
        bytes=sum(sizes),
        watermark=found.watermark,
        processing_time=clocks.processing_time,
        finished=clocks.finished,
        oldest_end=cast(int | None, ends.min()),
        newest_end=cast(int | None, ends.max()),
    )


@dataclass(frozen=True)
class _Tables:
    """Reads tables of a shard: a :class:`panewise.engine.protocol.TableReader`.

    The types are those of the runs, because the input of the query is not available.
    """

    runs: Sequence[Run]
    stored: Mapping[str, bytes]

    def __call__(
        self, table: int, columns: list[str], identity: list[str], cell: list[str], horizon: int | None
    ) -> pl.DataFrame:
        runs = runs_of(self.runs, table)
        if not runs:
            return pl.DataFrame()
        newest = _selected(self.stored, runs[-1], dict.fromkeys(columns))
        shape = Shape({name: newest.schema[name] for name in columns}, identity, cell)
        if not cell:  # a time queue, whose rows are never replaced
            rows = pl.concat([_selected(self.stored, run, shape.schema) for run in runs])
            return rows if horizon is None else rows.filter(pl.col(END) > horizon)
        library = _Identities(self.stored)
        return StoredTable(shape, library, StoredTable.nothing(shape, library).newest, runs, horizon).all()


@dataclass(frozen=True)
class _Identities:
    """A read-only library of stored runs that reads only the columns of a shape."""

    stored: Mapping[str, bytes]
    known: dict[str, RunRows] = field(default_factory=dict)

    def read(self, run: Run, shape: Shape) -> RunRows:
        if run.name not in self.known:
            schema = {**shape.schema, TOMBSTONE: pl.Boolean()}
            self.known[run.name] = RunRows.again(_selected(self.stored, run, schema), shape)
        return self.known[run.name]

    def new_name(self) -> str:
        raise AssertionError("nothing is written")

    def add(self, run: Run, rows: RunRows) -> None:
        raise AssertionError("nothing is written")

    def keep(self, runs: Sequence[Run]) -> None:
        raise AssertionError("nothing is written")


def _sound(stored: Mapping[str, bytes], run: Run) -> bytes:
    """Returns a run, after checking that it exists and is undamaged.

    Another attempt of its step may have written it. Its checksum may then differ, but not its number of rows.
    """
    if run.name not in stored:
        raise missing(run.name)
    data = stored[run.name]
    check(data, run.name)
    if checksum(data) != run.checksum and _decoded(stored, run).height != run.rows:
        raise StateError(
            f"another run is stored as run {run.name}",
            "a run contains the windows that the manifest lists",
            REMEDY,
        )
    return data


def _decoded(stored: Mapping[str, bytes], run: Run) -> pl.DataFrame:
    return decode(stored[run.name], run.name)


def _selected(
    stored: Mapping[str, bytes], run: Run, schema: Mapping[str, pl.DataType | None]
) -> pl.DataFrame:
    """Returns some columns of a run. In `schema` None stands for any type."""
    rows = _decoded(stored, run)
    if any(
        name not in rows.columns or rows.schema[name] != (dtype or rows.schema[name])
        for name, dtype in schema.items()
    ):
        raise StateError(f"run {run.name} with other columns", "a run has the columns of its table", REMEDY)
    return rows.select(*schema)


def _manifest(stored: Mapping[str, bytes]) -> Manifest:
    if _MANIFEST not in stored:
        raise StateError("no manifest", "a shard with state has a manifest", REMEDY)
    return Manifest.decode(stored[_MANIFEST].decode(errors="replace"))


def _committed(spark: SparkSession, checkpoint: str) -> set[int]:
    """Returns the micro-batches that were committed. Spark writes a file for each."""
    try:
        files = spark.read.format("binaryFile").load(f"{checkpoint}/commits").select("path").collect()
    except _spark_errors() as error:
        rule = "a query's checkpoint is a directory that Spark can read"
        raise StateError(f"checkpoint {checkpoint!r} ({_reason(error)})", rule, _GIVE_CHECKPOINT) from error
    found = {int(name) for name in (PurePosixPath(file.path).name for file in files) if name.isdecimal()}
    if not found:
        rule = "a checkpoint contains no state before a micro-batch has been committed"
        raise StateError(f"checkpoint {checkpoint!r} without a committed micro-batch", rule, _GIVE_CHECKPOINT)
    return found


def _operators(spark: SparkSession, checkpoint: str) -> list[int]:
    """Returns the numbers of panewise's operators in the query: those with its state variable."""
    rows = _rows(spark.read.format("state-metadata").load(checkpoint), checkpoint)
    ours = {row.operatorId for row in rows if _STATE in _variables(row.operatorProperties)}
    if not ours:
        rule = "a query with an operator of panewise stores its state in its checkpoint"
        raise StateError(f"checkpoint {checkpoint!r} without state of panewise", rule, _GIVE_CHECKPOINT)
    return sorted(ours)


def _variables(properties: str | None) -> set[str]:
    """Returns the names of the state variables in the metadata of an operator."""
    known = json.loads(properties) if properties else {}
    return {variable["stateName"] for variable in known.get("stateVariables", ())}


def _operator_state(spark: SparkSession, checkpoint: str, batch: int, operator: int) -> OperatorState:
    reader = (
        spark.read.format("statestore")
        .option("path", checkpoint)
        .option("stateVarName", _STATE)
        .option("operatorId", operator)
    )
    state = reader.option("batchId", batch).option("flattenCollectionTypes", True).load()
    rows = _rows(
        state.select("partition_id", "key.shard", "user_map_key.name", "user_map_value.data"), checkpoint
    )
    manifest, shards = None, []
    for shard, stored in _by_shard(rows):
        shards.append(shard_state(shard, stored))
        manifest = manifest or _manifest(stored)
    manifest = manifest or _record(spark, checkpoint)
    found = tuple(sorted(shards, key=lambda state: state.shard))
    return (
        OperatorState(operator, None, 0, found)
        if manifest is None
        else OperatorState(operator, recorded_spec(manifest), manifest.shards, found)
    )


def _rows(df: DataFrame, checkpoint: str) -> Iterator[Any]:
    """Yields the rows by partition, because a state may be larger than what Spark collects at once."""
    try:
        yield from df.toLocalIterator(prefetchPartitions=True)
    except _spark_errors() as error:
        rule = (
            "Spark can read the state of a micro-batch until it removes it "
            "(spark.sql.streaming.minBatchesToRetain)"
        )
        raise StateError(
            f"checkpoint {checkpoint!r} ({_reason(error)})", rule, f"give a later micro-batch, or {REMEDY}"
        ) from error


def _by_shard(rows: Iterable[Any]) -> Iterator[tuple[int, dict[str, bytes]]]:
    """Yields each shard with its manifest and runs by name.

    A shard is in one partition, and the rows of a partition follow each other.
    """
    for _, together in groupby(rows, key=lambda row: row.partition_id):
        shards: dict[int, dict[str, bytes]] = {}
        for row in together:
            shards.setdefault(row.shard, {})[row.name] = bytes(row.data)
        yield from shards.items()


def _record(spark: SparkSession, checkpoint: str) -> Manifest | None:
    """Returns the record of the operator that :mod:`panewise.spark.writer` made, or None if there is none.

    It is needed as long as no shard has stored anything.
    """
    try:
        rows = spark.read.text(f"{checkpoint}/panewise/operator", wholetext=True).collect()
    except AnalysisException:  # no such path
        return None
    return Manifest.decode(rows[0][0].strip()) if rows else None


def _spark_errors() -> tuple[type[Exception], ...]:
    """Returns the errors of Spark: its own and, in a classic session, untranslated ones of the JVM."""
    bridge = sys.modules.get("py4j.protocol")  # not imported in a Connect session
    return (PySparkException,) if bridge is None else (PySparkException, bridge.Py4JJavaError)


def _reason(error: Exception) -> str:
    """Returns the reason of an error of Spark, in one line."""
    lines = [
        line.removeprefix(": ")
        for line in str(error).splitlines()
        if not line.startswith("An error occurred")
    ]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return [*lines[:1], *causes][-1]
