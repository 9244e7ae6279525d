"""The order in which an OVER operator emits rows (semantics 29.1, 29.8).

Rows of a key are sorted by :attr:`OverPlan.sort_columns`: event time, then the order columns. Equal rows keep
the order of arrival. The time queue of the rows that wait (:mod:`panewise.engine.store.time_queue`) sorts by
these columns when rows pass. So only rows that waited for rows after them are sorted again when they are
emitted.
"""

import numpy as np
import polars as pl

from panewise.engine.columns import STORED_TIME
from panewise.engine.kernels.frames import ordered, take_rows
from panewise.engine.over.sequences import Layout


def emitted_in_order(layout: Layout, new: pl.DataFrame) -> pl.DataFrame:
    """Returns the emitted rows with their new columns, in the order of semantics 29.8.

    `new` has the new columns of the rows at `layout.targets`.
    """
    plan, rows = layout.plan, layout.step.rows
    if not plan.ahead:  # the emitted rows are those that pass, which are in this order already
        place = layout.source[layout.targets] - (layout.stack.height - rows.height - layout.later)
        back = np.empty(len(place), dtype=np.int64)
        back[place] = np.arange(len(place))
        return rows.select(*plan.payload).hstack(take_rows(new, back))
    by = [STORED_TIME, *plan.spec.order] if plan.sort_columns else []
    emitted = take_rows(layout.stack, layout.source[layout.targets]).select(*plan.payload, *by[:1])
    keys = [layout.keys[key].gather(layout.code[layout.targets]).alias(f"__by:{key}") for key in plan.keys]
    both = emitted.hstack(new).hstack(keys)
    return ordered(both, [*by, *(key.name for key in keys)]).select(*plan.pane_schema)
