"""A sink that appends by Spark's writer of a format, as tables of scripts are written."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from panewise.spark.sinks.base import QueryId
from panewise.spark.sinks.delta_commits import numbered_commits


@dataclass(frozen=True)
class AppendingSink:
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
    _query_id: QueryId = field(default_factory=QueryId, init=False, repr=False, compare=False)

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        """Appends one micro-batch."""
        with numbered_commits(rows.sparkSession, self._query(rows.sparkSession), batch_id):
            rows.write.format(self.format).mode("append").options(**self.options).save()

    def read(self, session: SparkSession, schema: str | StructType | None) -> DataFrame:
        """Returns the rows that are there, with the columns that the format knows."""
        return session.read.format(self.format).options(**self.options).load()

    def _query(self, session: SparkSession) -> str | None:
        """Returns the id of the query if the format needs it."""
        if self.format != "delta" or self.checkpoint is None:
            return None
        return self._query_id.read(session, self.checkpoint)
