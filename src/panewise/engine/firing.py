"""Whether windows fire, and what that does to them (semantics 16 to 21).

Decisions are expressions over the window table; only `evaluate` applies them.
"""

from dataclasses import dataclass

import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.aggregation import Aggregation
from panewise.engine.assign import END
from panewise.engine.clocks import Clocks
from panewise.engine.held import Held
from panewise.engine.table import BORN, CLOSED, FIRED, INDEX, LIVE, LIVE_PANE, NONSPECULATIVE, PENDING, UNFLIPPED, live_column
from panewise.spec import AfterCount, AfterWatermark, Always, Every, Global, WindowOperator
from panewise.spec.triggers import Repeating
from panewise.state import Run

COMPLETE, FLIP, EXPIRED, FIRE, SENT, CLOSES = "__complete", "__flip", "__expired", "__fire", "__sent", "__closes"


@dataclass(frozen=True)
class Evaluation:
    """What one evaluation did: the windows as they are after it, the windows that went, and the windows that sent a pane (as they were)."""

    kept: pl.DataFrame
    gone: pl.DataFrame
    sent: pl.DataFrame


@dataclass(frozen=True)
class Due:
    """The windows that a move of the clocks can fire, flip or expire: those that pass the test.

    Their ends lie in one of `ends` (low < end <= high; None: no bound), or they have waited since `waiting` or longer.
    """

    test: pl.Expr
    ends: tuple[tuple[int | None, int], ...]
    waiting: int | None

    def may(self, run: Run) -> bool:
        """Whether a run can have such windows."""
        if self.waiting is not None and run.waiting is not None and run.waiting <= self.waiting:
            return True
        return any(run.low <= high and (low is None or run.high > low) for low, high in self.ends)


def due(spec: WindowOperator, before: Clocks, now: Clocks) -> Due:
    """The windows that the clocks alone can fire, flip or expire, when they have moved from `before`."""
    complete = now.complete(spec, pl.col(END))
    flips = pl.col(UNFLIPPED) & complete
    timed, waiting = pl.lit(False), None
    for rule, where in _phases(spec, complete):
        if isinstance(rule, Every):
            timed = timed | (where & _wants(rule, now))
            waiting = max(_latest(rule, now), MIN_INSTANT if waiting is None else waiting)
    test = flips | now.expired(spec, pl.col(END)) | (timed & ~pl.col(CLOSED))
    moves = ((before.watermark, now.watermark), (before.horizon(spec), now.horizon(spec)))
    ends = tuple((low, high) for low, high in moves if high is not None and low != high)
    return Due(test, ((None, MAX_INSTANT),) if now.finished else ends, waiting)


def next_due(spec: WindowOperator, windows: Held, clocks: Clocks) -> int | None:
    """A watermark at or before the one at which the next window flips or expires; None if only the end of input can do it."""
    if isinstance(spec.window, Global):
        return None
    flip, expiry = windows.next_end(clocks.watermark), None
    if spec.lateness_us:
        first = windows.next_end(clocks.horizon(spec))
        expiry = None if first is None else first + spec.lateness_us
    found = [at for at in (flip, expiry) if at is not None and at <= MAX_INSTANT]
    return min(found, default=None)


def evaluate(spec: WindowOperator, aggregation: Aggregation, windows: pl.DataFrame, identity: list[str], clocks: Clocks) -> Evaluation:
    """Evaluates each of the windows once. `identity` are the columns that tell windows apart."""
    judged = _judged(spec, windows, clocks)
    results = judged.filter(FIRE).with_columns(aggregation.results)
    sent = _sent(spec, aggregation, results)
    after = _after(spec, aggregation, judged, sent, identity, clocks)
    gone = after.filter(EXPIRED).select(windows.columns)
    kept = after.filter(~pl.col(EXPIRED)).select(windows.columns)
    return Evaluation(kept, gone, sent)


def _judged(spec: WindowOperator, windows: pl.DataFrame, clocks: Clocks) -> pl.DataFrame:
    """The windows with their decisions."""
    complete = clocks.complete(spec, pl.col(END))
    open_ = ~pl.col(CLOSED)
    with_times = windows.with_columns(
        complete.alias(COMPLETE),
        (pl.col(UNFLIPPED) & complete & open_).alias(FLIP),
        clocks.expired(spec, pl.col(END)).alias(EXPIRED),
    )
    wants = _wanted(spec, clocks)
    closes = _closing(spec, wants) & open_
    pending = pl.col(PENDING) > 0
    last = pl.col(EXPIRED) | closes
    requested = pl.lit(False)
    if spec.on_time == "always":
        requested = requested | pl.col(FLIP)
    if spec.closing == "always":
        requested = requested | last
    fire = open_ & (wants | (last & pending) | requested)
    return with_times.with_columns(fire.alias(FIRE), closes.alias(CLOSES), (requested & open_).alias("__requested"))


