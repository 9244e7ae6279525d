"""Evictors: every rule."""

import pytest

from panewise import CountEvictor, DeltaEvictor, TimeEvictor
from tests.spec.cases import Rule, check

ONE_ROW = "an evictor keeps one row or more | give n=1 or more"
THRESHOLD = (
    "a threshold is a number above zero, or a duration: with zero the last row itself would "
    "be evicted | give one such as 0.5 or '1 second'"
)

RULES = {
    "an evictor keeps a row": Rule(lambda: CountEvictor(1), lambda: CountEvictor(0), f"n=0 | {ONE_ROW}"),
    "an evictor counts": Rule(lambda: CountEvictor(1), lambda: CountEvictor(True), f"n=True | {ONE_ROW}"),
    "an evictor's duration is above zero": Rule(
        lambda: TimeEvictor(1),
        lambda: TimeEvictor(0),
        "duration=0 | duration is above zero | give a duration such as '1 minute'",
    ),
    "a threshold is above zero": Rule(
        lambda: DeltaEvictor("v", 0.5), lambda: DeltaEvictor("v", 0), f"threshold=0 | {THRESHOLD}"
    ),
    "a threshold is a number": Rule(
        lambda: DeltaEvictor("v", "1 second"),
        lambda: DeltaEvictor("v", float("inf")),
        f"threshold=inf | {THRESHOLD}",
    ),
    "an evictor's column": Rule(
        lambda: DeltaEvictor("v", 1),
        lambda: DeltaEvictor("", 1),
        "column='' | an evictor reads a column by its name | give a non-empty string",
    ),
    "before or after": Rule(
        lambda: TimeEvictor(1, after=True),
        lambda: TimeEvictor(1, after=2),  # type: ignore[arg-type]
        "after=2 | after is True or False | give one of these",
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    check(RULES[name])
