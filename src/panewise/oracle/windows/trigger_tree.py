"""The trigger of a window as a tree of nodes, each with its own state (semantics 16.7 to 16.12)."""

import math
from dataclasses import dataclass
from typing import Any, Final

from panewise.chrono import MAX_INSTANT, MIN_INSTANT, saturating_add
from panewise.oracle.rows import Row
from panewise.spec import (
    AfterAll,
    AfterAny,
    AfterCount,
    AfterEach,
    AfterEventTime,
    AfterEventTimeDelay,
    AfterProcessingTime,
    AfterSilence,
    AfterWatermark,
    Always,
    Every,
    OnDelta,
    OnPunctuation,
    OrFinally,
    Repeatedly,
    Trigger,
)

# The leaves that a firing finishes (semantics 16.8, 16.16, 16.17).
_ONCE: Final = (
    AfterCount,
    AfterProcessingTime,
    AfterSilence,
    AfterEventTimeDelay,
    OnPunctuation,
    OnDelta,
)


@dataclass(frozen=True)
class TriggerContext:
    """The trigger context: what nodes can see of the clocks and of their window.

    Attributes:
        processing_time: the processing time.
        watermark: the watermark; None is minus infinity.
        ended: whether input has ended, so that the watermark is plus infinity.
        complete: whether the window is complete.
        flips: whether the window flips in this evaluation (semantics 16.4).
        pending: the number of pending rows (semantics 16.1).
        since: F of semantics 16.3.
        pending_since: A of semantics 16.3.
    """

    processing_time: int
    watermark: int | None
    ended: bool
    complete: bool
    flips: bool = False
    pending: int = 0
    since: int = 0
    pending_since: int = 0

    def passed(self, instant: int) -> bool:
        """Returns whether the watermark has reached the instant."""
        return self.ended or (self.watermark is not None and self.watermark >= instant)


