"""The sinks of tables that a script of SQL declares: sinks, and how rows become those of a table (46.44)."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from panewise.errors import SqlError
from panewise.spark.sinks.appending import AppendingSink
from panewise.spark.sinks.base import PathSink
from panewise.spark.sinks.console import ConsoleSink
from panewise.spark.sinks.files import FileSink
from panewise.spark.sinks.local_session import check_stream_in_driver
from panewise.spark.sinks.memory import MemorySink
from panewise.spec.conditions.text import in_backticks
from panewise.sql.script.declarations import FILES
from panewise.sql.script.steps import SinkStep

Schema: TypeAlias = str | StructType | None
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

    @property
    def ddl(self) -> str:
        """The columns as Spark's DDL has them; empty if they are those of the query."""
        return ", ".join(f"{in_backticks(name)} {type_}" for name, type_ in self.columns)

    def shaped(self, rows: DataFrame) -> DataFrame:
        """Returns rows with the names and types of the table, by position; other columns are null."""
        if not self.columns:
            return rows
        if len({name.lower() for name in rows.columns}) < len(rows.columns):
            rows = rows.toDF(*(f"column {place}" for place in range(1, len(rows.columns) + 1)))
        listed = [name for name, _ in self.columns] if self.listed is None else self.listed
        pairs = zip(listed, rows.columns, strict=True)
        values = {name.lower(): F.col(in_backticks(own)) for name, own in pairs}
        return rows.select(
            *(values.get(name.lower(), F.lit(None)).cast(type_).alias(name) for name, type_ in self.columns)
        )


@dataclass(frozen=True)
class TableSink:
    """Gives rows the columns of a table, and passes them to a sink.

    Attributes:
        shape: the columns.
        put: the sink.
        reader: returns the rows that are there, given their columns; None for a sink that is only written.
        in_driver: whether the rows stay in the driver.
    """

    shape: TableShape
    put: Callable[[DataFrame, int], None]
    reader: Callable[[SparkSession, Schema], DataFrame] | None
    in_driver: bool

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Writes one micro-batch."""
        self.put(self.shaped(rows), batch_id)

    def shaped(self, rows: DataFrame) -> DataFrame:
        """Returns rows as they are written.

        Raises:
            SqlError: if they cannot be.
        """
        return self.shape.shaped(rows)

    def check(self, session: SparkSession, name: str, *, streaming: bool) -> None:
        """Checks that the rows can come to the sink.

        Raises:
            SpecError: for a stream through Connect, if the rows are to stay in the driver.
        """
        if self.in_driver and streaming:
            check_stream_in_driver(session, "a table of memory or console", name)

    def read(self, session: SparkSession, schema: StructType | None) -> DataFrame:
        """Returns the rows that the table contains, given the columns of the query that writes it."""
        assert self.reader is not None, "the check of a script refuses to read this table"
        return self.reader(session, self.shape.ddl or schema)


@dataclass(frozen=True)
class FileTable(TableSink, PathSink):
    """Passes rows to a sink of files, which is at a path."""

    files: FileSink
    path: str

    def __init__(self, shape: TableShape, files: FileSink) -> None:
        super().__init__(shape, files, files.read, in_driver=False)
        object.__setattr__(self, "files", files)
        object.__setattr__(self, "path", files.path)

    def prepare(self, empty: DataFrame) -> None:
        """Makes the path readable before there are rows."""
        self.files.prepare(self.shaped(empty))

    def prepared(self, session: SparkSession) -> bool:
        """Returns whether the path is readable."""
        return self.files.prepared(session)

    def check_new(self, session: SparkSession) -> None:
        """Checks that the path has no rows of another checkpoint."""
        self.files.check_new(session)

    def check_changed(self, session: SparkSession) -> None:
        """Checks that the path has no rows of another query."""
        self.files.check_changed(session)

    def check_batch(self, session: SparkSession) -> None:
        """Checks that the path has no rows of a stream."""
        self.files.check_batch(session)


@dataclass(frozen=True)
class KafkaTable(TableSink):
    """Writes messages, each at least once: the columns of a message, or the whole row as JSON.

    `key` is the column whose text is the key of the message, None if there is none.
    """

    key: str | None

    def shaped(self, rows: DataFrame) -> DataFrame:
        """Returns the rows as messages."""
        rows = self.shape.shaped(rows)
        key, names = self.key, {name.lower() for name in rows.columns}
        if "value" in names:
            lost = sorted(names - _OF_MESSAGES - {(key or "").lower()})
            if lost:
                rule = f"with a column `value` a row has the columns of a message: {sorted(_OF_MESSAGES)}"
                remedy = "give `value` another name, so that the row is the message as JSON"
                raise SqlError(f"a column {lost[0]}", rule, remedy)
            message = [F.col(name) for name in names & _OF_MESSAGES if key is None or name != "key"]
        else:
            message = [F.to_json(F.struct("*")).alias("value")]
        message += [] if key is None else [F.col(in_backticks(key)).cast("string").alias("key")]
        return rows.select(*message)


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
        return FileTable(shape, FileSink(statement.options["path"], statement.format, options))
    if statement.format == "console":
        cut = options.get("truncate", "false").lower() == "true"
        console = ConsoleSink(int(options.get("numrows", "20")), truncate=cut)
        return TableSink(shape, partial(console.show, name=statement.name), None, in_driver=True)
    if statement.format == "memory":
        memory = MemorySink()
        return TableSink(shape, memory.store, memory.read, in_driver=True)
    if statement.format == "kafka":
        key = options.pop("key", None)
        return KafkaTable(shape, AppendingSink("kafka", options, checkpoint), None, in_driver=False, key=key)
    options |= {} if path is None else {"path": path}
    appending = AppendingSink(statement.format, options, checkpoint)
    return TableSink(shape, appending, appending.read, in_driver=False)
