"""When a window fires, finishes and expires (semantics 12, 13, 16)."""

from dataclasses import dataclass, replace

from panewise.chrono import saturating_add
from panewise.oracle.held import Held
from panewise.oracle.trigger_tree import Moment
from panewise.spec import WindowOperator


@dataclass
class Clock:
    """What the operator knows of time. No watermark is minus infinity; finished is plus infinity."""

    processing_time: int = 0
    watermark: int | None = None
    finished: bool = False

    def raise_watermark(self, to: int | None) -> None:
        """Moves the watermark forward; one that is behind, or none, changes nothing (semantics 12)."""
        if to is not None:
            self.watermark = to if self.watermark is None else max(self.watermark, to)

    def reached(self, instant: int | None) -> bool:
        """Whether the watermark is at the instant or beyond; None is the end of input."""
        if self.finished:
            return True
        return self.watermark is not None and instant is not None and self.watermark >= instant


def expired(spec: WindowOperator, clock: Clock, end: int | None) -> bool:
    """Whether a window with this end has expired (semantics 13)."""
    if end is None or spec.lateness_us is None:
        return clock.finished
    return clock.reached(saturating_add(end, spec.lateness_us))


def moment(clock: Clock, end: int | None) -> Moment:
    """What the trigger of a window with this end sees when the window opens, or while rows are given to it."""
    return Moment(clock.processing_time, clock.watermark, clock.finished, clock.reached(end))


@dataclass(frozen=True)
class Decision:
    """What one evaluation makes of one window; `on_time`: a firing now is the on-time one (20.1)."""

    flips: bool
    on_time: bool
    expires: bool
    finishes: bool
    fires: bool
    asked_for: bool


def decide(spec: WindowOperator, clock: Clock, window: Held) -> Decision:
    """Judges a window that is not closed; if its trigger wants to fire, it does."""
    flips = window.awaits_end and clock.reached(window.end)
    expires = expired(spec, clock, window.end)
    now = replace(moment(clock, window.end), flips=flips, pending=window.pending, since=window.since, pending_since=window.pending_since)
    wants = window.node.wants(now)
    if wants:
        window.node.fire(now)
    finishes = window.node.finished
    fires = window.pending > 0 and (wants or finishes or expires)
    on_time = flips or window.held_back
    asked_on_time = spec.on_time == "always" and on_time and (wants or fires)
    asked_last = spec.closing == "always" and (expires or finishes)
    return Decision(flips, on_time, expires, finishes, fires, asked_on_time or asked_last)
