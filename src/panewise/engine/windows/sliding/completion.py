"""Sliding windows that get a row in the window table only when they are complete, or that are not made yet.

A window is made when a move of the clocks passes its end. Its partials are then computed from its slices.

Invariant: a move from the watermark `low` to `high` makes the windows that are not empty with
low < end <= high. So each window is made once, by one move, however its rows arrived. Cost: a move reads the
slices that such windows contain, or blocks of them (:mod:`panewise.engine.windows.sliding.slices`), sorts
them, and computes one range aggregate for each window.
"""

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from panewise.engine.columns import CLOSED, END, IS_BLOCK, KEY_WATERMARK, SLIDE_CODE, START
from panewise.engine.kernels.small_frames import join_frames
from panewise.engine.progress.clocks import Clocks
from panewise.engine.windowing import key_watermarks, window_table
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windowing.sliding_bounds import Slide, coded, in_order
from panewise.engine.windowing.window_table import TriggerContext
from panewise.engine.windows.intake import triggered
from panewise.engine.windows.sliding.piece_ranges import PieceRanges
from panewise.engine.windows.sliding.slices import Slices, as_pieces
from panewise.spec import WindowOperator

# Whether new slices make the piece or the window; and the watermark of the key before the move.
_NEW, _LOW = "__is_new", "__low"


def completed(
    plan: WindowPlan, slices: Slices, before: Clocks, now: Clocks, watermarks: Callable[[], pl.DataFrame]
) -> tuple[pl.DataFrame, Slices]:
    """Returns the windows that a move of the clocks completes and so makes, and the slices.

    The windows are returned as they were before the move. If each key has its own watermark, only the end of
    input completes windows here. Then `watermarks` is called, which returns those of all keys.
    """
    if not plan.made_when_complete or (before.watermark == now.watermark and before.finished == now.finished):
        return plan.no_windows, slices
    last = None if now.finished else now.watermark
    if before.watermark is None or last is None:
        first = None if before.watermark is None else before.watermark - plan.slide.reach
        pieces = as_pieces(slices.between(plan, first, last))
    else:
        pieces, slices = slices.of_move(plan, before.watermark, last)
    pieces = key_watermarks.with_watermarks(pieces, watermarks(), plan.keys) if plan.by_key else pieces
    low = pl.lit(before.watermark, dtype=pl.Int64) if before.watermark_expr is None else before.watermark_expr
    return _completed(plan, pieces, low, pl.lit(last, dtype=pl.Int64), now), slices


def completed_of_keys(
    plan: WindowPlan, slices: Slices, before: pl.DataFrame, moved: pl.DataFrame, clocks: Clocks
) -> tuple[pl.DataFrame, Slices]:
    """Returns the windows that are made because new watermarks of keys complete them, and the slices.

    `before` and `moved` have the watermarks of the keys before and after the move. Slices of these keys that
    have expired are removed.
    """
    mine = slices.by_time.of_keys(moved, plan.keys)
    reached = key_watermarks.with_watermarks(mine, moved, plan.keys)
    expired = reached.filter(clocks.expired(plan.spec, pl.col(END))).select(list(plan.slice_shape.schema))
    windows = plan.no_windows
    if plan.made_when_complete:
        low = key_watermarks.with_watermarks(mine, before, plan.keys)[KEY_WATERMARK].alias(_LOW)
        windows = _completed(
            plan, as_pieces(reached.hstack([low])), pl.col(_LOW), pl.col(KEY_WATERMARK), clocks
        )
    return windows, slices.without(expired)


def _completed(
    plan: WindowPlan, pieces: pl.DataFrame, low: pl.Expr, high: pl.Expr, clocks: Clocks
) -> pl.DataFrame:
    """Returns the windows with low < end <= high, as rows of the window table. A null bound is infinite."""
    watermark = [KEY_WATERMARK] if plan.by_key else []
    after, until = (pl.col(END) > low).fill_null(True), (pl.col(END) <= high).fill_null(True)
    pieces = in_order(*coded(plan.keys, pieces))
    windows = _once(
        plan,
        plan.slide.windows_of(pieces.filter(~pl.col(IS_BLOCK)))
        .filter(after & until)
        .select([*plan.identity, SLIDE_CODE, *watermark]),
    )
    if windows.is_empty():
        return plan.no_windows
    ranges = PieceRanges.locate(windows, pieces)
    return _opened(plan, ranges.where(ranges.filled), clocks)


