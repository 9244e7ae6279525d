"""When a window fires, closes and expires (semantics 12, 13, 16, 19, 21.4)."""

from dataclasses import dataclass, replace

from panewise.chrono import saturating_add
from panewise.oracle.progress.clocks import Clock
from panewise.oracle.windows.live_window import LiveWindow
from panewise.oracle.windows.trigger_tree import TriggerContext
from panewise.spec import WindowOperator


def expired(spec: WindowOperator, clock: Clock, end: int | None) -> bool:
    """Returns whether a window with this end has expired; None is a global window (semantics 11, 13)."""
    if end is None:
        return clock.finished
    if clock.floor is not None and end <= clock.floor:
        return True
    if spec.lateness_us is None:
        return clock.finished
    return clock.reached(saturating_add(end, spec.lateness_us))


def trigger_context(clock: Clock, end: int | None) -> TriggerContext:
    """Returns the trigger context of a window with this end, when it opens or while rows are passed to it."""
    return TriggerContext(clock.processing_time, clock.watermark, clock.finished, clock.reached(end))


@dataclass(frozen=True)
class Decision:
    """The result of the evaluation of one window.

    Attributes:
        flips: the window flips (semantics 16.4).
        on_time: a firing in this evaluation is the on-time firing (semantics 20.1).
        expires: the window expires (semantics 13).
        finishes: the window's trigger is finished, so that the window closes (semantics 19).
        fires: the window fires its pending rows.
        requested: a pane is emitted on request, even if no rows are pending (semantics 21.4).
    """

    flips: bool
    on_time: bool
    expires: bool
    finishes: bool
    fires: bool
    requested: bool


def decide(spec: WindowOperator, clock: Clock, window: LiveWindow, *, early: bool = False) -> Decision:
    """Evaluates a window that is not closed; fires its trigger if that is ready (semantics 16.7, 18).

    With `early` the window expires (semantics 15.24).
    """
    flips = window.unflipped and clock.reached(window.end)
    expires = early or expired(spec, clock, window.end)
    now = replace(
        trigger_context(clock, window.end),
        flips=flips,
        pending=window.pending,
        since=window.since,
        pending_since=window.pending_since,
    )
    ready = window.node.is_ready(now)
    if ready:
        window.node.fire(now)
    finishes = window.node.finished
    fires = window.pending > 0 and (ready or finishes or expires)
    on_time = flips or window.on_time_is_next
    requested_on_time = spec.on_time == "always" and on_time and (ready or fires)
    requested_last = spec.closing == "always" and (expires or finishes)
    return Decision(flips, on_time, expires, finishes, fires, requested_on_time or requested_last)
