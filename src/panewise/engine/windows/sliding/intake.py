"""Applies a batch of rows to sliding windows: makes slices of rows, windows of slices (semantics 7 to 7.7).

The rows of one key and time become one slice. A slice makes a window or two, and belongs to all windows that
contain its time. There are two ways to make windows:

- If a window emits nothing before it is complete (``plan.made_when_complete``), it gets a row in the window
  table only when it is complete. Until then a row costs one slice, however many windows contain it.
- Otherwise a window gets its row with the first row that makes it, and each batch is applied to all windows
  that it affects.

*Pieces* are slices, or blocks in place of many slices (:mod:`panewise.engine.windows.sliding.slices`).
Invariant: pieces are sorted by key and time, so each window contains a range of positions (`_Ranges`). The
partials of all ranges are range aggregates. So w windows over n pieces cost a sort of the pieces, and for
each window the logarithm of the number of its pieces.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from panewise.engine.aggregate import range_aggregate
from panewise.engine.columns import (
    CLOSED,
    END,
    IS_BLOCK,
    KEY_WATERMARK,
    PENDING,
    ROWS,
    SLIDE_CODE,
    START,
    TIME,
    TOMBSTONE,
)
from panewise.engine.kernels.instants import shifted
from panewise.engine.kernels.small_frames import filter_rows, joined, take_rows
from panewise.engine.kernels.sorting import Places
from panewise.engine.progress.clocks import Clocks
from panewise.engine.store.stored_table import StoredTable
from panewise.engine.windowing import key_watermarks, window_table
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windowing.sliding_bounds import Slide, coded, in_order, positions
from panewise.engine.windowing.window_table import TriggerContext
from panewise.engine.windows.intake import Intake, merged_windows, triggered
from panewise.engine.windows.sliding.lateness import split_late
from panewise.engine.windows.sliding.slices import Slices, as_pieces
from panewise.spec import WindowOperator

# Whether rows of the batch make the piece or the window; and the watermark of the key before the batch.
_NEW, _LOW = "__is_new", "__low"


def of_sliding(
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
    news = _sliced(plan, split.rows)
    touched, known = plan.no_windows, plan.no_windows
    own = near.filter(~pl.col(IS_BLOCK))
    if not in_made_windows.is_empty() and not news.is_empty():
        touched, known = _touched(
            plan,
            stored,
            near,
            news.join(in_made_windows, on=plan.keys, how="semi", nulls_equal=True),
            in_made_windows,
            clocks,
        )
    return Intake(
        touched=touched,
        replaced=known,
        merged_away=known.clear(),
        late=split.late,
        applied=split.rows.height,
        late_count=split.late.height - split.partially,
        partially_late=split.partially,
        slices=slices.added(plan, news, None if plan.made_when_complete else own.drop(IS_BLOCK)),
        news=news,
    )


def _near(
    plan: WindowPlan, slices: Slices, rows: pl.DataFrame, clocks: Clocks
) -> tuple[pl.DataFrame, Slices]:
    """Returns the stored pieces that can share a window with one of the rows, and the slices.

    The slices are returned because reading them may have led to blocks of them.
    """
    if rows.is_empty():
        return as_pieces(slices.by_time.newest.clear().drop(TOMBSTONE)), slices
    if plan.slices.by == plan.keys:
        behind = rows.filter(clocks.expired(plan.spec, pl.col(TIME) + 1))
        return slices.of_rows(plan, rows, in_time=behind.is_empty())
    first, last = rows.select(pl.col(TIME).min().alias("first"), pl.col(TIME).max().alias("last")).row(0)
    slices_near = slices.between(plan, first - plan.slide.reach, last + plan.slide.reach)
    return as_pieces(
        slices_near.join(rows, on=plan.keys, how="semi", nulls_equal=True, maintain_order="left")
    ), slices


def _sliced(plan: WindowPlan, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the slices of the rows: one for each key and time, with the partials of its rows."""
    lifted = plan.pieces.lift(rows, [*plan.keys, TIME]).rename({TIME: START})
    return lifted.with_columns(shifted(pl.col(START), plan.slide.lasts).alias(END)).select(
        list(plan.slices.schema)
    )


