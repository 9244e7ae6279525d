"""What the outputs of windows over joins and of cogroups have in common: panes, and what each side has."""

from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import DataFrame

from panewise.spark.query import WindowQuery
from panewise.spark.results.sides import SidesResult
from panewise.spark.sinks import Sink
from panewise.spark.writer import WriteOptions
from panewise.spec.operators.join.columns import LEFT, RIGHT


@dataclass(frozen=True, repr=False)
class PanesOfSides(SidesResult):
    """The outputs of an operator with two sides that emits panes.

    Each of the DataFrames is a query of its own. :meth:`write` writes several outputs from one query.
    """

    @cached_property
    def panes(self) -> DataFrame:
        """The panes, as those of window operators (semantics 20).

        This query only counts late rows.
        """
        return self._alone("panes", whole_rows=False)

    def write(  # noqa: PLR0913 - three outputs of each side
        self,
        *,
        checkpoint: str | None = None,
        panes: Sink | None = None,
        left_late: Sink | None = None,
        right_late: Sink | None = None,
        left_invalid: Sink | None = None,
        right_invalid: Sink | None = None,
        left_counts: Sink | None = None,
        right_counts: Sink | None = None,
        available_now: bool = False,
        processing_time: str | None = None,
        name: str | None = None,
        **earlier: Sink | None,
    ) -> WindowQuery:
        """Writes the outputs to their sinks from one query, exactly once.

        Args:
            checkpoint: directory of the query's checkpoint. Required on a stream.
            panes: sink of the panes.
            left_late: as in :meth:`panewise.spark.JoinResult.write`.
            right_late: as in :meth:`panewise.spark.JoinResult.write`.
            left_invalid: as in :meth:`panewise.spark.JoinResult.write`.
            right_invalid: as in :meth:`panewise.spark.JoinResult.write`.
            left_counts: as in :meth:`panewise.spark.JoinResult.write`.
            right_counts: as in :meth:`panewise.spark.JoinResult.write`.
            available_now: as in :meth:`panewise.spark.WindowResult.write`.
            processing_time: as in :meth:`panewise.spark.WindowResult.write`.
            name: as in :meth:`panewise.spark.WindowResult.write`.
            earlier: as in :meth:`panewise.spark.WindowResult.write`.

        Raises:
            SpecError: as in :meth:`panewise.spark.WindowResult.write`.
            StateError: as in :meth:`panewise.spark.WindowResult.write`.
        """
        of_sides = {
            LEFT: {"late": left_late, "invalid": left_invalid, "counts": left_counts},
            RIGHT: {"late": right_late, "invalid": right_invalid, "counts": right_counts},
        }
        options = WriteOptions(checkpoint, available_now, processing_time, name)
        return self._write_sides(panes, of_sides, options, earlier)
