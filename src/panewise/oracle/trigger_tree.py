"""A window's trigger, node by node (semantics 16.7 to 16.12)."""

import math
from dataclasses import dataclass
from typing import Any

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.oracle.rows import Row
from panewise.spec import (
    AfterAll,
    AfterAny,
    AfterCount,
    AfterEach,
    AfterEventTime,
    AfterProcessingTime,
    AfterWatermark,
    Always,
    Every,
    OnDelta,
    OnPunctuation,
    OrFinally,
    Repeatedly,
    Trigger,
)


@dataclass(frozen=True)
class Moment:
    """What nodes can see: the clocks, and their window. No watermark is minus infinity; `ended` makes it plus infinity."""

    processing_time: int
    watermark: int | None
    ended: bool
    complete: bool
    flips: bool = False
    pending: int = 0
    since: int = 0
    pending_since: int = 0

    def passed(self, instant: int) -> bool:
        """Whether the watermark is at an instant or beyond."""
        return self.ended or (self.watermark is not None and self.watermark >= instant)


class Node:
    """One node of a trigger, armed. A leaf uses of its memory what its kind needs."""

    def __init__(self, trigger: Trigger, now: Moment) -> None:
        self.trigger = trigger
        self.parts = [Node(part, now) for part in _inside(trigger)]
        self.reference: Any = None
        self.latest: Any = None
        self.arm(now, 0)

    def arm(self, now: Moment, pending: int) -> None:
        """Puts the node into its first state; the reference of OnDelta stays."""
        self.done, self.count, self.deadline, self.marked = False, pending, MAX_INSTANT + 1, False
        first = isinstance(self.trigger, AfterEach)
        for number, part in enumerate(self.parts):
            in_force = number == 0 if first else self._in_force(number)
            part.arm(now, pending if in_force else 0)

    @property
    def finished(self) -> bool:
        """Whether it takes no rows and wants nothing any more."""
        match self.trigger:
            case Repeatedly():
                return False
            case AfterAny() | OrFinally():
                return any(part.finished for part in self.parts)
            case AfterAll() | AfterEach():
                return all(part.finished for part in self.parts)
            case AfterWatermark():
                return self.done and self.trigger.late is None
        return self.done

    def _in_force(self, number: int) -> bool:
        match self.trigger:
            case AfterWatermark(early=early):
                return (number == 0 and early is not None) != self.done
            case AfterEach():
                return all(part.finished for part in self.parts[:number]) and not self.parts[number].finished
        return True

    def take(self, row: Row, now: Moment) -> None:
        """A row was applied to the window while the node was in force."""
        if self.finished:
            return
        match self.trigger:
            case AfterCount():
                self.count += 1
            case AfterProcessingTime() if self.deadline > MAX_INSTANT:
                self.deadline = _aligned(self.trigger, now.processing_time)
            case AfterEventTime(period=period):
                self._take_time(period.us, row.time, now)
            case OnPunctuation(column=column):
                self.marked = self.marked or row.values[column] is True
            case OnDelta():
                self._take_value(self.trigger, row.values[self.trigger.column])
        for number, part in enumerate(self.parts):
            if self._in_force(number):
                part.take(row, now)

    def _take_time(self, period: int, time: int, now: Moment) -> None:
        """After a deadline that passed in silence comes the first multiple above the watermark (semantics 16.8, 16.15)."""
        watermark = MIN_INSTANT if now.watermark is None else now.watermark
        if now.pending == 0 and now.passed(self.deadline):
            self.deadline, time = MAX_INSTANT + 1, watermark
        self.deadline = min(self.deadline, _multiple(period, max(time, watermark)))

    def _take_value(self, trigger: OnDelta, value: Any) -> None:
        if value is None or isinstance(value, float) and math.isnan(value):
            return
        if self.reference is None:
            self.reference = value
        self.latest = value
        self.marked = self.marked or abs(value - self.reference) > trigger.amount

    def wants(self, now: Moment) -> bool:
        """Whether it wants to fire."""
        if self.finished:
            return False
        if not self.parts and not isinstance(self.trigger, AfterWatermark):
            return self._leaf_wants(now)
        if isinstance(self.trigger, AfterWatermark) and not self.done and now.complete:
            return now.pending > 0 or now.flips
        if isinstance(self.trigger, AfterAll):
            return all(part.finished or part.wants(now) for part in self.parts)
        return any(part.wants(now) for number, part in enumerate(self.parts) if self._in_force(number))

    def _leaf_wants(self, now: Moment) -> bool:
        match self.trigger:
            case AfterCount(n=n):
                return self.count >= n
            case AfterProcessingTime():
                return now.processing_time >= self.deadline
            case AfterEventTime():
                return now.pending > 0 and self.deadline <= MAX_INSTANT and now.passed(self.deadline)
            case OnPunctuation() | OnDelta():
                return self.marked
            case Every():
                return now.pending > 0 and now.processing_time >= _boundary(self.trigger, now)
            case Always():
                return now.pending > 0
        return False

    def fire(self, now: Moment) -> None:
        """The node fires. Nothing is pending afterwards."""
        match self.trigger:
            case AfterCount() | AfterProcessingTime() | OnPunctuation():
                self.done = True
            case OnDelta():
                self.done, self.reference = True, self.latest
            case AfterWatermark() if not self.done and now.complete:
                self.done = True
                for part in self.parts:
                    part.arm(now, 0)
                return
        eager = [part for number, part in enumerate(self.parts) if self._in_force(number) and part.wants(now)]
        for part in self.parts:
            if part in eager:
                part.fire(now)
            elif isinstance(self.trigger, AfterAny):
                part.clear()
        if isinstance(self.trigger, Repeatedly) and self.parts[0].finished:
            self.parts[0].arm(now, 0)

    def clear(self) -> None:
        """The pane that was being prepared has gone, with a firing that this node did not want."""
        if not self.finished:
            self.count, self.marked = 0, False
            if not isinstance(self.trigger, AfterEventTime):
                self.deadline = MAX_INSTANT + 1
            for part in self.parts:
                part.clear()

    def take_over(self, others: list["Node"], now: Moment, each: list[int]) -> None:
        """The state of the nodes of windows that were merged, in order of their start, with the pending rows of each (semantics 16.12)."""
        pending = sum(each)
        match self.trigger:
            case AfterWatermark():
                passed = now.complete and all(other.done for other in others)
                self._take_over_sides(others, now, each, passed)
                return
            case AfterEventTime(period=period):
                coming = [other._coming(period.us, now, own) for other, own in zip(others, each, strict=True)]
                self.deadline = min(coming)
            case AfterCount() | AfterProcessingTime() | OnPunctuation() | OnDelta():
                self._take_over_memory(others)
        for number, part in enumerate(self.parts):
            if self._in_force(number) or isinstance(self.trigger, AfterEach) and all(before.finished for before in self.parts[:number]):
                part.take_over([other.parts[number] for other in others], now, each)
        if isinstance(self.trigger, Repeatedly) and self.parts[0].finished:
            self.parts[0].arm(now, pending)

    def _coming(self, period: int, now: Moment, pending: int) -> int:
        """The deadline, or the next multiple where it passed in silence (semantics 16.15)."""
        if pending == 0 and now.watermark is not None and now.watermark >= self.deadline:
            return _multiple(period, now.watermark)
        return self.deadline

    def _take_over_memory(self, others: list["Node"]) -> None:
        self.done = any(other.done for other in others)
        self.count = sum(other.count for other in others)
        self.deadline = min(other.deadline for other in others)
        self.marked = any(other.marked for other in others)
        self.reference = next((other.reference for other in others if other.reference is not None), None)
        self.latest = next((other.latest for other in reversed(others) if other.latest is not None), None)

    def _take_over_sides(self, others: list["Node"], now: Moment, each: list[int], passed: bool) -> None:
        """AfterWatermark: the side of the end on which the merged window is goes on, if all were there."""
        self.done = passed
        for number, part in enumerate(self.parts):
            if self._in_force(number) and all(other.done == passed for other in others):
                part.take_over([other.parts[number] for other in others], now, each)
            else:
                part.arm(now, sum(each) if self._in_force(number) else 0)


def _inside(trigger: Trigger) -> list[Trigger]:
    """The parts of a node; those of AfterWatermark are repeated."""
    match trigger:
        case AfterWatermark():
            return [Repeatedly(part) for part in (trigger.early, trigger.late) if part is not None]
        case Repeatedly():
            return [trigger.trigger]
        case AfterAny() | AfterAll() | AfterEach():
            return list(trigger.triggers)
        case OrFinally():
            return [trigger.main, trigger.until]
    return []


def _multiple(period: int, above: int) -> int:
    """The first multiple of a period above an instant, as far as there are instants."""
    return min((above // period + 1) * period, MAX_INSTANT)


def _boundary(trigger: Every, now: Moment) -> int:
    """The first boundary after the earliest pending row was applied (semantics 16.3, 16.14)."""
    boundary = trigger.offset.us if trigger.aligned else now.since
    while boundary <= now.pending_since:
        boundary += trigger.period.us * max(1, (now.pending_since - boundary) // trigger.period.us)
    return boundary


def _aligned(trigger: AfterProcessingTime, first: int) -> int:
    deadline = first + trigger.delay.us
    if trigger.align is not None:
        deadline = -(-deadline // trigger.align.us) * trigger.align.us
    return min(deadline, MAX_INSTANT)