def _wanted(spec: WindowOperator, clocks: Clocks) -> pl.Expr:
    """Whether the trigger wants to fire."""
    wants = pl.lit(False)
    for rule, where in _phases(spec, pl.col(COMPLETE)):
        wants = wants | (where & _wants(rule, clocks))
    if isinstance(spec.trigger, AfterWatermark):
        on_time = pl.col(FLIP) | (pl.col(COMPLETE) if spec.trigger.late is None else pl.lit(False))
        wants = wants | (on_time & (pl.col(PENDING) > 0))
    return wants


def _closing(spec: WindowOperator, wants: pl.Expr) -> pl.Expr:
    """Whether the trigger finishes in this evaluation (semantics 16.5)."""
    if isinstance(spec.trigger, AfterCount):
        return wants
    if isinstance(spec.trigger, AfterWatermark) and spec.trigger.late is None:
        return pl.col(COMPLETE)
    return pl.lit(False)


def _phases(spec: WindowOperator, complete: pl.Expr) -> list[tuple[Repeating, pl.Expr]]:
    """The repeating triggers, with the condition under which each is followed (semantics 16.4, 16.5)."""
    trigger = spec.trigger
    if not isinstance(trigger, AfterWatermark):
        return [(trigger, pl.lit(True))]
    phases = []
    if trigger.early is not None:
        phases.append((trigger.early, ~complete))
    if trigger.late is not None:
        phases.append((trigger.late, complete))
    return phases


def _wants(rule: Repeating, clocks: Clocks) -> pl.Expr:
    """Semantics 16.2, 16.3."""
    pending = pl.col(PENDING)
    match rule:
        case AfterCount():
            return pending >= rule.n
        case Every():
            return (pending > 0) & (pl.coalesce(FIRED, BORN) <= _latest(rule, clocks))
        case Always():
            return pending > 0
    return pl.lit(False)


def _latest(rule: Every, clocks: Clocks) -> int:
    """A window that has waited since then, or longer, is due."""
    return max(MIN_INSTANT, clocks.processing_time - rule.period.us)


def _sent(spec: WindowOperator, aggregation: Aggregation, results: pl.DataFrame) -> pl.DataFrame:
    """The firings that send a pane: in retracting mode not those that equal the live pane (semantics 21.1)."""
    timing = pl.when(~pl.col(COMPLETE)).then(pl.lit("EARLY")).when(FLIP).then(pl.lit("ON_TIME")).otherwise(pl.lit("LATE"))
    sent = results
    if spec.accumulation == "retracting":
        same = pl.all_horizontal(pl.col(name).eq_missing(pl.col(live_column(name))) for name in aggregation.result_types)
        sent = results.filter(~(pl.col(LIVE) & same) | pl.col("__requested"))
    return sent.with_columns(
        timing.alias("timing"),
        pl.col(INDEX).alias("index"),
        pl.when(COMPLETE).then(pl.col(NONSPECULATIVE)).otherwise(-1).alias("nonspeculative_index"),
        (pl.col(INDEX) == 0).alias("is_first"),
        (pl.col(EXPIRED) | pl.col(CLOSES)).alias("is_last"),
    )


def _after(
    spec: WindowOperator, aggregation: Aggregation, judged: pl.DataFrame, sent: pl.DataFrame, identity: list[str], clocks: Clocks
) -> pl.DataFrame:
    """The windows after the firings."""
    if spec.accumulation == "retracting":
        names = list(aggregation.result_types | LIVE_PANE)
        news = sent.select(*identity, pl.lit(True).alias(SENT), *(pl.col(name).alias(f"__new:{name}") for name in names))
    else:
        names = []
        news = sent.select(*identity, pl.lit(True).alias(SENT))
    marked = judged.join(news, on=identity, how="left", nulls_equal=True, maintain_order="left").with_columns(pl.col(SENT).fill_null(False))
    fired = pl.col(FIRE)
    updates = [
        pl.when(fired).then(0).otherwise(pl.col(PENDING)).alias(PENDING),
        pl.when(fired).then(clocks.processing_time).otherwise(pl.col(FIRED)).alias(FIRED),
        (pl.col(INDEX) + pl.col(SENT)).alias(INDEX),
        (pl.col(NONSPECULATIVE) + (pl.col(SENT) & pl.col(COMPLETE))).alias(NONSPECULATIVE),
        (pl.col(UNFLIPPED) & ~pl.col(COMPLETE)).alias(UNFLIPPED),
        (pl.col(CLOSED) | pl.col(CLOSES)).alias(CLOSED),
        *aggregation.cleared((fired & (spec.accumulation == "discarding")) | pl.col(CLOSES)),
    ]
    if spec.accumulation == "retracting":
        updates.append((pl.col(LIVE) | pl.col(SENT)).alias(LIVE))
        updates += [
            pl.when(SENT).then(pl.col(f"__new:{name}")).otherwise(pl.col(live_column(name))).alias(live_column(name)) for name in names
        ]
    return marked.with_columns(updates)
