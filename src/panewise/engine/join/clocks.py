"""The clocks of a join: a watermark for each side, and the horizons (semantics 36.1 to 36.5).

Invariant: neither the watermark of a side nor its horizon decreases.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.progress.clocks import Clocks
from panewise.spec import FixedLag, JoinOperator, StreamTime
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT
from panewise.spec.operators.join.side_entry import TwoSided


@dataclass(frozen=True)
class SideClock:
    """The clock of a side.

    Attributes:
        watermark: the watermark, None before the first one.
        reported_at: the processing time of the last report; None if it was before the first reading.
        ended: whether the input of the side has ended.
        floor: the least horizon, since the allowed lateness was raised; None if it was not.
        ceiling: the highest horizon, until the evaluation of a change that lowers the allowed lateness.
    """

    watermark: int | None = None
    reported_at: int | None = None
    ended: bool = False
    floor: int | None = None
    ceiling: int | None = None


@dataclass(frozen=True)
class JoinClocks:
    """The processing time, and the clocks of both sides.

    Attributes:
        processing_time: the last reading, 0 before the first one.
        since: the first reading, None before it.
        sides: the clocks by side.
        floor: the least horizon of windows of both sides, since their allowed lateness changed; None if it
            has not.
    """

    processing_time: int = 0
    since: int | None = None
    sides: Mapping[str, SideClock] = field(default_factory=lambda: dict.fromkeys((LEFT, RIGHT), SideClock()))
    floor: int | None = None

    @property
    def watermark(self) -> int | None:
        """The lower watermark of those sides that have not ended; None before both have one."""
        left, right = (MAX_INSTANT if side.ended else side.watermark for side in self.sides.values())
        return None if left is None or right is None else min(left, right)

    instant_watermark = watermark

    @property
    def finished(self) -> bool:
        """Whether both inputs have ended."""
        return all(side.ended for side in self.sides.values())

    def horizon(self, spec: TwoSided, side: str) -> int | None:
        """Returns the horizon of a side: rows before it are late. None before the first watermark."""
        clock = self.sides[side]
        if clock.ended:
            return MAX_INSTANT
        if clock.watermark is None:
            return None
        horizon = max(MIN_INSTANT, clock.watermark - spec.sides[side].allowed_lateness.us)
        horizon = horizon if clock.ceiling is None else min(horizon, clock.ceiling)
        return horizon if clock.floor is None else max(horizon, clock.floor)

    def lowest(self, spec: TwoSided, side: str) -> int | None:
        """Returns the lowest event time of the rows of a side that are still to be joined.

        None if it may be any. No such row is before the horizon of its side.
        """
        return self.horizon(spec, side)

    def none_to_come(self, spec: TwoSided, side: str) -> bool:
        """Returns whether no row of a side is still to be joined."""
        return self.horizon(spec, side) == MAX_INSTANT

    def passed(self, spec: JoinOperator, side: str) -> int | None:
        """Returns the last instant that the horizon of a side has passed, None if there is none.

        A row of the other side has expired if the last instant at which a row can match it is this instant or
        an earlier one (39).
        """
        horizon = self.horizon(spec, side)
        if horizon is None or horizon == MAX_INSTANT:
            return horizon
        return None if horizon == MIN_INSTANT else horizon - 1

    def moved(
        self, spec: TwoSided, processing_time: int | None, watermark: int | None, source: str | None
    ) -> Self:
        """Returns the clocks after a reading of the processing time, a watermark from outside, or both."""
        after = self._read(spec, processing_time)
        if watermark is not None:
            for side in spec.sides if source is None else (source,):
                if spec.sides[side].event_time is not None and _delay(spec, side) is None:
                    after = after._reported(side, watermark)
        return after._without_idle(spec)

    def moved_by_rows(self, spec: TwoSided, latest: Mapping[str, int]) -> Self:
        """Returns the clocks after rows have moved the watermarks of their sides together (36.7).

        `latest` has the highest event time of the valid rows of each side.
        """
        after = self
        if spec.watermark is not None:
            latest = dict.fromkeys(spec.sides, max(latest.values())) if latest else {}
        for side, time in latest.items():
            if (delay := _delay(spec, side)) is not None:
                after = after._reported(side, max(MIN_INSTANT, time - delay))
        return after._without_idle(spec)

    def ended(self, side: str | None) -> Self:
        """Returns the clocks after the end of the input of a side, or of both."""
        ended = self.sides if side is None else (side,)
        return self.with_sides({name: replace(self.sides[name], ended=True) for name in ended})

    def without_ceilings(self) -> Self:
        """Returns the clocks after the evaluation of a change of the specification."""
        return self.with_sides({name: replace(side, ceiling=None) for name, side in self.sides.items()})

    def with_sides(self, sides: Mapping[str, SideClock]) -> Self:
        """Returns the clocks with these clocks of sides."""
        return replace(self, sides={**self.sides, **sides})

    def _read(self, spec: TwoSided, processing_time: int | None) -> Self:
        if processing_time is None:
            return self
        now = max(self.processing_time, processing_time)
        after = replace(self, processing_time=now, since=now if self.since is None else self.since)
        for name, side in spec.sides.items():
            if isinstance(side.watermark, FixedLag):
                after = after._reported(name, now - side.watermark.lag.us)
        return after

    def _reported(self, side: str, watermark: int) -> Self:
        before = self.sides[side]
        highest = watermark if before.watermark is None else max(before.watermark, watermark)
        at = None if self.since is None else self.processing_time
        return self.with_sides({side: replace(before, watermark=highest, reported_at=at)})

    def _without_idle(self, spec: TwoSided) -> Self:
        """Raises the watermark of an idle side to that of the other one (36.5)."""
        idle = [side for side in self.sides if self._is_idle(spec, side)]
        if len(idle) != 1:
            return self
        mine, other = self.sides[idle[0]], self.sides[OTHER[idle[0]]]
        if other.watermark is None or (mine.watermark is not None and mine.watermark >= other.watermark):
            return self
        return self.with_sides({idle[0]: replace(mine, watermark=other.watermark)})

    def _is_idle(self, spec: TwoSided, side: str) -> bool:
        if spec.idle_after is None or self.since is None:
            return False
        at = self.sides[side].reported_at
        return self.processing_time - (self.since if at is None else at) >= spec.idle_after.us


def _delay(spec: TwoSided, side: str) -> int | None:
    """Returns how far the watermark of a side is behind its rows; None if rows do not drive it."""
    driven = spec.watermark or spec.sides[side].watermark
    return driven.delay.us if isinstance(driven, StreamTime) else None


def of_windows(clocks: JoinClocks) -> Clocks:
    """Returns the clocks of windows of both sides: their watermark is the lower one (semantics 37.11)."""
    watermark = None if clocks.finished else clocks.watermark
    return Clocks(clocks.processing_time, watermark, clocks.finished, floor=clocks.floor)
