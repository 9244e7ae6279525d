"""When a periodic trigger is due (semantics 16.3, 16.14).

A window waits for the first boundary after A, when its earliest pending row came. That boundary lies at or before P if and only if
P is in a later period than A. Unaligned periods are counted from F, the window's last firing; F <= A <= P.
"""

from collections.abc import Iterable

import polars as pl

from panewise.chrono import MIN_INSTANT
from panewise.engine.windowing.trigger.context import TriggerContext
from panewise.spec import Every, Trigger
from panewise.spec.composites import walk


def is_periodic(trigger: Trigger) -> bool:
    """Whether a trigger has a periodic one in it, so that windows have to know since when rows are pending."""
    return any(isinstance(node, Every) for node in walk(trigger))


def due(every: Every, now: TriggerContext) -> pl.Expr:
    """Whether rows are pending, and one of them came before the last boundary."""
    period, at = every.period.us, now.clocks.processing_time
    if every.aligned:
        return now.pending & (now.pending_since < _last_boundary(every, at))
    begun = (now.pending_since - now.waits_since).floordiv(period)
    return now.pending & (begun < (at - now.waits_since).floordiv(period))


def latest(rules: Iterable[Every], processing_time: int) -> int | None:
    """Windows whose F is later than this are not due; None: there are no periodic triggers, so that none is."""
    bounds = [_last_boundary(every, processing_time) - 1 if every.aligned else processing_time - every.period.us for every in rules]
    return max((max(MIN_INSTANT, bound) for bound in bounds), default=None)


def _last_boundary(every: Every, processing_time: int) -> int:
    """The last aligned boundary at or before that time."""
    return processing_time - (processing_time - every.offset.us) % every.period.us
