"""Windows: every rule, and that they are values."""

from datetime import UTC, datetime
from typing import Any

import pytest

from panewise import Calendar, Cumulating, Duration, Global, Hopping, Session, Tumbling, rows
from panewise.spec.windows.kinds import WEEKDAYS
from tests.spec.cases import Rule, check

RULES = {
    "size below zero": Rule(
        lambda: Tumbling("1 us"),
        lambda: Tumbling(Duration(-1)),
        "size=Duration('-1 microsecond') | size is above zero | give a size such as '1 minute'",
    ),
    "only_when_full is a flag": Rule(
        lambda: Hopping(rows(4), rows(2), only_when_full=True),
        lambda: Hopping(rows(4), rows(2), only_when_full=1),  # type: ignore[arg-type]
        "only_when_full=1 | only_when_full is True or False | give one of these",
    ),
    "windows of time are never full": Rule(
        lambda: Hopping(4, 2),
        lambda: Hopping(4, 2, only_when_full=True),
        (
            "only_when_full=True, size=4 microseconds | a window of time may contain any number "
            "of rows, and is never full | leave only_when_full out, or give sizes in rows"
        ),
    ),
    "a session is closed at its start or at both ends": Rule(
        lambda: Session(2, closed="both"),
        lambda: Session(2, closed="right"),  # type: ignore[arg-type]
        "closed='right' | a session is closed at its start, or at both ends | give 'left' or 'both'",
    ),
    "closed sessions do not touch": Rule(
        lambda: Session("gap", closed="both"),
        lambda: Session("gap", touching="merge", closed="both"),
        (
            "closed='both', touching='merge' | with closed='both' sessions that share an instant "
            "are merged, and no others touch | leave touching out"
        ),
    ),
    "sessions of rows are not closed": Rule(
        lambda: Session(rows(2)),
        lambda: Session(rows(2), closed="both"),
        (
            "gap=rows(2), closed='both' | a session of rows does not contain the row that ends "
            "it | leave closed out; to include that row, give rows(3)"
        ),
    ),
    "gaps are asked for": Rule(
        lambda: Hopping(2, 3, gaps=True),
        lambda: Hopping(2, 3),
        (
            "size=2 microseconds, hop=3 microseconds, gaps=False | hop > size requires "
            "gaps=True; otherwise leave gaps=False | give a smaller hop, or change gaps"
        ),
    ),
    "no gaps are asked for in vain": Rule(
        lambda: Hopping(2, 2),
        lambda: Hopping(2, 2, gaps=True),
        (
            "size=2 microseconds, hop=2 microseconds, gaps=True | hop > size requires gaps=True; "
            "otherwise leave gaps=False | give a smaller hop, or change gaps"
        ),
    ),
    "step divides size": Rule(
        lambda: Cumulating(6, 3),
        lambda: Cumulating(6, 4),
        "size=6 microseconds, step=4 microseconds | size is a multiple of step | give a step that "
        "divides size",
    ),
    "a unit is known": Rule(
        lambda: Calendar("quarter"),
        lambda: Calendar("hour"),  # type: ignore[arg-type]
        "unit='hour' | unit is one of ('day', 'week', 'month', 'quarter', 'year') | give one of these",
    ),
    "units are counted": Rule(
        lambda: Calendar("day", 10**30),
        lambda: Calendar("day", 0),
        "n=0 | a window is a whole number of units above zero | give n=1 or more",
    ),
    "units are counted by no bool": Rule(
        lambda: Calendar("day", 1),
        lambda: Calendar("day", True),
        "n=True | a window is a whole number of units above zero | give n=1 or more",
    ),
    "weeks start on a known day": Rule(
        lambda: Calendar("week", week_start="sunday"),
        lambda: Calendar("week", week_start="Sunday"),  # type: ignore[arg-type]
        f"week_start='Sunday' | week_start is one of {WEEKDAYS} | give one of these",
    ),
    "only weeks start on a day of the week": Rule(
        lambda: Calendar("week", week_start="sunday"),
        lambda: Calendar("month", week_start="sunday"),
        "unit='month', week_start='sunday' | week_start belongs to weeks | leave week_start out",
    ),
    "touching": Rule(
        lambda: Session(1, "merge"),
        lambda: Session(1, "join"),  # type: ignore[arg-type]
        "touching='join' | touching sessions are separate or merged | give 'separate' or 'merge'",
    ),
}


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("size", Tumbling),
        ("hop", lambda hop: Hopping(2, hop)),
        ("step", lambda step: Cumulating(2, step)),
        ("gap", Session),
    ],
)
def test_durations_are_above_zero(name: str, make: Any) -> None:
    message = f"{name}=0 | {name} is above zero | give a {name} such as '1 minute'"
    check(Rule(lambda: make(1), lambda: make(0), message))


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    check(RULES[name])


def test_windows_are_values() -> None:
    assert Hopping("2 s", "1 s") == Hopping(2_000_000, 1_000_000, datetime(1970, 1, 1, tzinfo=UTC))
    assert Global() == Global()
    assert (
        len(
            {
                Session(1),
                Session(1, "merge"),
                Session(1, "separate"),
                Session("a"),
                Tumbling(1),
                Cumulating(1, 1),
            }
        )
        == 5
    )