class TriggerNode:
    """A node of a trigger, with its parts and its state. Each kind of trigger uses some of the attributes.

    Attributes:
        trigger: the trigger that the node runs.
        parts: the nodes directly inside it.
        done: whether a leaf is finished, or whether an AfterWatermark has passed the end (semantics 16.9).
        count: the count of AfterCount.
        deadline: the deadline of AfterProcessingTime, AfterSilence, AfterEventTime or AfterEventTimeDelay;
            above MAX_INSTANT if there is none.
        marked: the flag of OnPunctuation or OnDelta.
        reference: the reference of OnDelta; None if there is none.
        latest: the last value that was passed to OnDelta.
    """

    def __init__(self, trigger: Trigger, now: TriggerContext) -> None:
        self.trigger = trigger
        self.parts = [TriggerNode(part, now) for part in _parts_of(trigger)]
        self.reference: Any = None
        self.latest: Any = None
        self.arm(now, 0)

    def arm(self, now: TriggerContext, pending: int) -> None:
        """Arms the node, which keeps only the reference of OnDelta (semantics 16.11).

        Its counts start with the `pending` rows (semantics 16.8).
        """
        self.done, self.count, self.deadline, self.marked = False, pending, MAX_INSTANT + 1, False
        first = isinstance(self.trigger, AfterEach)
        for number, part in enumerate(self.parts):
            active = number == 0 if first else self._is_active(number)
            part.arm(now, pending if active else 0)

    def resume(self, now: TriggerContext, pending: int, past: bool) -> None:
        """Starts the node in a window of another trigger, as if its pending rows came now (semantics 47.4).

        `past`: whether an AfterWatermark has passed the end.
        """
        self.arm(now, pending)
        self.done = past and isinstance(self.trigger, AfterWatermark)
        if pending:
            match self.trigger:
                case AfterProcessingTime():
                    self.deadline = _aligned(self.trigger, now.processing_time)
                case AfterSilence(duration=duration):
                    self.deadline = saturating_add(now.processing_time, duration.us)
        for number, part in enumerate(self.parts):
            active = number == 0 if isinstance(self.trigger, AfterEach) else self._is_active(number)
            part.resume(now, pending if active else 0, past)

    @property
    def finished(self) -> bool:
        """Whether the node is finished: it takes no rows and is never ready (semantics 16.7, 16.10)."""
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

    def _is_active(self, number: int) -> bool:
        match self.trigger:
            case AfterWatermark(early=early):
                return (number == 0 and early is not None) != self.done
            case AfterEach():
                return all(part.finished for part in self.parts[:number]) and not self.parts[number].finished
        return True

    def take(self, row: Row, now: TriggerContext) -> None:
        """Takes a row applied to the window, and passes it to the active parts (semantics 16.7, 16.8)."""
        if self.finished:
            return
        self._take_as_leaf(row, now)
        for number, part in enumerate(self.parts):
            if self._is_active(number):
                part.take(row, now)

    def _take_as_leaf(self, row: Row, now: TriggerContext) -> None:
        match self.trigger:
            case AfterCount():
                self.count += 1
            case AfterProcessingTime() if self.deadline > MAX_INSTANT:
                self.deadline = _aligned(self.trigger, now.processing_time)
            case AfterSilence(duration=duration):
                self.deadline = saturating_add(now.processing_time, duration.us)
            case AfterEventTimeDelay(delay=delay) if self.deadline > MAX_INSTANT:
                self.deadline = saturating_add(row.time, delay.us)
            case AfterEventTime(period=period):
                self._take_time(period.us, row.time, now)
            case OnPunctuation(column=column):
                self.marked = self.marked or row.values[column] is True
            case OnDelta():
                self._take_value(self.trigger, row.values[self.trigger.column])

    def _take_time(self, period: int, time: int, now: TriggerContext) -> None:
        """Updates the deadline of AfterEventTime for a row (semantics 16.8, 16.15).

        If no row is pending and the watermark has reached the deadline, the first multiple above the
        watermark takes its place.
        """
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

    def is_ready(self, now: TriggerContext) -> bool:
        """Returns whether the node is ready (semantics 16.8 to 16.10)."""
        if self.finished:
            return False
        if not self.parts and not isinstance(self.trigger, AfterWatermark):
            return self._is_leaf_ready(now)
        if isinstance(self.trigger, AfterWatermark) and not self.done and now.complete:
            return now.pending > 0 or now.flips
        if isinstance(self.trigger, AfterAll):
            return all(part.finished or part.is_ready(now) for part in self.parts)
        return any(part.is_ready(now) for number, part in enumerate(self.parts) if self._is_active(number))

    def _is_leaf_ready(self, now: TriggerContext) -> bool:
        ready = False
        match self.trigger:
            case AfterCount(n=n):
                ready = self.count >= n
            case AfterProcessingTime() | AfterSilence():
                ready = now.processing_time >= self.deadline
            case AfterEventTimeDelay():
                ready = self.deadline <= MAX_INSTANT and now.passed(self.deadline)
            case AfterEventTime():
                ready = now.pending > 0 and self.deadline <= MAX_INSTANT and now.passed(self.deadline)
            case OnPunctuation() | OnDelta():
                ready = self.marked
            case Every():
                ready = now.pending > 0 and now.processing_time >= _boundary(self.trigger, now)
            case Always():
                ready = now.pending > 0
        return ready

    def fire(self, now: TriggerContext) -> None:
        """Fires the node, which must be ready (semantics 16.8 to 16.10). No row is pending afterwards."""
        self.done = self.done or isinstance(self.trigger, _ONCE)
        match self.trigger:
            case OnDelta():
                self.reference = self.latest
            case AfterWatermark() if not self.done and now.complete:
                self.done = True
                for part in self.parts:
                    part.arm(now, 0)
                return
        eager = [
            part for number, part in enumerate(self.parts) if self._is_active(number) and part.is_ready(now)
        ]
        for part in self.parts:
            if part in eager:
                part.fire(now)
            elif isinstance(self.trigger, AfterAny):
                part.clear()
        if isinstance(self.trigger, Repeatedly) and self.parts[0].finished:
            self.parts[0].arm(now, 0)

    def clear(self) -> None:
        """Clears the node, because another part has fired the rows that it counted (16.10, 16.11)."""
        if not self.finished:
            self.count, self.marked = 0, False
            if not isinstance(self.trigger, AfterEventTime):
                self.deadline = MAX_INSTANT + 1
            for part in self.parts:
                part.clear()

    def take_over(self, others: list["TriggerNode"], now: TriggerContext, each: list[int]) -> None:
        """Takes over the states of the same node in the sessions that were merged (semantics 16.12).

        Args:
            others: the nodes of the replaced sessions, in the order of their starts.
            now: the trigger context of the merged session.
            each: the number of pending rows of each replaced session.
        """
        pending = sum(each)
        match self.trigger:
            case AfterWatermark():
                passed = now.complete and all(other.done for other in others)
                self._take_over_sides(others, now, each, passed)
                return
            case AfterEventTime(period=period):
                deadlines = [
                    other._merged_deadline(period.us, now, own)
                    for other, own in zip(others, each, strict=True)
                ]
                self.deadline = min(deadlines)
            case AfterSilence():  # the row that merges the sessions sets the deadline anew
                self.done = any(other.done for other in others)
            case _ if not self.parts:
                self._take_over_memory(others)
        for number, part in enumerate(self.parts):
            if (
                self._is_active(number)
                or isinstance(self.trigger, AfterEach)
                and all(before.finished for before in self.parts[:number])
            ):
                part.take_over([other.parts[number] for other in others], now, each)
        if isinstance(self.trigger, Repeatedly) and self.parts[0].finished:
            self.parts[0].arm(now, pending)

    def _merged_deadline(self, period: int, now: TriggerContext, pending: int) -> int:
        """Returns the deadline that counts when sessions are merged (semantics 16.15).

        A deadline that was reached while no row is pending counts as the first multiple above the watermark.
        """
        if pending == 0 and now.watermark is not None and now.watermark >= self.deadline:
            return _multiple(period, now.watermark)
        return self.deadline

    def _take_over_memory(self, others: list["TriggerNode"]) -> None:
        self.done = any(other.done for other in others)
        self.count = sum(other.count for other in others)
        self.deadline = min(other.deadline for other in others)
        self.marked = any(other.marked for other in others)
        self.reference = next((other.reference for other in others if other.reference is not None), None)
        self.latest = next((other.latest for other in reversed(others) if other.latest is not None), None)

    def _take_over_sides(
        self, others: list["TriggerNode"], now: TriggerContext, each: list[int], passed: bool
    ) -> None:
        """Merges `early` and `late` of AfterWatermark (semantics 16.12).

        The active part takes over the states if it was active in all replaced sessions; otherwise it is armed
        again.
        """
        self.done = passed
        for number, part in enumerate(self.parts):
            if self._is_active(number) and all(other.done == passed for other in others):
                part.take_over([other.parts[number] for other in others], now, each)
            else:
                part.arm(now, sum(each) if self._is_active(number) else 0)


def _parts_of(trigger: Trigger) -> list[Trigger]:
    """Returns the parts of a node; those of AfterWatermark are wrapped in Repeatedly (semantics 16.9)."""
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
    """Returns the first multiple of a period above an instant, saturating (semantics 16.8)."""
    return min((above // period + 1) * period, MAX_INSTANT)


def _boundary(trigger: Every, now: TriggerContext) -> int:
    """Returns the first boundary after the earliest pending row was applied (semantics 16.3, 16.14)."""
    boundary = trigger.offset.us if trigger.aligned else now.since
    while boundary <= now.pending_since:
        boundary += trigger.period.us * max(1, (now.pending_since - boundary) // trigger.period.us)
    return boundary


def _aligned(trigger: AfterProcessingTime, first: int) -> int:
    deadline = first + trigger.delay.us
    if trigger.align is not None:
        deadline = -(-deadline // trigger.align.us) * trigger.align.us
    return min(deadline, MAX_INSTANT)
