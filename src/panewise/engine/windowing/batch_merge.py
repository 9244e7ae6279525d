"""Windows held together with what a batch adds to each of them, row by row: what one batch brings is then not grouped again."""

import numpy as np
import polars as pl

from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.aggregate.overflow import LIMIT, greatest
from panewise.engine.columns import BORN, PENDING
from panewise.engine.kernels.small_frames import kept, picked, stacked
from panewise.engine.store.lookup import Found

_ADDED = "__added:"


def paired(aggregation: Aggregation, known: Found, new: pl.DataFrame, *, periodic: bool) -> pl.DataFrame | None:
    """The new windows, each of which there is once, with those held taken into them; None where that takes more than adding up.

    It is what :func:`panewise.engine.windowing.window_table.merged` gives. A new window has waited for less long than any that is held,
    and nothing has happened to it yet, so of the bookkeeping only the pending rows change; with `periodic` also since when there are such.
    """
    pairs = {part.name: part.pair for part in aggregation.parts if part.pair is not None}
    if len(pairs) < len(aggregation.parts):
        return None
    added = picked(new[[PENDING, *([BORN] if periodic else []), *pairs]], known.which)
    if any(part.sums is not None and _may_overflow(known.rows[part.name], added[part.name]) for part in aggregation.parts):
        return None
    both = known.rows.hstack([column.alias(_ADDED + column.name) for column in added.get_columns()])
    sums = [pair(pl.col(name), pl.col(_ADDED + name)).alias(name) for name, pair in pairs.items()]
    since = [pl.when(pl.col(PENDING) > 0).then(BORN).otherwise(pl.col(_ADDED + BORN)).alias(BORN)] if periodic else []
    held = both.with_columns_seq(pl.col(PENDING) + pl.col(_ADDED + PENDING), *since, *sums)[known.rows.columns]
    others = np.ones(new.height, dtype=np.bool_)
    others[known.which] = False
    return stacked([held, kept(new, pl.Series(others))])


def any_order(aggregation: Aggregation, pieces: pl.DataFrame) -> bool:
    """Whether pieces may be added up before what is held is known, and to the same result. It is not so of floats."""
    exact = all(part.pair is not None and not part.dtype.is_float() for part in aggregation.parts)
    sums = [part.name for part in aggregation.parts if part.sums is not None]
    return exact and all(greatest(pieces[name]) * pieces.height < LIMIT for name in sums)


def _may_overflow(one: pl.Series, other: pl.Series) -> bool:
    """Whether a sum of whole numbers may leave 64 bits: then it is looked at closely (semantics 24.3)."""
    return one.dtype.is_integer() and greatest(one) + greatest(other) >= LIMIT
