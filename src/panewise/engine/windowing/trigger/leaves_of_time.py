"""The leaves of trigger trees that wait for a processing time or for a watermark (semantics 16.8).

Each of them but `Every` has a *deadline*, a column of the window table. It is ready from the deadline on, and
no clock decreases. The end of the column's name says which clock it waits for. By it a run knows the earliest
deadline of its rows, so steps at which none is due do not read them.

Invariant: a deadline is null until a row sets it. Later rows move it as the leaf says:

- `AfterProcessingTime`, `AfterEventTimeDelay`: they do not;
- `AfterSilence`: each batch with rows sets it anew;
- `AfterEventTime`: it becomes the earlier one of the stored and the new deadline. A stored one that was
  reached while no row was pending does not count.

Cost: a few expressions over the windows that get rows or merge. :mod:`panewise.engine.windowing.trigger.leaf`
says why the number of rows does not matter.
"""

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from panewise.chrono import MAX_INSTANT, saturating_add
from panewise.engine.aggregate.partials import PartialColumn
from panewise.engine.columns import (
    ADDED_ROWS,
    DEADLINE_SUFFIX,
    EVENT_DEADLINE_SUFFIX,
    PENDING,
    PENDING_DEADLINE_SUFFIX,
    TIME,
)
from panewise.engine.kernels.instants import shifted
from panewise.engine.progress.clocks import Clocks
from panewise.engine.windowing.trigger.leaf import Leaf, Values
from panewise.engine.windowing.trigger.periods import due
from panewise.engine.windowing.window_table import TriggerContext
from panewise.spec import (
    AfterEventTime,
    AfterEventTimeDelay,
    AfterProcessingTime,
    AfterSilence,
    Every,
    Trigger,
)

_EARLIEST_TIME = "__came:time"
_FIRST_TIME = "__came:first_time"
# While windows are merged: the earliest deadline of the windows with pending rows, and of those without.
_WITH_PENDING, _WITHOUT_PENDING = ":with_pending", ":without_pending"


