"""Aggregates of windows with an evictor (semantics 11.8).

Such windows store their rows. The aggregates are computed when a window fires, from the rows that the evictor
leaves or, with ``after=True``, from the rows before eviction.
"""

from collections.abc import Sequence

import polars as pl

from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.aggregate.partials import Part, rows_part
from panewise.engine.aggregate.row_buffer import RowBuffer
from panewise.engine.columns import ROW_BUFFER, ROWS
from panewise.spec import Aggregate

_AT = "__at"  # the position of a window among those that fire
# A constant second key. If rows are grouped by one sorted column, Polars 2.1 returns 0 for the variance of
# a single NaN. If they are grouped by two columns, it returns NaN.
_AGAIN = "__again"


class EvictingAggregation(Aggregation):
    """An aggregation whose windows store their rows instead of partials."""

    def __init__(
        self,
        aggregates: tuple[Aggregate, ...],
        schema: dict[str, pl.DataType],
        passing: Sequence[Part],
        contents: RowBuffer,
    ) -> None:
        super().__init__(aggregates, schema, passing, contents)
        self._of_rows = Aggregation(aggregates, schema)
        self._contents = contents
        self._after = contents.spec.evictor is not None and contents.spec.evictor.after
        self.parts = [rows_part(), *contents.parts]

    def fired(self, windows: pl.DataFrame, fires: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Returns all windows after eviction, and the firing windows with their results."""
        # Before eviction: the delta contains the rows that this firing evicts (semantics 21.9).
        firing = windows.filter(fires).with_columns(self._contents.results)
        firing = firing if self._after else self._evicted(firing)
        firing = firing.hstack(self._computed(firing))
        firing = self._evicted(firing) if self._after else firing
        return pl.concat([windows.filter(~pl.col(fires)), firing.select(windows.columns)]), firing

    def _evicted(self, windows: pl.DataFrame) -> pl.DataFrame:
        left = windows.with_columns(self._contents.left)
        return left.with_columns(pl.col(ROW_BUFFER).list.len().cast(pl.Int64).alias(ROWS))

    def _computed(self, windows: pl.DataFrame) -> pl.DataFrame:
        """Returns the aggregates of the rows of each window, those of no rows if it has none."""
        numbered = windows.select(ROW_BUFFER).with_row_index(_AT).with_columns(pl.lit(0).alias(_AGAIN))
        rows = numbered.filter(pl.col(ROW_BUFFER).list.len() > 0).explode(ROW_BUFFER).unnest(ROW_BUFFER)
        partials = self._of_rows.lift(rows, [_AT, _AGAIN])
        joined = numbered.select(_AT).join(partials, on=_AT, how="left", maintain_order="left")
        none = pl.col(ROWS).is_null()
        return joined.with_columns(self._of_rows.cleared(none, none)).select(self._of_rows.results)
