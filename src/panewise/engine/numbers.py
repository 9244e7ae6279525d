"""The numbers of rows, where windows are measured in rows: they stand in the place of event times (semantics 8, 9.5).

How many rows of a key were received is its watermark (semantics 8.1), and is kept as one: :mod:`panewise.engine.keymarks`.
"""

from dataclasses import dataclass

import polars as pl

from panewise.engine import keymarks
from panewise.engine.assign import SLICE
from panewise.engine.clocks import KEY_MARK
from panewise.engine.plan import Plan
from panewise.engine.validity import TIME
from panewise.spec import Hopping

_CAME = "__came"


@dataclass(frozen=True)
class Numbered:
    """Rows of a batch with their numbers in ``__time`` and their ``__slice``, rows that stand between windows, and the watermarks moved.

    Rows of sliding windows have no slice, but their key's watermark.
    """

    rows: pl.DataFrame
    gaps: pl.DataFrame
    moved: pl.DataFrame


def of_keys(plan: Plan, rows: pl.DataFrame, before: pl.DataFrame) -> Numbered:
    """Numbers the rows (in arrival order) of each key, of which as many came before as the watermarks `before` say."""
    counts = rows.group_by(plan.keys, maintain_order=True).agg(pl.len().cast(pl.Int64).alias(_CAME))
    received = pl.col(KEY_MARK).fill_null(0)
    reached = keymarks.marked(counts, before, plan.keys).select(*plan.keys, (received + pl.col(_CAME)).alias(KEY_MARK))
    nth = pl.int_range(pl.len(), dtype=pl.Int64).over(plan.keys)
    marked = keymarks.marked(rows, before, plan.keys).with_columns((received + nth).alias(TIME))
    if plan.sliding:
        return Numbered(marked, marked.clear(), reached)
    numbered = marked.drop(KEY_MARK)
    assert plan.slicing is not None
    sliced = numbered.with_columns(plan.slicing.slices(numbered))
    window = plan.spec.window
    if not isinstance(window, Hopping) or not window.gaps:
        return Numbered(sliced, sliced.clear(), reached)
    inside = sliced[SLICE].is_in(plan.slicing.table(sliced[SLICE])[SLICE].unique().implode())
    return Numbered(sliced.filter(inside), sliced.filter(~inside), reached)


def of_all(rows: pl.DataFrame, received: int) -> pl.DataFrame:
    """Numbers the rows (in arrival order) of all keys, of which so many came before."""
    return rows.with_columns(pl.int_range(received, received + rows.height, dtype=pl.Int64, eager=True).alias(TIME))
