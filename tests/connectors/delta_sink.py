"""A sink for Delta as users write one: one table of all panes, one of the newest pane of each window."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from panewise.spark.streaming_sql.table_sinks import id_of_query

SETTINGS: Mapping[str, str] = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Delta reads the log of a table in 50 tasks by default, which take most of the time of a small table.
    "spark.databricks.delta.snapshotPartitions": "1",
}
_MERGE = """
MERGE INTO delta.`{table}` AS t USING newest AS n
ON t.k <=> n.k AND t.window_start <=> n.window_start
WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *
"""
_NEWEST = """
SELECT * EXCEPT (place) FROM (
  SELECT *, row_number() OVER (PARTITION BY k, window_start ORDER BY index DESC) AS place FROM panes
) WHERE place = 1
"""


@dataclass(frozen=True)
class DeltaSink:
    """Writes panes to two tables under `out`; a repeated micro-batch changes neither.

    `appended` uses `txnAppId` and `txnVersion`, by which Delta recognizes a repeated batch. The application
    is the query of the checkpoint under `out`, so a new checkpoint has another one. `merged` is written by
    MERGE. In the micro-batch `breaks_at`, `breaks` is called after both tables are written.
    """

    out: Path
    breaks_at: int | None
    breaks: Callable[[], None]

    def __call__(self, panes: DataFrame, batch_id: int) -> None:
        """Writes one micro-batch."""
        application = id_of_query(panes.sparkSession, f"{self.out}/checkpoint")
        once = {"txnAppId": application, "txnVersion": str(batch_id)}
        panes.write.format("delta").mode("append").options(**once).save(f"{self.out}/appended")
        self._merge(panes)
        if batch_id == self.breaks_at:
            self.breaks()

    def copy(self, session: SparkSession, *tables: str) -> None:
        """Copies tables to Parquet, which can be read without Delta."""
        for table in tables:
            read = session.read.format("delta").load(f"{self.out}/{table}")
            read.coalesce(1).write.parquet(f"{self.out}/{table}-copy")

    def _merge(self, panes: DataFrame) -> None:
        session, table = panes.sparkSession, f"{self.out}/merged"
        panes.limit(0).write.format("delta").mode("ignore").save(table)
        panes.createOrReplaceTempView("panes")
        session.sql(_NEWEST).createOrReplaceTempView("newest")
        session.sql(_MERGE.format(table=table))
