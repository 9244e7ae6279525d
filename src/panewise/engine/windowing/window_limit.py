"""The limit of the windows of each key (semantics 15.23 to 15.26).

A batch reads all stored windows of the keys of its rows, of which there are no more than the limit allows. So
the table of windows is hashed by the keys alone. Windows are ordered by end and start.

Invariant: after a step no key has more live windows than the limit, and those that it has are the latest
ones. Cost: a sort of the stored windows of the keys of a batch.
"""

import polars as pl

from panewise.engine.columns import BEYOND_LIMIT, CLOSED, END, START
from panewise.engine.kernels.small_frames import join_frames, without
from panewise.engine.windowing.plan import WindowPlan
from panewise.errors import StateError
from panewise.spec.max_windows import MaxWindows

_END, _START = "__least_end", "__least_start"


def full(plan: WindowPlan, stored: pl.DataFrame, wanted: pl.DataFrame) -> pl.DataFrame:
    """Returns those of the wanted windows that are new and older than all windows of a key with no more room.

    `stored` are the stored windows of the keys.
    """
    limit = plan.spec.max_windows
    if limit is None or limit.when_full == "stop" or stored.height < limit.n:
        return wanted.clear().select(plan.identity)
    latest = _latest_first(plan, stored).filter(pl.int_range(pl.len()).over(plan.keys) == limit.n - 1)
    least = latest.select(*plan.keys, pl.col(END).alias(_END), pl.col(START).alias(_START))
    pairs = join_frames(wanted.select(plan.identity), least, plan.keys)
    same_end = (pl.col(END) == pl.col(_END)) & (pl.col(START) < pl.col(_START))
    older = pairs.filter((pl.col(END) < pl.col(_END)) | same_end).select(plan.identity)
    return without(older, stored, plan.identity)


def beyond(plan: WindowPlan, windows: pl.DataFrame) -> pl.DataFrame:
    """Returns keys and bounds of the windows that a key has beyond the limit: the oldest ones.

    `windows` has all windows of each key in it.

    Raises:
        StateError: if there are such windows, with `when_full="stop"`.
    """
    limit = plan.spec.max_windows
    assert limit is not None
    ordered = _latest_first(plan, windows.select(plan.identity))
    more = ordered.filter(pl.int_range(pl.len()).over(plan.keys) >= limit.n)
    if more.height and limit.when_full == "stop":
        raise _too_many(plan, more, limit)
    return more


def _latest_first(plan: WindowPlan, windows: pl.DataFrame) -> pl.DataFrame:
    return windows.select(plan.identity).sort(END, START, descending=True)


def _too_many(plan: WindowPlan, more: pl.DataFrame, limit: MaxWindows) -> StateError:
    first = more.row(0, named=True)
    key = {name: first[name] for name in plan.spec.keys}
    whose = f"of the key {key}" if key else "of the operator"
    rule = f"max_windows={limit!r} limits the windows of a key (semantics 15.26)"
    remedy = "raise n, lower the lateness, or give when_full='emit_oldest'"
    return StateError(f"more than {limit.n} windows {whose}", rule, remedy)


def with_full(closed: pl.DataFrame, full_windows: pl.DataFrame, identity: list[str]) -> pl.DataFrame:
    """Returns closed windows and those of :func:`full`, by keys and bounds; a column says which is which."""
    frames = [
        closed.filter(CLOSED).select(identity).with_columns(pl.lit(False).alias(BEYOND_LIMIT)),
        full_windows.with_columns(pl.lit(True).alias(BEYOND_LIMIT)),
    ]
    return pl.concat(frames)
