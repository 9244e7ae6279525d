"""Decides which windows fire, and updates windows after firings (semantics 16 to 21).

All decisions are expressions over columns of the window table, so an evaluation costs a few passes over the
windows that it concerns. :func:`due` returns the test that finds these windows after a move of the clocks.
Invariant: a window that the test leaves out would not change in the evaluation. The descriptions of runs,
with the least and greatest values that the test reads, show which runs need not be read.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import (
    BORN,
    CLOSED,
    END,
    FIRED,
    INDEX,
    LIVE,
    NONSPECULATIVE,
    PENDING,
    UNFLIPPED,
    live_column,
)
from panewise.engine.kernels.small_frames import constant_column, filter_rows, join_frames, with_values
from panewise.engine.progress.clocks import Clocks
from panewise.engine.tables.stored_table import StoredTable, any_overlaps
from panewise.engine.windowing import key_watermarks
from panewise.engine.windowing.panes import COMPLETE, differs, numbering
from panewise.engine.windowing.plan import WindowPlan
from panewise.engine.windowing.window_table import LIVE_PANE, TriggerContext
from panewise.spec import Global
from panewise.state import Run

FLIP, EXPIRED, EARLY = "__flip", "__expired", "__early"
READY, CLOSES, FIRE, REQUESTED, EMITTED = "__ready", "__closes", "__fire", "__requested", "__emitted"
NOW = "__now"
T = TypeVar("T")


@dataclass(frozen=True)
class Evaluation:
    """The result of one evaluation.

    Attributes:
        stored: the windows that remain, as they are after the evaluation.
        expired: the windows that have expired.
        emitted: the windows that emit a pane, as they were before the firing, with the columns of the pane.
    """

    stored: pl.DataFrame
    expired: pl.DataFrame
    emitted: pl.DataFrame


@dataclass(frozen=True)
class Due:
    """The windows that a move of the clocks can fire, flip or expire: those that pass `test`.

    Each of them fulfils at least one of these conditions, by which :meth:`may` skips runs:

    - its end lies in one of `ends` (low < end <= high; None: no bound);
    - the F of its periodic trigger (semantics 16.3) is at or before `since`;
    - one of its deadlines in processing time is at or before `now`;
    - one of its deadlines in event time is at or before `watermark`.
    """

    plan: WindowPlan
    before: Clocks
    clocks: Clocks
    ends: tuple[tuple[int | None, int], ...]
    since: int | None
    now: int
    watermark: int | None

    @property
    def by_ends(self) -> bool:
        """Whether only ends matter.

        A simple trigger without an Every is ready when rows arrive, and is evaluated then, or at the end.
        """
        return self.since is None and self.plan.tree is None and not self.plan.by_key

    @property
    def test(self) -> pl.Expr:
        """The test of a window."""
        spec, before, now = self.plan.spec, self.before, self.clocks
        # If the trigger does not fire the pending rows of a complete window, the window stays unflipped. An
        # earlier evaluation has seen it complete already, so it is not due by its end again.
        flips = pl.col(UNFLIPPED) & now.complete(spec, pl.col(END)) & ~before.complete(spec, pl.col(END))
        test = flips | now.expired(spec, pl.col(END))
        if self.by_ends:
            return test
        ready = self.plan.trigger.ready(TriggerContext.at(spec, now)) & ~pl.col(CLOSED)
        by_key = self.plan.by_key and not now.finished
        return (test | ready) & key_watermarks.IS_WINDOW if by_key else test | ready

    def may(self, run: Run) -> bool:
        """Returns whether a run can contain such a window, by the description of the run."""
        reached = (
            (run.earliest_since, self.since),
            (run.deadline, self.now),
            (run.event_deadline, self.watermark),
        )
        if any(first is not None and limit is not None and first <= limit for first, limit in reached):
            return True
        return any_overlaps(run.low, run.high, self.ends)


def due(plan: WindowPlan, before: Clocks, now: Clocks) -> Due:
    """Returns which windows the move of the clocks from `before` to `now` can fire, flip or expire."""
    spec = plan.spec
    # A window flips when the watermark reaches its end, and expires when the horizon does.
    moves = ((before.watermark, now.watermark), (before.horizon(spec), now.horizon(spec)))
    ends = tuple((low, high) for low, high in moves if high is not None and low != high)
    return Due(
        plan,
        before,
        now,
        ((None, MAX_INSTANT),) if now.finished else ends,
        plan.trigger.latest_since(now) if plan.periodic else None,
        now.processing_time,
        now.watermark,
    )


def may_change(plan: WindowPlan, clocks: Clocks) -> pl.Expr:
    """Returns which windows an evaluation at these clocks may change, whatever the clocks were before."""
    spec = plan.spec
    complete, expired = clocks.complete(spec, pl.col(END)), clocks.expired(spec, pl.col(END))
    ready = plan.trigger.ready(TriggerContext.at(spec, clocks)) | plan.trigger.closes(
        TriggerContext.at(spec, clocks)
    )
    test = expired | (((pl.col(UNFLIPPED) & complete) | ready) & ~pl.col(CLOSED))
    return test & key_watermarks.IS_WINDOW if plan.by_key and not clocks.finished else test


def next_due(
    plan: WindowPlan, windows: StoredTable, clocks: Clocks, slices: StoredTable | None = None
) -> int | None:
    """Returns a watermark at or before the one at which the next window flips, expires or fires.

    Returns None if no watermark makes a window do so before the end of input. Also returns None if the
    operator uses no watermark from outside, because then rows or the clock move its watermark.
    """
    spec = plan.spec
    if clocks.by_key or clocks.by_row_number or spec.time == "processing":
        return None
    deadline = windows.next_event_deadline(clocks.watermark)
    if isinstance(spec.window, Global):
        return deadline
    flip, expiry = windows.next_end(clocks.watermark), None
    if spec.lateness_us:
        first = windows.next_end(clocks.horizon(spec))
        expiry = None if first is None else first + spec.lateness_us
    completion = (
        None
        if slices is None or not plan.made_when_complete
        else plan.slide.next_completion(slices.next_end, clocks.watermark)
    )
    instants = [at for at in (flip, expiry, deadline, completion) if at is not None and at <= MAX_INSTANT]
    return min(instants, default=None)


def evaluate(
    plan: WindowPlan, windows: pl.DataFrame, clocks: Clocks, early: pl.DataFrame | None = None
) -> Evaluation:
    """Evaluates each of the windows once. Those in `early`, by keys and bounds, expire early (15.24)."""
    decided, results = plan.aggregation.fired(_with_decisions(plan, windows, clocks, early), FIRE)
    emitted = _emitting_firings(plan, results)
    after = _after_firings(plan, decided, emitted, clocks)
    columns, expired = windows.columns, after[EXPIRED]
    if not expired.any():
        return Evaluation(after[columns], windows.clear(), emitted)
    return Evaluation(filter_rows(after, ~expired)[columns], filter_rows(after, expired)[columns], emitted)


def _of_trigger(plan: WindowPlan, name: str, clocks: Clocks, build: Callable[[Clocks], T]) -> T:
    """Returns expressions that contain those of the trigger, built once unless they depend on the clocks."""
    return build(clocks) if plan.tree or plan.periodic else plan.once(name, lambda: build(clocks))


def _with_decisions(
    plan: WindowPlan, windows: pl.DataFrame, clocks: Clocks, early: pl.DataFrame | None
) -> pl.DataFrame:
    complete = clocks.complete_windows(plan.spec, windows)
    flips = windows[UNFLIPPED] & complete & ~windows[CLOSED]
    expired = clocks.expired_windows(plan.spec, windows)
    if early is not None and early.height:
        marked = early.with_columns(pl.lit(True).alias(EARLY))
        among = join_frames(windows.select(plan.identity), marked, plan.identity, "left")
        expired |= among[EARLY].fill_null(False)
    with_times = windows.hstack(
        [
            complete.alias(COMPLETE),
            flips.alias(FLIP),
            expired.alias(EXPIRED),
            constant_column(NOW, clocks.processing_time, pl.Int64(), windows.height),
        ]
    )
    return with_values(with_times, _of_trigger(plan, "decisions", clocks, partial(_decisions, plan)))


def _decisions(plan: WindowPlan, clocks: Clocks) -> list[pl.Expr]:
    """Returns whether a window is ready, closes and fires, and whether its pane is requested."""
    spec, open_, now = plan.spec, ~pl.col(CLOSED), _trigger_context(clocks)
    ready, closes = plan.trigger.ready(now) & open_, plan.trigger.closes(now) & open_
    last = pl.col(EXPIRED) | closes
    firing, requested = (ready | last) & (pl.col(PENDING) > 0), pl.lit(False)
    if spec.on_time == "always":  # if the trigger does not fire pending rows, no pane is requested (21.4)
        requested = requested | (pl.col(FLIP) & (ready | firing))
    if spec.closing == "always":
        requested = requested | last
    fires = (open_ & (firing | requested)).fill_null(False)
    decisions = {READY: ready, CLOSES: closes, FIRE: fires, REQUESTED: requested & open_}
    return [value.alias(name) for name, value in decisions.items()]


def _trigger_context(clocks: Clocks) -> TriggerContext:
    """Returns the trigger context for windows that have ``__complete`` and ``__flip`` as columns."""
    return TriggerContext(clocks, pl.col(COMPLETE), pl.col(FLIP))


def _emitting_firings(plan: WindowPlan, results: pl.DataFrame) -> pl.DataFrame:
    """Returns the firings that emit a pane, with the columns of its timing.

    Where panes are compared, a firing that equals the live pane emits nothing (semantics 21.1, 21.6).
    """
    emitted = results
    if plan.compares and not plan.spec.delta:  # a pane with new rows in its delta is always emitted (21.10)
        emitted = results.filter(plan.once("differs", lambda: _differs(plan)))
    return with_values(emitted, plan.once("numbers", _numbers))


def _differs(plan: WindowPlan) -> pl.Expr:
    """Returns whether a firing emits a pane, as its results differ from the live pane, or it is requested."""
    return differs(plan.aggregation.result_types) | pl.col(REQUESTED)


def _numbers() -> list[pl.Expr]:
    numbers = numbering(pl.col(FLIP), pl.col(EXPIRED) | pl.col(CLOSES))
    return [value.alias(name) for name, value in numbers.items()]


def _after_firings(
    plan: WindowPlan, decided: pl.DataFrame, emitted: pl.DataFrame, clocks: Clocks
) -> pl.DataFrame:
    if plan.compares:
        panes = emitted.select(plan.once("emitted columns", lambda: _emitted_columns(plan)))
        marked = decided.join(panes, on=plan.identity, how="left", nulls_equal=True, maintain_order="left")
        decided = marked.with_columns(pl.col(EMITTED).fill_null(False))
    return with_values(decided, _of_trigger(plan, "updates", clocks, partial(_updates, plan)))


def _emitted_columns(plan: WindowPlan) -> list[pl.Expr]:
    """Returns the panes that are emitted, as columns beside those of the live panes."""
    identity = [pl.col(name) for name in plan.identity]
    panes = [pl.col(name).alias(f"__new:{name}") for name in plan.aggregation.result_types | LIVE_PANE]
    return [*identity, pl.lit(True).alias(EMITTED), *panes]


def _updates(plan: WindowPlan, clocks: Clocks) -> list[pl.Expr]:
    """Returns the columns of windows after the firings."""
    # Unless panes are compared, every firing emits a pane.
    fired, emitted = pl.col(FIRE), pl.col(EMITTED if plan.compares else FIRE)
    updates = [
        pl.when(fired).then(0).otherwise(pl.col(PENDING)).alias(PENDING),
        pl.when(fired).then(pl.col(NOW)).otherwise(pl.col(FIRED)).alias(FIRED),
        (pl.col(INDEX) + emitted).alias(INDEX),
        (pl.col(NONSPECULATIVE) + (emitted & pl.col(COMPLETE))).alias(NONSPECULATIVE),
        # A complete window has flipped, unless its trigger did not fire the pending rows: then its next
        # firing is the on-time firing (semantics 20.1).
        (pl.col(UNFLIPPED) & (~pl.col(COMPLETE) | (~fired & (pl.col(PENDING) > 0)))).alias(UNFLIPPED),
        (pl.col(CLOSED) | pl.col(CLOSES)).alias(CLOSED),
        *(plan.tree.fired(_trigger_context(clocks), pl.col(READY)) if plan.tree else []),
        *_cleared(plan, fired),
    ]
    if plan.compares:
        updates.append((pl.col(LIVE) | emitted).alias(LIVE))
        updates += [
            pl.when(emitted)
            .then(pl.col(f"__new:{name}"))
            .otherwise(pl.col(live_column(name)))
            .alias(live_column(name))
            for name in plan.aggregation.result_types | LIVE_PANE
        ]
    return updates


def _cleared(plan: WindowPlan, fired: pl.Expr) -> list[pl.Expr]:
    """Returns the partials after the firings; none if a firing leaves all of them as they are."""
    discards = plan.spec.accumulation == "discarding"
    if not (discards or plan.can_close or any(part.since_firing for part in plan.aggregation.partials)):
        return []
    closes = pl.col(CLOSES)
    return plan.aggregation.cleared((fired & discards) | closes, fired | closes)


def with_new_trigger(plan: WindowPlan, clocks: Clocks, windows: pl.DataFrame) -> pl.DataFrame:
    """Returns rows of the window table with the trigger of the plan, as if their pending rows arrived now.

    Their trigger starts anew, after a change of the specification (semantics 47.4).
    """
    if plan.tree:
        now = TriggerContext.at(plan.spec, clocks)
        passed = now.complete & ~pl.col(UNFLIPPED) & (pl.col(INDEX) > 0)
        windows = plan.tree.resumed(windows, now, passed)
    at = pl.lit(clocks.processing_time, dtype=pl.Int64)
    return windows.with_columns(at.alias(BORN), pl.when(pl.col(INDEX) > 0).then(at).alias(FIRED))
