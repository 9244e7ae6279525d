"""Column types of conditions: what is compared and computed, what is refused, and how decimals grow."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from panewise.errors import SpecError
from panewise.spec.column_types import Type
from panewise.spec.conditions import Term, as_condition, check_condition, left, right

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TYPES = {
    name: Type(kind)
    for name, kind in {
        "n": "bigint",
        "i": "int",
        "tiny": "tinyint",
        "x": "double",
        "r": "float",
        "d": "decimal(10,2)",
        "d18": "decimal(18,6)",
        "d36": "decimal(36,0)",
        "d38": "decimal(38,10)",
        "s": "string",
        "ci": "string collate UTF8_LCASE",
        "o": "boolean",
        "t": "timestamp",
        "ntz": "timestamp_ntz",
        "w": "date",
        "b": "binary",
        "g": "interval day to second",
        "months": "interval year to month",
        "list": "array<bigint>",
        "none": "void",
    }.items()
}


def check(term: Term) -> None:
    check_condition(as_condition(term), TYPES, TYPES)


@pytest.mark.parametrize(
    "term",
    [
        left("n") == right("i"),
        left("n") < right("x"),
        left("r") >= right("d38"),
        left("d") != 1,
        left("tiny") == 0.5,
        left("x") == Decimal("1.5"),
        left("s") < right("s"),
        left("s").is_in(["a", right("s")]),
        left("o") == right("o"),
        left("o") == (left("n") == 1),
        left("o") & ~right("o") | True,
        left("t") > right("t"),
        left("t").between(EPOCH, right("t")),
        left("n") > EPOCH,
        left("i").is_in([EPOCH]),
        left("ntz") <= right("ntz"),
        left("w") == date(2024, 1, 1),
        left("b") == right("b"),
        left("g") < right("g"),
        left("list").is_null(),
        left("months").is_null(),
        left("none") == right("s"),
        left("none") + 1 < 2,
        left("none"),
        left("unknown") + right("n") < right("unknown") * 2,
        left("unknown") == "x",
        left("unknown") + 1 > EPOCH,
        left("unknown") | right("unknown"),
        left("n") + right("i") * 2 - right("tiny") > right("d38"),
        left("x") * right("d38") > 1,
        left("d") * right("d") < 1,
        left("d18") * right("d18") < 1,
        left("d") + right("d18") < 1,
        left("d36") + right("tiny") < 1,
        left("d36") * 1 > 0,
        left("n") * right("d") < 1,
        left("d") * Decimal("1.05") > right("d18"),
    ],
    ids=repr,
)
def test_what_fits(term: Term) -> None:
    """semantics 38.5, 38.9, 38.12 and 38.13"""
    check(term)


COMPARED = "a comparison is of two numbers, or of two values of one type (semantics 38.5)"
CAST = "cast one of them before the join"
SIMPLE = "a comparison is of simple values that have an order (semantics 38.5)"
BYTES = "strings are compared by their bytes, not by a collation (semantics 24.21)"
LOWERED = "cast the column to STRING, or compare SF.lower(column).cast('string')"
FIELDS = "compare its fields, as columns of their own"
BOOLEAN = (
    "a condition, and each part of AND, OR and NOT, is Boolean (semantics 38.5) | compare it with a value"
)
NUMBERS = (
    "arithmetic is of whole numbers, doubles and decimals (semantics 38.13) | compute it as a column before "
    "the join"
)
DIGITS = (
    "a result of decimals is exact, and has at most 38 digits (semantics 38.16) | cast a column to a decimal "
    "of fewer digits, or to DOUBLE, before the join"
)


@pytest.mark.parametrize(
    ("term", "message"),
    [
        (left("s") < right("n"), f"left.s < right.n: string and bigint | {COMPARED} | {CAST}"),
        (left("n") == "1", f"left.n = '1': bigint and string | {COMPARED} | {CAST}"),
        (left("o") == 1, f"left.o = 1: boolean and bigint | {COMPARED} | {CAST}"),
        (left("t") > right("ntz"), f"left.t > right.ntz: timestamp and timestamp_ntz | {COMPARED} | {CAST}"),
        (left("t") > right("n"), f"left.t > right.n: timestamp and bigint | {COMPARED} | {CAST}"),
        (left("t") > right("w"), f"left.t > right.w: timestamp and date | {COMPARED} | {CAST}"),
        (
            left("x") > EPOCH,
            f"left.x > TIMESTAMP '1970-01-01 00:00:00Z': double and timestamp | {COMPARED} | {CAST}",
        ),
        (
            left("n").between(1, right("s")),
            f"left.n BETWEEN 1 AND right.s: bigint and string | {COMPARED} | {CAST}",
        ),
        (left("s").is_in(["a", 1]), f"left.s IN ('a', 1): string and bigint | {COMPARED} | {CAST}"),
        (left("list") == right("list"), f"left.list = right.list: array<bigint> | {SIMPLE} | {FIELDS}"),
        (left("list") == right("unknown"), f"left.list = right.unknown: array<bigint> | {SIMPLE} | {FIELDS}"),
        (
            left("months") > right("months"),
            f"left.months > right.months: interval year to month | {SIMPLE} | {FIELDS}",
        ),
        (left("ci") == "a", f"left.ci = 'a': string collate UTF8_LCASE | {BYTES} | {LOWERED}"),
        (left("s") < right("ci"), f"left.s < right.ci: string collate UTF8_LCASE | {BYTES} | {LOWERED}"),
        (left("n"), f"left.n: bigint | {BOOLEAN}"),
        (~left("s"), f"left.s in NOT left.s: string | {BOOLEAN}"),
        (left("o") & right("n"), f"right.n in left.o AND right.n: bigint | {BOOLEAN}"),
        ((left("o") | right("x")).is_null(), f"right.x in left.o OR right.x: double | {BOOLEAN}"),
        (left("t") + 1 > right("t"), f"left.t + 1: timestamp | {NUMBERS}"),
        (left("unknown") * right("o") > 1, f"left.unknown * right.o: boolean | {NUMBERS}"),
        (
            left("d38") + right("n") > 1,
            f"left.d38 + right.n: decimal(38,10) + bigint has 39 digits | {DIGITS}",
        ),
        (
            left("d18") * right("n") > left("d36") * right("tiny"),
            f"left.d18 * right.n: decimal(18,6) * bigint has 39 digits | {DIGITS}",
        ),
        (
            left("d") * right("d") * right("d") * right("d") > 1,
            "left.d * right.d * right.d * right.d: decimal(32,6) * decimal(10,2) has 43 digits | " + DIGITS,
        ),
    ],
    ids=repr,
)
def test_what_is_refused(term: Term, message: str) -> None:
    """semantics 38.5, 38.9, 38.12, 38.13 and 38.16"""
    with pytest.raises(SpecError) as caught:
        check(term)
    assert caught.value.args[0] == message
