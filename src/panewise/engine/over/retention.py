"""What is kept of rows and keys once a step has been worked out: what rows to come can still need, and no more (semantics 29.9)."""

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import DENSE_RANK, RANK, ROW_COUNT, ROW_NUMBER, SLOT, TIME_COUNT
from panewise.engine.kernels.small_frames import picked, spread
from panewise.engine.over.bounds import shifted
from panewise.engine.over.plan import TIME
from panewise.engine.over.sequences import Flags, Layout, Numbers
from panewise.engine.over.values import firsts


def running(layout: Layout, folded: list[pl.Series]) -> pl.DataFrame:
    """What is remembered of the keys: `folded` are the partials of frames without a start."""
    made = [pl.Series(ROW_COUNT, layout.count), *folded, *firsts(layout)]
    if layout.plan.ranks:
        made.append(pl.Series(TIME_COUNT, _peers(layout)))
    frame = layout.keys.hstack(made).with_columns(pl.lit(MAX_INSTANT).alias(TIME))
    return frame.select(pl.col(name).cast(dtype) for name, dtype in layout.plan.running.schema.items())


def _peers(layout: Layout) -> Numbers:
    """How many different times of each key have passed."""
    before = layout.running[TIME_COUNT].fill_null(0).to_numpy()
    some = layout.new_count > 0
    last = layout.ranks[1][np.where(some, layout.passed - 1, 0)]
    return np.where(some, last + 1, before)


def kept(layout: Layout, horizon: int | None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows for the table of kept rows, new or changed; and those that go, though the horizon does not tell.

    Rows with a time at or before the horizon have gone. A row is kept by the last instant if rows count it, or if it waits itself, or if a
    row that waits looks back to it; else, if rows to come can look back to it, by its time.
    """
    plan = layout.plan
    position = _candidates(layout)
    code = layout.code[position]
    unsent = layout.sent_until[code]
    pinned: Flags = position >= unsent - plan.behind
    ends: Numbers = np.full(len(position), MAX_INSTANT)
    stays = pinned
    if plan.looks_back:
        times = layout.times[position]
        pinned = pinned | (_seen_back(layout, code, times) if plan.ahead else False)
        ends = np.where(pinned, MAX_INSTANT, times)
        stays = pinned | (True if horizon is None else times > horizon)
    fresh = position >= layout.first_new[code]
    before = layout.kept_ends[layout.source[position]]
    changed = fresh if not plan.looks_back else fresh | (ends != before)
    put = _told(layout, position[stays & changed], ends[stays & changed])
    gone = position[~stays & ~fresh & (before == MAX_INSTANT)] if plan.looks_back else position[:0]
    return put, _told(layout, gone, np.full(len(gone), MAX_INSTANT))


def _candidates(layout: Layout) -> Numbers:
    """Positions that may be kept or have been: without frames of time only the last rows of each key."""
    plan = layout.plan
    first = layout.start if plan.looks_back else np.maximum(layout.first_new, layout.passed - plan.behind - plan.ahead)
    return spread(first, layout.passed - first)


def _seen_back(layout: Layout, code: Numbers, times: Numbers) -> Flags:
    """Whether a row that waits looks back to a row: one within reach of the first of its key that does."""
    waits = (layout.sent_until < layout.passed)[code]
    first = layout.times[np.minimum(layout.sent_until, len(layout.times) - 1)][code]
    seen: Flags = waits & (times >= shifted(first, -layout.plan.us_behind))
    return seen


def _told(layout: Layout, position: Numbers, ends: Numbers) -> pl.DataFrame:
    """Rows of the table."""
    plan = layout.plan
    number = layout.number[position]
    ring = max(1, plan.behind + plan.ahead)  # rows that take each other's place, where only the last ones count
    slot = number if plan.looks_back else number % ring
    frame = picked(layout.stack, layout.source[position])
    keys = picked(layout.keys, layout.code[position])
    made = {SLOT: slot, ROW_NUMBER: number, TIME: ends}
    if RANK in plan.kept.schema:
        made |= {RANK: layout.ranks[0][position], DENSE_RANK: layout.ranks[1][position]}
    columns = {**{name: keys[name] for name in plan.keys}, **{name: pl.Series(name, values) for name, values in made.items()}}
    told = [columns[name] if name in columns else frame[name].alias(name) for name in plan.kept.schema]
    return pl.DataFrame([series.cast(dtype) for series, dtype in zip(told, plan.kept.schema.values(), strict=True)])
