"""The statements by which rows of a micro-batch come into a table of PostgreSQL."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

BATCHES: Final = "panewise_batches"  # the table with the last micro-batch of each query
_ATTEMPT: Final = "__attempt"
_DELETED: Final = "__deleted"


def quoted(name: str) -> str:
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
        attempt: a name for this attempt to write it. A driver that is taken for dead, and goes on, has a
            staging table of its own.
    """

    table: str
    columns: Mapping[str, str]
    key: Sequence[str]
    query: str | None
    batch: int
    attempt: str

    @property
    def target(self) -> str:
        """The table, in quotes."""
        return ".".join(map(quoted, self.table.split(".")))

    @property
    def staging(self) -> str:
        """The staging table of this attempt, in quotes."""
        return self._beside(f"{self._staging_of_query}{self.batch}_{self.attempt}")

    @property
    def _staging_of_query(self) -> str:
        """What the names of the staging tables of this query and table begin with."""
        writer = self.attempt if self.query is None else self.query
        return f"panewise_staging_{sha256(f'{writer} {self.table}'.encode()).hexdigest()[:12]}_"

    def _beside(self, name: str) -> str:
        """Returns a table in the schema of the target."""
        schema, dot, _ = self.table.rpartition(".")
        return f"{quoted(schema)}.{quoted(name)}" if dot else quoted(name)

    def create(self) -> list[str]:
        """Returns what creates the table and that of the numbers, if they are missing.

        Null is a value of a key, as in the keys of operators.
        """
        columns = [f"{quoted(name)} {dtype}" for name, dtype in self.columns.items()]
        columns += [f"UNIQUE NULLS NOT DISTINCT ({_names(self.key)})"] if self.key else []
        numbers = "query text, target text, batch bigint NOT NULL, PRIMARY KEY (query, target)"
        return [
            f"CREATE TABLE IF NOT EXISTS {self.target} ({', '.join(columns)})",
            f"CREATE TABLE IF NOT EXISTS {self._beside(BATCHES)} ({numbers})",
        ]

    def leftovers(self) -> str:
        """Returns the query for staging tables that failed attempts of this query have left."""
        return (
            "SELECT format('DROP TABLE %I.%I', schemaname, tablename) FROM pg_tables"
            f" WHERE starts_with(tablename, {literal(self._staging_of_query)})"
        )

    def make_staging(self) -> str:
        """Returns what makes the empty staging table."""
        own = {_ATTEMPT: "uuid", _DELETED: "boolean", **self.columns}
        columns = ", ".join(f"{quoted(name)} {dtype}" for name, dtype in own.items())
        return f"CREATE UNLOGGED TABLE {self.staging} ({columns})"

    def drop_staging(self) -> str:
        """Returns what deletes the staging table."""
        return f"DROP TABLE IF EXISTS {self.staging}"

    def copy(self) -> str:
        """Returns what copies rows into the staging table."""
        return f"COPY {self.staging} ({_names([_ATTEMPT, _DELETED, *self.columns])}) FROM STDIN"

    def is_written(self) -> str:
        """Returns the query for whether the table has this micro-batch."""
        return (
            f"SELECT 1 FROM {self._beside(BATCHES)} WHERE query = {literal(str(self.query))}"
            f" AND target = {literal(self.table)} AND batch >= {self.batch}"
        )

    def note_batch(self) -> str:
        """Returns what stores the number of the micro-batch. It returns no row if the table has it."""
        return (
            f"INSERT INTO {self._beside(BATCHES)} AS b VALUES"
            f" ({literal(str(self.query))}, {literal(self.table)}, {self.batch})"
            " ON CONFLICT (query, target) DO UPDATE SET batch = EXCLUDED.batch"
            " WHERE b.batch < EXCLUDED.batch RETURNING 1"
        )

    def nulls_in_deleted_keys(self, attempts: Sequence[str]) -> str:
        """Returns the query for which columns of the keys of deleted rows are null."""
        nulls = ", ".join(f"s.{quoted(name)} IS NULL" for name in self.key)
        return f"SELECT DISTINCT {nulls} FROM {self.staging} s WHERE {_counted(attempts)} AND s.{_DELETED}"

    def delete(self, attempts: Sequence[str], nulls: Iterable[bool]) -> str:
        """Returns what deletes rows whose keys have these nulls.

        An index serves `=` and IS NULL, but not IS NOT DISTINCT FROM.
        """
        pairs = zip(map(quoted, self.key), nulls, strict=True)
        matched = (
            f"t.{name} IS NULL AND s.{name} IS NULL" if null else f"t.{name} = s.{name}"
            for name, null in pairs
        )
        return (
            f"DELETE FROM {self.target} t USING {self.staging} s"
            f" WHERE {_counted(attempts)} AND s.{_DELETED} AND {' AND '.join(matched)}"
        )

    def insert(self, attempts: Sequence[str]) -> str:
        """Returns what inserts rows, or updates those with the same key."""
        names = _names(self.columns)
        values = ", ".join(f"{quoted(name)} = EXCLUDED.{quoted(name)}" for name in self.columns)
        conflict = f" ON CONFLICT ({_names(self.key)}) DO UPDATE SET {values}" if self.key else ""
        return (
            f"INSERT INTO {self.target} ({names}) SELECT {names} FROM {self.staging} s"
            f" WHERE {_counted(attempts)} AND NOT s.{_DELETED}{conflict}"
        )


def _names(names: Iterable[str]) -> str:
    return ", ".join(map(quoted, names))


def _counted(attempts: Sequence[str]) -> str:
    """Returns the condition for rows of the attempts that count."""
    return f"s.{_ATTEMPT} = ANY (ARRAY[{', '.join(map(literal, attempts))}]::uuid[])"
