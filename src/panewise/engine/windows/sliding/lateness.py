"""Decides which rows are late for sliding windows (semantics 7.5, 7.6).

A row is *behind* if a window that ends with it has expired. Only such rows can be late. A row behind is
applied if an unexpired window contains it when it arrives. That window is made by a row that is not behind,
or it begins right after a row that is behind. The row that makes it is stored already, or arrives earlier in
the batch.

So the question for each row behind is: when does the first row arrive that makes such a window? One sweep
over the times of a key answers it for all rows behind, with a running minimum of the places in arrival order.
Stored rows have the place -1. The cost is a sort of the rows of the keys that have rows behind, and of the
stored slices that their windows reach. Without a row behind nothing is computed.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from panewise.engine.columns import END, KEY_WATERMARK, MISSED_WINDOWS, ORDER, PARTIAL, REASON, START, TIME
from panewise.engine.ingest.late_output import late_columns, reason_of
from panewise.engine.kernels.instants import shifted
from panewise.engine.kernels.small_frames import expand_ranges, join_frames, take_rows
from panewise.engine.progress.clocks import Clocks
from panewise.engine.windowing import key_watermarks
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windowing.sliding_bounds import coded, in_order, places_of_pieces

_ARRIVAL = "__arrival"  # the place of a row in the arrival order of the batch; -1 for stored rows
_FIRST, _LEAST, _STORED_LEAST, _OPEN, _ACCEPTED, _QUERY, _AT = (
    "__first",
    "__least",
    "__stored_least",
    "__open",
    "__accepted",
    "__query",
    "__at",
)
_Schema = dict[str, pl.DataType]


@dataclass(frozen=True)
class LateSplit:
    """The rows of a batch, split by lateness.

    Attributes:
        rows: the rows that are applied.
        late: the late output. It includes the applied rows that are late for some windows.
        partially: the number of these rows.
    """

    rows: pl.DataFrame
    late: pl.DataFrame
    partially: int


def split_late(
    plan: WindowPlan, near: pl.DataFrame, rows: pl.DataFrame, clocks: Clocks, columns: _Schema
) -> LateSplit:
    """Splits off the late rows. `rows` are in arrival order.

    `near` are the stored slices that can share a window with a row behind, among others.
    """
    spec = plan.spec
    if spec.drop_by == "row":
        old = clocks.is_behind(spec, pl.col(TIME))
        return LateSplit(rows.filter(~old), _lost(plan, rows.filter(old), "behind", clocks, columns), 0)
    behind = rows.filter(clocks.expired(spec, pl.col(TIME) + 1))
    if behind.is_empty():
        return LateSplit(rows, pl.DataFrame(schema=columns), 0)
    near = key_watermarks.marked(plan, near, behind)
    chosen = behind.with_columns(_accepted(plan, near, rows, behind, clocks))
    lost = chosen.filter(~pl.col(_ACCEPTED)).drop(_ACCEPTED)
    applied = rows.join(lost, on=ORDER, how="anti", maintain_order="left")
    some = _late_for_some(plan, near, applied, chosen.filter(_ACCEPTED).drop(_ACCEPTED), clocks, columns)
    return LateSplit(applied, pl.concat([_lost(plan, lost, "expired", clocks, columns), some]), some.height)


def _lost(plan: WindowPlan, rows: pl.DataFrame, cause: str, clocks: Clocks, columns: _Schema) -> pl.DataFrame:
    """Returns the late output of rows that are late for all windows. The missed window is their own."""
    own = pl.concat_list(plan.slide.output_bounds(*plan.slide.own(pl.col(TIME))))
    own_columns = {REASON: reason_of(clocks, pl.lit(cause)), MISSED_WINDOWS: own, PARTIAL: pl.lit(False)}
    return rows.select(late_columns(columns, own_columns, clocks))


def _accepted(
    plan: WindowPlan, near: pl.DataFrame, rows: pl.DataFrame, behind: pl.DataFrame, clocks: Clocks
) -> pl.Series:
    spec, slide = plan.spec, plan.slide
    if slide.window.anchor == "start":  # no window that contains a row ends later than its own
        return behind.select((~clocks.expired(spec, slide.own(pl.col(TIME))[1])).alias(_ACCEPTED)).to_series()
    stored = near.filter(~clocks.expired(spec, pl.col(START) + 1)).select(
        *plan.keys, START, pl.lit(-1, dtype=pl.Int64).alias(_ARRIVAL)
    )
    mine = rows.join(behind, on=plan.keys, how="semi", nulls_equal=True).filter(
        ~clocks.expired(spec, pl.col(TIME) + 1)
    )
    ahead = mine.select(*plan.keys, pl.col(TIME).alias(START), pl.col(ORDER).cast(pl.Int64).alias(_ARRIVAL))
    first_arrival = _first_until(plan, pl.concat([stored, ahead]), behind)
    earlier = (first_arrival < pl.col(ORDER).cast(pl.Int64)).fill_null(False)
    by_left = behind.select(earlier.alias(_ACCEPTED)).to_series()
    if slide.window.anchor == "end":
        return by_left
    return by_left | _in_right(plan, near, behind.with_columns(by_left), clocks)


def _first_until(plan: WindowPlan, makers: pl.DataFrame, behind: pl.DataFrame) -> pl.Series:
    """Returns for each row behind the place in arrival order of the first row whose window contains it.

    The windows are those that end with a row. The place is null if there is no such row.
    """
    # A row at s makes a window that contains a row behind at t if s <= t + size; no such row is before t, as
    # it is not behind. So rows and queries are sorted by time, the query of t at t + size.
    number = pl.int_range(pl.len(), dtype=pl.Int64)
    queries = behind.select(
        *plan.keys,
        shifted(pl.col(TIME), plan.slide.size).alias(START),
        pl.lit(None, dtype=pl.Int64).alias(_ARRIVAL),
        number.alias(_QUERY),
    )
    makers = makers.with_columns(pl.lit(-1, dtype=pl.Int64).alias(_QUERY))
    swept = pl.concat([makers, queries]).sort([*plan.keys, START, _QUERY], nulls_last=False)
    first = swept.with_columns(pl.col(_ARRIVAL).cum_min().forward_fill().over(plan.keys).alias(_FIRST))
    return first.filter(pl.col(_QUERY) >= 0).sort(_QUERY)[_FIRST]


def _in_right(plan: WindowPlan, near: pl.DataFrame, behind: pl.DataFrame, clocks: Clocks) -> pl.Series:
    """Returns for each row behind whether an unexpired window contains it that begins right after a row.

    That row is stored, or arrives before the row behind. An unexpired window ends after all rows behind. So
    it contains each row behind that is not before its start.
    """
    spec, slide = plan.spec, plan.slide
    at = pl.col(START)
    open_ = ~slide.without_right(at) & ~clocks.expired(spec, shifted(at, slide.size + 2))
    least = near.filter(open_).group_by(plan.keys).agg(at.min().alias(_STORED_LEAST))
    known = join_frames(behind, least, plan.keys, "left").with_columns(pl.col(TIME).alias(START))
    mine = pl.when(pl.col(_ACCEPTED) & open_).then(TIME)
    earlier_ones = mine.cum_min().forward_fill().shift().over(plan.keys)
    in_right = known.select((pl.min_horizontal(earlier_ones, _STORED_LEAST) < pl.col(TIME)).fill_null(False))
    return in_right.to_series()


def _late_for_some(
    plan: WindowPlan,
    near: pl.DataFrame,
    applied: pl.DataFrame,
    rows: pl.DataFrame,
    clocks: Clocks,
    columns: _Schema,
) -> pl.DataFrame:
    """Returns the late output of applied rows behind: they are late for some of their windows.

    These are the expired windows that contain the row and that a row has made by then: the row itself, a
    stored row, or one that arrived earlier.
    """
    slide, arrival = plan.slide, pl.col(ORDER).cast(pl.Int64).alias(_ARRIVAL)
    watermark = [KEY_WATERMARK] if plan.by_key else []
    mine = applied.join(rows, on=plan.keys, how="semi", nulls_equal=True)
    stored = near.select(*plan.keys, START, *watermark, pl.lit(-1, dtype=pl.Int64).alias(_ARRIVAL))
    every = slide.windows_of(
        pl.concat([stored, mine.select(*plan.keys, pl.col(TIME).alias(START), *watermark, arrival)])
    )
    expired = every.filter(clocks.expired(plan.spec, pl.col(END)))
    windows = expired.group_by([*plan.keys, START, END], maintain_order=True).agg(pl.col(_ARRIVAL).min())
    pairs = _containing(plan, windows, rows)
    bounds = slide.output_bounds(pl.col(START), pl.col(END))
    missed = (
        pairs.filter(pl.col(_ARRIVAL) <= pl.col(ORDER))
        .group_by(ORDER, maintain_order=True)
        .agg(bounds.alias(MISSED_WINDOWS))
    )
    late = rows.join(missed, on=ORDER, maintain_order="left")
    return late.select(
        late_columns(columns, {REASON: reason_of(clocks, pl.lit("expired")), PARTIAL: pl.lit(True)}, clocks)
    )


def _containing(plan: WindowPlan, windows: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the ``__order`` of each row with the bounds of each window that contains the row."""
    # A window that contains a row starts in [t - size, t]. `around` has this interval of starts for each row.
    first_start = shifted(pl.col(TIME), -plan.slide.size)
    around = rows.select(*plan.keys, first_start.alias(START), (pl.col(TIME) + 1).alias(END))
    windows, around = coded(plan.keys, windows, around)
    windows = in_order(windows)
    low, high = places_of_pieces(windows, around)
    which = np.repeat(np.arange(rows.height), high - low)
    contained = take_rows(rows.select(ORDER), which).to_series()
    of_rows = take_rows(windows, expand_ranges(low, high - low))
    return of_rows.select(START, END, _ARRIVAL).hstack([contained])
