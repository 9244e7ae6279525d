"""Instants and durations: 64-bit integers of microseconds (semantics 1).

Instants count from 1970-01-01 UTC and may be negative. Nothing here reads a clock.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from panewise.errors import SpecError

MIN_INSTANT = -(2**63)  # means "no lower bound"; it is never an event time (semantics 6.3)
MAX_INSTANT = 2**63 - 1  # means "no upper bound"

_UNITS = {
    "microsecond": 1,
    "us": 1,
    "millisecond": 1_000,
    "ms": 1_000,
    "second": 1_000_000,
    "sec": 1_000_000,
    "s": 1_000_000,
    "minute": 60_000_000,
    "min": 60_000_000,
    "hour": 3_600_000_000,
    "hr": 3_600_000_000,
    "h": 3_600_000_000,
    "day": 86_400_000_000,
    "d": 86_400_000_000,
    "week": 604_800_000_000,
}
_TERM = re.compile(r"\s*(\d+)\s*([A-Za-z]+)\s*")
_ISO_LIKE = re.compile(r"[+-]?PT?\d[\dYMWDTHS.,]*")
_ISO = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:[.,](\d{1,6}))?S)?)?")
_INEXACT = re.compile(r"(months?|years?|quarters?)\b", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HOW = "give '90 seconds', '1 hour 30 minutes', 'PT1H30M', a timedelta, a Duration, or an int of microseconds"


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    """A length of time in whole microseconds, which may be negative.

    >>> Duration.of("1 hour 30 minutes")
    Duration('1 hour 30 minutes')
    >>> Duration.of("10 seconds").us
    10000000

    A text may also be in the form of ISO 8601, in capitals:

    >>> Duration.of("PT1H30M"), Duration.of("P1DT0.25S")
    (Duration('1 hour 30 minutes'), Duration('1 day 250 milliseconds'))

    Raises:
        SpecError: if `us` is not an int, or does not fit in 64 bits.
    """

    us: int

    def __post_init__(self) -> None:
        if isinstance(self.us, bool) or not isinstance(self.us, int):
            raise SpecError(f"us={self.us!r}", "a duration is a whole number of microseconds", _HOW)
        if not -MAX_INSTANT <= self.us <= MAX_INSTANT:
            raise SpecError(f"us={self.us!r}", "a duration fits in 64 bits", "give a shorter duration")

    @classmethod
    def of(cls, value: "DurationLike", name: str = "duration") -> "Duration":
        """Returns the duration that a value describes.

        Args:
            value: a Duration, a timedelta, an int of microseconds, or a text such as "90 seconds" or
                "PT1H30M".
            name: the name of the value in error messages.

        Raises:
            SpecError: if the value is not a duration. Texts with months, quarters, years or negative terms
                are refused, and so are fractions, except fractions of seconds in ISO 8601, to the
                microsecond.
        """
        if isinstance(value, Duration):
            return value
        if isinstance(value, timedelta) and is_exact(value):
            return cls(value // timedelta(microseconds=1))
        if isinstance(value, int) and not isinstance(value, bool):
            return cls(value)
        if isinstance(value, str):
            return cls(_parse(value, name))
        raise SpecError(f"{name}={value!r}", "a duration is exact", _HOW)

    def __str__(self) -> str:
        rest, terms = abs(self.us), []
        for unit in ("day", "hour", "minute", "second", "millisecond", "microsecond"):
            count, rest = divmod(rest, _UNITS[unit])
            if count:
                terms.append(f"{count} {unit}{'s' if count > 1 else ''}")
        return ("-" if self.us < 0 else "") + (" ".join(terms) or "0 seconds")

    def __repr__(self) -> str:
        return f"Duration('{self}')"


DurationLike: TypeAlias = Duration | timedelta | str | int
InstantLike: TypeAlias = datetime | int


def _parse(text: str, name: str) -> int:
    if not text.strip():
        raise SpecError(f"{name}={text!r}", "a duration is not empty", _HOW)
    if looks_iso(text):
        return _parse_iso(text.strip(), name)
    if _INEXACT.search(text):
        raise SpecError(f"{name}={text!r}", _NO_LENGTH, _IN_DAYS)
    total, at = 0, 0
    while at < len(text):
        term = _TERM.match(text, at)
        unit = term and _UNITS.get(term[2]) or term and _UNITS.get(term[2].lower().rstrip("s"))
        if term is None or unit is None:
            raise SpecError(f"{name}={text!r}", _SUM, _HOW)
        total += int(term[1]) * unit
        at = term.end()
    return total


_SUM = "a duration is a sum of whole numbers of units, from weeks to microseconds"
_NO_LENGTH = "months, quarters and years have no exact length"
_IN_DAYS = "give a number of days, or use windows of a Calendar"


def looks_iso(text: str) -> bool:
    """Returns whether a text looks like an ISO 8601 duration, even one that is not exact, such as a month.

    >>> looks_iso("PT5M"), looks_iso("P1Y"), looks_iso("PTA"), looks_iso("pt5m")
    (True, True, False, False)
    """
    return _ISO_LIKE.fullmatch(text.strip()) is not None


def _parse_iso(text: str, name: str) -> int:
    match = _ISO.fullmatch(text)
    if match is None:
        dates = text.split("T", maxsplit=1)[0]
        if "Y" in dates or "M" in dates:
            raise SpecError(f"{name}={text!r}", _NO_LENGTH, _IN_DAYS)
        raise SpecError(f"{name}={text!r}", _SUM, _HOW)
    weeks, days, hours, minutes, seconds, fraction = match.groups(default="0")
    units = zip(
        (weeks, days, hours, minutes, seconds), ("week", "day", "hour", "minute", "second"), strict=True
    )
    return sum(int(count) * _UNITS[unit] for count, unit in units) + int(fraction.ljust(6, "0"))


def signed_duration(value: DurationLike, name: str) -> Duration:
    """Returns a duration that may be negative: a text may begin with a minus.

    >>> signed_duration("-5 minutes", "lower"), signed_duration(7, "upper")
    (Duration('-5 minutes'), Duration('7 microseconds'))

    Raises:
        SpecError: if the value is not a duration.
    """
    if isinstance(value, str) and value.strip().startswith("-"):
        return Duration(-Duration.of(value.strip()[1:], name).us)
    return Duration.of(value, name)


def is_exact(value: datetime | timedelta) -> bool:
    """Returns whether a value is a whole number of microseconds. Those of pandas may not be."""
    if type(value) is datetime:  # the common case, which is to be fast
        return True
    return not (getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0))


def instant_us(value: "InstantLike", name: str = "instant") -> int:
    """Returns the microseconds since 1970-01-01 UTC of an aware datetime; an int already counts them.

    >>> instant_us(datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC))
    -1000000

    Raises:
        SpecError: if the datetime is naive or has nanoseconds, the int does not fit in 64 bits, or the value
            is neither.
    """
    if isinstance(value, datetime) and value.tzinfo is not None and is_exact(value):
        return (value - _EPOCH) // timedelta(microseconds=1)
    if isinstance(value, int) and not isinstance(value, bool) and MIN_INSTANT <= value <= MAX_INSTANT:
        return value
    remedy = "give a datetime with a time zone, or an int of microseconds since 1970-01-01 UTC"
    raise SpecError(f"{name}={value!r}", "an instant is exact and has a time zone", remedy)


def saturating_add(instant: int, us: int) -> int:
    """Returns `instant + us`, clamped to the range of 64-bit integers.

    >>> saturating_add(MAX_INSTANT, 5) == MAX_INSTANT
    True
    """
    return max(MIN_INSTANT, min(MAX_INSTANT, instant + us))


# Files of the time zone database that are not zones of places, or that count leap seconds.
_NOT_PLACES = ("localtime", "posixrules", "Factory", "posix/", "right/")


def time_zone(name: str) -> ZoneInfo:
    """Returns the time zone of this name in the machine's IANA time zone database.

    >>> time_zone("Europe/Berlin").key
    'Europe/Berlin'

    Raises:
        SpecError: if the database has no zone of this name, or the machine has no database.
    """
    known = isinstance(name, str) and bool(name) and not name.startswith(_NOT_PLACES)
    zone = _zone(name) if known else None
    if zone is not None:
        return zone
    if _zone("UTC") is None:
        rule = "zones are looked up in a time zone database, and this machine has none"
        raise SpecError(f"zone={name!r}", rule, "install one: pip install tzdata")
    remedy = "give a name such as 'Europe/Berlin'; if it is a new one, update the machine's tzdata"
    raise SpecError(f"zone={name!r}", "a zone is one of the IANA time zone database", remedy)


def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # missing, malformed, or a directory
        return None
