"""Merges the windows of a batch with stored windows, row by row.

Each window occurs at most once on either side, so nothing is grouped.
"""

import numpy as np
import polars as pl

from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.aggregate.overflow import LIMIT, greatest
from panewise.engine.columns import BORN, PENDING
from panewise.engine.kernels.frames import filter_rows, take_rows, vstack_frames
from panewise.engine.store.lookup import Found

_ADDED = "__added:"


def paired(
    aggregation: Aggregation, known: Found, new: pl.DataFrame, *, periodic: bool
) -> pl.DataFrame | None:
    """Returns the new windows merged with the stored ones; None if they must be merged in groups.

    Each new window must occur once. The merged windows equal those of
    :func:`panewise.engine.windowing.window_table.merged`. A new window is younger than any stored window and
    has not fired yet. So of the bookkeeping only the number of pending rows changes, and with `periodic` also
    the time since when rows are pending.

    Returns None if a part cannot be merged in pairs, or if a sum may leave 64 bits.
    """
    pairs = {part.name: part.pair for part in aggregation.parts if part.pair is not None}
    if len(pairs) < len(aggregation.parts):
        return None
    added = take_rows(new[[PENDING, *([BORN] if periodic else []), *pairs]], known.which)
    if any(
        part.sums is not None and _may_overflow(known.rows[part.name], added[part.name])
        for part in aggregation.parts
    ):
        return None
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


def any_order(aggregation: Aggregation, pieces: pl.DataFrame) -> bool:
    """Returns whether pieces may be merged before the stored windows are known, with the same result.

    This is not so for floats, or if a sum may leave 64 bits.
    """
    exact = all(part.pair is not None and not part.dtype.is_float() for part in aggregation.parts)
    sums = [part.name for part in aggregation.parts if part.sums is not None]
    return exact and all(greatest(pieces[name]) * pieces.height < LIMIT for name in sums)


def _may_overflow(one: pl.Series, other: pl.Series) -> bool:
    """Returns whether a sum of integers may leave 64 bits; it is then checked closely (semantics 24.3)."""
    return one.dtype.is_integer() and greatest(one) + greatest(other) >= LIMIT