@dataclass(frozen=True)
class _Ranges:
    """Windows, each with the half-open range of positions of its pieces among sorted pieces."""

    windows: pl.DataFrame
    pieces: pl.DataFrame
    low: Places
    high: Places

    @classmethod
    def locate(cls, windows: pl.DataFrame, ordered: pl.DataFrame) -> "_Ranges":
        return cls(windows, ordered, *positions(ordered, windows))

    def where(self, mask: pl.Series) -> "_Ranges":
        places = np.flatnonzero(mask.to_numpy())
        return _Ranges(take_rows(self.windows, places), self.pieces, self.low[places], self.high[places])

    @property
    def filled(self) -> pl.Series:
        """Whether each window contains a piece."""
        return pl.Series(self.high > self.low)

    @property
    def rows(self) -> pl.Series:
        """The number of rows in each window: the difference of two prefix sums."""
        sums = np.concatenate([[0], self.pieces[ROWS].cum_sum().to_numpy()])
        return pl.Series(PENDING, sums[self.high] - sums[self.low], dtype=pl.Int64)

    def contents(self, plan: WindowPlan) -> pl.DataFrame:
        """Returns the windows with the merged partials of their pieces. No window may be empty."""
        return self.windows.hstack(
            range_aggregate.over(plan.aggregation, self.pieces, pl.Series(self.low), pl.Series(self.high))
        )


