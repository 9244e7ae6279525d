"""One sink for Delta tables: one of all panes, one of the newest pane of each window, or both."""

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
class Tables(OutputSink):
    """Writes panes to tables under `out`: "appended" has all of them, "merged" the newest of each window.

    In the micro-batch `breaks_at`, `breaks` is called after the tables are written.
    """

    out: Path
    breaks_at: int | None
    breaks: Callable[[], None]
    tables: tuple[str, ...] = ("appended", "merged")

    @property
    def sinks(self) -> list[DeltaSink]:
        return [
            DeltaSink(f"{self.out}/{table}", mode="upsert" if table == "merged" else "append")
            for table in self.tables
        ]

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

    def copy(self, session: SparkSession) -> None:
        """Copies the tables to Parquet, which can be read without Delta."""
        for table in self.tables:
            read = session.read.format("delta").load(f"{self.out}/{table}")
            read.coalesce(1).write.parquet(f"{self.out}/{table}-copy")
