"""A directory of files for each micro-batch, under a path."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from panewise.errors import SpecError
from panewise.spark.session.failures import cause_of, spark_errors
from panewise.spark.sinks.base import PathSink
from panewise.spark.sinks.paths import exists

EMPTY: Final = "batch_id=-1"  # it has the columns before there are rows


@dataclass(frozen=True)
class FileSink(PathSink):
    """Writes files of a format under a path, each row exactly once.

    Each micro-batch has a directory `batch_id=N`. A repeated micro-batch overwrites its own.
    """

    path: str
    format: str
    options: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Writes one micro-batch."""
        writer = rows.write.format(self.format).mode("overwrite")
        writer.options(**self.options).save(f"{self.path}/batch_id={batch_id}")

    def prepare(self, empty: DataFrame) -> None:
        """Makes the path readable before there are rows.

        Raises:
            SpecError: if it cannot be written.
        """
        try:
            self(empty, -1)
        except spark_errors() as error:
            rule = f"a sink of files makes its directory before the query starts: {cause_of(error)}"
            remedy = "give a directory that Spark can make and write, and columns that the format can have"
            raise SpecError(f"the {self.format} files at {self.path!r}", rule, remedy) from error

    def prepared(self, session: SparkSession) -> bool:
        """Returns whether the path is readable."""
        return exists(session, f"{self.path}/{EMPTY}")

    def check_new(self, session: SparkSession, otherwise: str = "") -> None:
        """Checks that the path has no rows of another checkpoint (semantics 49.51).

        `otherwise` is a further remedy.

        Raises:
            SpecError: if it has.
        """
        if self._has_rows(session, first=0):
            rule = "a new checkpoint begins with micro-batch 0, which would replace some of these rows"
            remedy = "delete the rows with their checkpoint, or give another path"
            fault = f"rows of another checkpoint at {self.path}"
            raise SpecError(fault, rule, f"{remedy}, {otherwise}" if otherwise else remedy)

    def check_changed(self, session: SparkSession) -> None:
        """Checks that the path has no rows of another query (semantics 49.58).

        Raises:
            SpecError: if it has.
        """
        if self._has_rows(session, first=0):
            rule = "a continued query has not written there before, and would replace some of these rows"
            remedy = "give another path, or delete the rows"
            raise SpecError(f"rows of another query at {self.path}", rule, remedy)

    def check_batch(self, session: SparkSession, otherwise: str = "") -> None:
        """Checks that the path has no rows of a stream (semantics 49.51).

        `otherwise` is a further remedy.

        Raises:
            SpecError: if it has.
        """
        if self._has_rows(session, first=1):
            rule = "a batch is written as micro-batch 0, and the rows of a stream would stay beside it"
            fault, remedy = f"rows of a stream at {self.path}", "delete them, or give another path"
            raise SpecError(fault, rule, f"{remedy}, {otherwise}" if otherwise else remedy)

    def read(self, session: SparkSession, schema: str | StructType | None) -> DataFrame:
        """Returns the rows of all micro-batches.

        The directories are named one by one, so their names are no column: the rows may have a `batch_id`.
        """
        reader = session.read.format(self.format).options(**self.options)
        return (reader.schema(schema) if schema else reader).load(f"{self.path}/batch_id=*")

    def _has_rows(self, session: SparkSession, *, first: int) -> bool:
        """Returns whether there are micro-batches from the number `first`, 0 or 1, on."""
        return exists(session, f"{self.path}/batch_id=[{first}-9]*")
