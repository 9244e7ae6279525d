"""A sink that writes a Delta table, each row exactly once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import DataType, StructType

from panewise.errors import SetupError, SpecError
from panewise.paths import is_path, place
from panewise.spark.session.connector_versions import check_connectors
from panewise.spark.sinks.base import OutputSink, SinkOutput
from panewise.spark.sinks.delta_commits import numbered_commits
from panewise.spark.sinks.delta_constraints import check_own_columns
from panewise.spark.sinks.paths import exists
from panewise.spark.sinks.preparation import empty
from panewise.spark.sinks.table_modes import (
    TableMode,
    check_mode,
    check_results_of,
    columns_written,
    key_of,
    operation_of,
    rows_written,
)
from panewise.spec.conditions.text import in_backticks

_CHANGES: Final = "panewise_changes"  # the view from which MERGE reads


@dataclass(frozen=True)
class DeltaSink(OutputSink):
    """Writes a Delta table, each row exactly once.

    Delta stores the query, the output and the number of the micro-batch with each commit. A repeated
    micro-batch changes nothing. A query with a new checkpoint is another query: its rows are added.

    The session needs Delta (see :func:`panewise.spark.connectors`). The table is created if it is missing.

    Args:
        table: the table: a path, which contains a slash, or the name of a table.
        mode: "append" adds all emitted rows, also retractions, as they are. With "upsert" the table has one
            row for each key: the latest pane of each window (see :func:`panewise.spark.current`).
        key: with "upsert", the columns that identify a row. Default: the keys of the operator and the bounds
            of the window.

    Raises:
        SpecError: for another mode, a key with "append", or an empty name.
    """

    table: str
    mode: TableMode = "append"
    key: Sequence[str] | None = None

    def __post_init__(self) -> None:
        check_mode("DeltaSink", self.mode, self.key)
        if not self.table:
            rule = "a Delta table has a name or a path"
            raise SpecError(f"DeltaSink(table={self.table!r})", rule, 'give one such as "/lake/hourly"')

    @property
    def place(self) -> str:
        """The table, which no other output of a query has."""
        return place(self.table) if is_path(self.table) else self.table.lower()

    @property
    def directory(self) -> str | None:
        """The path of the table, None if it has a name."""
        return self.table if is_path(self.table) else None

    def named_directory(self, output: SinkOutput) -> str | None:
        """Returns the directory of a table with a name, None if there is none yet."""
        try:
            return self.located(output)
        except AnalysisException:
            return None

    def located(self, output: SinkOutput) -> str:
        """Returns the path of the table, also of one that has a name."""
        if is_path(self.table):
            return self.place
        (row,) = output.session.sql(f"DESCRIBE DETAIL {self._name}").select("location").collect()
        return place(row.location)

    def is_missing(self, output: SinkOutput) -> bool:
        """Returns whether there is no such table."""
        try:
            _ = self._read(output.session).schema
        except AnalysisException:
            return True
        return False

    def check(self, output: SinkOutput) -> None:
        """Checks the key, and that the session has Delta."""
        check_results_of(self, output)
        try:
            check_connectors(output.session, ["delta"])
        except SetupError as error:
            fault = f"{output.name}={self.table!r}, a Delta table, in {error.given}"
            path = "" if is_path(self.table) else f"; or write './{self.table}' for Parquet files at a path"
            raise SetupError(fault, error.rule, f"{error.remedy}{path}") from None

    def prepare(self, output: SinkOutput) -> None:
        """Creates the table if it is missing; otherwise checks whether it can take the rows."""
        wanted, fault = columns_written(self, output), f"{output.name}={self!r}"
        try:
            if self._is_other(output.session):
                rule = "a DeltaSink writes to a Delta table, and something else is at this place"
                raise SpecError(fault, rule, "give another name, or delete what is there")
            self._save(empty(output.session, wanted), "ignore")
            existing = self._read(output.session).schema
        except AnalysisException as error:
            rule = f"the table does not exist, and cannot be made: {str(error).splitlines()[0]}"
            raise SpecError(fault, rule, "give another one, or columns that Delta can have") from error
        _check_columns(fault, existing, wanted)
        check_own_columns(output.session, self._name, existing, wanted.names, fault)

    def write(self, rows: DataFrame, batch_id: int, output: SinkOutput) -> None:
        """Writes one micro-batch in one commit."""
        query = output.query(rows.sparkSession)
        written = rows_written(self, rows, output)
        # Two outputs may name one table differently.
        writer = None if query is None else f"{query}/{output.name}"
        with numbered_commits(rows.sparkSession, writer, batch_id):
            if self.mode == "upsert":
                self._merge(written, output)
            else:
                self._save(written, "append")

    def _is_other(self, session: SparkSession) -> bool:
        """Returns whether there is something that is no Delta table, such as a view or other files."""
        if not is_path(self.table):
            return session.catalog.tableExists(self.table) and not _provided(session, self.table)
        if not exists(session, self.table):
            return False
        try:
            return not isinstance(self._read(session).schema, StructType)
        except AnalysisException:  # an empty directory is nothing
            files = session.read.option("recursiveFileLookup", "true").text(self.table)
            return bool(files.inputFiles())

    def _save(self, rows: DataFrame, mode: str) -> None:
        writer = rows.write.format("delta").mode(mode)
        if is_path(self.table):
            writer.save(self.table)
        else:
            writer.saveAsTable(self.table)

    def _read(self, session: SparkSession) -> DataFrame:
        if is_path(self.table):
            return session.read.format("delta").load(self.table)
        return session.table(self.table)

    def _merge(self, changes: DataFrame, output: SinkOutput) -> None:
        columns = [in_backticks(name) for name in columns_written(self, output).names]
        same = " AND ".join(f"t.{key} <=> c.{key}" for key in map(in_backticks, key_of(self, output)))
        operation = operation_of(output)
        changes.createOrReplaceTempView(_CHANGES)
        try:
            changes.sparkSession.sql(
                f"MERGE INTO {self._name} AS t USING {_CHANGES} AS c ON {same}"
                f" WHEN MATCHED AND c.{operation} = 'delete' THEN DELETE"
                f" WHEN MATCHED THEN UPDATE SET {', '.join(f't.{name} = c.{name}' for name in columns)}"
                f" WHEN NOT MATCHED AND c.{operation} = 'upsert' THEN INSERT ({', '.join(columns)})"
                f" VALUES ({', '.join(f'c.{name}' for name in columns)})"
            )
        finally:
            changes.sparkSession.catalog.dropTempView(_CHANGES)

    @property
    def _name(self) -> str:
        """The table as SQL names it."""
        return f"delta.{in_backticks(self.table)}" if is_path(self.table) else self.table


def _provided(session: SparkSession, table: str) -> bool:
    """Returns whether Delta provides a table of this name. A view has no provider."""
    rows = session.sql(f"DESCRIBE TABLE EXTENDED {table}").collect()
    providers = [row.data_type.lower() for row in rows if row.col_name == "Provider"]
    return providers[-1:] == ["delta"]  # columns of the table come first


def _check_columns(fault: str, existing: StructType, wanted: StructType) -> None:
    """Checks that a table has the columns that are written, with their types."""
    types = {column.name.lower(): column.dataType for column in existing}
    for column in wanted:
        own = types.get(column.name.lower())
        if own is None or _plain(own) != _plain(column.dataType):
            has = "no such column" if own is None else f"{own.simpleString()} there"
            rule = f"the rows have {column.name} {column.dataType.simpleString()}, and the table has {has}"
            raise SpecError(fault, rule, "change the table, or give another one")


def _plain(dtype: DataType) -> str:
    """Returns a type as lower-case text, without nullability."""
    return dtype.simpleString().lower()
