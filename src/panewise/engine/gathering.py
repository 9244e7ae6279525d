"""Aggregates of sliding windows some of which depend on the order in which rows arrived.

The pieces of a sliding window are put together by their event times. So what is one row or a few (:mod:`panewise.engine.turned`) have
the turn in which they came; lists, and what users define (unless they say that order does not matter), keep the rows themselves, each
with its turn, and are computed when a window fires.
All others are what they are everywhere.
"""

from collections.abc import Sequence

import polars as pl

from panewise.engine import turned
from panewise.engine.aggregation import Aggregation
from panewise.engine.partials import ROWS, Part, rows_part
from panewise.engine.parts import parts_of
from panewise.engine.results import result
from panewise.engine.turned import TURN
from panewise.spec import Aggregate

_GATHERED, _AT = "__gathered", "__at"
# Grouped by one sorted column, Polars 2.1 takes the variance of a single NaN for 0; by two columns it does not ask whether it is sorted.
_AGAIN = "__again"


class Gathering(Aggregation):
    """An aggregation of rows that have their ``__turn``."""

    def __init__(self, aggregates: tuple[Aggregate, ...], schema: dict[str, pl.DataType], passing: Sequence[Part]) -> None:
        super().__init__(aggregates, schema, passing)
        parts, self.results = [rows_part()], list[pl.Expr]()
        listed = list[Aggregate]()
        for index, aggregate in enumerate(aggregates):
            if aggregate.fn in turned.FUNCTIONS:
                parts.append(turned.part(aggregate, index, schema))
                self.results.append(turned.result(aggregate, index, schema))
            elif aggregate.ordered:
                listed.append(aggregate)
            else:
                parts += parts_of(aggregate, index, schema)
                self.results.append(result(aggregate, index, schema))
        self.parts = list({part.name: part for part in parts}.values())
        self._of_rows = Aggregation(tuple(listed), schema) if listed else None
        if listed:
            columns = dict.fromkeys(name for aggregate in listed for name in aggregate.columns)
            kept = {TURN: pl.Int64(), **{name: schema[name] for name in columns}}
            together = pl.col(_GATHERED).explode(empty_as_null=False)
            self.parts.append(Part(_GATHERED, pl.List(pl.Struct(kept)), pl.struct(*kept), together, []))

    def fired(self, judged: pl.DataFrame, fires: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The windows, and those of them that fire with their results."""
        firing = judged.filter(fires)
        told = firing.with_columns(self.results)
        return judged, told if self._of_rows is None else told.hstack(self._computed(self._of_rows, firing))

    def _computed(self, of_rows: Aggregation, windows: pl.DataFrame) -> pl.DataFrame:
        """The aggregates of each window's rows; those of no rows where there are none."""
        numbered = windows.select(_GATHERED).with_row_index(_AT).with_columns(pl.lit(0).alias(_AGAIN))
        rows = numbered.filter(pl.col(_GATHERED).list.len() > 0).explode(_GATHERED).unnest(_GATHERED)
        partials = of_rows.lift(rows.sort(_AT, TURN), [_AT, _AGAIN])
        found = numbered.select(_AT).join(partials, on=_AT, how="left", maintain_order="left")
        none = pl.col(ROWS).is_null()
        return found.with_columns(of_rows.cleared(none, none)).select(of_rows.results)
