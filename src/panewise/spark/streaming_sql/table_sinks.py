"""The sinks of tables that a script of SQL declares (semantics 46.44)."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from panewise.errors import SqlError
from panewise.spark.sinks.base import PathSink
from panewise.spark.sinks.paths import exists
from panewise.spark.sinks.query_identity import query_id
from panewise.sql.script.declarations import FILES
from panewise.sql.script.steps import SinkStep
from panewise.sql.texts import quoted

_OF_MESSAGES: Final = frozenset({"key", "value", "topic", "partition", "headers"})  # as Spark writes them


@dataclass(frozen=True)
class TableShape:
    """The columns of a table, and how the rows of a query become these.

    Attributes:
        columns: names and types; empty if the table has the columns of its query.
        listed: the columns that the query has values for, in its order; None for all.
    """

    columns: tuple[tuple[str, str], ...] = ()
    listed: tuple[str, ...] | None = None

    def shaped(self, rows: DataFrame) -> DataFrame:
        """Returns rows with the names and types of the table, by position; other columns are null."""
        if not self.columns:
            return rows
        if len({name.lower() for name in rows.columns}) < len(rows.columns):
            rows = rows.toDF(*(f"column {place}" for place in range(1, len(rows.columns) + 1)))
        listed = [name for name, _ in self.columns] if self.listed is None else self.listed
        pairs = zip(listed, rows.columns, strict=True)
        values = {name.lower(): F.col(quoted(own)) for name, own in pairs}
        return rows.select(
            *(values.get(name.lower(), F.lit(None)).cast(type_).alias(name) for name, type_ in self.columns)
        )


@dataclass(frozen=True)
class TableSink(ABC):
    """A sink of a script."""

    shape: TableShape

    @abstractmethod
    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Writes one micro-batch."""

    def shaped(self, rows: DataFrame) -> DataFrame:
        """Returns rows as they are written.

        Raises:
            SqlError: if they cannot be.
        """
        return self.shape.shaped(rows)

    def read(self, session: SparkSession, schema: StructType | None) -> DataFrame:
        """Returns the rows that the table contains, given the columns of the query that writes it."""
        raise AssertionError("the check of a script refuses to read this table")


@dataclass(frozen=True)
class FileSink(TableSink, PathSink):
    """Writes files of a format under a path, each row exactly once.

    Each micro-batch has a directory `batch_id=N`. A repeated micro-batch overwrites its own.
    """

    path: str
    format: str
    options: Mapping[str, str]

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Writes one micro-batch."""
        writer = self.shaped(rows).write.format(self.format).mode("overwrite")
        writer.options(**self.options).save(f"{self.path}/batch_id={batch_id}")

    def prepare(self, empty: DataFrame) -> None:
        """Makes the path readable before there are rows."""
        self(empty, -1)

    def prepared(self, session: SparkSession) -> bool:
        """Returns whether the path is readable."""
        return exists(session, f"{self.path}/batch_id=-1")

    def has_rows(self, session: SparkSession, *, first: int) -> bool:
        """Returns whether there are micro-batches from the number `first`, 0 or 1, on."""
        return exists(session, f"{self.path}/batch_id=[{first}-9]*")

    def read(self, session: SparkSession, schema: StructType | None) -> DataFrame:
        """Returns the rows that the table contains.

        The directories are named one by one, so their names are no column: the table may have a `batch_id`.
        """
        reader = session.read.format(self.format).options(**self.options)
        declared = ", ".join(f"{quoted(name)} {type_}" for name, type_ in self.shape.columns)
        known = declared or schema
        return (reader.schema(known) if known else reader).load(f"{self.path}/batch_id=*")


@dataclass(frozen=True)
class ConsoleTableSink(TableSink):
    """Prints the rows of each micro-batch. A repeated micro-batch is printed again."""

    name: str
    options: Mapping[str, str]

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Prints one micro-batch."""
        sys.stdout.write(f"{self.name}, micro-batch {batch_id}:\n")
        truncate = self.options.get("truncate", "false").lower() == "true"
        self.shaped(rows).show(int(self.options.get("numrows", "20")), truncate=truncate)
        sys.stdout.flush()