def _opened(plan: WindowPlan, ranges: PieceRanges, clocks: Clocks) -> pl.DataFrame:
    """Returns new windows, none of them empty, as rows of the window table."""
    contents = ranges.contents(plan)
    opened = window_table.newborn(contents, plan.intake_schema, born=clocks.processing_time, open_=True)
    # Their rows came before the move that completes them, so the triggers must not see them as complete yet.
    return triggered(plan, opened, replace(TriggerContext.at(plan.spec, clocks), complete=pl.lit(False)))


def unmade(plan: WindowPlan, slices: Slices, clocks: Clocks, watermarks: pl.DataFrame) -> pl.DataFrame:
    """Returns the windows that are not made yet because they are not complete, with their numbers of rows."""
    marked = key_watermarks.marked(plan, slices.by_time.all(), watermarks)
    pieces = in_order(*coded(plan.keys, marked))
    ranges = PieceRanges.locate(windows_to_complete(plan.spec, plan.slide, pieces, clocks), pieces)
    return ranges.windows.select(*plan.identity, ranges.rows, pl.lit(False).alias(CLOSED))


def unmade_with(
    plan: WindowPlan, slices: Slices, new_slices: pl.DataFrame, clocks: Clocks, watermarks: pl.DataFrame
) -> pl.DataFrame:
    """Returns the windows of :func:`unmade` that contain or are made by one of the new slices.

    They are rows of the window table. `watermarks` are those of the keys of `new_slices`, if each key has its
    own. Only slices within the reach of `new_slices` are read.
    """
    near = _around(plan, slices, new_slices).with_columns(pl.lit(False).alias(IS_BLOCK))
    new = new_slices.select(plan.slice_shape.identity).unique().with_columns(pl.lit(True).alias(_NEW))
    flagged = join_frames(near, new, plan.slice_shape.identity, "left").with_columns(
        pl.col(_NEW).fill_null(False)
    )
    watermark = [KEY_WATERMARK] if plan.by_key else []
    pieces = in_order(*coded(plan.keys, key_watermarks.marked(plan, flagged, watermarks)))
    candidates = plan.slide.windows_of(pieces.select(*plan.keys, START, SLIDE_CODE, *watermark, _NEW))
    open_ = candidates.filter(~clocks.complete(plan.spec, pl.col(END))).sort(_NEW, descending=True)
    windows = open_.unique([SLIDE_CODE, START], keep="first", maintain_order=True)
    got, whole = PieceRanges.locate(windows, pieces.filter(_NEW)), PieceRanges.locate(windows, pieces)
    return _opened(plan, whole.where(whole.filled & (got.filled | windows[_NEW])), clocks)


def _around(plan: WindowPlan, slices: Slices, new_slices: pl.DataFrame) -> pl.DataFrame:
    if plan.slice_shape.by == plan.keys:
        return slices.by_time.of_keys(new_slices, plan.keys)
    return slices.near(plan, new_slices, START)


def windows_to_complete(
    spec: WindowOperator, slide: Slide, pieces: pl.DataFrame, clocks: Clocks
) -> pl.DataFrame:
    """Returns the windows of sorted slices that are neither complete nor empty."""
    candidates = (
        slide.windows_of(pieces)
        .filter(~clocks.complete(spec, pl.col(END)))
        .select(*slide.keys, START, END, SLIDE_CODE)
    )
    ranges = PieceRanges.locate(candidates.unique([SLIDE_CODE, START], maintain_order=True), pieces)
    return ranges.where(ranges.filled).windows


def _once(plan: WindowPlan, windows: pl.DataFrame) -> pl.DataFrame:
    """Returns each window once.

    Duplicates occur only if the own window of one row begins right after another row, which makes it, too.
    """
    if plan.slide.window.anchor != "both":
        return windows
    return windows.unique([SLIDE_CODE, START], maintain_order=True)
