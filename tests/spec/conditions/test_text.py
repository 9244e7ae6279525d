"""Conditions as text in the form of SQL: the fewest parentheses that keep the meaning."""

import sys
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from panewise.spec.conditions import Column, Literal, Term, left, right, sql_text

a, b, c = left("a"), right("b"), right("c")


@pytest.mark.parametrize(
    ("term", "text"),
    [
        (
            (left("amount") > right("limit")) & ~c.is_null(),
            "left.amount > right.limit AND right.c IS NOT NULL",
        ),
        ((a == 1) | (b == 2) & (c == 3), "left.a = 1 OR right.b = 2 AND right.c = 3"),
        (((a == 1) | (b == 2)) & (c == 3), "(left.a = 1 OR right.b = 2) AND right.c = 3"),
        (~((a == 1) & (b == 2)), "NOT (left.a = 1 AND right.b = 2)"),
        (~(a == 1) & ~~b, "NOT left.a = 1 AND NOT NOT right.b"),
        (~(a == 1) == b, "(NOT left.a = 1) = right.b"),
        ((a == 1) == (b == 2), "(left.a = 1) = (right.b = 2)"),
        ((a == 1).is_null(), "(left.a = 1) IS NULL"),
        (((a == 1) & b).is_not_null() | c, "(left.a = 1 AND right.b) IS NOT NULL OR right.c"),
        (a.is_not_null() == c, "(left.a IS NOT NULL) = right.c"),
        (a + b * 2 - 1 < 0, "left.a + right.b * 2 - 1 < 0"),
        ((a + b) * 2 - (1 - c) < 0, "(left.a + right.b) * 2 - (1 - right.c) < 0"),
        (a * (b * c) >= -1, "left.a * (right.b * right.c) >= -1"),
        (
            a.between(b + 1, 5) & ~a.between(1, 2),
            "left.a BETWEEN right.b + 1 AND 5 AND NOT left.a BETWEEN 1 AND 2",
        ),
        (a.is_in([1, b]), "left.a IN (1, right.b)"),
        (a.eq_null_safe(b), "left.a <=> right.b"),
        (left("odd `name`") != right("b.c"), "left.`odd ``name``` != right.`b.c`"),
        (a == "it's", "left.a = 'it''s'"),
        (a == Decimal("1.50"), "left.a = 1.50"),
        (a & True | False, "left.a AND TRUE OR FALSE"),
        (a.is_in([0.5, float("nan"), float("-inf")]), "left.a IN (0.5, DOUBLE 'NaN', DOUBLE '-Infinity')"),
        (a == date(2024, 2, 29), "left.a = DATE '2024-02-29'"),
        (
            a < datetime(2024, 1, 2, 3, 4, 5, 600, tzinfo=UTC),
            "left.a < TIMESTAMP '2024-01-02 03:04:05.000600Z'",
        ),
        (Term(Literal("timestamp", 2**63 - 1)) > a, f"TIMESTAMP_MICROS({sys.maxsize}) > left.a"),
    ],
    ids=repr,
)
def test_text(term: Term, text: str) -> None:
    assert sql_text(term.node) == text


def test_a_column_alone() -> None:
    assert sql_text(Column("right", "é")) == "right.é"
