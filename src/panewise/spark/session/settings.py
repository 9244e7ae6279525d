"""The settings of a Spark session that operators require, or that make them faster."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.sql import SparkSession

from panewise.errors import SetupError
from panewise.spark.session.connector_versions import check_connectors
from panewise.spark.session.worker_python import DRIVER_CHECKED, UNCHECKED, check_workers
from panewise.spark.shuffle.envelope import LARGEST

PARTITIONS = "spark.sql.shuffle.partitions"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

_BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_UNBOUNDED = str(2**31 - 1)
_SETTINGS = {
    PROVIDER: ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # With any other value Spark computes the size of the whole Arrow batch after each row. That was half of
    # the JVM's work on the way to Python (docs/decisions/0075-measurements.md). Batches still end at
    # arrow.maxRecordsPerBatch rows.
    _BATCH_BYTES: _UNBOUNDED,
}
_FEW = 4  # envelopes in an Arrow batch

# Without Hadoop's native library, Spark's default starts six processes (chmod, readlink) for each file of a
# checkpoint on a local disk. They take up to half the time of a short micro-batch
# (docs/decisions/0020-checkpoints-on-a-local-disk.md).
_LOCAL = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    )
}

CACHE = "panewise.cacheMegabytes"
MIRROR = "panewise.mirrorMegabytes"
STATE = "panewise.stateMegabytes"
METRICS = "panewise.metrics"
_WORKERS = "panewise.workersChecked"


def configure(
    spark: SparkSession,
    *,
    cache_mb: int | None = None,
    mirror_mb: int | None = None,
    state_mb: int | None = None,
    local_checkpoints: bool = False,
    shuffle_partitions: int | None = None,
    metrics: str | None = "",
    connectors: Sequence[str] = (),
    check: bool = True,
) -> SparkSession:
    """Prepares a session, classic or Connect, for operators, and returns it.

    Call it before a query starts. It makes these settings:

    - RocksDB is the state store. Without it no operator starts.
    - State is written as a change log, so each micro-batch writes only what it changed.
    - Only ``spark.sql.execution.arrow.maxRecordsPerBatch`` bounds the Arrow batches to Python.

    A setting that is made after the call wins. A further call changes only the arguments that it is given.

    Args:
        spark: the session.
        cache_mb: megabytes of state that each Python worker keeps in memory, including mapped files. State
            beyond that is read from the executor's local directory when it is needed. Initially 1024. In
            addition, a worker keeps up to 65 MB of free memory for its next micro-batch.
        mirror_mb: megabytes of copies of state that the workers of an executor share in its local directory
            (``spark.local.dir``). Beyond that the least recently used copies are deleted, so a session may
            run any number of queries. A copy saves reading the checkpoint, but is never required. 0 means no
            copies. Initially 4096.
        state_mb: the largest state that a shard may store, in megabytes. A micro-batch that would store more
            fails with a StateError, and the checkpoint remains as it was (semantics 15.11). 0, which is
            initially set, means no limit.
        local_checkpoints: whether the checkpoints of all queries of the session are on disks of this machine
            (``file:``). Spark then starts about a third of the processes (chmod, readlink) to write them, and
            a short micro-batch takes about half the time. Leave it out for checkpoints on HDFS, where files
            that are written again would not be replaced.
        shuffle_partitions: number of shuffle partitions of the session's queries, about the number of cores.
            It is fixed for the life of a checkpoint. Default: the session's setting, 200 in Spark.
        metrics: name of panewise's entry in `observedMetrics` of each query's progress (semantics 15.5). If
            one query has the outputs of two operators, the operators need different names: call
            `configure` again before the second one is built. Initially "panewise". With None queries observe
            nothing.
        connectors: names of connectors that the session must have, such as ("kafka", "delta"). The error for
            one that is missing says which coordinates to put on `spark.jars.packages` for this version of
            Spark. :func:`panewise.spark.connectors` returns all of them.
        check: whether a small job checks, once for each session, that Spark's Python workers can import
            panewise. On a cluster, the first stream of the session also checks that the driver can start the
            interpreter of the workers (semantics 15.12), and `write` on Connect that the server can call
            sinks (15.13). False leaves out all of them.

    Raises:
        SetupError: if `cache_mb` or `shuffle_partitions` is below 1, `mirror_mb` or `state_mb` is below 0, a
            connector is unknown or missing, or the workers cannot import the packages that operators need.
    """
    check_connectors(spark, connectors)
    _check_least(
        "cache_mb", cache_mb, 1, "the cache of a worker has a megabyte or more", "a number such as 1024"
    )
    rule = "the mirror of an executor has 0 megabytes (no mirror) or more"
    _check_least("mirror_mb", mirror_mb, 0, rule, "a number such as 4096")
    rule = "the state of a shard has a limit of 0 megabytes (no limit) or more"
    _check_least("state_mb", state_mb, 0, rule, "a number such as 10000")
    rule = "a shuffle has one partition or more"
    _check_least("shuffle_partitions", shuffle_partitions, 1, rule, "the number of cores")
    numbers = {CACHE: cache_mb, MIRROR: mirror_mb, STATE: state_mb, PARTITIONS: shuffle_partitions}
    values = {name: str(number) for name, number in numbers.items() if number is not None}
    values |= {} if metrics == "" else {METRICS: metrics or ""}
    for name, value in (_SETTINGS | values | (_LOCAL if local_checkpoints else {})).items():
        spark.conf.set(name, value)
    if check and spark.conf.get(_WORKERS, "") != "true":
        check_workers(spark)
        spark.conf.set(_WORKERS, "true")
    if not check:
        spark.conf.set(DRIVER_CHECKED, UNCHECKED)
    return spark


def _check_least(name: str, number: int | None, least: int, rule: str, instead: str) -> None:
    if number is not None and number < least:
        raise SetupError(f"{name}={number}", rule, f"give {instead}")


@contextmanager
def envelopes_in_small_batches(spark: SparkSession, envelopes: int) -> Iterator[None]:
    """Bounds the Arrow batches of the jobs inside to 16 MB, if they pass more than a few envelopes to Python.

    An envelope is a row of up to 4 MB, so a bound of 10,000 rows has no effect. With so few rows it costs
    little that Spark computes the size of the batch after each. A bound that the user has set stays.
    """
    if envelopes <= _FEW or spark.conf.get(_BATCH_BYTES, None) != _UNBOUNDED:
        yield
        return
    spark.conf.set(_BATCH_BYTES, str(_FEW * LARGEST))
    try:
        yield
    finally:
        spark.conf.set(_BATCH_BYTES, _UNBOUNDED)
