"""When a window fires, finishes and expires (semantics 12, 13, 16)."""

from dataclasses import dataclass
from typing import assert_never

from panewise.chrono import saturating_add
from panewise.oracle.held import Held
from panewise.spec import AfterCount, AfterWatermark, Always, Every, Never, Trigger, WindowOperator


@dataclass
class Clock:
    """What the operator knows of time. No watermark is minus infinity; finished is plus infinity."""

    processing_time: int = 0
    watermark: int | None = None
    finished: bool = False

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


@dataclass(frozen=True)
class Decision:
    """What one evaluation makes of one window."""

    flips: bool
    expires: bool
    finishes: bool
    fires: bool
    asked_for: bool


def decide(spec: WindowOperator, clock: Clock, window: Held) -> Decision:
    """Judges a window that is not closed; changes nothing."""
    complete = clock.reached(window.end)
    flips = window.awaits_end and complete
    expires = expired(spec, clock, window.end)
    wants = window.pending > 0 and _wants(_followed(spec.trigger, flips, complete), clock, window)
    match spec.trigger:
        case AfterCount():
            finishes = wants
        case AfterWatermark(late=None):
            finishes = complete
        case _:
            finishes = False
    asked_for = (flips and spec.on_time == "always") or ((expires or finishes) and spec.closing == "always")
    fires = window.pending > 0 and (wants or expires)
    return Decision(flips, expires, finishes, fires, asked_for)


def _followed(trigger: Trigger, flips: bool, complete: bool) -> Trigger:
    """The simple trigger that speaks for the window in this evaluation (semantics 16.4, 16.5)."""
    if not isinstance(trigger, AfterWatermark):
        return trigger
    if not complete:
        return trigger.early or Never()
    if flips or trigger.late is None:
        return Always()  # the on-time firing, resp. the only one of a window that was opened after its end
    return trigger.late


def _wants(trigger: Trigger, clock: Clock, window: Held) -> bool:
    match trigger:
        case Always():
            return window.pending >= 1
        case Never():
            return False
        case AfterCount():
            return window.pending >= trigger.n
        case Every():
            return window.pending >= 1 and clock.processing_time >= window.since + trigger.period.us
        case AfterWatermark():
            raise AssertionError("AfterWatermark speaks through the triggers inside it")
        case _:
            assert_never(trigger)
