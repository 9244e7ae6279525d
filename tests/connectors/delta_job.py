"""Tumbling windows from files into two Delta tables: run in a process of its own, which kills itself between a write and the commit.

``python -m tests.connectors.delta_job SOURCE OUT JARS MERGES [DIES_AT]``. With DIES_AT the process kills itself in that micro-batch,
when both tables are written. At its end it copies the tables to Parquet, which needs no Delta to be read.
"""

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from panewise.spark import apply, configure
from tests.faults.job import CONF
from tests.faults.specs import ALL
from tests.faults.stream_files import DDL

SPEC = "tumbling-accumulating"
OF_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
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
    """All panes appended to one table; the newest of each window merged into another. A batch that is repeated changes neither."""

    out: Path
    merges: bool
    dies_at: int | None

    def __call__(self, panes: DataFrame, batch_id: int) -> None:
        """Writes one micro-batch."""
        once = {"txnAppId": "panewise", "txnVersion": str(batch_id)}
        panes.write.format("delta").mode("append").options(**once).save(f"{self.out}/appended")
        if self.merges:
            self._merge(panes)
        if batch_id == self.dies_at:
            os.killpg(os.getpgrp(), signal.SIGKILL)

    def _merge(self, panes: DataFrame) -> None:
        session, table = panes.sparkSession, f"{self.out}/merged"
        panes.limit(0).write.format("delta").mode("ignore").save(table)
        panes.createOrReplaceTempView("panes")
        session.sql(_NEWEST).createOrReplaceTempView("newest")
        session.sql(_MERGE.format(table=table))


def main(source: str, out: str, jars: str, merges: str, dies_at: str = "") -> None:
    builder = SparkSession.builder.master("local[2]").appName("panewise and Delta")
    for key, value in {**CONF, **OF_DELTA, "spark.jars": jars, "spark.local.dir": f"{out}/local"}.items():
        builder = builder.config(key, value)
    spark = configure(builder.getOrCreate(), local_checkpoints=True)
    stream = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(source).withWatermark("ts", "20 seconds")
    sink = DeltaSink(Path(out), merges == "merges", int(dies_at) if dies_at else None)
    apply(stream, ALL[SPEC], finish="at_end").write(panes=sink, checkpoint=f"{out}/checkpoint", available_now=True).awaitTermination()
    for table in ("appended", "merged") if sink.merges else ("appended",):
        spark.read.format("delta").load(f"{out}/{table}").coalesce(1).write.parquet(f"{out}/{table}-copy")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