@dataclass(frozen=True)
class MemoryTableSink(TableSink):
    """Keeps the rows in the driver, each once, until the application ends."""

    batches: dict[int, Any] = field(default_factory=dict)

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Stores one micro-batch, in the place of the same one before a failure."""
        self.batches[batch_id] = self.shaped(rows).toArrow()

    def read(self, session: SparkSession, schema: StructType | None) -> DataFrame:
        """Returns the rows that the table contains."""
        frames = [session.createDataFrame(table) for _, table in sorted(self.batches.items())]
        if not frames:
            return self.shape.shaped(session.createDataFrame([], schema or StructType()))
        rows = frames[0]
        for frame in frames[1:]:
            rows = rows.union(frame)
        return rows


@dataclass(frozen=True)
class KafkaTableSink(TableSink):
    """Writes messages, each at least once: the columns of a message, or the whole row as JSON.

    The option `key` names the column whose text is the key of the message.
    """

    options: Mapping[str, str]

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Writes one micro-batch."""
        options = {name: text for name, text in self.options.items() if name != "key"}
        self.shaped(rows).write.format("kafka").options(**options).save()

    def shaped(self, rows: DataFrame) -> DataFrame:
        """Returns the rows as messages."""
        rows = self.shape.shaped(rows)
        key, names = self.options.get("key"), {name.lower() for name in rows.columns}
        if "value" in names:
            lost = sorted(names - _OF_MESSAGES - {(key or "").lower()})
            if lost:
                rule = f"with a column `value` a row has the columns of a message: {sorted(_OF_MESSAGES)}"
                remedy = "give `value` another name, so that the row is the message as JSON"
                raise SqlError(f"a column {lost[0]}", rule, remedy)
            message = [F.col(name) for name in names & _OF_MESSAGES if key is None or name != "key"]
        else:
            message = [F.to_json(F.struct("*")).alias("value")]
        message += [] if key is None else [F.col(quoted(key)).cast("string").alias("key")]
        return rows.select(*message)


@dataclass(frozen=True)
class AppendingSink(TableSink):
    """Appends rows by Spark's writer of a format.

    Delta recognizes a micro-batch by the id of its query and its number, and has each row exactly once. In
    other formats a row is there at least once.

    Attributes:
        format: the format.
        options: its options.
        checkpoint: the checkpoint of the query, None for a batch, whose rows are added each time.
    """

    format: str
    options: Mapping[str, str]
    checkpoint: str | None
    _id: list[str] = field(default_factory=list, compare=False)

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Appends one micro-batch."""
        once: dict[str, str] = {}
        if self.format == "delta" and self.checkpoint is not None:
            if not self._id:
                self._id.append(query_id(rows.sparkSession, self.checkpoint))
            once = {"txnAppId": self._id[0], "txnVersion": str(batch_id)}
        writer = self.shaped(rows).write.format(self.format).mode("append")
        writer.options(**self.options, **once).save()

    def read(self, session: SparkSession, schema: StructType | None) -> DataFrame:
        """Returns the rows that the table contains."""
        return session.read.format(self.format).options(**self.options).load()


def sink_of(step: SinkStep, checkpoint: str | None, listed: tuple[str, ...] | None = None) -> TableSink:
    """Returns the sink of a table.

    Args:
        step: the table.
        checkpoint: the checkpoint of the query that writes it, None for a batch.
        listed: the columns that the query has values for, None for all.
    """
    statement, options = step.statement, step.options
    shape = TableShape(tuple((column.name, column.type) for column in statement.columns or ()), listed)
    path = statement.options.get("path")
    if statement.format in FILES:
        return FileSink(shape, statement.options["path"], statement.format, options)
    if statement.format == "console":
        return ConsoleTableSink(shape, statement.name, options)
    if statement.format == "memory":
        return MemoryTableSink(shape)
    if statement.format == "kafka":
        return KafkaTableSink(shape, options)
    options |= {} if path is None else {"path": path}
    return AppendingSink(shape, statement.format, options, checkpoint)
