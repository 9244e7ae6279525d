"""The statements by which rows of a micro-batch come into a table of PostgreSQL."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from panewise.spark.sinks.sequence import unused_name

BATCHES: Final = "panewise_batches"  # the table with the last micro-batch of each query


def in_quotes(name: str) -> str:
    """Returns a name in quotes."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """Returns a text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True)
class Statements:
    """The statements for a micro-batch of a query, and those that prepare a table.

    Attributes:
        table: the table, perhaps with a schema. The other tables are in the same schema.
        columns: the types of its columns by name.
        key: the columns of the key with "upsert"; empty if rows are appended.
        query: the id of the query, None for a batch DataFrame.
        batch: the number of the micro-batch.
        attempt: a name for this attempt to write it. A driver that is taken for dead, and still runs, has a
            staging table of its own.
        output: the name of the output in `write`.
    """

    table: str
    columns: Mapping[str, str]
    key: Sequence[str]
    query: str | None
    batch: int
    attempt: str
    output: str

    @property
    def target(self) -> str:
        """The table, in quotes."""
        return ".".join(map(in_quotes, self.table.split(".")))

    @property
    def staging(self) -> str:
        """The staging table of this attempt, in quotes."""
        return self._beside(self._staging_name)

    @property
    def _staging_name(self) -> str:
        return f"{self._staging_of_table}{self.batch}_{self.attempt}"

    @property
    def _staging_of_table(self) -> str:
        """The prefix of the names of the staging tables for this table and output, of all queries."""
        return f"panewise_staging_{sha256(self._written.encode()).hexdigest()[:12]}_"

    @property
    def _written(self) -> str:
        """The table and output for which numbers of micro-batches are stored."""
        return f"{self.table} {self.output}"

    @property
    def _attempt_column(self) -> str:
        """The column of the staging table with the attempt of the task that copied the row."""
        return unused_name(self.columns, "__attempt")

    @property
    def _deleted_column(self) -> str:
        """The column of the staging table that says whether the row of the key is deleted."""
        return unused_name(self.columns, "__deleted")

    def _beside(self, name: str) -> str:
        """Returns a table in the schema of the target."""
        schema, dot, _ = self.table.rpartition(".")
        return f"{in_quotes(schema)}.{in_quotes(name)}" if dot else in_quotes(name)

    def create(self) -> dict[str, str]:
        """Returns by name the statements that create the table and the table of micro-batch numbers.

        Null is a value of a key, as in the keys of operators.
        """
        columns = [f"{in_quotes(name)} {dtype}" for name, dtype in self.columns.items()]
        columns += [f"UNIQUE NULLS NOT DISTINCT ({_names(self.key)})"] if self.key else []
        numbers = "query text, target text, batch bigint NOT NULL, PRIMARY KEY (query, target)"
        tables = {self.target: ", ".join(columns), self._beside(BATCHES): numbers}
        return {table: f"CREATE TABLE IF NOT EXISTS {table} ({parts})" for table, parts in tables.items()}

    def is_there(self, table: str) -> str:
        """Returns the query for whether a table exists, in any schema of the search path."""
        return f"SELECT 1 WHERE to_regclass({literal(table)}) IS NOT NULL"

    def kind(self) -> str:
        """Returns the query for what the target is, a letter of `pg_class.relkind`; no row without it."""
        return f"SELECT relkind::text FROM pg_class WHERE oid = to_regclass({literal(self.target)})"

    def other_types(self) -> str:
        """Returns the query for columns of the table whose types are not those of the staging table."""
        own, wanted = (f"format_type({a}.atttypid, {a}.atttypmod)" for a in "ts")
        return (
            f"SELECT t.attname, {own}, {wanted} FROM pg_attribute t JOIN pg_attribute s USING (attname)"
            f" WHERE t.attrelid = to_regclass({literal(self.target)})"
            f" AND s.attrelid = to_regclass({literal(self.staging)})"
            f" AND s.attnum > 0 AND {own} <> {wanted} ORDER BY s.attnum"
        )

    def columns_without_values(self) -> str:
        """Returns the query for columns that need a value, while rows lack them and no default fills them.

        A trigger before the INSERT may fill them, so of a table with one there are none.
        """
        filled = "a.atthasdef OR a.attidentity <> '' OR ty.typdefault IS NOT NULL"
        before_insert = "NOT g.tgisinternal AND g.tgtype & 7 = 7"  # FOR EACH ROW, BEFORE, INSERT
        return (
            "SELECT a.attname::text FROM pg_attribute a JOIN pg_type ty ON ty.oid = a.atttypid"
            f" WHERE a.attrelid = to_regclass({literal(self.target)}) AND a.attnum > 0 AND a.attnotnull"
            f" AND NOT ({filled}) AND a.attname <> ALL (ARRAY[{', '.join(map(literal, self.columns))}])"
            f" AND NOT EXISTS (SELECT 1 FROM pg_trigger g WHERE g.tgrelid = a.attrelid AND {before_insert})"
            " ORDER BY a.attnum"
        )

    def unique_indexes(self) -> str:
        """Returns the query for unique indexes: their columns, and whether nulls are equal, or not there."""
        return (
            "SELECT array_agg(a.attname::text), i.indnullsnotdistinct OR bool_and(a.attnotnull)"
            " FROM pg_index i CROSS JOIN unnest(i.indkey) WITH ORDINALITY AS k (number, place)"
            " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.number"
            f" WHERE i.indrelid = to_regclass({literal(self.target)}) AND i.indisunique AND i.indimmediate"
            " AND i.indpred IS NULL AND i.indexprs IS NULL AND k.place <= i.indnkeyatts"
            " GROUP BY i.indexrelid, i.indnullsnotdistinct"
        )

    def lock(self) -> str:
        """Returns the statements that mark the staging table as in use until the end of the transaction.

        The transaction is idle while tasks copy rows, so no limit of the server ends it.
        """
        limits = "('idle_in_transaction_session_timeout', 'transaction_timeout')"
        return (
            f"SELECT set_config(name, '0', true) FROM pg_settings WHERE name IN {limits};"
            f" SELECT pg_advisory_xact_lock({_number_of(literal(self._staging_name))})"
        )

    def leftovers(self) -> str:
        """Returns the query for the statements that delete staging tables that are left and not in use."""
        return (
            "WITH known AS MATERIALIZED (SELECT schemaname, tablename FROM pg_tables"
            f" WHERE starts_with(tablename, {literal(self._staging_of_table)})"
            " AND pg_has_role(tableowner, 'USAGE'))"
            " SELECT format('DROP TABLE IF EXISTS %I.%I', schemaname, tablename) FROM known"
            f" WHERE pg_try_advisory_xact_lock({_number_of('tablename')})"
        )

    def identity(self) -> str:
        """Returns the query for what identifies the table: its server, its database and its number."""
        return (
            "SELECT pg_postmaster_start_time()::text, d.oid::text, to_regclass("
            f"{literal(self.target)})::oid::text FROM pg_database d WHERE d.datname = current_database()"
        )

    def make_staging(self) -> str:
        """Returns the statement that creates the empty staging table."""
        own = {self._attempt_column: "uuid", self._deleted_column: "boolean", **self.columns}
        columns = ", ".join(f"{in_quotes(name)} {dtype}" for name, dtype in own.items())
        return f"CREATE UNLOGGED TABLE {self.staging} ({columns})"

    def drop_staging(self) -> str:
        """Returns the statement that deletes the staging table."""
        return f"DROP TABLE IF EXISTS {self.staging}"

    def copy(self) -> str:
        """Returns the statement that copies rows into the staging table."""
        names = _names([self._attempt_column, self._deleted_column, *self.columns])
        return f"COPY {self.staging} ({names}) FROM STDIN"

    def is_written(self) -> str:
        """Returns the query for whether the table has this micro-batch."""
        return (
            f"SELECT 1 FROM {self._beside(BATCHES)} WHERE query = {literal(str(self.query))}"
            f" AND target = {literal(self._written)} AND batch >= {self.batch}"
        )

    def note_batch(self) -> str:
        """Returns the statement that stores the number of the micro-batch.

        It returns no row if the table already has it.
        """
        return (
            f"INSERT INTO {self._beside(BATCHES)} AS b VALUES"
            f" ({literal(str(self.query))}, {literal(self._written)}, {self.batch})"
            " ON CONFLICT (query, target) DO UPDATE SET batch = EXCLUDED.batch"
            " WHERE b.batch < EXCLUDED.batch RETURNING 1"
        )

    def count_copied(self, attempts: Iterable[str]) -> str:
        """Returns the query for how many rows of attempts the staging table has."""
        return f"SELECT count(*) FROM {self.staging} s WHERE {self._counted(attempts)}"

    def nulls_in_deleted_keys(self, attempts: Iterable[str]) -> str:
        """Returns the query for which columns of the keys of deleted rows are null."""
        nulls = ", ".join(f"s.{in_quotes(name)} IS NULL" for name in self.key)
        condition = f"{self._counted(attempts)} AND s.{self._deleted_column}"
        return f"SELECT DISTINCT {nulls} FROM {self.staging} s WHERE {condition}"

    def delete(self, attempts: Iterable[str], nulls: Iterable[bool]) -> str:
        """Returns the statement that deletes rows whose keys are null in these columns.

        An index serves `=` and IS NULL, but not IS NOT DISTINCT FROM.
        """
        pairs = zip(map(in_quotes, self.key), nulls, strict=True)
        matched = (
            f"t.{name} IS NULL AND s.{name} IS NULL" if null else f"t.{name} = s.{name}"
            for name, null in pairs
        )
        return (
            f"DELETE FROM {self.target} t USING {self.staging} s"
            f" WHERE {self._counted(attempts)} AND s.{self._deleted_column} AND {' AND '.join(matched)}"
        )

    def insert(self, attempts: Iterable[str]) -> str:
        """Returns the statement that inserts rows, or updates those with the same key."""
        names = _names(self.columns)
        values = ", ".join(f"{in_quotes(name)} = EXCLUDED.{in_quotes(name)}" for name in self.columns)
        conflict = f" ON CONFLICT ({_names(self.key)}) DO UPDATE SET {values}" if self.key else ""
        return (
            f"INSERT INTO {self.target} ({names}) SELECT {names} FROM {self.staging} s"
            f" WHERE {self._counted(attempts)} AND NOT s.{self._deleted_column}{conflict}"
        )

    def _counted(self, attempts: Iterable[str]) -> str:
        """Returns the condition for rows of the attempts whose result Spark took."""
        return f"s.{self._attempt_column} = ANY (ARRAY[{', '.join(map(literal, attempts))}]::uuid[])"


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(in_quotes, names))


def _number_of(name: str) -> str:
    """Returns the number of the lock of a table."""
    return f"hashtextextended({name}, 0)"
