"""One sink for two Delta tables: one of all panes, one of the newest pane of each window."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from panewise.spark import DeltaSink
from panewise.spark.session.connector_versions import CONNECTORS
from panewise.spark.sinks.base import OutputSink, SinkOutput

SETTINGS: Mapping[str, str] = {
    **CONNECTORS["delta"].settings,
    # Delta reads the log of a table in 50 tasks by default, which take most of the time of a small table.
    "spark.databricks.delta.snapshotPartitions": "1",
}


@dataclass(frozen=True)
class TwoTables(OutputSink):
    """Writes panes to two tables under `out`.

    In the micro-batch `breaks_at`, `breaks` is called after both tables are written.
    """

    out: Path
    breaks_at: int | None
    breaks: Callable[[], None]

    @property
    def sinks(self) -> tuple[DeltaSink, DeltaSink]:
        return DeltaSink(f"{self.out}/appended"), DeltaSink(f"{self.out}/merged", mode="upsert")

    def check(self, output: SinkOutput) -> None:
        for sink in self.sinks:
            sink.check(output)

    def prepare(self, output: SinkOutput) -> None:
        for sink in self.sinks:
            sink.prepare(output)

    def write(self, rows: DataFrame, batch_id: int, output: SinkOutput) -> None:
        for sink in self.sinks:
            sink.write(rows, batch_id, output)
        if batch_id == self.breaks_at:
            self.breaks()

    def copy(self, session: SparkSession, *tables: str) -> None:
        """Copies tables to Parquet, which can be read without Delta."""
        for table in tables:
            read = session.read.format("delta").load(f"{self.out}/{table}")
            read.coalesce(1).write.parquet(f"{self.out}/{table}-copy")
