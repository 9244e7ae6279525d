"""Durations, instants and zones: every rule of what a user gives."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfoNotFoundError

import pytest

from panewise import Calendar, Session, SpecError, Tumbling
from tests.spec.cases import Rule, check

INSTANT = (
    "an instant is exact and has a time zone | give a datetime with a time zone, or an int of "
    "microseconds since 1970-01-01 UTC"
)
UNITS = "a duration is a sum of whole numbers of units, from weeks to microseconds"
EXACT = (
    "give '90 seconds', '1 hour 30 minutes', 'PT1H30M', a timedelta, a Duration, or an int of microseconds"
)
NO_LENGTH = (
    "months, quarters and years have no exact length | give a number of days, or use windows of a Calendar"
)
ZONE = (
    "a zone is one of the IANA time zone database | give a name such as 'Europe/Berlin'; if it is a "
    "new one, update the machine's tzdata"
)

RULES = {
    "a gap is a duration or a column": Rule(
        lambda: Session("timeout"), lambda: Session("-1 minute"), f"gap='-1 minute' | {UNITS} | {EXACT}"
    ),
    "duration is exact": Rule(
        lambda: Tumbling(2), lambda: Tumbling(1.5), f"size=1.5 | a duration is exact | {EXACT}"
    ),
    "duration has no months": Rule(
        lambda: Tumbling("2 weeks"), lambda: Tumbling("1 month"), f"size='1 month' | {NO_LENGTH}"
    ),
    "an ISO duration has no months": Rule(
        lambda: Session("PT5M"), lambda: Session("P5M"), f"gap='P5M' | {NO_LENGTH}"
    ),
    "an ISO duration has no years": Rule(
        lambda: Tumbling("P1W2D"), lambda: Tumbling("P1YT1H"), f"size='P1YT1H' | {NO_LENGTH}"
    ),
    "an ISO duration is whole": Rule(
        lambda: Tumbling("PT0.000001S"),
        lambda: Tumbling("PT0.0000001S"),
        f"size='PT0.0000001S' | {UNITS} | {EXACT}",
    ),
    "an ISO duration is in order": Rule(
        lambda: Session("PT1H5M"), lambda: Session("PT5M1H"), f"gap='PT5M1H' | {UNITS} | {EXACT}"
    ),
    "an ISO duration has no sign": Rule(
        lambda: Session("PT5M"), lambda: Session("-PT5M"), f"gap='-PT5M' | {UNITS} | {EXACT}"
    ),
    "duration is not empty": Rule(
        lambda: Tumbling("1s"), lambda: Tumbling(""), f"size='' | a duration is not empty | {EXACT}"
    ),
    "duration is not blank": Rule(
        lambda: Tumbling("1 s"), lambda: Tumbling("  "), f"size='  ' | a duration is not empty | {EXACT}"
    ),
    "duration has 64 bits": Rule(
        lambda: Tumbling(2**63 - 1),
        lambda: Tumbling(2**63),
        f"us={2**63} | a duration fits in 64 bits | give a shorter duration",
    ),
    "origin has a zone": Rule(
        lambda: Tumbling(1, datetime(1969, 1, 1, tzinfo=UTC)),
        lambda: Tumbling(1, datetime(1969, 1, 1)),  # noqa: DTZ001 - the mistake
        f"origin=datetime.datetime(1969, 1, 1, 0, 0) | {INSTANT}",
    ),
    "origin has 64 bits": Rule(
        lambda: Tumbling(1, -(2**63)), lambda: Tumbling(1, 2**63), f"origin={2**63} | {INSTANT}"
    ),
    "a zone is known": Rule(
        lambda: Calendar("day", zone="America/St_Johns"),
        lambda: Calendar("day", zone="Mars/Olympus"),
        f"zone='Mars/Olympus' | {ZONE}",
    ),
    "a zone is no folder": Rule(
        lambda: Calendar("day", zone="Asia/Kolkata"),
        lambda: Calendar("day", zone="Asia"),
        f"zone='Asia' | {ZONE}",
    ),
    "a zone has no leap seconds": Rule(
        lambda: Calendar("day", zone="Etc/UTC"),
        lambda: Calendar("day", zone="right/UTC"),
        f"zone='right/UTC' | {ZONE}",
    ),
    "a zone is a name": Rule(
        lambda: Calendar("day"),
        lambda: Calendar("day", zone=None),  # type: ignore[arg-type]
        f"zone=None | {ZONE}",
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    check(RULES[name])


def test_a_machine_without_a_time_zone_database(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str) -> None:
        raise ZoneInfoNotFoundError(name)

    monkeypatch.setattr("panewise.chrono.ZoneInfo", nowhere)
    with pytest.raises(SpecError) as caught:
        Calendar("day", zone="Europe/Berlin")
    rule = "zones are looked up in a time zone database, and this machine has none"
    assert caught.value.args[0] == f"zone='Europe/Berlin' | {rule} | install one: pip install tzdata"
