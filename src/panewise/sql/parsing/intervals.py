"""Intervals of SQL as durations: INTERVAL '10' MINUTES, INTERVAL '1 hour 30 minutes', '10 minutes'."""

import re
from dataclasses import dataclass
from typing import Any, Final

from panewise.chrono import Duration
from panewise.errors import SpecError

_TERM: Final = re.compile(r"\s*'?\s*([+-]?\d+)(?:\.(\d{1,6}))?\s*'?\s*([A-Za-z]+)\s*")
_SIGN: Final = re.compile(r"\s*([+-]?)\s*INTERVAL\b", re.IGNORECASE)
_CLOCK: Final = re.compile(r"\s*'([+-]?)\s*([\d:. ]+)'\s*([A-Za-z]+)\s+TO\s+([A-Za-z]+)\s*", re.IGNORECASE)
_TIME: Final = re.compile(r"\s*([+-]?)(\d+:\d\d(:\d\d(?:\.\d{1,9})?)?)\s*(?=$|\s)")
_PRECISION: Final = re.compile(r"\b(DAY|HOUR|MINUTE|SECOND)\s*\(\s*\d+\s*(?:,\s*\d+\s*)?\)", re.IGNORECASE)
_CALENDAR: Final = re.compile(
    r"\s*(?:INTERVAL\s+)?'?\s*([1-9]\d*)\s*'?\s*(DAY|WEEK|MONTH|QUARTER|YEAR)S?\s*'?\s*", re.IGNORECASE
)
EXACT: Final = ("day", "week")  # units of a calendar that have an exact length
_UNITS: Final = ("day", "hour", "minute", "second")
_US: Final = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}


@dataclass(frozen=True)
class CalendarLength:
    """A number of units of a calendar, such as months."""

    n: int
    unit: Any

    @property
    def exact(self) -> Duration:
        """The length of days and weeks."""
        return Duration.of(f"{self.n} {self.unit}", "an interval")


def calendar_length(text: str) -> CalendarLength | None:
    """Returns the length of an interval in one unit of a calendar; None for another interval.

    >>> calendar_length("INTERVAL '3' MONTHS"), calendar_length("'1 hour'")
    (CalendarLength(n=3, unit='month'), None)
    """
    match = _CALENDAR.fullmatch(text)
    return None if match is None else CalendarLength(int(match[1]), match[2].lower())


def duration(text: str) -> Duration:
    """Returns the duration of an interval, as it is written.

    Raises:
        SpecError: if it is none, or has no exact length.

    >>> duration("INTERVAL '10' MINUTES"), duration("'1 hour 30 minutes'"), duration("- INTERVAL 5 SECONDS")
    (Duration('10 minutes'), Duration('1 hour 30 minutes'), Duration('-5 seconds'))
    >>> duration("INTERVAL '90' SECOND(3)")
    Duration('1 minute 30 seconds')
    >>> duration("INTERVAL '1 day 02:00:00'"), duration("INTERVAL '1 02:00:00.5' DAY TO SECOND")
    (Duration('1 day 2 hours'), Duration('1 day 2 hours 500 milliseconds'))
    >>> duration("INTERVAL '1:30' HOUR TO MINUTE"), duration("INTERVAL '0.25' SECOND")
    (Duration('1 hour 30 minutes'), Duration('250 milliseconds'))
    """
    sign = _SIGN.match(text)
    rest = _PRECISION.sub(r"\1", text[sign.end() :] if sign else text)
    factor = -1 if sign and sign[1] == "-" else 1
    clock = _CLOCK.fullmatch(rest)
    if clock is not None:
        return Duration(factor * _of_clock(text, *clock.groups()))
    inner = rest.strip()
    if inner.startswith("'") and inner.endswith("'") and inner.count("'") == 2:
        inner = inner[1:-1]
        if not any(character.isdigit() for character in inner) or inner.strip().startswith("P"):
            return Duration(factor * Duration.of(inner, "an interval").us)
        inner = inner.strip().removeprefix("interval ").removeprefix("INTERVAL ")
    return Duration(factor * _sum(text, inner))


def length_of(text: str) -> Duration:
    """Returns the duration that the value of an option says, with or without the word INTERVAL.

    Raises:
        SpecError: if it says none.

    >>> length_of("10 minutes"), length_of("INTERVAL '1' HOUR")
    (Duration('10 minutes'), Duration('1 hour'))
    """
    return duration(f"'{text}'" if not text.upper().startswith("INTERVAL") else text)


def _sum(text: str, inner: str) -> int:
    total, at = 0, 0
    while at < len(inner):
        time = _TIME.match(inner, at)
        if time is not None:
            total += _of_clock(text, time[1], time[2], "hour", "second" if time[3] else "minute")
            at = time.end()
            continue
        term = _TERM.match(inner, at)
        if term is None:
            rule = "an interval has numbers and units, from weeks to microseconds"
            raise SpecError(text, rule, "write INTERVAL '10' MINUTES")
        unit = Duration.of(f"1 {term[3]}", "an interval").us
        count = abs(int(term[1])) * unit + int((term[2] or "0").ljust(6, "0")) * unit // 1_000_000
        total += -count if term[1].startswith("-") else count
        at = term.end()
    if not inner.strip():
        raise SpecError(text, "an interval has a length", "write INTERVAL '10' MINUTES")
    return total


def _of_clock(text: str, sign: str, digits: str, first: str, last: str) -> int:
    begin, end = (part.lower().removesuffix("s") for part in (first, last))
    parts = [part for part in re.split(r"[ :]", digits.strip()) if part]
    if begin not in _UNITS or end not in _UNITS or _UNITS.index(end) - _UNITS.index(begin) != len(parts) - 1:
        rule = "the parts of such an interval are those from its first unit to its last"
        raise SpecError(text, rule, "write for example INTERVAL '1:30' HOUR TO MINUTE")
    total = 0
    for unit, part in zip(_UNITS[_UNITS.index(begin) :], parts, strict=False):
        whole, _, fraction = part.partition(".")
        total += int(whole or 0) * _US[unit] + int(fraction.ljust(6, "0")[:6] or 0) * _US[unit] // 1_000_000
    return -total if sign == "-" else total
