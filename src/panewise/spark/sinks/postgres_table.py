"""Creates the table of a PostgresSink, or checks the one that exists (semantics 49.42)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from panewise.errors import SetupError, SpecError
from panewise.spark.sinks.postgres_copy import psycopg
from panewise.spark.sinks.postgres_statements import Statements
from panewise.spark.sinks.table_modes import check_values

_OLDEST: Final = 15  # the first version that takes null as a value of a key
_NOT_MADE: Final = "create the schema, grant what is missing, or give the column another name"
_TABLES: Final = frozenset({"r", "p"})  # plain and partitioned ones
_OTHERS: Final = {"v": "a view", "m": "a materialized view", "f": "a foreign table", "S": "a sequence"}
_REMEDY: Final = "change the table, or give another one; without a table the sink creates it"


def prepare_table(dsn: str, statements: Statements, fault: str) -> None:
    """Creates the table and that of the numbers of micro-batches if they are missing, and checks the table.

    Args:
        dsn: where the database is. Errors do not show it, as it may have a password.
        statements: those of the output.
        fault: what the errors show.
    """
    with _opened(dsn, fault) as connection:
        _check_kind(connection, statements, fault)
        with _refused(fault, "the tables cannot be made", _NOT_MADE):
            for table, statement in statements.create().items():
                if connection.execute(statements.is_there(table)).fetchone() is None:
                    connection.execute(statement)
        connection.commit()
        with _refused(fault, "the table takes no such rows", _REMEDY):
            connection.execute(statements.make_staging())
            connection.execute(f"EXPLAIN {statements.insert([])}")
            _check_types(connection, statements, fault)
            # EXPLAIN does not see that an INSERT would fail for want of a value.
            unfilled = connection.execute(statements.columns_without_values()).fetchall()
            check_values(fault, (name for (name,) in unfilled), _REMEDY)
            _check_key(connection, statements, fault)
        connection.rollback()


def table_is_missing(dsn: str, statements: Statements, fault: str) -> bool:
    """Returns whether there is no such table in the search path. `fault` is what errors show."""
    with _opened(dsn, fault) as connection:
        return connection.execute(statements.is_there(statements.target)).fetchone() is None


@contextmanager
def _opened(dsn: str, fault: str) -> Iterator[Any]:
    """Opens a connection to a server that is new enough."""
    try:
        connection = psycopg().connect(dsn)
    except psycopg().ProgrammingError:  # its message has a part of the dsn
        rule = "a dsn is a URL or a connection string of PostgreSQL"
        raise SpecError(fault, rule, "give one such as postgresql://user@host/database") from None
    except psycopg().OperationalError as error:
        rule = f"the database cannot be reached: {str(error).splitlines()[0]}"
        raise SetupError(fault, rule, "start the server, or correct the dsn") from None
    with connection:
        version = connection.info.server_version // 10000
        if version < _OLDEST:
            rule = f"a PostgresSink needs PostgreSQL {_OLDEST} or newer, and the server has {version}"
            raise SetupError(fault, rule, "write to a newer server")
        yield connection


@contextmanager
def _refused(fault: str, rule: str, remedy: str) -> Iterator[None]:
    """Replaces an error of the server by one with a remedy."""
    try:
        yield
    except psycopg().Error as error:
        raise SpecError(fault, f"{rule}: {str(error).splitlines()[0]}", remedy) from error


def _check_kind(connection: Any, statements: Statements, fault: str) -> None:
    """Checks that the target is a table, or missing.

    A view hides the columns and indexes of its table, which are checked. Another server commits a foreign
    table, so its rows and the number of the micro-batch would not be in one transaction.
    """
    for (letter,) in connection.execute(statements.kind()).fetchall():
        if letter in _TABLES:
            continue
        kind = _OTHERS.get(letter, "no table")
        rule = f"a PostgresSink writes to a table of the server, and this is {kind} (semantics 49.63)"
        raise SpecError(fault, rule, "give the table from which its rows come, or another name")


def _check_types(connection: Any, statements: Statements, fault: str) -> None:
    """Checks that columns have the types of the rows. An INSERT would convert values, and round some."""
    for name, existing, wanted in connection.execute(statements.other_types()).fetchall():
        rule = f"the rows have {name} {wanted}, and the table has {existing} there"
        raise SpecError(fault, rule, _REMEDY)


def _check_key(connection: Any, statements: Statements, fault: str) -> None:
    """Checks, with a key, that rows with null in the key replace each other, or cannot be there."""
    if not statements.key:
        return
    indexes = connection.execute(statements.unique_indexes()).fetchall()
    if not any({*names} == {*statements.key} and complete for names, complete in indexes):
        rule = "null is a value of a key (semantics 49.41), and to its unique index nulls are different"
        remedy = "make the index NULLS NOT DISTINCT, or its columns NOT NULL"
        raise SpecError(fault, rule, remedy)
