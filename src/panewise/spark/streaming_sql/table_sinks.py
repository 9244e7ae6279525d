"""The sinks of tables that a script of SQL declares (semantics 46.44)."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from panewise.spark.sinks.base import PathSink, Sink
from panewise.spark.sinks.paths import exists
from panewise.sql.application import FILES, SinkStep
from panewise.sql.texts import quoted

Columns: TypeAlias = tuple[tuple[str, str], ...]  # names and types


def with_columns(rows: DataFrame, columns: Columns) -> DataFrame:
    """Returns rows with the names and types of a table, by position. Without columns it returns the rows."""
    if not columns:
        return rows
    pairs = zip(rows.columns, columns, strict=True)
    return rows.select(*(F.col(quoted(own)).cast(type_).alias(name) for own, (name, type_) in pairs))


@dataclass(frozen=True)
class FileSink(PathSink):
    """Writes files of a format under a path, each row exactly once.

    Each micro-batch with rows has a directory `batch_id=N`. A repeated micro-batch overwrites its own.
    """

    path: str
    format: str
    options: Mapping[str, str]
    columns: Columns = ()

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Writes one micro-batch."""
        writer = with_columns(rows, self.columns).write.format(self.format).mode("overwrite")
        writer.options(**self.options).save(f"{self.path}/batch_id={batch_id}")

    def prepare(self, empty: DataFrame) -> None:
        """Makes the path readable before there are rows."""
        self(empty, -1)

    def prepared(self, session: SparkSession) -> bool:
        """Returns whether the path is readable."""
        return exists(session, f"{self.path}/batch_id=-1")

    def read(self, session: SparkSession, schema: StructType | None) -> DataFrame:
        """Returns the rows that the table contains."""
        reader = session.read.format(self.format).options(**self.options)
        declared = ", ".join(f"{quoted(name)} {type_}" for name, type_ in self.columns)
        known = declared or schema
        return (reader.schema(known) if known else reader).load(self.path).drop("batch_id")


@dataclass(frozen=True)
class ConsoleSink:
    """Prints the rows of each micro-batch. A repeated micro-batch is printed again."""

    name: str
    options: Mapping[str, str]
    columns: Columns = ()

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Prints one micro-batch."""
        sys.stdout.write(f"{self.name}, micro-batch {batch_id}:\n")
        truncate = self.options.get("truncate", "false").lower() == "true"
        with_columns(rows, self.columns).show(int(self.options.get("numrows", "20")), truncate=truncate)
        sys.stdout.flush()


@dataclass(frozen=True)
class MemorySink:
    """Keeps the rows in the driver, each once, until the application ends."""

    columns: Columns = ()
    batches: dict[int, Any] = field(default_factory=dict)

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Stores one micro-batch, in the place of the same one before a failure."""
        self.batches[batch_id] = with_columns(rows, self.columns).toArrow()

    def read(self, session: SparkSession, schema: StructType | None) -> DataFrame:
        """Returns the rows that the table contains."""
        frames = [session.createDataFrame(table) for _, table in sorted(self.batches.items())]
        if not frames:
            return with_columns(session.createDataFrame([], schema or StructType()), self.columns)
        rows = frames[0]
        for frame in frames[1:]:
            rows = rows.union(frame)
        return rows


@dataclass(frozen=True)
class KafkaTableSink:
    """Writes messages, each at least once: a column `value`, or the whole row as JSON.

    The option `key` names the column whose text is the key of the message.
    """

    options: Mapping[str, str]
    columns: Columns = ()

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Writes one micro-batch."""
        rows = with_columns(rows, self.columns)
        value = F.col("value") if "value" in rows.columns else F.to_json(F.struct("*"))
        message = [value.alias("value")]
        key = self.options.get("key")
        message += [] if key is None else [F.col(quoted(key)).cast("string").alias("key")]
        options = {name: text for name, text in self.options.items() if name != "key"}
        rows.select(*message).write.format("kafka").options(**options).save()


@dataclass(frozen=True)
class AppendingSink:
    """Appends rows by Spark's writer of a format.

    Delta recognizes a micro-batch by `application` and its number, and has each row exactly once. In other
    formats a row is there at least once.
    """

    format: str
    options: Mapping[str, str]
    application: str | None
    columns: Columns = ()

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Appends one micro-batch."""
        numbered = self.format == "delta" and self.application is not None
        once = {"txnAppId": str(self.application), "txnVersion": str(batch_id)} if numbered else {}
        writer = with_columns(rows, self.columns).write.format(self.format).mode("append")
        writer.options(**self.options, **once).save()

    def read(self, session: SparkSession, schema: StructType | None) -> DataFrame:
        """Returns the rows that the table contains."""
        return session.read.format(self.format).options(**self.options).load()


READABLE: Final = (FileSink, MemorySink, AppendingSink)


def sink_of(step: SinkStep, application: str | None) -> Sink:
    """Returns the sink of a table.

    Args:
        step: the table.
        application: a name of the query that writes it, which stays the same after a restart.
            None for a batch.
    """
    statement, options = step.statement, step.options
    columns = tuple((column.name, column.type) for column in statement.columns or ())
    path = statement.options.get("path")
    if statement.format in FILES:
        return FileSink(statement.options["path"], statement.format, options, columns)
    if statement.format == "console":
        return ConsoleSink(statement.name, options, columns)
    if statement.format == "memory":
        return MemorySink(columns)
    if statement.format == "kafka":
        return KafkaTableSink(options, columns)
    options |= {} if path is None else {"path": path}
    return AppendingSink(statement.format, options, application, columns)
