"""Pre-aggregation: rows are combined into partials where they are read, before the shuffle.

Only one partial for each key and slice is then shuffled. This is right only if nothing needs the single rows
later (:attr:`panewise.engine.windowing.plan.Plan.can_combine`): the late output, a trigger that looks at each
row, a source position, or an order-sensitive aggregate, for example.
"""

import polars as pl

from panewise.engine.columns import SLICE
from panewise.engine.kernels.small_frames import grouped
from panewise.engine.windowing.plan import Plan


def combine(plan: Plan, valid: pl.DataFrame) -> pl.DataFrame:
    """Returns the partials per key and ``__slice``: the same bytes for the same rows.

    Any order would give the same panes (:attr:`Plan.can_combine`). But Spark may run a reader again when a
    shuffle was lost with an executor, and fails the query if the bytes then differ.
    """
    return plan.aggregation.lift(valid, [*plan.keys, SLICE])


def combine_again(plan: Plan, partials: pl.DataFrame) -> pl.DataFrame:
    """Merges the partials of several readers per key and ``__slice``."""
    by = [*plan.keys, SLICE]
    plan.aggregation.check_merge(partials, by)
    return grouped(partials, by, plan.aggregation.merging())
