"""The axis of event time: where its ticks are, and how instants are written."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND, _MINUTE, _DAY = 1_000_000, 60_000_000, 86_400_000_000
_STEPS = (
    *(factor * power for power in (1, 10, 100, 1000, 10_000, 100_000) for factor in (1, 2, 5)),
    *(factor * _SECOND for factor in (1, 2, 5, 10, 15, 30)),
    *(factor * _MINUTE for factor in (1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720)),
    *(factor * _DAY for factor in (1, 2, 7, 14, 30, 90, 365, 730, 1825, 3650, 36500)),
)


@dataclass(frozen=True)
class TimeAxis:
    """An axis from one time to another, both in microseconds, or from one row number to another.

    Attributes:
        left, right: the points at which it begins and ends.
    """

    first: int
    last: int
    left: float
    right: float
    by_row_number: bool = False
    zone: tzinfo = UTC

    def x(self, time: float) -> float:
        """Returns the point of a time, at most at one of the ends."""
        share = (time - self.first) / (self.last - self.first)
        return round(self.left + min(1.0, max(0.0, share)) * (self.right - self.left), 1)

    def shows(self, start: int | None, end: int | None) -> bool:
        """Returns whether a window is on the axis, at least in part."""
        return (start is None or start < self.last) and (end is None or end > self.first)

    @property
    def step(self) -> int:
        """The distance of two ticks."""
        most = max(2, int((self.right - self.left) / 90))
        wanted = (self.last - self.first) / most
        if not self.by_row_number:
            return next((step for step in _STEPS if step >= wanted), _STEPS[-1])
        power = 1
        while 5 * power < wanted:
            power *= 10
        return next(factor * power for factor in (1, 2, 5) if factor * power >= wanted or factor == 5)

    def ticks(self) -> Iterator[tuple[float, str]]:
        """Yields point and text of each tick."""
        step, shift = self.step, self._offset
        time = -(-(self.first + shift) // step) * step - shift
        for _ in range(200):
            if time > self.last:
                return
            yield self.x(time), self.short(time)
            time += step

    @property
    def _offset(self) -> int:
        """How far local time is ahead of UTC, so that ticks of days are at midnight."""
        at = None if self.by_row_number else instant(self.first, self.zone)
        ahead = None if at is None else at.utcoffset()
        return 0 if ahead is None else ahead // timedelta(microseconds=1)

    def short(self, time: int) -> str:
        """Returns a time as the ticks show it."""
        at = None if self.by_row_number else instant(time, self.zone)
        if at is None:
            return f"{time:,}"
        if self.step >= _DAY:
            return f"{at:%Y-%m-%d}"
        if self.step >= _MINUTE:
            return f"{at:%H:%M}"
        return f"{at:%H:%M:%S}" if self.step >= _SECOND else f"{at:%H:%M:%S}.{at.microsecond:06}"

    def long(self, time: int | None) -> str:
        """Returns a time as texts show it. The bounds of a window for all times are infinite."""
        if time is None:
            return "∞"
        return f"{time:,}" if self.by_row_number else instant_text(time, self.zone)

    @property
    def title(self) -> str:
        """What the axis shows."""
        if self.by_row_number:
            return "row number"
        days = {self.long(time).split(" ", 1)[0] for time in (self.first, self.last)}
        return f"event time, {' to '.join(sorted(days))} ({self.zone})"


def instant(time: int, zone: tzinfo = UTC) -> datetime | None:
    """Returns an instant in microseconds as a datetime, None beyond the years that these have."""
    try:
        return (_EPOCH + timedelta(microseconds=time)).astimezone(zone)
    except (OverflowError, ValueError):
        return None


def instant_text(time: int, zone: tzinfo = UTC) -> str:
    """Returns date and time of an instant in microseconds.

    >>> instant_text(1_704_067_200_000_000), instant_text(1_704_067_200_250_000), instant_text(2**62)
    ('2024-01-01 00:00:00', '2024-01-01 00:00:00.25', '4,611,686,018,427,387,904')
    """
    at = instant(time, zone)
    if at is None:
        return f"{time:,}"
    fraction = f".{at.microsecond:06}".rstrip("0") if at.microsecond else ""
    return f"{at:%Y-%m-%d %H:%M:%S}{fraction}"
