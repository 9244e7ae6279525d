"""Runs queries with tables of every kind in one application. The tests kill its processes.

``python -m tests.connectors.tables_job SOURCE OUT MASTER TABLE.SPEC,TABLE.SPEC [KEY=VALUE ...]``.
A TABLE is one of `TABLES`; ``job.dsn`` and ``job.broker`` say where the servers are. A query that has ended
copies what other programs cannot read to OUT/queries/TABLE.SPEC/copy.
"""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from panewise.spark import DeltaSink, KafkaSink, ParquetSink, PostgresSink, apply
from tests.connectors.delta_sink import SETTINGS
from tests.faults.specs import ALL
from tests.faults.stream_files import DDL
from tests.faults.supervised import supervise
from tests.faults.together_job import QUERIES, session

TABLES: Final = (
    "delta-append",
    "delta-upsert",
    "files-compacted",
    "kafka-append",
    "kafka-upsert",
    "postgres-append",
    "postgres-upsert",
)


def stored_as(name: str) -> str:
    """Returns the name of the table or the topic of a query."""
    return name.replace(".", "_").replace("-", "_")


def _sink(name: str, folder: Path, dsn: str, broker: str) -> Any:
    kind, _, mode = name.partition(".")[0].partition("-")
    chosen: Any = mode
    match kind:
        case "delta":
            return DeltaSink(str(folder / "table"), mode=chosen)
        case "postgres":
            return PostgresSink(dsn, stored_as(name), mode=chosen)
        case "kafka":
            return KafkaSink(stored_as(name), {"kafka.bootstrap.servers": broker}, mode=chosen)
    return ParquetSink(str(folder / "table"), compact_every=2)


def _read(spark: SparkSession, name: str, folder: Path, broker: str) -> DataFrame | None:
    """Returns what a table contains, unless the tests read it themselves."""
    match name.partition("-")[0]:
        case "delta":
            return spark.read.format("delta").load(str(folder / "table"))
        case "files":
            return ParquetSink(str(folder / "table")).read(spark)
        case "kafka":
            reader = spark.read.format("kafka").option("kafka.bootstrap.servers", broker)
            return reader.option("subscribe", stored_as(name)).option("includeHeaders", "true").load()
    return None


def query(spark: SparkSession, source: str, folder: Path, dsn: str, broker: str) -> Callable[[], None]:
    """Returns what runs the query of a table to its end, and copies the table."""
    name = folder.name

    def run() -> None:
        stream = spark.readStream.schema(DDL).option("maxFilesPerTrigger", 1).parquet(source)
        spec = ALL[name.partition(".")[2]]
        result: Any = apply(stream.withWatermark("ts", "20 seconds"), spec, finish="at_end")
        sinks = {"panes": _sink(name, folder, dsn, broker), "late": ParquetSink(str(folder / "late"))}
        result.write(**sinks, checkpoint=str(folder / "checkpoint"), available_now=True).awaitTermination()
        shutil.rmtree(folder / "copy", ignore_errors=True)  # a kill can interrupt the copy
        if (table := _read(spark, name, folder, broker)) is not None:
            table.coalesce(1).write.parquet(str(folder / "copy"))

    return run


def main(source: str, out: str, master: str, names: str, *settings: str) -> None:
    values = {**SETTINGS, **dict(setting.split("=", 1) for setting in settings)}
    dsn, broker = values.pop("job.dsn"), values.pop("job.broker")
    spark = session(master, values, ("delta", "kafka"))
    folder = Path(out) / QUERIES
    folder.mkdir(parents=True, exist_ok=True)
    names_of = {name: query(spark, source, folder / name, dsn, broker) for name in names.split(",")}
    supervise(Path(out), names_of)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
