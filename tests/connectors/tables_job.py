"""Writes the panes of an operator over files into tables of every kind. The tests kill this process.

``python -m tests.connectors.tables_job SOURCE OUT MASTER SPEC job.dsn=DSN [KEY=VALUE ...]``, with settings
of Spark. At its end the job copies the tables that other programs cannot read to Parquet.
"""

import sys
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from panewise.spark import DeltaSink, ParquetSink, PostgresSink, apply, configure
from panewise.spark.sinks.base import OutputSink, SinkOutput
from tests.connectors.delta_sink import SETTINGS
from tests.faults.job import CONF
from tests.faults.specs import ALL
from tests.faults.stream_files import DDL


@dataclass(frozen=True)
class AllTables(OutputSink):
    """Writes each micro-batch to all tables, one after the other."""

    out: str
    dsn: str

    @property
    def tables(self) -> dict[str, OutputSink]:
        return {
            "delta_all": DeltaSink(f"{self.out}/delta_all"),
            "postgres_current": PostgresSink(self.dsn, "current", mode="upsert"),
            "delta_current": DeltaSink(f"{self.out}/delta_current", mode="upsert"),
            "postgres_all": PostgresSink(self.dsn, "everything"),
        }

    @property
    def files(self) -> ParquetSink:
        return ParquetSink(f"{self.out}/files", compact_every=2)

    def check(self, output: SinkOutput) -> None:
        for table in self.tables.values():
            table.check(output)

    def prepare(self, output: SinkOutput) -> None:
        for table in self.tables.values():
            table.prepare(output)

    def write(self, rows: DataFrame, batch_id: int, output: SinkOutput) -> None:
        for table in self.tables.values():
            table.write(rows, batch_id, output)
        self.files(rows.select(*output.schema.names), batch_id)

    def copy(self, session: SparkSession) -> None:
        """Copies what Spark alone reads."""
        for name in ("delta_all", "delta_current"):
            session.read.format("delta").load(f"{self.out}/{name}").write.parquet(f"{self.out}/{name}-copy")
        self.files.read(session).write.parquet(f"{self.out}/files-copy")


def main(source: str, out: str, master: str, name: str, *settings: str) -> None:
    builder = SparkSession.builder.master(master).appName(f"panewise tables {name}")
    values: dict[str, Any] = {**CONF, **SETTINGS, **dict(setting.split("=", 1) for setting in settings)}
    dsn = values.pop("job.dsn")
    for key, value in values.items():
        builder = builder.config(key, value)
    spark = configure(builder.getOrCreate(), local_checkpoints=True, connectors=["delta"])
    stream = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(source)
    sink = AllTables(out, dsn)
    result: Any = apply(stream.withWatermark("ts", "20 seconds"), ALL[name], finish="at_end")
    late = ParquetSink(f"{out}/late")
    result.write(panes=sink, late=late, checkpoint=f"{out}/checkpoint", available_now=True).awaitTermination()
    sink.copy(spark)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
