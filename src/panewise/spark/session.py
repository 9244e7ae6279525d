"""The settings of a Spark session that window operators need, or run faster with."""

from pyspark.sql import SparkSession

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"

_SETTINGS = {
    PROVIDER: ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # With any other value Spark asks for the size of the whole Arrow batch after each row, which was half of the JVM's
    # work on the way to Python (docs/performance.md). Batches still end at arrow.maxRecordsPerBatch rows.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
}


def configure(spark: SparkSession) -> SparkSession:
    """Prepares a session, classic or Connect, for window operators, and gives it back.

    It sets RocksDB as the state store (without which no operator starts), writes state as a change log (each micro-batch
    then writes what it changed), and lets Arrow batches to Python be bounded by
    ``spark.sql.execution.arrow.maxRecordsPerBatch`` alone. Call it before a query starts; what is set after it wins.
    """
    for name, value in _SETTINGS.items():
        spark.conf.set(name, value)
    return spark
