"""A sink that prints rows."""

import sys
from dataclasses import dataclass

from pyspark.sql import DataFrame

from panewise.errors import SpecError
from panewise.spark.sinks.base import OutputSink, SinkOutput
from panewise.spark.sinks.local_session import check_in_driver
from panewise.spec.fields import is_count


@dataclass(frozen=True)
class ConsoleSink(OutputSink):
    """Prints the rows of each micro-batch. A repeated micro-batch is printed again.

    Args:
        rows: how many rows of a micro-batch are printed.
        truncate: whether long values are cut.

    Raises:
        SpecError: if `rows` is below 1.
    """

    rows: int = 20
    truncate: bool = False

    def __post_init__(self) -> None:
        if not is_count(self.rows):
            raise SpecError(
                f"ConsoleSink(rows={self.rows!r})", "a console shows 1 row or more", "give such a number"
            )

    def check(self, output: SinkOutput) -> None:
        """Checks that rows are printed where the query is started."""
        check_in_driver("a ConsoleSink", output)

    def write(self, rows: DataFrame, batch_id: int, output: SinkOutput) -> None:
        """Prints one micro-batch."""
        self.show(output.columns_of(rows), batch_id, output.name)

    def show(self, rows: DataFrame, batch_id: int, name: str) -> None:
        """Prints one micro-batch under a name."""
        sys.stdout.write(f"{name}, micro-batch {batch_id}:\n")
        rows.show(self.rows, truncate=self.truncate)
        sys.stdout.flush()
