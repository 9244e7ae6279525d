"""Watermarks of keys: each key has its own (semantics 12.8, 8.1).

The watermark of a key is stored in the window table, in a row that is not a window: it starts and ends at the
last instant, and is closed. So it is read together with the windows of its key, and a step writes only the
watermarks of the keys of its rows. Invariant: each window also stores the watermark of its key, so
evaluations need no look-up. When a watermark moves, all windows of the key are evaluated and written again.
So a batch costs as much as the windows of the keys of its rows.
"""

import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import (
    BORN,
    CLOSED,
    END,
    INDEX,
    KEY_WATERMARK,
    LIVE,
    NONSPECULATIVE,
    PENDING,
    START,
    TIME,
    UNFLIPPED,
)
from panewise.engine.kernels.instants import shifted
from panewise.engine.kernels.small_frames import join_frames
from panewise.engine.windowing.plan import WindowPlan
from panewise.spec import StreamTime

_REACHED = "__reached"
IS_WINDOW = pl.col(START) < pl.col(END)


def without(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows of the table that are windows."""
    return rows.filter(IS_WINDOW)


def only_windows(plan: WindowPlan, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows of the table that are windows. All are, unless each key has a watermark."""
    return without(rows) if plan.by_key else rows


def marked(plan: WindowPlan, frame: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Returns rows with the watermarks of their keys, taken from `known`, if each key has one."""
    return with_watermarks(frame, known, plan.keys) if plan.by_key else frame


def watermarks_of(rows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Returns the watermarks of keys that rows of the table contain."""
    return rows.filter(~IS_WINDOW).select(*keys, KEY_WATERMARK)


def with_watermarks(frame: pl.DataFrame, known: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Adds the watermark of each row's key, taken from `known`; null if the key has none."""
    watermarks = known.select(*keys, KEY_WATERMARK).unique(keys)
    return join_frames(frame, watermarks, keys, "left")


def moved(plan: WindowPlan, rows: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """Returns the new watermarks of the keys whose watermarks the rows move."""
    assert isinstance(plan.spec.watermark, StreamTime)
    delay = plan.spec.watermark.delay.us
    seen = with_watermarks(
        rows.group_by(plan.keys, maintain_order=True).agg(pl.col(TIME).max()), before, plan.keys
    )
    reached = shifted(pl.col(TIME), -delay)
    further = pl.col(KEY_WATERMARK).is_null() | (reached > pl.col(KEY_WATERMARK))
    return seen.filter(further).select(*plan.keys, reached.alias(KEY_WATERMARK))


def others(plan: WindowPlan, mine: pl.DataFrame, further: pl.DataFrame, *known: pl.DataFrame) -> pl.DataFrame:
    """Returns the windows in `mine` whose key has a new watermark, without the windows in `known`."""
    live = without(mine).join(further, on=plan.keys, how="semi", nulls_equal=True, maintain_order="left")
    for windows in known:
        live = live.join(windows, on=plan.identity, how="anti", nulls_equal=True, maintain_order="left")
    return live


def refreshed(plan: WindowPlan, windows: pl.DataFrame, further: pl.DataFrame) -> pl.DataFrame:
    """Returns the windows with the new watermarks of their keys, where these have moved."""
    reached = further.rename({KEY_WATERMARK: _REACHED})
    both = join_frames(windows, reached, plan.keys, "left")
    return both.with_columns(pl.coalesce(_REACHED, KEY_WATERMARK).alias(KEY_WATERMARK)).drop(_REACHED)


def written(plan: WindowPlan, further: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows of the table that store these watermarks."""
    values = {
        **dict.fromkeys((START, END), pl.lit(MAX_INSTANT)),
        **dict.fromkeys((PENDING, INDEX, NONSPECULATIVE, BORN), pl.lit(0)),
        **dict.fromkeys((UNFLIPPED, LIVE), pl.lit(False)),
        CLOSED: pl.lit(True),
        **{name: pl.col(name) for name in further.columns},
    }
    return further.select(
        values.get(name, pl.lit(None)).cast(dtype).alias(name) for name, dtype in plan.table_schema.items()
    )
