"""Applies a batch of rows to sliding windows: makes slices of rows, windows of slices (semantics 7 to 7.7).

The rows of one key and time become one slice. A slice makes a window or two, and belongs to all windows that
contain its time. There are two ways to make windows:

- If a window emits nothing before it is complete (``plan.made_when_complete``), it gets a row in the window
  table only when it is complete (:mod:`panewise.engine.windows.sliding.completion`). Until then a row costs
  one slice, however many windows contain it.
- Otherwise a window gets its row with the first row that makes it, and each batch is applied to all windows
  that it affects.

In both the partials of windows are made from ranges of slices
(:mod:`panewise.engine.windows.sliding.piece_ranges`).
"""

import numpy as np
import polars as pl

from panewise.engine.columns import END, IS_BLOCK, KEY_WATERMARK, PENDING, ROWS, SLIDE_CODE, START, TIME
from panewise.engine.kernels.instants import shifted
from panewise.engine.kernels.small_frames import filter_rows
from panewise.engine.progress.clocks import Clocks
from panewise.engine.tables.stored_table import StoredTable
from panewise.engine.windowing import key_watermarks, window_table
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windowing.sliding_bounds import coded, in_order
from panewise.engine.windowing.window_table import TriggerContext
from panewise.engine.windows.intake import Intake, merged_windows, triggered
from panewise.engine.windows.sliding.lateness import split_late
from panewise.engine.windows.sliding.piece_ranges import PieceRanges
from panewise.engine.windows.sliding.slices import Slices, as_pieces

_NEW = "__is_new"  # whether rows of the batch make the piece or the window


def apply_to_sliding(
    plan: WindowPlan,
    stored: StoredTable,
    slices: Slices,
    rows: pl.DataFrame,
    clocks: Clocks,
    columns: dict[str, pl.DataType],
) -> Intake:
    """Applies rows (in arrival order) to the slices, and to the windows that are in the window table.

    `columns` are those of the late output.
    """
    # If windows are made when they are complete, only complete ones are in the table. These contain only rows
    # that the watermark has passed.
    in_made_windows = rows
    if plan.made_when_complete:
        in_made_windows = rows.filter(clocks.complete(plan.spec, pl.col(TIME) + 1))
    near, slices = _near(plan, slices, in_made_windows, clocks)
    split = split_late(plan, near.drop(IS_BLOCK), rows, clocks, columns)
    new_slices = _sliced(plan, split.rows)
    affected, known = plan.no_windows, plan.no_windows
    own = near.filter(~pl.col(IS_BLOCK))
    if not in_made_windows.is_empty() and not new_slices.is_empty():
        new_slices_of_made = new_slices.join(in_made_windows, on=plan.keys, how="semi", nulls_equal=True)
        affected, known = _into_windows(plan, stored, near, new_slices_of_made, in_made_windows, clocks)
    return Intake(
        affected=affected,
        replaced=known,
        merged_away=known.clear(),
        late=split.late,
        applied=split.rows.height,
        late_count=split.late.height - split.partially,
        partially_late=split.partially,
        slices=slices.added(plan, new_slices, None if plan.made_when_complete else own.drop(IS_BLOCK)),
        new_slices=new_slices,
    )


def _near(
    plan: WindowPlan, slices: Slices, rows: pl.DataFrame, clocks: Clocks
) -> tuple[pl.DataFrame, Slices]:
    """Returns the stored pieces that can share a window with one of the rows, and the tables of slices.

    The tables are returned, too, because reading may build blocks of slices.
    """
    if rows.is_empty():
        return as_pieces(plan.slice_shape.no_rows), slices
    if plan.slice_shape.by == plan.keys:
        behind = rows.filter(clocks.expired(plan.spec, pl.col(TIME) + 1))
        return slices.of_rows(plan, rows, in_time=behind.is_empty())
    return as_pieces(slices.near(plan, rows, TIME)), slices


