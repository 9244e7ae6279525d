"""A sink that writes a table of PostgreSQL, each row exactly once."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from panewise.errors import SpecError, StateError
from panewise.spark.sinks.base import OutputSink, SinkOutput
from panewise.spark.sinks.postgres_copy import COPIED, CopyRows, psycopg
from panewise.spark.sinks.postgres_statements import Statements
from panewise.spark.sinks.postgres_table import prepare_table, table_is_missing
from panewise.spark.sinks.postgres_types import as_copied, declared
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


@dataclass(frozen=True)
class PostgresSink(OutputSink):
    """Writes a table of PostgreSQL 15 or newer, each row exactly once.

    Spark's tasks copy the rows of a micro-batch into a staging table. The driver then merges them into the
    table in one transaction, which also stores the number of the micro-batch in the table `panewise_batches`.
    A repeated micro-batch changes nothing. A query with a new checkpoint is another query, whose rows are
    added.

    The table is created if it is missing. Lists of plain values are arrays; structs, maps and other lists are
    `jsonb`. It needs the extra `postgres`, on the driver and the workers.

    Args:
        dsn: where the database is, such as "postgresql://user@host/database". The sink does not show it.
        table: the table, with or without its schema: "current", "reports.current".
        mode: "append" adds all emitted rows, also retractions, as they are. With "upsert" the table has one
            row for each key: the latest pane of each window (see :func:`panewise.spark.current`).
        key: with "upsert", the columns that identify a row. Default: the keys of the operator and the bounds
            of the window. A table that exists needs a unique index over them.

    Raises:
        SpecError: for another mode, a key with "append", or a name of a table with more than two parts.
    """

    dsn: str = field(repr=False)
    table: str
    mode: TableMode = "append"
    key: Sequence[str] | None = None

    def __post_init__(self) -> None:
        check_mode("PostgresSink", self.mode, self.key)
        parts = self.table.split(".")
        if len(parts) > 2 or not all(parts):
            rule = "a table has a name, and a schema before it if it is not in the search path"
            raise SpecError(
                f"PostgresSink(table={self.table!r})", rule, 'give a name such as "reports.current"'
            )

    @property
    def place(self) -> str:
        """The table, which no other output of a query has."""
        return f"{self.dsn} {self.table}"

    def is_missing(self, output: SinkOutput) -> bool:
        """Returns whether there is no such table."""
        return table_is_missing(self.dsn, self._statements(output), f"{output.name}={self!r}")

    def check(self, output: SinkOutput) -> None:
        """Checks the columns, their types and the key."""
        check_results_of(self, output)
        declared(columns_written(self, output))
        psycopg()

    def prepare(self, output: SinkOutput) -> None:
        """Creates the table and that of the numbers of micro-batches; checks whether it can take the rows."""
        prepare_table(self.dsn, self._statements(output), f"{output.name}={self!r}")

    def write(self, rows: DataFrame, batch_id: int, output: SinkOutput) -> None:
        """Writes one micro-batch in one transaction."""
        query = output.query(rows.sparkSession)
        statements = self._statements(output, query, batch_id)
        with self._connected() as lock:  # its transaction lasts as long as the staging table is in use
            lock.execute(statements.lock())
            with self._connected() as connection:
                if query is not None and connection.execute(statements.is_written()).fetchone() is not None:
                    return
                for (drop,) in connection.execute(statements.leftovers()).fetchall():
                    connection.execute(drop)
                connection.execute(statements.make_staging())
            try:
                attempts = self._copied(rows_written(self, rows, output), statements, output)
                self._merged(statements, attempts)
            finally:
                self._discard(statements)

    def located(self, output: SinkOutput) -> str:
        """Returns the server, the database and the number of the table."""
        with self._connected() as connection:
            return f"PostgreSQL {connection.execute(self._statements(output).identity()).fetchone()}"

    def _merged(self, statements: Statements, attempts: Mapping[str, int]) -> None:
        """Merges the copied rows, unless the table has this micro-batch of the query."""
        with self._connected() as connection:
            noted = statements.query is None or connection.execute(statements.note_batch()).fetchone()
            if noted:
                _merge(connection, statements, attempts)

    def _discard(self, statements: Statements) -> None:
        """Drops the staging table. A server that cannot be reached has it until the next attempt."""
        with suppress(psycopg().Error), self._connected() as connection:
            connection.execute(statements.drop_staging())

    def _connected(self) -> Any:
        """Returns a connection, whose changes are committed at the end of its block."""
        return psycopg().connect(self.dsn)

    def _statements(self, output: SinkOutput, query: str | None = None, batch_id: int = 0) -> Statements:
        columns = declared(columns_written(self, output))
        attempt = uuid4().hex[:8]
        return Statements(self.table, columns, key_of(self, output), query, batch_id, attempt, output.name)

    def _copied(self, rows: DataFrame, statements: Statements, output: SinkOutput) -> dict[str, int]:
        """Copies rows into the staging table; returns how many, by the numbers of the attempts that count."""
        types = {column.name: column.dataType for column in columns_written(self, output)}
        columns = [as_copied(F.col(in_backticks(name)), dtype) for name, dtype in types.items()]
        deleted = F.col(operation_of(output)) == "delete" if self.mode == "upsert" else F.lit(False)
        # COPY takes columns in their order, and mapInArrow takes a dot in a name for a field of a struct.
        numbered = (column.alias(f"column_{n}") for n, column in enumerate([deleted, *columns]))
        copied = rows.select(*numbered)
        copy = CopyRows(self.dsn, statements.copy())
        return {row.attempt: row.copied for row in copied.mapInArrow(copy, COPIED).collect()}


def _merge(connection: Any, statements: Statements, attempts: Mapping[str, int]) -> None:
    """Merges the copied rows into the table.

    A server that crashes empties the staging table when it starts again. So the rows are counted.
    """
    (count,) = connection.execute(statements.count_copied(attempts)).fetchone()
    if count != sum(attempts.values()):
        rule = (
            "the staging table has all rows of the micro-batch when they are merged; a crash "
            "of the server empties it"
        )
        fault = f"{count} of {sum(attempts.values())} rows in {statements.staging}"
        raise StateError(fault, rule, "start the query again: it repeats the micro-batch")
    if statements.key:
        for nulls in connection.execute(statements.nulls_in_deleted_keys(attempts)).fetchall():
            connection.execute(statements.delete(attempts, nulls))
    connection.execute(statements.insert(attempts))
