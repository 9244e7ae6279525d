"""The settings of a Spark session that window operators need, or run faster with."""

from pyspark.sql import SparkSession

from panewise.errors import SetupError

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


def configure(spark: SparkSession, *, cache_mb: int = 1024, mirror_mb: int = 4096, local_checkpoints: bool = False) -> SparkSession:
    """Prepares a session, classic or Connect, for window operators, and gives it back.

    It sets RocksDB as the state store (without which no operator starts), writes state as a change log (each micro-batch
    then writes what it changed), and lets Arrow batches to Python be bounded by
    ``spark.sql.execution.arrow.maxRecordsPerBatch`` alone. Call it before a query starts; what is set after it wins.

    Args:
        cache_mb: megabytes of state that each Python worker keeps in memory, mapped files included; state that is longer is read from
            the executor's local directory as it is needed. Besides, a worker keeps up to 65 MB of free memory for its next micro-batch.
        mirror_mb: megabytes of copies of state that the workers of an executor share in its local directory
            (``spark.local.dir``). Beyond it the least recently used copies are deleted, so a session may run any number of
            queries. A copy saves reading the checkpoint; none is ever needed, and 0 means none.
        local_checkpoints: whether the checkpoints of all queries of the session are on disks of this machine (``file:``). Spark then
            starts about a third of the processes (chmod, readlink) to write them, and a short micro-batch takes about half the time.
            Leave it out for checkpoints on HDFS, where files that are written again would not be replaced.

    Raises:
        SetupError: if `cache_mb` is below 1, or `mirror_mb` below 0.
    """
    if cache_mb < 1:
        raise SetupError(f"cache_mb={cache_mb}", "a worker keeps a megabyte of state or more", "give a number such as 1024, the default")
    if mirror_mb < 0:
        rule = "an executor keeps 0 megabytes of copies (none) or more"
        raise SetupError(f"mirror_mb={mirror_mb}", rule, "give a number such as 4096, the default")
    bounds = {CACHE: str(cache_mb), MIRROR: str(mirror_mb)}
    for name, value in (_SETTINGS | bounds | (_LOCAL if local_checkpoints else {})).items():
        spark.conf.set(name, value)
    return spark
