"""Row numbering for windows of rows: row numbers take the place of event times (semantics 8, 9.5).

The number of rows received of a key is its watermark (semantics 8.1), and is stored as one:
:mod:`panewise.engine.windowing.key_watermarks`. The rows of a batch get the numbers that follow.

Invariant: numbered rows are grouped by key, and their numbers rise within a key. So the rows of a key and
slice are neighbours, a *run*, and are combined without a look-up. A batch costs one grouping by key, one
look-up for each key, and a few passes over the rows.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from panewise.engine.columns import KEY_WATERMARK, SLICE, TIME
from panewise.engine.kernels.small_frames import Mask, group_places, take_rows
from panewise.engine.kernels.sorting import Places
from panewise.engine.windowing import key_watermarks
from panewise.engine.windowing.plan import WindowPlan
from panewise.spec import Hopping

RUN = "__run"  # the number of a run of consecutive rows of one key and slice, in ascending order
_ARRIVED = "__came"


@dataclass(frozen=True)
class NumberedRows:
    """The numbered rows of a batch.

    Attributes:
        rows: the rows, key by key, with their number in ``__time``, their ``__slice`` and ``__run``. Rows of
            sliding windows have the watermark of their key instead of a slice and a run.
        gaps: the rows that lie between windows.
        moved: the new watermarks of the keys of the rows.
    """

    rows: pl.DataFrame
    gaps: pl.DataFrame
    moved: pl.DataFrame


def keys_and_places(plan: WindowPlan, rows: pl.DataFrame) -> tuple[pl.DataFrame, Places]:
    """Returns each key with its number of rows, and the places of the rows, key by key."""
    keys, places, counts = group_places(rows, plan.keys)
    return keys.hstack([pl.Series(_ARRIVED, counts, dtype=pl.Int64)]), places


def of_keys(
    plan: WindowPlan, rows: pl.DataFrame, keys: pl.DataFrame, places: Places, before: pl.DataFrame
) -> NumberedRows:
    """Numbers the rows (in arrival order) of each key, beginning at the key's watermark in `before`, or at 0.

    `keys` and `places` are the result of :func:`keys_and_places` for the rows. The rows are first grouped by
    key, so that each later step is one pass.
    """
    known = key_watermarks.with_watermarks(keys, before, plan.keys).with_columns(
        pl.col(KEY_WATERMARK).fill_null(0)
    )
    received, counts = known[KEY_WATERMARK].to_numpy(), known[_ARRIVED].to_numpy()
    first = np.cumsum(counts) - counts
    number = pl.Series(TIME, np.arange(rows.height) + np.repeat(received - first, counts))
    numbered = take_rows(rows.drop(TIME), places).hstack([number])
    moved = known.select(*plan.keys, (pl.col(KEY_WATERMARK) + pl.col(_ARRIVED)).alias(KEY_WATERMARK))
    if plan.sliding:
        marked = numbered.hstack([pl.Series(KEY_WATERMARK, np.repeat(received, counts))])
        return NumberedRows(marked, marked.clear(), moved)
    assert plan.slicing is not None
    slices = plan.slicing.slices(numbered)
    sliced = numbered.hstack([slices, _runs(slices, first)])
    window = plan.spec.window
    if not isinstance(window, Hopping) or not (window.gaps or window.only_when_full):
        return NumberedRows(sliced, sliced.clear(), moved)
    inside = ~slices.is_in(pl.Series(plan.slicing.without_window(slices), dtype=pl.Int64).implode())
    return NumberedRows(sliced.filter(inside), sliced.filter(~inside), moved)


def _runs(slices: pl.Series, first: Places) -> pl.Series:
    """Returns the number of the run of each row; `first` are the places where the rows of a key begin."""
    at = slices.to_numpy()
    begins: Mask = np.concatenate([[True], at[1:] != at[:-1]])
    begins[first] = True
    return pl.Series(RUN, np.cumsum(begins, dtype=np.uint32)).set_sorted()


def lifted(plan: WindowPlan, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the partials of numbered rows for each key and slice.

    The rows of a key and slice are consecutive, so nothing is looked up.
    """
    runs = rows[RUN].to_numpy()
    first = np.flatnonzero(np.append(True, runs[1:] != runs[:-1])[: len(runs)])
    return take_rows(rows[[*plan.keys, SLICE]], first).hstack(plan.aggregation.lift(rows, [RUN]).drop(RUN))


def of_all(rows: pl.DataFrame, received: int) -> pl.DataFrame:
    """Numbers the rows (in arrival order) of all keys in one sequence, beginning at `received`."""
    return rows.with_columns(
        pl.int_range(received, received + rows.height, dtype=pl.Int64, eager=True).alias(TIME)
    )
