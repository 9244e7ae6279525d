"""A sink that writes Parquet files."""

from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from panewise.spark.sinks.base import PathSink
from panewise.spark.sinks.paths import exists


@dataclass(frozen=True)
class ParquetSink(PathSink):
    """Writes Parquet files under `path`.

    Each micro-batch with rows has a directory `batch_id=N`. A repeated micro-batch overwrites its own.
    """

    path: str

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Writes one micro-batch."""
        rows.write.mode("overwrite").parquet(f"{self.path}/batch_id={batch_id}")

    def prepare(self, empty: DataFrame) -> None:
        """Makes the path readable before there are rows."""
        empty.write.mode("overwrite").parquet(self._empty)

    def prepared(self, session: SparkSession) -> bool:
        """Returns whether the path is readable."""
        return exists(session, self._empty)

    @property
    def _empty(self) -> str:
        return f"{self.path}/batch_id=-1"
