"""A sink that appends by Spark's writer of a format, as tables of scripts are written."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from panewise.spark.sinks.base import query_id
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
    _id: list[str] = field(default_factory=list, compare=False)

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
        if not self._id:
            self._id.append(query_id(session, self.checkpoint))
        return self._id[0]
