"""Copies the rows of a partition into a table of PostgreSQL. Spark's workers run it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final
from uuid import uuid4

import pyarrow as pa

from panewise.extras import from_extra

COPIED: Final = "attempt STRING, copied BIGINT"  # what a task returns


def psycopg() -> Any:
    """Returns the package psycopg.

    Raises:
        MissingExtraError: if it is missing.
    """
    with from_extra("postgres", "a PostgresSink needs psycopg, on the driver and on the workers"):
        return import_module("psycopg")


@dataclass(frozen=True)
class CopyRows:
    """The function of a task: copies its rows with a new number of the attempt in the first column.

    A task that Spark repeats, or runs twice at once, copies its rows again, under another number. Only the
    numbers of the attempts whose result Spark took are merged.

    Attributes:
        dsn: where the database is.
        statement: the statement COPY ... FROM STDIN.
    """

    dsn: str = field(repr=False)
    statement: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yields the number of the attempt and the number of rows, if there are rows."""
        full = (batch for batch in batches if batch.num_rows)
        first = next(full, None)
        if first is None:
            return
        attempt, count = str(uuid4()), 0
        with psycopg().connect(self.dsn) as connection, connection.cursor().copy(self.statement) as copy:
            for batch in (first, *full):
                count += batch.num_rows
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    copy.write_row((attempt, *row))
        yield pa.RecordBatch.from_pydict({"attempt": [attempt], "copied": [count]})
