"""The settings of a Spark session that window operators need, or run faster with."""

from pyspark.sql import SparkSession

from panewise.errors import SetupError
from panewise.spark.interpreters import check_workers

PARTITIONS = "spark.sql.shuffle.partitions"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

_SETTINGS = {
    PROVIDER: ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # With any other value Spark asks for the size of the whole Arrow batch after each row, which was half of the JVM's
    # work on the way to Python (docs/performance.md). Batches still end at arrow.maxRecordsPerBatch rows.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
}

# Spark's default starts six processes (chmod, readlink) for each file of a checkpoint on a local disk, unless Hadoop's native library
# is there: up to half of a short micro-batch (docs/decisions/0020-checkpoints-on-a-local-disk.md).
_LOCAL = {
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
}

CACHE = "panewise.cacheMegabytes"
MIRROR = "panewise.mirrorMegabytes"
METRICS = "panewise.metrics"
_WORKERS = "panewise.workersChecked"


def configure(
    spark: SparkSession,
    *,
    cache_mb: int | None = None,
    mirror_mb: int | None = None,
    local_checkpoints: bool = False,
    shuffle_partitions: int | None = None,
    metrics: str | None = "",
    check: bool = True,
) -> SparkSession:
    """Prepares a session, classic or Connect, for window operators, and gives it back.

    It sets RocksDB as the state store (without which no operator starts), writes state as a change log (each micro-batch
    then writes what it changed), and lets Arrow batches to Python be bounded by
    ``spark.sql.execution.arrow.maxRecordsPerBatch`` alone. Call it before a query starts; what is set after it wins.
    A further call changes only what it is given.

    Args:
        cache_mb: megabytes of state that each Python worker keeps in memory, mapped files included; state that is longer is read from
            the executor's local directory as it is needed. At first 1024. Besides, a worker keeps up to 65 MB of free memory for its
            next micro-batch.
        mirror_mb: megabytes of copies of state that the workers of an executor share in its local directory
            (``spark.local.dir``). Beyond it the least recently used copies are deleted, so a session may run any number of
            queries. A copy saves reading the checkpoint; none is ever needed, and 0 means none. At first 4096.
        local_checkpoints: whether the checkpoints of all queries of the session are on disks of this machine (``file:``). Spark then
            starts about a third of the processes (chmod, readlink) to write them, and a short micro-batch takes about half the time.
            Leave it out for checkpoints on HDFS, where files that are written again would not be replaced.
        shuffle_partitions: shuffle partitions of the session's queries, about as many as there are cores. A checkpoint keeps its number
            for good. Default: the session's setting, which Spark has at 200.
        metrics: name of panewise's entry in `observedMetrics` of each query's progress (semantics 15.5). Two operators whose outputs meet
            in one query need two names: call `configure` again before the second is built. At first "panewise". None: queries
            observe nothing.
        check: whether a small job looks if Spark's Python workers can import panewise; once for each session.

    Raises:
        SetupError: if `cache_mb` or `shuffle_partitions` is below 1, `mirror_mb` below 0, or the workers cannot import what operators need.
    """
    if cache_mb is not None and cache_mb < 1:
        raise SetupError(f"cache_mb={cache_mb}", "a worker keeps a megabyte of state or more", "give a number such as 1024, the default")
    if mirror_mb is not None and mirror_mb < 0:
        rule = "an executor keeps 0 megabytes of copies (none) or more"
        raise SetupError(f"mirror_mb={mirror_mb}", rule, "give a number such as 4096, the default")
    if shuffle_partitions is not None and shuffle_partitions < 1:
        raise SetupError(f"shuffle_partitions={shuffle_partitions}", "a shuffle has one partition or more", "give the number of cores")
    numbers = {CACHE: cache_mb, MIRROR: mirror_mb, PARTITIONS: shuffle_partitions}
    given = {name: str(number) for name, number in numbers.items() if number is not None}
    given |= {} if metrics == "" else {METRICS: metrics or ""}
    for name, value in (_SETTINGS | given | (_LOCAL if local_checkpoints else {})).items():
        spark.conf.set(name, value)
    if check and spark.conf.get(_WORKERS, "") != "true":
        check_workers(spark)
        spark.conf.set(_WORKERS, "true")
    return spark
