"""Pre-aggregation: rows are combined into partials where they are read, before they are moved.

One partial for each key and slice keeps the way through the shuffle short. It is right only if nothing needs the single
rows later (:attr:`panewise.engine.windowing.plan.Plan.can_combine`): the late output, a trigger that looks at each row, a
source position, or an order-sensitive aggregate.
"""

import polars as pl

from panewise.engine.columns import SLICE
from panewise.engine.kernels.small_frames import grouped
from panewise.engine.windowing.plan import Plan


def combine(plan: Plan, valid: pl.DataFrame) -> pl.DataFrame:
    """Partials per key and ``__slice``, the same for the same rows, to the last bit.

    Any order would give the same panes (:attr:`Plan.can_combine`). But a reader may run again for a shuffle that was lost with
    an executor, and Spark fails the query if it then makes other bytes.
    """
    return plan.aggregation.lift(valid, [*plan.keys, SLICE])


def combine_again(plan: Plan, partials: pl.DataFrame) -> pl.DataFrame:
    """Partials of several readers, merged per key and ``__slice``."""
    by = [*plan.keys, SLICE]
    plan.aggregation.check_merge(partials, by)
    return grouped(partials, by, plan.aggregation.merging())
