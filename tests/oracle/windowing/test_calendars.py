"""Calendar windows of the oracle, compared with known dates (semantics 6.4, 6.5)."""

from datetime import UTC, datetime, timedelta

import pytest

from panewise import Calendar
from panewise.chrono import MAX_INSTANT, MIN_INSTANT, instant_us
from panewise.oracle.windowing.assign import windows_of

HOUR = 3_600_000_000


def us(text: str) -> int:
    return instant_us(datetime.fromisoformat(text).replace(tzinfo=UTC))


def window(calendar: Calendar, text: str) -> tuple[str, float]:
    """Returns the start in UTC and the length in hours of the window that contains a time."""
    [(start, end)] = windows_of(calendar, us(text), {})
    assert start is not None
    assert end is not None
    return f"{datetime(1970, 1, 1) + timedelta(microseconds=start)}", (end - start) / HOUR  # noqa: DTZ001


DAYS = {
    ("Europe/Berlin", "2024-03-30 23:00"): ("2024-03-30 23:00:00", 23),
    ("Europe/Berlin", "2024-10-27 01:00"): ("2024-10-26 22:00:00", 25),
    ("Europe/Berlin", "1969-12-31 22:59"): ("1969-12-30 23:00:00", 24),
    # midnight is skipped: the day starts at 01:00
    ("America/Sao_Paulo", "2018-11-04 04:00"): ("2018-11-04 03:00:00", 23),
    ("America/Sao_Paulo", "2018-11-04 02:59"): ("2018-11-03 03:00:00", 24),
    # clocks go back at midnight to 23:00: the next date begins an hour later
    ("America/Sao_Paulo", "2018-02-18 02:30"): ("2018-02-17 02:00:00", 25),
    ("America/Sao_Paulo", "2018-02-18 03:00"): ("2018-02-18 03:00:00", 24),
    # clocks go back from 00:01 to 23:01: the new date began at the first midnight
    ("America/St_Johns", "2006-10-29 02:30"): ("2006-10-29 02:30:00", 25),
    ("America/St_Johns", "2006-10-29 02:31"): ("2006-10-29 02:30:00", 25),
    ("America/St_Johns", "2006-10-29 02:29"): ("2006-10-28 02:30:00", 24),
    # clocks go forward at 23:30: the last half hour of a date and the first of the next are skipped
    ("America/Toronto", "1919-03-31 04:30"): ("1919-03-31 04:30:00", 23.5),
    # a date that was skipped
    ("Pacific/Apia", "2011-12-30 09:59"): ("2011-12-29 10:00:00", 24),
    ("Pacific/Apia", "2011-12-30 10:00"): ("2011-12-30 10:00:00", 24),
    # a date that occurred twice
    ("Pacific/Kwajalein", "1969-10-01 11:59"): ("1969-09-29 13:00:00", 47),
    ("Asia/Kolkata", "1970-01-01 00:00"): ("1969-12-31 18:30:00", 24),
}


@pytest.mark.parametrize(("zone", "text"), DAYS)
def test_days(zone: str, text: str) -> None:
    assert window(Calendar("day", zone=zone), text) == DAYS[zone, text]


LONGER = {
    (Calendar("week"), "1970-01-01 00:00"): "1969-12-29 00:00:00",
    (Calendar("week", week_start="thursday"), "1970-01-01 00:00"): "1970-01-01 00:00:00",
    (Calendar("week", week_start="friday"), "1970-01-01 00:00"): "1969-12-26 00:00:00",
    (Calendar("week", 2, week_start="sunday"), "1970-01-11 00:00"): "1970-01-11 00:00:00",
    (Calendar("week", 2), "2024-05-15 12:00"): "2024-05-06 00:00:00",
    (Calendar("day", 3), "1969-12-31 23:59"): "1969-12-29 00:00:00",
    (Calendar("month"), "2024-02-29 23:59"): "2024-02-01 00:00:00",
    (Calendar("month", 5), "1969-12-31 00:00"): "1969-08-01 00:00:00",
    (Calendar("quarter"), "2024-06-30 00:00"): "2024-04-01 00:00:00",
    (Calendar("quarter", 2), "1969-12-31 00:00"): "1969-07-01 00:00:00",
    (Calendar("quarter", zone="Europe/Berlin"), "2024-06-30 22:00"): "2024-06-30 22:00:00",
    (Calendar("year"), "2024-12-31 23:59"): "2024-01-01 00:00:00",
    (Calendar("year", 100), "2069-12-31 00:00"): "1970-01-01 00:00:00",
    (Calendar("year", 4), "1969-12-31 00:00"): "1966-01-01 00:00:00",
}


@pytest.mark.parametrize(("calendar", "text"), LONGER, ids=str)
def test_longer_units(calendar: Calendar, text: str) -> None:
    assert window(calendar, text)[0] == LONGER[calendar, text]


def test_the_ends_of_the_calendar() -> None:
    """A calendar window whose bounds are not from 0002-01-01 to 9999-01-01 does not exist (semantics 6.5)."""
    first, last = us("0002-01-01 00:00"), us("9999-01-01 00:00")
    days, years = Calendar("day"), Calendar("year")
    assert windows_of(days, first, {}) == [(first, first + 24 * HOUR)]
    assert windows_of(days, last - 1, {}) == [(last - 24 * HOUR, last)]
    for t in (first - 1, last, MIN_INSTANT + 1, MAX_INSTANT):
        assert windows_of(days, t, {}) == windows_of(years, t, {}) == []
    # A window does not exist at all if only one of its bounds lies outside.
    assert windows_of(Calendar("day", zone="Asia/Kolkata"), last - 1, {}) == []
    assert windows_of(Calendar("year", 5000), 0, {}) == [(0, us("6970-01-01 00:00"))]
    assert (
        windows_of(Calendar("year", 5000), -1, {})
        == windows_of(Calendar("year", 5000), us("6970-01-01 00:00"), {})
        == []
    )
    assert windows_of(Calendar("day", 10**30), 0, {}) == []
