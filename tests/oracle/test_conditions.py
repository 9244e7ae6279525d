"""Conditions in the oracle: the table that Spark agrees with, and values that only Python can express."""

from decimal import Decimal
from typing import Any

import pytest

from panewise.errors import InputError
from panewise.oracle.conditions import matches
from panewise.spec.conditions import Not, Term, as_condition, left, right
from tests.engine.condition_cases import CASES, EPOCH, OVERFLOW, Case

LONG = 2**63


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_table(case: Case) -> None:
    """semantics 38.3, 38.4, 38.6 to 38.11 and 38.14 to 38.16"""
    rows = case.row("left"), case.row("right")
    if case.truth == OVERFLOW:
        with pytest.raises(
            InputError, match=r"fits in 64 bits \(semantics 38\.14\) \| cast a column to DOUBLE"
        ):
            matches(case.condition, *rows)
        return
    assert matches(case.condition, *rows) is (case.truth is True)
    assert matches(Not(case.condition), *rows) is (case.truth is False)


@pytest.mark.parametrize(
    ("term", "a", "b", "truth"),
    [
        # Exact values of decimals, which Spark rounds or refuses at one scale (38.6).
        (left("a") < right("b"), Decimal("9." + "9" * 37), Decimal("9" * 38), True),
        (left("a") == right("b"), Decimal("1E-37"), Decimal(0), False),
        (left("a") > right("b"), 0, Decimal("-1E-37"), True),
        # Whole numbers are microseconds beside a literal timestamp (38.12).
        (left("a") < EPOCH, -1, None, True),
        (left("a").between(EPOCH, EPOCH), 0, None, True),
        # Decimals are exact (38.16).
        (left("a") * right("b") == Decimal("1E-20"), Decimal("1E-10"), Decimal("1E-10"), True),
        (left("a") + right("b") != 1, Decimal("9" * 18), Decimal("1E-18"), True),
        # A missing column is null.
        (left("missing").is_null(), 1, None, True),
    ],
)
def test_values(term: Term, a: Any, b: Any, truth: bool) -> None:
    """semantics 38.6, 38.12 and 38.16"""
    condition = as_condition(term)
    assert matches(condition, {"a": a}, {"b": b}) is truth
    assert matches(Not(condition), {"a": a}, {"b": b}) is not truth


@pytest.mark.parametrize(
    "term",
    [
        (left("a") < 0) & (left("a") * left("a") > 0),
        (left("a") > 0) | (left("a") * left("a") > 0),
        left("a").is_in([left("a"), left("a") + 1]),
        left("a").between(left("a") * 2, 0),
        (left("a") + 1).is_null(),
    ],
)
def test_every_part_is_evaluated(term: Term) -> None:
    """semantics 38.1: whether a number overflows does not depend on the order of parts."""
    assert as_condition(term) is not None
    with pytest.raises(InputError):
        matches(as_condition(term), {"a": LONG - 1}, {})
    assert isinstance(matches(as_condition(term), {"a": 1}, {}), bool)


def test_the_error_names_the_expression_and_the_result() -> None:
    with pytest.raises(InputError) as caught:
        matches(as_condition(left("a") * (right("b") + 1) > 0), {"a": LONG - 1}, {"b": 1})
    assert caught.value.given == f"left.a * (right.b + 1) = {2 * (LONG - 1)}"
    assert caught.value.remedy == "cast a column to DOUBLE or DECIMAL(20,0) before the join"
