"""The outputs of deduplications."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from pyspark.sql import DataFrame

from panewise.spark.query import WindowQuery
from panewise.spark.results.single_input import SingleInputResult
from panewise.spark.sinks import Sink
from panewise.spark.writer import WriteOptions
from panewise.spec import DeduplicateOperator


@dataclass(frozen=True, repr=False)
class DeduplicateResult(SingleInputResult):
    """The outputs of a deduplication.

    Each of the DataFrames is a query of its own. :meth:`write` writes several outputs from one query.
    """

    OUTPUT: ClassVar[str] = "rows"

    spec: DeduplicateOperator

    @cached_property
    def rows(self) -> DataFrame:
        """The chosen rows with all their columns. With emit="retracting" also retractions, and a column `op`.

        This query only counts late rows. :attr:`late` and :meth:`write` return them.
        """
        return self._alone("panes", whole_rows=False)

    def write(
        self,
        *,
        checkpoint: str | None = None,
        rows: Sink | None = None,
        late: Sink | None = None,
        invalid: Sink | None = None,
        counts: Sink | None = None,
        available_now: bool = False,
        processing_time: str | None = None,
        name: str | None = None,
        **earlier: Sink | None,
    ) -> WindowQuery:
        """Writes the outputs to their sinks from one query, exactly once.

        Args:
            checkpoint: directory of the query's checkpoint. Required on a stream.
            rows: sink of the chosen rows.
            late: sink of the late rows.
            invalid: sink of the invalid rows.
            counts: sink of the counts.
            available_now: as in :meth:`panewise.spark.WindowResult.write`.
            processing_time: as in :meth:`panewise.spark.WindowResult.write`.
            name: as in :meth:`panewise.spark.WindowResult.write`.
            earlier: as in :meth:`panewise.spark.WindowResult.write`.

        Raises:
            SpecError: as in :meth:`panewise.spark.WindowResult.write`.
            StateError: as in :meth:`panewise.spark.WindowResult.write`.
        """
        return self._write(
            {"panes": rows, "late": late, "invalid": invalid, "counts": counts},
            WriteOptions(checkpoint, available_now, processing_time, name),
            earlier,
        )
