"""Completes the window table of sliding windows from their slices, after a change (semantics 47.18).

The slices have all rows of all live windows, whatever has fired. So windows that another trigger has not made
yet can be made, and partials that another accumulation has not stored can be computed. A change costs one
pass over the slices.
"""

import polars as pl

from panewise.engine.columns import SLIDE_CODE
from panewise.engine.kernels.small_frames import typed
from panewise.engine.progress.clocks import Clocks
from panewise.engine.windowing import key_watermarks, window_table
from panewise.engine.windowing.firing import with_new_trigger
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windowing.sliding_bounds import coded, in_order
from panewise.engine.windows.sliding.completion import windows_to_complete
from panewise.engine.windows.sliding.piece_ranges import PieceRanges
from panewise.engine.windows.sliding.slices import Slices


def rebuilt(plan: WindowPlan, windows: pl.DataFrame, slices: Slices) -> pl.DataFrame:
    """Returns rows of the window table with the partials of all their rows."""
    if windows.is_empty():
        return windows
    pieces, numbered = coded(plan.keys, slices.by_time.all(), windows.drop(list(plan.aggregation.schema)))
    contents = PieceRanges.locate(numbered, in_order(pieces)).contents(plan)
    return typed(contents.drop(SLIDE_CODE), plan.table_schema)


def incomplete_windows(
    plan: WindowPlan, slices: Slices, clocks: Clocks, watermarks: pl.DataFrame
) -> pl.DataFrame:
    """Returns the windows that are not complete, as rows of the window table whose rows arrive now.

    `watermarks` are those of the keys, if each key has its own.
    """
    marked = key_watermarks.marked(plan, slices.by_time.all(), watermarks)
    pieces = in_order(*coded(plan.keys, marked))
    windows = windows_to_complete(plan.spec, plan.slide, pieces, clocks)
    if windows.is_empty():
        return plan.no_windows
    windows = key_watermarks.marked(plan, windows, watermarks)
    contents = PieceRanges.locate(windows, pieces).contents(plan)
    rows = window_table.newborn(contents, plan.intake_schema, born=clocks.processing_time, open_=True)
    return typed(with_new_trigger(plan, clocks, rows), plan.table_schema)
