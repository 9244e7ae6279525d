"""A sink that stores rows in the driver."""

from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from panewise.spark.sinks.base import OutputSink, SinkOutput
from panewise.spark.sinks.local_session import check_in_driver


@dataclass(frozen=True, eq=False)
class MemorySink(OutputSink):
    """Stores the rows in the driver, each once, as long as the object lives.

    It is for tests and notebooks. After a restart of the process it has the rows of the micro-batches that
    follow. One object serves one output of one query.
    """

    _batches: dict[int, pa.Table] = field(default_factory=dict, init=False, repr=False)

    @property
    def place(self) -> str:
        """The object itself."""
        return f"memory {id(self)}"

    def check(self, output: SinkOutput) -> None:
        """Checks that the query runs where the object is."""
        check_in_driver("a MemorySink", output)

    def write(self, rows: DataFrame, batch_id: int, output: SinkOutput) -> None:
        """Stores one micro-batch."""
        self.store(output.columns_of(rows), batch_id)

    def store(self, rows: DataFrame, batch_id: int) -> None:
        """Stores one micro-batch. It replaces that of an attempt that failed."""
        self._batches[batch_id] = rows.toArrow()

    def table(self) -> pa.Table | None:
        """Returns the rows that came so far, by micro-batch. None before the first micro-batch."""
        batches = [batch for _, batch in sorted(self._batches.items())]
        return pa.concat_tables(batches) if batches else None

    def read(self, session: SparkSession, schema: str | StructType | None) -> DataFrame:
        """Returns the rows that came so far as a DataFrame; `schema` has its columns if there are none."""
        rows = self.table()
        return (
            session.createDataFrame([], schema or StructType())
            if rows is None
            else session.createDataFrame(rows)
        )

    def clear(self) -> None:
        """Deletes the rows."""
        self._batches.clear()