def _sliced(plan: WindowPlan, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the slices of the rows: one for each key and time, with the partials of its rows."""
    lifted = plan.slice_aggregation.lift(rows, [*plan.keys, TIME]).rename({TIME: START})
    return lifted.with_columns(shifted(pl.col(START), plan.slide.lasts).alias(END)).select(
        list(plan.slice_shape.schema)
    )


def _into_windows(
    plan: WindowPlan,
    stored: StoredTable,
    near: pl.DataFrame,
    new_slices: pl.DataFrame,
    rows: pl.DataFrame,
    clocks: Clocks,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the windows that the batch makes or adds rows to, and their stored rows from before the batch.

    `near` are the stored pieces that can share a window with a row of the batch, `new_slices` its slices, and
    `rows` those of its rows that affect windows in the window table.
    """
    stored_pieces = near.select(*plan.slice_shape.schema, IS_BLOCK, pl.lit(False).alias(_NEW))
    pieces = pl.concat([stored_pieces, as_pieces(new_slices).with_columns(pl.lit(True).alias(_NEW))])
    pieces = key_watermarks.marked(plan, pieces, rows)
    got, whole = _affected(plan, in_order(*coded(plan.keys, pieces)), clocks)
    known = stored.look_up(whole.windows[plan.identity])
    is_stored = np.zeros(whole.windows.height, dtype=np.bool_)
    is_stored[known.which] = True
    # A stored window gets the partials of the new pieces or, if it is made from slices each time, of all
    # pieces. A window that is not stored gets those of all pieces, which may have come before it was made.
    grows = pl.Series(is_stored) & got.filled
    source = whole if plan.rebuilt_from_slices else got
    more = source.where(grows).contents(plan).with_columns(got.where(grows).rows)
    fresh = whole.where(pl.Series(~is_stored)).contents(plan).with_columns(pl.col(ROWS).alias(PENDING))
    before = filter_rows(known.rows, grows.gather(known.which.astype(np.uint32)))
    return _together(plan, before, pl.concat([more, fresh]), clocks), before


def _affected(plan: WindowPlan, pieces: pl.DataFrame, clocks: Clocks) -> tuple[PieceRanges, PieceRanges]:
    """Returns the ranges of new pieces, and the ranges of all pieces, of the affected windows.

    A window is affected if it contains a new piece or if a new piece makes it.
    """
    watermark = [KEY_WATERMARK] if plan.by_key else []
    makers = pieces.filter(~pl.col(IS_BLOCK)).select(*plan.keys, START, SLIDE_CODE, *watermark, _NEW)
    in_table = ~clocks.expired(plan.spec, pl.col(END))
    if plan.made_when_complete:
        in_table = in_table & clocks.complete(plan.spec, pl.col(END))
    got = PieceRanges.locate(plan.slide.windows_of(makers).filter(in_table), pieces.filter(_NEW))
    got = got.where(got.filled | got.windows[_NEW])
    windows = got.windows.sort(_NEW, descending=True).unique(
        [SLIDE_CODE, START], keep="first", maintain_order=True
    )
    got = PieceRanges.locate(windows, got.pieces)
    whole = PieceRanges.locate(got.windows, pieces)
    return got.where(whole.filled), whole.where(whole.filled)


def _together(plan: WindowPlan, known: pl.DataFrame, contents: pl.DataFrame, clocks: Clocks) -> pl.DataFrame:
    """Returns rows of the window table: the stored windows merged with their new partials, and new windows.

    If partials are made from slices each time, the new partials replace the stored ones.
    """
    now = TriggerContext.at(plan.spec, clocks)
    new = window_table.newborn(
        contents,
        plan.intake_schema,
        pending=PENDING,
        born=clocks.processing_time,
        open_=~clocks.complete_windows(plan.spec, contents),
    )
    if known.is_empty():
        return triggered(plan, new, now)
    if plan.rebuilt_from_slices:
        known = known.with_columns(plan.aggregation.cleared(pl.lit(True), pl.lit(True)))
    return triggered(plan, merged_windows(plan, known, new, plan.identity), now)
