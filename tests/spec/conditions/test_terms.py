"""Conditions as users write them: the nodes that operators build, and what is refused at once."""

from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from panewise.errors import SpecError
from panewise.spec.conditions import (
    And,
    Arithmetic,
    Between,
    Column,
    Comparison,
    In,
    IsNull,
    Literal,
    Node,
    Not,
    Or,
    Term,
    as_condition,
    columns_of_side,
    left,
    right,
)
from panewise.spec.renaming import renamed_value

A, B, C = Column("left", "a"), Column("right", "b"), Column("right", "c")
ONE, TWO = Literal("bigint", 1), Literal("bigint", 2)
SMALLER = Comparison("<", A, B)


@pytest.mark.parametrize(
    ("term", "node"),
    [
        (left("a") == right("b"), Comparison("=", A, B)),
        (left("a") != right("b"), Comparison("!=", A, B)),
        (left("a") < right("b"), SMALLER),
        (left("a") <= right("b"), Comparison("<=", A, B)),
        (left("a") > right("b"), Comparison(">", A, B)),
        (left("a") >= 1, Comparison(">=", A, ONE)),
        (1 < left("a"), Comparison(">", A, ONE)),  # noqa: SIM300
        (1 == left("a"), Comparison("=", A, ONE)),  # noqa: SIM300
        (left("a").eq_null_safe(right("b")), Comparison("<=>", A, B)),
        (left("a").eqNullSafe(None), IsNull(A)),
        (left("a") + 1 <= right("b") * 2, Comparison("<=", Arithmetic("+", A, ONE), Arithmetic("*", B, TWO))),
        (1 + left("a") < 2, Comparison("<", Arithmetic("+", ONE, A), TWO)),
        (2 * left("a") < 2 - right("b"), Comparison("<", Arithmetic("*", TWO, A), Arithmetic("-", TWO, B))),
        (left("a") - 1 > 2, Comparison(">", Arithmetic("-", A, ONE), TWO)),
        (-left("a") > 2, Comparison(">", Arithmetic("-", Literal("bigint", 0), A), TWO)),
        (left("a").is_null() | right("b").isNull(), Or((IsNull(A), IsNull(B)))),
        (left("a").is_not_null() & ~right("b").isNull(), And((Not(IsNull(A)), Not(IsNull(B))))),
        (left("a").isNotNull() & True, And((Not(IsNull(A)), Literal("boolean", True)))),
        (False | left("a").is_null(), Or((Literal("boolean", False), IsNull(A)))),
        (True & left("a"), And((Literal("boolean", True), A))),
        (left("a").between(1, right("b")), Between(A, ONE, B)),
        (left("a").is_in([1, right("b")]), In(A, (ONE, B))),
        (left("a").isin(1, 2), In(A, (ONE, TWO))),
        (left("a").isin([1, 2]), In(A, (ONE, TWO))),
        (left("a").isin(right("b")), In(A, (B,))),
        (left("a").isin({2, 1}), In(A, (ONE, TWO))),
        (left("`a`") == right("b"), Comparison("=", A, B)),
    ],
    ids=repr,
)
def test_operators_build_nodes(term: Term, node: Node) -> None:
    assert as_condition(term) == node
    assert hash(as_condition(term)) == hash(node)
    assert as_condition(node) is node