@dataclass(frozen=True)
class EveryLeaf(Leaf):
    """Every: it is ready from the first boundary after the earliest pending row was applied."""

    every: Every

    def ready(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Returns whether that boundary has been reached."""
        return due(self.every, now)


@dataclass(frozen=True)
class DeadlineLeaf(Leaf):
    """A leaf that is ready from its deadline on, in processing time or, in a subclass, in event time."""

    once = True
    suffix: ClassVar[str] = DEADLINE_SUFFIX

    @property
    def deadline(self) -> str:
        """The column of the deadline."""
        return f"{self.name}{self.suffix}"

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """The deadline, and whether it is finished."""
        return {self.deadline: pl.Int64(), self.done: pl.Boolean()}

    def ready(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Returns whether the deadline has been reached."""
        return (at[self.deadline] <= now.clocks.processing_time).fill_null(False)


@dataclass(frozen=True)
class AfterProcessingTimeLeaf(DeadlineLeaf):
    """AfterProcessingTime: its first row sets its deadline."""

    delay: int
    align: int | None

    def after_rows(self, at: Values, clocks: Clocks, gets_rows: pl.Expr) -> dict[str, pl.Expr]:
        """Sets the deadline with the first row."""
        deadline, old = clocks.processing_time + self.delay, at[self.deadline]
        if self.align is not None:
            deadline = -(-deadline // self.align) * self.align
        set_now = gets_rows & old.is_null() & (pl.col(ADDED_ROWS) > 0)
        new = pl.lit(min(deadline, MAX_INSTANT), dtype=pl.Int64)
        return {self.deadline: pl.when(set_now).then(new).otherwise(old)}


@dataclass(frozen=True)
class AfterSilenceLeaf(DeadlineLeaf):
    """AfterSilence: every row sets its deadline anew."""

    duration: int
    forgets = True

    def after_rows(self, at: Values, clocks: Clocks, gets_rows: pl.Expr) -> dict[str, pl.Expr]:
        """Sets the deadline if there are rows."""
        deadline = pl.lit(saturating_add(clocks.processing_time, self.duration), dtype=pl.Int64)
        set_now = gets_rows & (pl.col(ADDED_ROWS) > 0)
        return {self.deadline: pl.when(set_now).then(deadline).otherwise(at[self.deadline])}

    def merged(self, at: Values, now: TriggerContext) -> dict[str, pl.Expr]:
        """Returns no deadline: the row that merges the windows sets it (semantics 16.16)."""
        return {**super().merged(at, now), self.deadline: pl.lit(None, dtype=pl.Int64)}


@dataclass(frozen=True)
class AfterEventTimeDelayLeaf(DeadlineLeaf):
    """AfterEventTimeDelay: its first row in arrival order sets its deadline, a watermark."""

    delay: int
    ordered, forgets, suffix = True, True, EVENT_DEADLINE_SUFFIX

    @property
    def transient(self) -> list[PartialColumn]:
        """The event time of the first row."""
        first = pl.col(_FIRST_TIME).drop_nulls().first()
        return [PartialColumn(_FIRST_TIME, pl.Int64(), pl.col(TIME).first(), first, None)]

    def ready(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Returns whether the watermark has reached the deadline."""
        deadline = at[self.deadline]
        return deadline.is_not_null() if now.clocks.finished else _reached(deadline, now.clocks)

    def after_rows(self, at: Values, clocks: Clocks, gets_rows: pl.Expr) -> dict[str, pl.Expr]:
        """Sets the deadline with the first row."""
        old, new = at[self.deadline], shifted(pl.col(_FIRST_TIME), self.delay)
        return {self.deadline: pl.when(gets_rows & old.is_null()).then(new).otherwise(old)}


@dataclass(frozen=True)
class AfterEventTimeLeaf(Leaf):
    """AfterEventTime: it is ready while rows are pending and the watermark has reached its deadline."""

    period: int

    @property
    def deadline(self) -> str:
        """The column of its deadline: the watermark that it waits for."""
        return f"{self.name}{PENDING_DEADLINE_SUFFIX}"

    @property
    def transient(self) -> list[PartialColumn]:
        """The earliest event time of the rows."""
        return [
            PartialColumn(_EARLIEST_TIME, pl.Int64(), pl.col(TIME).min(), pl.col(_EARLIEST_TIME).min(), None)
        ]

    @property
    def columns(self) -> dict[str, pl.DataType]:
        """The deadline."""
        return {self.deadline: pl.Int64()}

    def ready(self, at: Values, now: TriggerContext) -> pl.Expr:
        """Returns whether rows are pending and the watermark has reached the deadline."""
        deadline = at[self.deadline]
        reached = deadline.is_not_null() if now.clocks.finished else _reached(deadline, now.clocks)
        return now.pending & reached

    def after_rows(self, at: Values, clocks: Clocks, gets_rows: pl.Expr) -> dict[str, pl.Expr]:
        """Sets the deadline: the first multiple of the period above both the earliest row and the watermark.

        An earlier deadline stays. But a deadline that the watermark has reached while no row was pending
        becomes the first multiple above the watermark (semantics 16.15).
        """
        old, known = at[self.deadline], _watermark(clocks)
        mine = pl.min_horizontal(old, self._following(pl.max_horizontal(pl.col(_EARLIEST_TIME), known)))
        # All pending rows are new, so none was pending when the watermark reached the old deadline.
        in_silence = (pl.col(PENDING) == pl.col(ADDED_ROWS)) & _reached(old, clocks)
        deadline = pl.when(in_silence).then(self._following(known)).otherwise(mine)
        set_now = gets_rows & pl.col(_EARLIEST_TIME).is_not_null()
        return {self.deadline: pl.when(set_now).then(deadline).otherwise(old)}

    def _following(self, instant: pl.Expr) -> pl.Expr:
        following = (instant.cast(pl.Int128).floordiv(self.period) + 1) * self.period
        return following.clip(upper_bound=MAX_INSTANT).cast(pl.Int64)

    def fired(self, at: Values, fires: pl.Expr, cleared: pl.Expr, armed: pl.Expr) -> dict[str, pl.Expr]:
        """Keeps the deadline at firings and clearings (semantics 16.15)."""
        return super().fired(at, fires, pl.lit(False), armed)

    def merging(self, stored: pl.Expr) -> list[pl.Expr]:
        """Takes the earliest deadline: of all windows, of those with and of those without pending rows."""
        deadline, pending = pl.col(self.deadline), pl.col(PENDING) > 0
        kinds = {
            PENDING_DEADLINE_SUFFIX: stored,
            _WITH_PENDING: stored & pending,
            _WITHOUT_PENDING: stored & ~pending,
        }
        return [deadline.filter(kind).min().alias(f"{self.name}{suffix}") for suffix, kind in kinds.items()]

    def merged(self, at: Values, now: TriggerContext) -> dict[str, pl.Expr]:
        """Replaces a deadline that was reached while no row was pending by the next one (semantics 16.15)."""
        without_pending = pl.col(f"{self.name}{_WITHOUT_PENDING}")
        coming = (
            pl.when(_reached(without_pending, now.clocks))
            .then(self._following(_watermark(now.clocks)))
            .otherwise(without_pending)
        )
        return {self.deadline: pl.min_horizontal(pl.col(f"{self.name}{_WITH_PENDING}"), coming)}


def leaf_of_time(trigger: Trigger, name: str) -> Leaf | None:
    """Returns the leaf of a trigger that waits for a time; None for other triggers."""
    match trigger:
        case AfterProcessingTime():
            return AfterProcessingTimeLeaf(
                name, trigger.delay.us, None if trigger.align is None else trigger.align.us
            )
        case AfterSilence():
            return AfterSilenceLeaf(name, trigger.duration.us)
        case Every():
            return EveryLeaf(name, trigger)
        case AfterEventTime():
            return AfterEventTimeLeaf(name, trigger.period.us)
        case AfterEventTimeDelay():
            return AfterEventTimeDelayLeaf(name, trigger.delay.us)
    return None


def _watermark(clocks: Clocks) -> pl.Expr:
    """Returns the watermark; null is minus infinity."""
    return pl.lit(None, dtype=pl.Int64) if clocks.watermark_expr is None else clocks.watermark_expr


def _reached(deadline: pl.Expr, clocks: Clocks) -> pl.Expr:
    """Returns whether the watermark has reached a deadline; false if there is none."""
    return (deadline <= _watermark(clocks)).fill_null(False)
