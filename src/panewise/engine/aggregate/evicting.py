"""Aggregates of windows with an evictor (semantics 11.8).

Such windows store their rows. The aggregates are computed when a window fires, from the rows that the evictor
leaves or, with ``after=True``, from the rows before eviction.
"""

from collections.abc import Sequence

import polars as pl

from panewise.engine.aggregate.aggregation import Aggregation, results_of_lists
from panewise.engine.aggregate.partials import PartialColumn, rows_partial
from panewise.engine.aggregate.row_buffer import RowBuffer
from panewise.engine.columns import ROW_BUFFER, ROWS
from panewise.spec import Aggregate


class EvictingAggregation(Aggregation):
    """An aggregation whose windows store their rows instead of partials."""

    def __init__(
        self,
        aggregates: tuple[Aggregate, ...],
        schema: dict[str, pl.DataType],
        transient: Sequence[PartialColumn],
        contents: RowBuffer,
    ) -> None:
        super().__init__(aggregates, schema, transient, contents)
        self._of_rows = Aggregation(aggregates, schema)
        self._contents = contents
        self._after = contents.spec.evictor is not None and contents.spec.evictor.after
        self.partials = [rows_partial(), *contents.partials]

    def fired(self, windows: pl.DataFrame, fires: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Returns all windows after eviction, and the firing windows with their results."""
        # Before eviction: the delta contains the rows that this firing evicts (semantics 21.9).
        firing = windows.filter(fires).with_columns(self._contents.results)
        firing = firing if self._after else self._evicted(firing)
        firing = firing.hstack(results_of_lists(self._of_rows, firing, ROW_BUFFER))
        firing = self._evicted(firing) if self._after else firing
        return pl.concat([windows.filter(~pl.col(fires)), firing.select(windows.columns)]), firing

    def _evicted(self, windows: pl.DataFrame) -> pl.DataFrame:
        left = windows.with_columns(self._contents.left)
        return left.with_columns(pl.col(ROW_BUFFER).list.len().cast(pl.Int64).alias(ROWS))