def test_chains_of_and_and_or_are_one_node() -> None:
    a, b, c = left("a").is_null(), right("b").is_null(), right("c").is_null()
    assert as_condition(a & b & c) == as_condition(a & (b & c)) == And((IsNull(A), IsNull(B), IsNull(C)))
    assert as_condition(a | (b | c)) == Or((IsNull(A), IsNull(B), IsNull(C)))
    assert as_condition((a | b) & c) == And((Or((IsNull(A), IsNull(B))), IsNull(C)))


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        (True, Literal("boolean", True)),
        (7, Literal("bigint", 7)),
        (np.int64(7), Literal("bigint", 7)),
        (-(2**63), Literal("bigint", -(2**63))),
        (0.5, Literal("double", 0.5)),
        (np.float64(0.5), Literal("double", 0.5)),
        (float("nan"), Literal("double", "NaN")),
        (float("-inf"), Literal("double", "-Infinity")),
        ("é", Literal("string", "é")),
        (Decimal("1.50"), Literal("decimal(3,2)", "1.50")),
        (Decimal("-0.05"), Literal("decimal(2,2)", "-0.05")),
        (Decimal("1E+3"), Literal("decimal(4,0)", "1000")),
        (Decimal("-0.00"), Literal("decimal(2,2)", "0.00")),
        (Decimal("0E+5"), Literal("decimal(1,0)", "0")),
        (Decimal("9" * 38), Literal("decimal(38,0)", "9" * 38)),
        (date(2024, 2, 29), Literal("date", "2024-02-29")),
        (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), Literal("timestamp", 1_000_000)),
    ],
    ids=repr,
)
def test_literals(value: Any, literal: Literal) -> None:
    """semantics 38.2"""
    node = as_condition(left("a") == value)
    assert node == Comparison("=", A, literal)
    assert type(node.second.value) is type(literal.value)  # type: ignore[union-attr]


INSTANT = (
    "an instant is exact and has a time zone | give a datetime with a time zone, or an int of microseconds "
    "since 1970-01-01 UTC"
)
DECIMAL = "a decimal is finite and has up to 38 digits | give a shorter decimal, or a float"
ARITHMETIC = (
    "the arithmetic of conditions is + - * (semantics 38.13) | compute it as a column before the join"
)
TRUTH = (
    "a condition has no truth value before there are rows, which Python's and, or, not, in and a < b < c "
    "need | write & for and, | for or, ~ for not, each comparison in parentheses, and .between() or .is_in()"
)
KINDS = "a literal is a bool, int, float, str, Decimal, date, or a datetime with a time zone"


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: left("a") == right("b") and right("c") == 1, f"bool(left.a = right.b) | {TRUTH}"),
        (lambda: 1 < left("a") < 2, f"bool(left.a > 1) | {TRUTH}"),
        (lambda: not left("a"), f"bool(left.a) | {TRUTH}"),
        (lambda: left("a") in [right("b")], f"bool(right.b = left.a) | {TRUTH}"),
        (lambda: left("a") / 2, f"/ with left.a | {ARITHMETIC}"),
        (lambda: 2 % left("a"), f"% with left.a | {ARITHMETIC}"),
        (lambda: left("a") // 2, f"// with left.a | {ARITHMETIC}"),
        (lambda: left("a") ** 2, f"** with left.a | {ARITHMETIC}"),
        (
            lambda: left("a") == None,  # noqa: E711
            (
                "None in a condition | a comparison or a sum with null is null, and matches nothing | test "
                "for null with .is_null()"
            ),
        ),
        (
            lambda: left("a") == 2**63,
            "literal=9223372036854775808 | a whole number fits in 64 bits | give a Decimal or a float",
        ),
        (lambda: left("a") == Decimal("NaN"), f"literal=Decimal('NaN') | {DECIMAL}"),
        (lambda: left("a") == Decimal("1E38"), f"literal=Decimal('1E+38') | {DECIMAL}"),
        (
            lambda: left("a") == "\ud800",
            "literal='\\ud800' | a string contains characters that UTF-8 can encode | leave surrogates out",
        ),
        (
            lambda: left("a") == datetime(2024, 1, 1),  # noqa: DTZ001
            f"literal=datetime.datetime(2024, 1, 1, 0, 0) | {INSTANT}",
        ),
        (
            lambda: left("a") == b"x",
            f"literal=b'x' | {KINDS} | give one of these, or a column: left(name), right(name)",
        ),
        (
            lambda: left("a") == Fraction(1),
            f"literal=Fraction(1, 1) | {KINDS} | give one of these, or a column: left(name), right(name)",
        ),
        (
            lambda: left("a").is_in("abc"),
            "is_in='abc' | is_in is a list, in order | give a list: is_in=[...]",
        ),
        (lambda: left("a").is_in([]), "IN of 0 | IN takes 1 or more | add the missing ones, or leave it out"),
        (lambda: left(""), "left('') | a column has a name | give the column's name"),
        (lambda: right(1), "right(1) | a column has a name | give the column's name"),  # type: ignore[arg-type]
        (lambda: Column("both", "a"), "side='both' | side is one of left, right | give one of these"),  # type: ignore[arg-type]
        (
            lambda: Comparison("==", A, B),
            "op='==' | op is one of =, !=, <, <=, >, >=, <=> | give one of these",
        ),
        (lambda: Arithmetic("/", A, B), "op='/' | op is one of +, -, * | give one of these"),
        (lambda: And((A,)), "AND of 1 | AND takes 2 or more | add the missing ones, or leave it out"),
        (lambda: Or(()), "OR of 0 | OR takes 2 or more | add the missing ones, or leave it out"),
        (
            lambda: Literal("bigint", "1"),
            (
                "literal type='bigint', value='1' | "
                "the types of literals are bigint, boolean, date, decimal(p,s), "
                "double, string, timestamp | give a type, and a value of it"
            ),
        ),
    ],
)
def test_what_is_refused_at_once(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(SpecError) as caught:
        build()
    assert caught.value.args[0] == message


COMPARES = "a condition compares columns of both sides | write one such as left('amount') > right('limit')"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("a > b", f"condition='a > b' | {COMPARES}"),
        (True, f"condition=True | {COMPARES}"),
        (
            Comparison("=", ONE, TWO),
            "condition 1 = 2 | a condition reads a column (semantics 38.1) | leave it out, or compare",
        ),
        (
            left("a") + 1.5,
            "left.a + 1.5: double | a condition, and each part of AND, OR and NOT, is Boolean",
        ),
        (
            left("a") * right("b"),
            "left.a * right.b: number | a condition, and each part of AND, OR and NOT, is Boolean",
        ),
        (
            left("a") + right("b") == "x",
            "left.a + right.b = 'x': number and string | a comparison is of two numbers",
        ),
        (
            (left("a") == 1) & (right("b") == "x") & 3,
            "3 in left.a = 1 AND right.b = 'x' AND 3: bigint | a condition, and each part of AND, OR and NOT",
        ),
        (
            left("a") + "x" > 1,
            "left.a + 'x': string | arithmetic is of whole numbers, doubles and decimals",
        ),
        (
            left("a").between(1, "x").is_null() | (right("b").is_in([1, "x"]) == (left("a") + "x" == 1)),
            "left.a + 'x': string | arithmetic",
        ),
        (
            Comparison("<", And((IsNull(A), IsNull(B))), Literal("string", "x")),
            "(left.a IS NULL AND right.b IS NULL) < 'x': boolean and string | a comparison is of two numbers",
        ),
    ],
)
def test_what_needs_no_column_types_is_checked(value: Any, message: str) -> None:
    """semantics 38.1 and 38.5"""
    with pytest.raises(SpecError) as caught:
        as_condition(value)
    assert str(caught.value).startswith(message)
    assert caught.value.remedy


