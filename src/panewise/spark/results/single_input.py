"""What the outputs of operators with one input have in common."""

from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame

from panewise.spark.results.operator_result import OperatorResult


@dataclass(frozen=True, repr=False)
class SingleInputResult(OperatorResult):
    """The outputs of an operator with one input: its emitted rows, late rows, invalid rows and counts.

    Each of the DataFrames is a query of its own. `write` writes several outputs from one query.
    """

    @cached_property
    def late(self) -> DataFrame:
        """The late rows: row STRUCT, reason, windows ARRAY, late_by (microseconds), partial BOOLEAN.

        `windows` are the windows that the row missed, and `partial` is true if it was applied to others.

        Source: semantics 13.4.
        """
        return self._alone("late", whole_rows=True)

    @cached_property
    def invalid(self) -> DataFrame:
        """The invalid rows: row STRUCT, reason (semantics 15)."""
        return self._alone("invalid", whole_rows=True)

    @cached_property
    def counts(self) -> DataFrame:
        """The numbers of rows in, applied, replayed, late and invalid (semantics 15.1).

        There is one row for each shard and micro-batch.
        """
        return self._alone("counts", whole_rows=False)
