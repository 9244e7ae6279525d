"""Processing time, and the watermark and the horizon of each side (semantics 36.1 to 36.3, 36.5)."""

import math

from panewise.chrono import MAX_INSTANT, saturating_add
from panewise.errors import InputError
from panewise.spec import FixedLag, StreamTime
from panewise.spec.operators.join.side_entry import TwoSided


class SideClocks:
    """The clocks of a join.

    Watermarks and horizons are minus infinity before the first watermark of the side, and plus infinity after
    the end of its input.

    Attributes:
        processing_time: the last reading of the clock.

    >>> from panewise import JoinOperator
    >>> from panewise.spec.operators.join.interval import Interval
    >>> from panewise.spec.operators.join.side import Side
    >>> spec = JoinOperator(left=Side(), right=Side(allowed_lateness=5), match=Interval(0, 9))
    >>> clocks = SideClocks(spec)
    >>> clocks.report(20, "right")
    >>> clocks.horizon("left"), clocks.horizon("right")
    (-inf, 15)
    """

    def __init__(self, spec: TwoSided) -> None:
        self._spec = spec
        self._sides = tuple(spec.sides)
        self.processing_time = 0
        self._reading = False  # whether the clock was read
        self._watermarks: dict[str, int] = {}  # the watermark of each side that has one
        self._reported_at: dict[str, int] = {}
        self._seen: dict[str, int] = {}  # the highest event time of each side in the current batch
        self._ended: set[str] = set()
        self._floors: dict[str, float] = {}  # the horizons before the lateness of a side was raised

    def change(self, spec: TwoSided) -> None:
        """Continues with other delays (semantics 47.8), and another lateness (47.15)."""
        for side in self._sides:
            before, after = (of.sides[side].allowed_lateness.us for of in (self._spec, spec))
            if after > before and self.horizon(side) != -math.inf:
                self._floors[side] = self.horizon(side)
        self._spec = spec

    def watermark(self, side: str) -> float:
        """Returns the watermark of a side."""
        if side in self._ended:
            return math.inf
        return self._watermarks.get(side, -math.inf)

    def horizon(self, side: str) -> float:
        """Returns the horizon of a side: its watermark less its allowed lateness (semantics 36.3)."""
        watermark = self.watermark(side)
        if math.isinf(watermark):
            return watermark
        horizon = saturating_add(int(watermark), -self._spec.sides[side].allowed_lateness.us)
        return math.inf if horizon == MAX_INSTANT else max(horizon, self._floors.get(side, -math.inf))

    def last_watermark(self, side: str) -> float:
        """Returns the last watermark of a side, which the end of its input does not move (37.18)."""
        return self._watermarks.get(side, -math.inf)

    def lower(self) -> float:
        """Returns the lower watermark of both sides, which is that of windows (semantics 37.11)."""
        return min(self.watermark(side) for side in self._sides)

    def has_ended(self, side: str) -> bool:
        """Returns whether the input of a side has ended."""
        return side in self._ended

    def late_by(self, side: str, time: int) -> int | None:
        """Returns how far an event time is behind the watermark of its side (semantics 13.4)."""
        watermark = self.watermark(side)
        return None if math.isinf(watermark) else min(max(0, int(watermark) - time), MAX_INSTANT)

    def read(self, to: int) -> None:
        """Moves processing time, and the watermarks that follow it (semantics 2.1, 12.4, 36.5)."""
        now = self.processing_time = max(self.processing_time, to)
        if not self._reading:
            self._reading = True
            self._reported_at = dict.fromkeys(self._sides, now)
        for side in self._sides:
            watermark = self._spec.sides[side].watermark
            if isinstance(watermark, FixedLag):
                self._raise(side, saturating_add(now, -watermark.lag.us))
        self._raise_idle()

    def report(self, to: int, side: str | None) -> None:
        """Takes a watermark from outside, of one side or of both.

        Raises:
            InputError: if rows drive the watermark of the side (semantics 36.1, 36.2).
        """
        named = self._sides if side is None else (side,)
        for name in named:
            if self._spec.sides[name].event_time is None:
                rule = "rows without an event time have no watermark (semantics 36.13)"
                raise InputError(f"a watermark of the {name} side from outside", rule, "leave it out")
            if isinstance(self._spec.ports[name].watermark, StreamTime):
                rule = "with StreamTime rows drive the watermark (semantics 36.1, 36.2)"
                raise InputError(f"a watermark of the {name} side from outside", rule, "add rows")
        self._report(dict.fromkeys(named, to))

    def record_time(self, side: str, time: int) -> None:
        """Records the event time of a valid row, which may drive a watermark (semantics 12.9, 12.10)."""
        self._seen[side] = max(time, self._seen.get(side, time))

    def report_seen(self) -> None:
        """Moves the watermarks that the valid rows of the batch drive, all together (semantics 36.7)."""
        seen, self._seen = self._seen, {}
        of_both = self._spec.watermark
        if of_both is not None:  # semantics 36.2: rows of either side drive the one watermark
            highest = dict.fromkeys(self._sides, max(seen.values())) if seen else {}
            self._report({side: saturating_add(time, -of_both.delay.us) for side, time in highest.items()})
            return
        reported = {}
        for side, time in seen.items():
            watermark = self._spec.sides[side].watermark
            if isinstance(watermark, StreamTime):
                reported[side] = saturating_add(time, -watermark.delay.us)
        self._report(reported)

    def finish(self, side: str | None) -> None:
        """Ends the input of one side, or of both."""
        self._ended |= set(self._sides) if side is None else {side}

    def _report(self, watermarks: dict[str, int]) -> None:
        """Takes the watermarks that sides report at once."""
        for side, to in watermarks.items():
            self._raise(side, to)
            if self._reading:
                self._reported_at[side] = self.processing_time
        self._raise_idle()

    def _raise(self, side: str, to: int) -> None:
        self._watermarks[side] = max(to, self._watermarks.get(side, to))

    def _raise_idle(self) -> None:
        """Raises the watermark of an idle side to that of the other, if that is not idle (semantics 36.5)."""
        for side, other in (self._sides, self._sides[::-1]):
            if self._is_idle(side) and not self._is_idle(other) and other in self._watermarks:
                self._raise(side, self._watermarks[other])

    def _is_idle(self, side: str) -> bool:
        idle_after = self._spec.idle_after
        return (
            idle_after is not None
            and side in self._reported_at
            and self.processing_time >= self._reported_at[side] + idle_after.us
        )
