"""Pre-aggregation: rows are combined into partials where they are read, before the shuffle.

Only one partial for each key and slice is then shuffled. This is right only if nothing needs the single rows
later (:attr:`panewise.engine.windowing.plan.Plan.can_combine`): the late output, a trigger that looks at each
row, a source position, or an order-sensitive aggregate, for example.
"""

import polars as pl

from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.columns import SLICE
from panewise.engine.kernels.frames import grouped


def combine(aggregation: Aggregation, keys: list[str], valid: pl.DataFrame) -> pl.DataFrame:
    """Returns the partials per key and ``__slice``: the same bytes for the same rows.

    Any order would give the same panes (:attr:`Plan.can_combine`). But Spark may run a reader again when a
    shuffle was lost with an executor, and fails the query if the bytes then differ.
    """
    return aggregation.lift(valid, [*keys, SLICE])


def combine_again(aggregation: Aggregation, keys: list[str], partials: pl.DataFrame) -> pl.DataFrame:
    """Merges the partials of several readers per key and ``__slice``."""
    by = [*keys, SLICE]
    aggregation.check_merge(partials, by)
    return grouped(partials, by, aggregation.merging())
