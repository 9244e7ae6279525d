"""Aggregates of sliding windows, if some of them depend on arrival order.

The pieces of a sliding window are merged in the order of their event times, which is not arrival order. So
each order-sensitive aggregate is computed in one of two ways:

- If one row or a few rows determine the result, the partial contains these rows with their arrival numbers
  (:mod:`panewise.engine.aggregate.order_sensitive`).
- Lists, and user-defined aggregates that are not commutative, need all rows. The partial contains the rows
  with their arrival numbers. A firing sorts them and computes the aggregates, which costs n log n for n rows.

All other aggregates have the same partials as elsewhere.
"""

from collections.abc import Sequence

import polars as pl

from panewise.engine.aggregate import order_sensitive
from panewise.engine.aggregate.aggregation import Aggregation, result_of, results_of_lists
from panewise.engine.aggregate.catalogue import partials_of
from panewise.engine.aggregate.partials import PartialColumn, rows_partial
from panewise.engine.columns import ARRIVAL_NUMBER
from panewise.spec import Aggregate

_COLLECTED = "__gathered"


class ArrivalOrderAggregation(Aggregation):
    """An aggregation of rows that have their arrival numbers in ``__turn``."""

    def __init__(
        self,
        aggregates: tuple[Aggregate, ...],
        schema: dict[str, pl.DataType],
        transient: Sequence[PartialColumn],
    ) -> None:
        super().__init__(aggregates, schema, transient)
        partials, self.results = [rows_partial()], list[pl.Expr]()
        listed = list[Aggregate]()
        for index, aggregate in enumerate(aggregates):
            if aggregate.fn in order_sensitive.FUNCTIONS:
                partials.append(order_sensitive.partial(aggregate, index, schema))
                self.results.append(order_sensitive.result(aggregate, index, schema))
            elif aggregate.ordered:
                listed.append(aggregate)
            else:
                partials += partials_of(aggregate, index, schema)
                self.results.append(result_of(aggregate, index, schema))
        self.partials = list({column.name: column for column in partials}.values())
        self._of_rows = Aggregation(tuple(listed), schema) if listed else None
        if listed:
            columns = dict.fromkeys(name for aggregate in listed for name in aggregate.columns)
            fields = {ARRIVAL_NUMBER: pl.Int64(), **{name: schema[name] for name in columns}}
            together = pl.col(_COLLECTED).explode(empty_as_null=False)
            self.partials.append(
                PartialColumn(_COLLECTED, pl.List(pl.Struct(fields)), pl.struct(*fields), together, [])
            )

    def fired(self, windows: pl.DataFrame, fires: str) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Returns all windows, and the firing ones with their results.

        `fires` is the Boolean column that marks the firing windows.
        """
        firing = windows.filter(fires)
        with_results = firing.with_columns(self.results)
        if self._of_rows is not None:
            own = results_of_lists(self._of_rows, firing, _COLLECTED, ARRIVAL_NUMBER)
            with_results = with_results.hstack(own)
        return windows, with_results
