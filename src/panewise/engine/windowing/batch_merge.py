"""Merges the windows of a batch with stored windows, row by row.

Invariant: each window occurs at most once on either side. So two columns are merged in one expression, and
nothing is grouped. The cost is one pass over the partial columns of the windows.
"""

import numpy as np
import polars as pl

from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.aggregate.sums import leaving
from panewise.engine.columns import BORN, PENDING
from panewise.engine.kernels.frames import filter_rows, take_rows, vstack_frames
from panewise.engine.store.lookup import Found

_ADDED = "__added:"


def paired(
    aggregation: Aggregation, known: Found, new: pl.DataFrame, *, periodic: bool
) -> pl.DataFrame | None:
    """Returns the new windows merged with the stored ones; None if they must be merged in groups.

    They must be merged in groups if a part cannot be merged in pairs, or if a sum may leave the range of its
    type. Each new window must occur once. The merged windows equal those of
    :func:`panewise.engine.windowing.window_table.merged`.

    A new window is younger than any stored window and has not fired yet. So of the bookkeeping only the
    number of pending rows changes, and with `periodic` also the time since when rows are pending.
    """
    parts = aggregation.parts
    pairs = {part.name: part.pair for part in parts if part.pair is not None}
    if any(part.pair is None and part.fitting is None for part in parts):
        return None
    if leaving(parts, known.rows, 2) or leaving(parts, new, 2):
        return None
    added = take_rows(new[[PENDING, *([BORN] if periodic else []), *pairs]], known.which)
    both = known.rows.hstack([column.alias(_ADDED + column.name) for column in added.get_columns()])
    sums = [pair(pl.col(name), pl.col(_ADDED + name)).alias(name) for name, pair in pairs.items()]
    since = (
        [pl.when(pl.col(PENDING) > 0).then(BORN).otherwise(pl.col(_ADDED + BORN)).alias(BORN)]
        if periodic
        else []
    )
    merged = both.with_columns_seq(pl.col(PENDING) + pl.col(_ADDED + PENDING), *since, *sums)[
        known.rows.columns
    ]
    others = np.ones(new.height, dtype=np.bool_)
    others[known.which] = False
    return vstack_frames([merged, filter_rows(new, pl.Series(others))])


def any_order(aggregation: Aggregation) -> bool:
    """Returns whether the pieces of a window may be merged with each other first, with the same result.

    A sum of floats depends on the order of its additions, so floats must be added to the stored window one
    after another.
    """
    return all(
        part.fitting is not None or (part.pair is not None and not part.dtype.is_float())
        for part in aggregation.parts
    )
