"""When a periodic trigger is ready (semantics 16.3, 16.14).

A window waits for the first boundary after A, the processing time at which its earliest pending row was
applied. That boundary is at or before P if and only if P is in a later period than A. Unaligned periods are
counted from F, the processing time of the window's last firing. F <= A <= P is always true.
"""

from collections.abc import Iterable

import polars as pl

from panewise.chrono import MIN_INSTANT
from panewise.engine.windowing.window_table import TriggerContext
from panewise.spec import Every, Trigger
from panewise.spec.triggers.composite import walk


def is_periodic(trigger: Trigger) -> bool:
    """Returns whether a trigger contains an Every, so that windows must store since when rows are pending."""
    return any(isinstance(node, Every) for node in walk(trigger))


def due(every: Every, now: TriggerContext) -> pl.Expr:
    """Returns whether rows are pending and the first boundary after the earliest of them has been reached."""
    period, at = every.period.us, now.clocks.processing_time
    if every.aligned:
        return now.pending & (now.pending_since < last_boundary(every, at))
    period_of_rows = (now.pending_since - now.since).floordiv(period)
    return now.pending & (period_of_rows < (at - now.since).floordiv(period))


def latest(rules: Iterable[Every], processing_time: int) -> int | None:
    """Returns the latest F with which a window can be ready; None if there are no periodic triggers."""
    bounds = [
        last_boundary(every, processing_time) - 1 if every.aligned else processing_time - every.period.us
        for every in rules
    ]
    return max((max(MIN_INSTANT, bound) for bound in bounds), default=None)


def last_boundary(every: Every, processing_time: int) -> int:
    """Returns the last aligned boundary at or before a processing time."""
    return processing_time - (processing_time - every.offset.us) % every.period.us
