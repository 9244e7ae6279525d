"""Calendar windows, computed from the local time of their zone (semantics 6.4, 6.5).

In the notation of semantics 6.4, the window with the number k starts at B(D(k)).
"""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from panewise.chrono import instant_us, time_zone
from panewise.spec import Calendar
from panewise.spec.windows.kinds import WEEKDAYS

_ORIGIN = date(1970, 1, 1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = instant_us(datetime(2, 1, 1, tzinfo=UTC)), instant_us(datetime(9999, 1, 1, tzinfo=UTC))


def calendar_window(window: Calendar, t: int) -> tuple[int, int] | None:
    """Returns the window that contains `t`; None if it does not exist (semantics 6.5).

    >>> calendar_window(Calendar("year"), 0)
    (0, 31536000000000)
    """
    if not _FIRST <= t < _LAST:
        return None
    zone = time_zone(window.zone)
    # Starts high enough: even if clocks were put back before t, they have not shown a date this late.
    number = _number(window, _local_date(zone, t) + timedelta(days=2))
    while True:
        start, end = (_start(window, zone, n) for n in (number, number + 1))
        if start is None:
            return None
        if start <= t:
            return None if start < _FIRST or end is None or end > _LAST else (start, end)
        number -= 1


def _local_date(zone: ZoneInfo, t: int) -> date:
    """Returns the local date at an instant."""
    return (_EPOCH + timedelta(microseconds=t)).astimezone(zone).date()


def _number(window: Calendar, day: date) -> int:
    """Returns the number of the window that contains a date: the highest k with D(k) at or before it."""
    months = (day.year - 1970) * 12 + day.month - 1
    match window.unit:
        case "day":
            return (day - _ORIGIN).days // window.n
        case "week":
            return (day - _first_week(window)).days // 7 // window.n
        case "month":
            return months // window.n
        case "quarter":
            return months // 3 // window.n
        case "year":
            return (day.year - 1970) // window.n


def _first_week(window: Calendar) -> date:
    """Returns the first day of the week that contains 1970-01-01."""
    return _ORIGIN - timedelta(days=(_ORIGIN.weekday() - WEEKDAYS.index(window.week_start)) % 7)


def _first_day(window: Calendar, number: int) -> date | None:
    """Returns D(number), the date on which a window starts; None outside the years 1 to 9999."""
    count = number * window.n
    try:
        match window.unit:
            case "day":
                return _ORIGIN + timedelta(days=count)
            case "week":
                return _first_week(window) + timedelta(weeks=count)
            case "month" | "quarter":
                months = count * (3 if window.unit == "quarter" else 1)
                return date(1970 + months // 12, months % 12 + 1, 1)
            case "year":
                return date(1970 + count, 1, 1)
    except (ValueError, OverflowError):
        return None


def _start(window: Calendar, zone: ZoneInfo, number: int) -> int | None:
    day = _first_day(window, number)
    return None if day is None else first_instant(zone, day)


def first_instant(zone: ZoneInfo, day: date) -> int:
    """Returns B(day), the first instant at which clocks in the zone show the date or a later one.

    >>> first_instant(ZoneInfo("America/Sao_Paulo"),
    ...     date(2018, 11, 4)) - first_instant(ZoneInfo("America/Sao_Paulo"), date(2018, 11, 3))
    86400000000
    """
    early, late = (instant_us(_midnight(zone, day, fold)) for fold in (0, 1))
    if early <= late:
        return early  # clocks show midnight once, or twice if they are put back over it
    # Clocks skip midnight. At `before` they show an earlier date, at `after` they show `day` or a later one.
    before, after = late - 1_000_000, early
    while after - before > 1_000_000:
        middle = before + (after - before) // 2_000_000 * 1_000_000
        before, after = (before, middle) if _local_date(zone, middle) >= day else (middle, after)
    return after


def _midnight(zone: ZoneInfo, day: date, fold: int) -> datetime:
    """Returns local midnight in UTC.

    If clocks change around midnight, this is by the offset before (fold 0) or after (fold 1) the change.
    """
    local = datetime.combine(day, time(), zone).replace(fold=fold)
    offset = local.utcoffset()
    assert offset is not None, zone
    return local.replace(tzinfo=UTC) - offset
