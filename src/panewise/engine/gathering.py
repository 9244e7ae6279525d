"""Aggregates for which order matters, of rows that do not come together in the order in which they arrived.

The pieces of a sliding window are put together by their event times. So where order matters they keep the rows themselves, each with
its place among all that arrived, and the aggregates are computed when a window fires.
"""

from collections.abc import Sequence

import polars as pl

from panewise.engine.aggregation import Aggregation
from panewise.engine.partials import ROWS, Part, rows_part
from panewise.spec import Aggregate

TURN = "__turn"  # a row's place among all rows that an operator has received
_GATHERED, _AT = "__gathered", "__at"
# Grouped by one sorted column, Polars 2.1 takes the variance of a single NaN for 0; by two columns it does not ask whether it is sorted.
_AGAIN = "__again"


class Gathering(Aggregation):
    """An aggregation whose only partials are the rows themselves, with their ``__turn``."""

    def __init__(self, aggregates: tuple[Aggregate, ...], schema: dict[str, pl.DataType], passing: Sequence[Part]) -> None:
        super().__init__(aggregates, schema, passing)
        self._of_rows = Aggregation(aggregates, schema)
        columns = dict.fromkeys(name for aggregate in aggregates for name in aggregate.columns)
        kept = {TURN: pl.Int64(), **{name: schema[name] for name in columns}}
        together = pl.col(_GATHERED).explode(empty_as_null=False)
        self.parts = [rows_part(), Part(_GATHERED, pl.List(pl.Struct(kept)), pl.struct(*kept), together, [])]

    def fired(self, judged: pl.DataFrame, fires: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The windows, and those of them that fire with their results."""
        firing = judged.filter(fires)
        return judged, firing.hstack(self._computed(firing))

    def _computed(self, windows: pl.DataFrame) -> pl.DataFrame:
        """The aggregates of each window's rows; those of no rows where there are none."""
        numbered = windows.select(_GATHERED).with_row_index(_AT).with_columns(pl.lit(0).alias(_AGAIN))
        rows = numbered.filter(pl.col(_GATHERED).list.len() > 0).explode(_GATHERED).unnest(_GATHERED)
        partials = self._of_rows.lift(rows.sort(_AT, TURN), [_AT, _AGAIN])
        found = numbered.select(_AT).join(partials, on=_AT, how="left", maintain_order="left")
        none = pl.col(ROWS).is_null()
        return found.with_columns(self._of_rows.cleared(none, none)).select(self._of_rows.results)
