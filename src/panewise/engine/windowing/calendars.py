"""Calendar windows: when the clocks of a zone first show a date, and the date's window (semantics 6.4, 6.5).

Dates are counted in days since 1970-01-01. For each UTC day that has rows, a table lists the few instants at
which the window changes. All rows are looked up in these tables with one binary search. So a batch costs a
few steps in Python for each UTC day, which are cached, and one bisection for each row. The zones are
Python's, because those of Polars end with the year 2100.

Invariant: a date counts from the first second at which clocks show it or a later date. Clocks that are put
back do not return to an earlier window.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache

import numpy as np
import polars as pl

from panewise.chrono import MIN_INSTANT, time_zone
from panewise.spec import Calendar
from panewise.spec.windows.kinds import WEEKDAYS

_DAY = 86_400
_US = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
# Windows lie between these UTC days.
_FIRST, _LAST = (date(year, 1, 1).toordinal() - _EPOCH_ORDINAL for year in (2, 9999))
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_REMEMBERED = 1 << 16  # entries of each cache of UTC days, windows or dates


def starts(window: Calendar, times: pl.Series) -> pl.Series:
    """Returns the start of the window of each instant; -2^63 where there is no window."""
    instants = times.to_numpy()
    days = np.floor_divide(instants, _DAY * _US)
    steps = [(MIN_INSTANT, MIN_INSTANT)]
    for day in np.unique(days).tolist():
        steps += (
            _steps(window, day)
            if _FIRST <= day < _LAST
            else [(max(MIN_INSTANT, day * _DAY * _US), MIN_INSTANT)]
        )
    at, start = np.array(steps, dtype=np.int64).T
    return pl.Series(times.name, start[np.searchsorted(at, instants, side="right") - 1], dtype=pl.Int64)


def windows_containing(window: Calendar, instant: int) -> list[tuple[int, int]]:
    """Returns a list with the window that contains an instant; an empty list if the window does not exist."""
    day = instant // (_DAY * _US)
    if not _FIRST <= day < _LAST:
        return []
    local_date = max(reached for at, reached in _reached(window.zone, day) if at * _US <= instant)
    bounds = _bounds(window, _number(window, local_date))
    return [] if bounds is None else [bounds]


@lru_cache(_REMEMBERED)
def _steps(window: Calendar, day: int) -> list[tuple[int, int]]:
    """Returns the instants of a UTC day at which the window changes, each with the start of the window."""
    steps = []
    for at, local_date in _reached(window.zone, day):
        bounds = _bounds(window, _number(window, local_date))
        steps.append((at * _US, MIN_INSTANT if bounds is None else bounds[0]))
    return steps


def _number(window: Calendar, local_date: int) -> int:
    """Returns the number of the window that contains a date; the window of 1970-01-01 has the number 0."""
    if window.unit == "day":
        return local_date // window.n
    if window.unit == "week":
        return (local_date - _week_origin(window)) // (7 * window.n)
    day = date.fromordinal(local_date + _EPOCH_ORDINAL)
    return ((day.year - 1970) * 12 + day.month - 1) // (_MONTHS[window.unit] * window.n)


def _week_origin(window: Calendar) -> int:
    """Returns the last start of a week at or before 1970-01-01, which was a Thursday."""
    return -((3 - WEEKDAYS.index(window.week_start)) % 7)


@lru_cache(_REMEMBERED)
def _bounds(window: Calendar, number: int) -> tuple[int, int] | None:
    """Returns the start and the end of a window; None if it does not exist."""
    days = [_first_date(window, number), _first_date(window, number + 1)]
    if not all(_FIRST - 1 <= day <= _LAST + 1 for day in days):
        return None
    start, end = (_first_second(window.zone, day) for day in days)
    return (start * _US, end * _US) if start >= _FIRST * _DAY and end <= _LAST * _DAY else None


def _first_date(window: Calendar, number: int) -> int:
    """Returns the date on which a window starts, or one far out of range if `datetime` has no such date."""
    count = number * window.n
    if window.unit == "day":
        return count
    if window.unit == "week":
        return _week_origin(window) + 7 * count
    year, month = divmod(count * _MONTHS[window.unit], 12)
    if not 1 <= 1970 + year <= 9999:
        return 2 * (_LAST if year > 0 else -_LAST)
    return date(1970 + year, month + 1, 1).toordinal() - _EPOCH_ORDINAL


@lru_cache(_REMEMBERED)
def _first_second(zone: str, wanted: int) -> int:
    """Returns the second at which clocks first show a date or a later one.

    Local midnight is at most 16 hours from midnight in UTC. So two UTC days are searched.
    """
    return next(
        at for day in (wanted - 1, wanted) for at, local_date in _reached(zone, day) if local_date >= wanted
    )


@lru_cache(_REMEMBERED)
def _reached(zone: str, day: int) -> list[tuple[int, int]]:
    """Returns the latest date shown by the start of a UTC day, and each later date first shown in that day.

    Each date comes with the second from which it counts. Clocks that are put back show a date again, at most
    two days later. So the two days before are read, too.
    """
    changes: list[tuple[int, int]] = []
    latest = -(2**62)
    # Within a piece local time runs evenly. A date that no earlier piece has shown begins at its local
    # midnight or, if clocks skip that, at the start of the piece.
    for start, end, offset in (piece for before in (2, 1, 0) for piece in _pieces(zone, day - before)):
        first, last = (start + offset) // _DAY, (end - 1 + offset) // _DAY
        changes += [
            (max(start, local_date * _DAY - offset), local_date)
            for local_date in range(max(first, latest + 1), last + 1)
        ]
        latest = max(latest, last)
    shown = max(local_date for at, local_date in changes if at <= day * _DAY)
    return [(day * _DAY, shown), *((at, local_date) for at, local_date in changes if at > day * _DAY)]


def _pieces(zone: str, day: int) -> Iterator[tuple[int, int, int]]:
    """Yields the intervals of a UTC day with one offset from UTC: start, end, offset, in seconds.

    Clocks change at most once in a day, so the change is found by bisection.
    """
    start, end = day * _DAY, (day + 1) * _DAY
    before, after = _offset(zone, start), _offset(zone, end)
    if before == after:
        yield start, end, before
        return
    low, high = start, end
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _offset(zone, middle) == before else (low, middle)
    yield start, high, before
    if high < end:
        yield high, end, after


def _offset(zone: str, second: int) -> int:
    """Returns how many seconds the clocks of a zone are ahead of UTC."""
    offset = (_EPOCH + timedelta(seconds=second)).astimezone(time_zone(zone)).utcoffset()
    assert offset is not None, zone
    return round(offset / timedelta(seconds=1))
