"""Positions: every rule."""

import pytest

from panewise import Position
from tests.spec.cases import Rule, check

RULES = {
    "a position's columns have names": Rule(
        lambda: Position("p", "o", "s"),
        lambda: Position("p", ""),
        (
            "Position('p', '') | a position is read from different columns, named by non-empty "
            "strings | give the columns' names"
        ),
    ),
    "a position's columns differ": Rule(
        lambda: Position("p", "o"),
        lambda: Position("p", "o", "p"),
        (
            "Position('p', 'o', 'p') | a position is read from different columns, named by "
            "non-empty strings | give the columns' names"
        ),
    ),
    "positions are ordered or not": Rule(
        lambda: Position(ordered=False),
        lambda: Position(ordered="no"),  # type: ignore[arg-type]
        "ordered='no' | ordered is True or False | give one of these",
    ),
    "ordered positions have no intervals": Rule(
        lambda: Position(ordered=False, remember=5),
        lambda: Position(remember=5),
        (
            "Position(remember=5) | of ordered positions only the highest offset is stored, and "
            "no intervals | give ordered=False, or leave remember out"
        ),
    ),
    "an interval is remembered at least": Rule(
        lambda: Position(ordered=False, remember=1),
        lambda: Position(ordered=False, remember=0),
        "remember=0 | the number of intervals is a whole number above zero | give 1 or more",
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_rule(name: str) -> None:
    check(RULES[name])
