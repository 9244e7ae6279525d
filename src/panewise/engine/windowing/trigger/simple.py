"""Triggers without columns of their own (semantics 16.1 to 16.5).

The bookkeeping of the window table decides when they are ready. Most operators have such a trigger.
:mod:`panewise.engine.windowing.trigger.tree` implements the whole language.
"""

from dataclasses import dataclass

import polars as pl

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

    def latest_since(self, clocks: Clocks) -> int | None:
        """Returns the latest F (semantics 16.3) with which a window can be ready; None if it has no Every."""
        rules = (rule for rule, _ in self._phases(pl.lit(True)))
        return latest((rule for rule in rules if isinstance(rule, Every)), clocks.processing_time)

    def _phases(self, complete: pl.Expr) -> list[tuple[Trigger, pl.Expr]]:
        """Returns the leaves, each with the condition under which it is active (semantics 16.4, 16.5)."""
        trigger = self.trigger
        if not isinstance(trigger, AfterWatermark):
            return [(trigger, pl.lit(True))]
        parts = ((trigger.early, ~complete), (trigger.late, complete))
        return [(rule, where) for rule, where in parts if rule is not None]


def _leaf_ready(rule: Trigger, now: TriggerContext) -> pl.Expr:
    match rule:
        case AfterCount():
            return pl.col(PENDING) >= rule.n
        case Every():
            return due(rule, now)
        case Always():
            return now.pending
    return pl.lit(False)