def _touched(
    plan: WindowPlan,
    stored: StoredTable,
    near: pl.DataFrame,
    news: pl.DataFrame,
    rows: pl.DataFrame,
    clocks: Clocks,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the windows that the batch makes or adds rows to, and their stored rows from before the batch.

    `near` are the stored pieces that can share a window with a row of the batch, `news` its slices, and
    `rows` those of its rows that affect windows in the window table.
    """
    there_already = near.select(*plan.slices.schema, IS_BLOCK, pl.lit(False).alias(_NEW))
    pieces = pl.concat([there_already, as_pieces(news).with_columns(pl.lit(True).alias(_NEW))])
    pieces = in_order(
        *coded(plan.keys, key_watermarks.marked(pieces, rows, plan.keys) if plan.by_key else pieces)
    )
    mark = [KEY_WATERMARK] if plan.by_key else []
    windows_of_news = plan.slide.windows_of(
        pieces.filter(~pl.col(IS_BLOCK)).select(*plan.keys, START, SLIDE_CODE, *mark, _NEW)
    )
    affected = ~clocks.expired(plan.spec, pl.col(END))
    if plan.made_when_complete:
        affected = affected & clocks.complete(plan.spec, pl.col(END))
    # `got` has the ranges of new pieces, `whole` the ranges of all pieces, of the same windows. A window is
    # affected if it contains a new piece or if a new piece makes it.
    got = _Ranges.locate(windows_of_news.filter(affected), pieces.filter(_NEW))
    got = got.where(got.filled | got.windows[_NEW])
    windows = got.windows.sort(_NEW, descending=True).unique(
        [SLIDE_CODE, START], keep="first", maintain_order=True
    )
    got = _Ranges.locate(windows, got.pieces)
    whole = _Ranges.locate(got.windows, pieces)
    got, whole = got.where(whole.filled), whole.where(whole.filled)
    known = stored.look_up(whole.windows[plan.identity])
    there = np.zeros(whole.windows.height, dtype=np.bool_)
    there[known.which] = True
    # A stored window gets the partials of the new pieces or, if it is made from slices each time, of all
    # pieces. A window that is not stored gets those of all pieces, which may have come before it was made.
    grows = pl.Series(there) & got.filled
    more = (
        (whole if plan.rebuilt_from_slices else got)
        .where(grows)
        .contents(plan)
        .with_columns(got.where(grows).rows)
    )
    fresh = whole.where(pl.Series(~there)).contents(plan).with_columns(pl.col(ROWS).alias(PENDING))
    before = filter_rows(known.rows, grows.gather(known.which.astype(np.uint32)))
    return _together(plan, before, pl.concat([more, fresh]), clocks), before


def _together(plan: WindowPlan, known: pl.DataFrame, contents: pl.DataFrame, clocks: Clocks) -> pl.DataFrame:
    """Returns rows of the window table: the stored windows merged with their new partials, and new windows.

    If partials are made from slices each time, the new partials replace the stored ones.
    """
    now = TriggerContext.at(plan.spec, clocks)
    new = window_table.newborn(
        contents,
        plan.intake_schema,
        pending=pl.col(PENDING),
        born=clocks.processing_time,
        open_=~now.complete,
    )
    if known.is_empty():
        return triggered(plan, new, now)
    if plan.rebuilt_from_slices:
        known = known.with_columns(plan.aggregation.cleared(pl.lit(True), pl.lit(True)))
    return triggered(plan, merged_windows(plan, known, new, plan.identity), now)


def completed(
    plan: WindowPlan, slices: Slices, before: Clocks, now: Clocks, marks: Callable[[], pl.DataFrame]
) -> tuple[pl.DataFrame, Slices]:
    """Returns the windows that are made because a move of the clocks completes them, and the slices.

    The windows are returned as they were before the move. If each key has its own watermark, only the end of
    input completes windows here. Then `marks` is called, which returns the watermarks of all keys.
    """
    if not plan.made_when_complete or (before.watermark == now.watermark and before.finished == now.finished):
        return plan.no_windows, slices
    last = None if now.finished else now.watermark
    if before.watermark is None or last is None:
        first = None if before.watermark is None else before.watermark - plan.slide.reach
        pieces = as_pieces(slices.between(plan, first, last))
    else:
        pieces, slices = slices.of_move(plan, before.watermark, last)
    pieces = key_watermarks.marked(pieces, marks(), plan.keys) if plan.by_key else pieces
    low = pl.lit(before.watermark, dtype=pl.Int64) if before.mark is None else before.mark
    return _completed(plan, pieces, low, pl.lit(last, dtype=pl.Int64), now), slices


def completed_of_keys(
    plan: WindowPlan, slices: Slices, before: pl.DataFrame, moved: pl.DataFrame, clocks: Clocks
) -> tuple[pl.DataFrame, Slices]:
    """Returns the windows that are made because new watermarks of keys complete them, and the slices.

    `before` and `moved` have the watermarks of the keys before and after the move. Slices of these keys that
    have expired are removed.
    """
    mine = slices.by_time.of_keys(moved, plan.keys)
    reached = key_watermarks.marked(mine, moved, plan.keys)
    expired = reached.filter(clocks.expired(plan.spec, pl.col(END))).select(list(plan.slices.schema))
    windows = plan.no_windows
    if plan.made_when_complete:
        low = key_watermarks.marked(mine, before, plan.keys)[KEY_WATERMARK].alias(_LOW)
        windows = _completed(
            plan, as_pieces(reached.hstack([low])), pl.col(_LOW), pl.col(KEY_WATERMARK), clocks
        )
    return windows, slices.without(expired)


def _completed(
    plan: WindowPlan, pieces: pl.DataFrame, low: pl.Expr, high: pl.Expr, clocks: Clocks
) -> pl.DataFrame:
    """Returns the windows with low < end <= high, as rows of the window table. A null bound is infinite."""
    mark = [KEY_WATERMARK] if plan.by_key else []
    after, until = (pl.col(END) > low).fill_null(True), (pl.col(END) <= high).fill_null(True)
    pieces = in_order(*coded(plan.keys, pieces))
    windows = _once(
        plan,
        plan.slide.windows_of(pieces.filter(~pl.col(IS_BLOCK)))
        .filter(after & until)
        .select([*plan.identity, SLIDE_CODE, *mark]),
    )
    if windows.is_empty():
        return plan.no_windows
    ranges = _Ranges.locate(windows, pieces)
    return _opened(plan, ranges.where(ranges.filled), clocks)


def _opened(plan: WindowPlan, ranges: _Ranges, clocks: Clocks) -> pl.DataFrame:
    """Returns new windows, none of them empty, as rows of the window table."""
    contents = ranges.contents(plan)
    opened = window_table.newborn(
        contents, plan.intake_schema, pending=pl.col(ROWS), born=clocks.processing_time, open_=pl.lit(True)
    )
    # Their rows came before the move that completes them, so the triggers must not see them as complete yet.
    return triggered(plan, opened, replace(TriggerContext.at(plan.spec, clocks), complete=pl.lit(False)))


def unmade(plan: WindowPlan, slices: Slices, clocks: Clocks, marks: pl.DataFrame) -> pl.DataFrame:
    """Returns the windows that are not made yet because they are not complete, with their numbers of rows."""
    pieces = in_order(
        *coded(
            plan.keys,
            key_watermarks.marked(slices.by_time.all(), marks, plan.keys)
            if plan.by_key
            else slices.by_time.all(),
        )
    )
    ranges = _Ranges.locate(waiting(plan.spec, plan.slide, pieces, clocks), pieces)
    return ranges.windows.select(*plan.identity, ranges.rows, pl.lit(False).alias(CLOSED))


def unmade_with(
    plan: WindowPlan, slices: Slices, news: pl.DataFrame, clocks: Clocks, marks: pl.DataFrame
) -> pl.DataFrame:
    """Returns the windows of :func:`unmade` that contain or are made by one of the slices `news`.

    They are rows of the window table. `marks` are the watermarks of the keys of `news`, if each key has its
    own. Only slices within the reach of `news` are read.
    """
    near = _around(plan, slices, news).with_columns(pl.lit(False).alias(IS_BLOCK))
    new = news.select(plan.slices.identity).unique().with_columns(pl.lit(True).alias(_NEW))
    flagged = joined(near, new, plan.slices.identity, "left").with_columns(pl.col(_NEW).fill_null(False))
    mark = [KEY_WATERMARK] if plan.by_key else []
    if plan.by_key:
        flagged = key_watermarks.marked(flagged, marks, plan.keys)
    pieces = in_order(*coded(plan.keys, flagged))
    candidates = plan.slide.windows_of(pieces.select(*plan.keys, START, SLIDE_CODE, *mark, _NEW))
    open_ = candidates.filter(~clocks.complete(plan.spec, pl.col(END))).sort(_NEW, descending=True)
    windows = open_.unique([SLIDE_CODE, START], keep="first", maintain_order=True)
    got, whole = _Ranges.locate(windows, pieces.filter(_NEW)), _Ranges.locate(windows, pieces)
    return _opened(plan, whole.where(whole.filled & (got.filled | windows[_NEW])), clocks)


def _around(plan: WindowPlan, slices: Slices, news: pl.DataFrame) -> pl.DataFrame:
    if plan.slices.by == plan.keys:
        return slices.by_time.of_keys(news, plan.keys)
    first, last = news.select(pl.col(START).min().alias("first"), pl.col(START).max().alias("last")).row(0)
    slices_near = slices.between(plan, first - plan.slide.reach, last + plan.slide.reach)
    return slices_near.join(news, on=plan.keys, how="semi", nulls_equal=True, maintain_order="left")


def waiting(spec: WindowOperator, slide: Slide, pieces: pl.DataFrame, clocks: Clocks) -> pl.DataFrame:
    """Returns the windows of sorted slices that are neither complete nor empty."""
    candidates = (
        slide.windows_of(pieces)
        .filter(~clocks.complete(spec, pl.col(END)))
        .select(*slide.keys, START, END, SLIDE_CODE)
    )
    ranges = _Ranges.locate(candidates.unique([SLIDE_CODE, START], maintain_order=True), pieces)
    return ranges.where(ranges.filled).windows


def _once(plan: WindowPlan, windows: pl.DataFrame) -> pl.DataFrame:
    """Returns each window once.

    Duplicates occur only if the own window of one row begins right after another row, which makes it, too.
    """
    return (
        windows.unique([SLIDE_CODE, START], maintain_order=True)
        if plan.slide.window.anchor == "both"
        else windows
    )