def test_depth_is_limited() -> None:
    term = left("a")
    for _ in range(98):
        term = term + 1
    assert as_condition(term > 1)
    with pytest.raises(
        SpecError, match=r"a condition 101 deep \| a condition is nested up to 100 deep \| comp"
    ):
        as_condition(term + 1 > 1)


def test_a_term_shows_its_text_and_has_no_hash() -> None:
    assert repr(left("a") + 1 <= right("b")) == "<Term left.a + 1 <= right.b>"
    with pytest.raises(TypeError, match="unhashable"):
        hash(left("a"))


def test_columns_by_side() -> None:
    term = (
        (left("a") + left("b") > right("a"))
        & right("c").is_in([left("a"), right("d")])
        & ~left("e").between(1, 2)
    )
    assert columns_of_side(as_condition(term), "left") == ("a", "b", "e")
    assert columns_of_side(as_condition(term), "right") == ("a", "c", "d")


def test_columns_are_renamed_on_one_side() -> None:
    def build(a: str, b: str) -> Node:
        return as_condition(
            ((left(a) + left(b) > right("a")) | right("c").is_in([left(a), 1]))
            & ~(left(b).between(right("a"), 2) & left("z").is_null())
        )

    assert renamed_value(build("a", "b"), "left", {"a": "b", "b": "x", "c": "y"}) == build("b", "x")
    assert renamed_value(build("a", "b"), "right", {}) == build("a", "b")
