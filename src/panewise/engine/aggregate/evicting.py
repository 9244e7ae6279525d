"""Aggregates of windows that keep their rows for an evictor: computed when a window fires, of the rows that are left (semantics 11.8)."""

from collections.abc import Sequence

import polars as pl

from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.aggregate.partials import Part, rows_part
from panewise.engine.aggregate.row_buffer import Contents
from panewise.engine.columns import ROW_BUFFER, ROWS
from panewise.spec import Aggregate

_AT = "__at"  # the place of a window among those that fire
# Grouped by one sorted column, Polars 2.1 takes the variance of a single NaN for 0; by two columns it does not ask whether it is sorted.
_AGAIN = "__again"


class EvictingAggregation(Aggregation):
    """An aggregation whose only partials are the rows themselves."""

    def __init__(
        self, aggregates: tuple[Aggregate, ...], schema: dict[str, pl.DataType], passing: Sequence[Part], contents: Contents
    ) -> None:
        super().__init__(aggregates, schema, passing, contents)
        self._of_rows = Aggregation(aggregates, schema)
        self._contents = contents
        self._after = contents.spec.evictor is not None and contents.spec.evictor.after
        self.parts = [rows_part(), *contents.parts]

    def fired(self, judged: pl.DataFrame, fires: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The windows after the evictor, and those of them that fire with their results."""
        firing = judged.filter(fires).with_columns(self._contents.results)  # the delta has what is evicted now (semantics 21.9)
        firing = firing if self._after else self._evicted(firing)
        firing = firing.hstack(self._computed(firing))
        firing = self._evicted(firing) if self._after else firing
        return pl.concat([judged.filter(~pl.col(fires)), firing.select(judged.columns)]), firing

    def _evicted(self, windows: pl.DataFrame) -> pl.DataFrame:
        left = windows.with_columns(self._contents.left)
        return left.with_columns(pl.col(ROW_BUFFER).list.len().cast(pl.Int64).alias(ROWS))

    def _computed(self, windows: pl.DataFrame) -> pl.DataFrame:
        """The aggregates of each window's rows; those of no rows where there are none."""
        numbered = windows.select(ROW_BUFFER).with_row_index(_AT).with_columns(pl.lit(0).alias(_AGAIN))
        rows = numbered.filter(pl.col(ROW_BUFFER).list.len() > 0).explode(ROW_BUFFER).unnest(ROW_BUFFER)
        partials = self._of_rows.lift(rows, [_AT, _AGAIN])
        found = numbered.select(_AT).join(partials, on=_AT, how="left", maintain_order="left")
        none = pl.col(ROWS).is_null()
        return found.with_columns(self._of_rows.cleared(none, none)).select(self._of_rows.results)
