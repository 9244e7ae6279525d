"""Simple triggers: every rule of periods and counts, and that triggers are values."""

import pytest

from panewise import AfterCount, AfterWatermark, Every
from tests.spec.cases import Rule, check

RULES = {
    "period above zero": Rule(
        lambda: Every(1),
        lambda: Every(0),
        "period=0 | period is above zero | give a period such as '1 minute'",
    ),
    "aligned is a flag": Rule(
        lambda: Every(2, aligned=True),
        lambda: Every(2, aligned=1),  # type: ignore[arg-type]
        "aligned=1 | aligned is True or False | give one of these",
    ),
    "an offset shifts aligned periods": Rule(
        lambda: Every(2, aligned=True, offset=1),
        lambda: Every(2, offset=1),
        "offset=1, aligned=False | an offset shifts the boundaries of aligned periods; unaligned ones "
        "are counted from the last firing "
        "| give aligned=True, or leave offset out",
    ),
    "an offset is shorter than its period": Rule(
        lambda: Every("1 min", aligned=True, offset="59 s"),
        lambda: Every("1 min", aligned=True, offset="1 min"),
        (
            "offset='1 min', period='1 min' | an offset is 0 or more and less than the period | "
            "give the remainder of its division by the period"
        ),
    ),
    "a count is above zero": Rule(
        lambda: AfterCount(1),
        lambda: AfterCount(0),
        "n=0 | a count is a whole number above zero | give n=1 or more",
    ),
    "a count is whole": Rule(
        lambda: AfterCount(2),
        lambda: AfterCount(2.0),  # type: ignore[arg-type]
        "n=2.0 | a count is a whole number above zero | give n=1 or more",
    ),
    "a count is no bool": Rule(
        lambda: AfterCount(1),
        lambda: AfterCount(True),
        "n=True | a count is a whole number above zero | give n=1 or more",
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    check(RULES[name])


def test_triggers_are_values() -> None:
    assert AfterWatermark(early=Every("1 s")) == AfterWatermark(early=Every(1_000_000))
