"""Triggers without columns of their own (semantics 16.1 to 16.5).

The bookkeeping of the window table decides when they are ready. Most operators have such a trigger.
:mod:`panewise.engine.windowing.trigger.tree` implements the whole language with the same methods.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import polars as pl

from panewise.engine.aggregate.partials import PartialColumn
from panewise.engine.columns import FIRED, PENDING, UNFLIPPED
from panewise.engine.progress.clocks import Clocks
from panewise.engine.windowing.trigger.periods import due, latest
from panewise.engine.windowing.window_table import TriggerContext
from panewise.spec import AfterCount, AfterWatermark, Always, Every, Never, Trigger

_SIMPLE = (AfterCount, Every, Always, Never)


def is_simple(trigger: Trigger) -> bool:
    """Returns whether a trigger needs no columns of its own."""
    if isinstance(trigger, AfterWatermark):
        return all(part is None or isinstance(part, _SIMPLE) for part in (trigger.early, trigger.late))
    return isinstance(trigger, _SIMPLE)


@dataclass(frozen=True)
class SimpleTrigger:
    """A simple trigger over the window table."""

    trigger: Trigger
    columns: dict[str, pl.DataType] = field(default_factory=dict)
    passing: tuple[PartialColumn, ...] = ()
    ordered: bool = False

    @property
    def reads_clock(self) -> bool:
        """Whether the trigger compares processing times."""
        return any(isinstance(rule, Every) for rule in self._rules())

    def merging(self, stored: pl.Expr) -> list[pl.Expr]:
        """Returns no aggregations: there is no state to combine."""
        return []

    def after_rows(
        self, windows: pl.DataFrame, now: TriggerContext, same: pl.Expr | None = None
    ) -> pl.DataFrame:
        """Returns the windows as they are: new rows change no state."""
        return windows

    def resumed(self, windows: pl.DataFrame, now: TriggerContext, passed: pl.Expr) -> pl.DataFrame:
        """Returns the windows as they are: there is no state to start."""
        return windows

    def ready(self, now: TriggerContext) -> pl.Expr:
        """Returns whether the trigger is ready."""
        ready = pl.lit(False)
        for rule, where in self._phases(now.complete):
            ready = ready | (where & _leaf_ready(rule, now))
        if isinstance(self.trigger, AfterWatermark):
            # A window that was opened when complete has not fired yet: it fires its first rows at once
            # (16.4).
            opened_late = now.complete & ~pl.col(UNFLIPPED) & pl.col(FIRED).is_null()
            ready = ready | now.flips | (opened_late & now.pending)
        return ready

    def closes(self, now: TriggerContext) -> pl.Expr:
        """Returns whether the trigger finishes in this evaluation (semantics 16.5)."""
        if isinstance(self.trigger, AfterCount):
            return self.ready(now)
        if isinstance(self.trigger, AfterWatermark) and self.trigger.late is None:
            return now.complete
        return pl.lit(False)

    def fired(self, now: TriggerContext, fires: pl.Expr) -> list[pl.Expr]:
        """Returns no columns: a firing changes no state."""
        return []

    def waits(self, clocks: Clocks) -> int | None:
        """Returns the latest F (semantics 16.3) with which a window can be ready; None if it has no Every."""
        periodic = [rule for rule in self._rules() if isinstance(rule, Every)]
        return latest(periodic, clocks.processing_time) if periodic else None

    def _rules(self) -> Iterator[Trigger]:
        inside = (
            (self.trigger.early, self.trigger.late)
            if isinstance(self.trigger, AfterWatermark)
            else (self.trigger,)
        )
        return (rule for rule in inside if rule is not None)

    def _phases(self, complete: pl.Expr) -> list[tuple[Trigger, pl.Expr]]:
        """Returns the leaves, each with the condition under which it is active (semantics 16.4, 16.5)."""
        trigger = self.trigger
        if not isinstance(trigger, AfterWatermark):
            return [(trigger, pl.lit(True))]
        sides = ((trigger.early, ~complete), (trigger.late, complete))
        return [(rule, where) for rule, where in sides if rule is not None]


def _leaf_ready(rule: Trigger, now: TriggerContext) -> pl.Expr:
    match rule:
        case AfterCount():
            return pl.col(PENDING) >= rule.n
        case Every():
            return due(rule, now)
        case Always():
            return now.pending
    return pl.lit(False)
