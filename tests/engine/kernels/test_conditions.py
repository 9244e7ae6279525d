"""Conditions compiled for Polars: equal to the oracle, and to the table that Spark agrees with."""

import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.engine.kernels.conditions import CompiledCondition, compile_condition
from panewise.errors import InputError
from panewise.oracle.conditions import matches as in_oracle
from panewise.spec.conditions import And, IsNull, Node, Not, Term, as_condition, left, right
from tests.conditions import Pair, conditions, pairs
from tests.engine.condition_cases import CASES, OVERFLOW, Case, column_name, frame_of
from tests.engine.effort import examples

LONG = 2**63


def matches(condition: Node, frame: pl.DataFrame) -> list[bool]:
    found = compile_condition(condition, column_name, frame.schema).matches(frame)
    assert found.dtype == pl.Boolean
    return found.to_list()


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_table(case: Case) -> None:
    """semantics 38.3, 38.4, 38.6 to 38.11 and 38.14 to 38.16"""
    frame = frame_of([(case.row("left"), case.row("right"))])
    if case.truth == OVERFLOW:
        with pytest.raises(
            InputError, match=r"fits in 64 bits \(semantics 38\.14\) \| cast a column to DOUBLE"
        ):
            matches(case.condition, frame)
        return
    assert matches(case.condition, frame) == [case.truth is True]
    assert matches(Not(case.condition), frame) == [case.truth is False]


def of_oracle(condition: Node, pair: Pair) -> bool | None:
    """Returns whether the condition holds for a pair, None if it raises."""
    try:
        return in_oracle(condition, *pair)
    except InputError:
        return None


@examples(1500)
@given(data=st.data())
def test_engine_and_oracle_agree(data: st.DataObject) -> None:
    condition = data.draw(conditions())
    drawn = data.draw(st.lists(pairs(condition), max_size=6))
    wanted = [of_oracle(condition, pair) for pair in drawn]
    if None in wanted:
        with pytest.raises(
            InputError, match=r" \| a result of whole numbers fits in 64 bits \(semantics 38\.14\)"
        ):
            matches(condition, frame_of(drawn))
    fitting = [pair for pair, truth in zip(drawn, wanted, strict=True) if truth is not None]
    assert matches(condition, frame_of(fitting)) == [truth for truth in wanted if truth is not None]


@examples(300)
@given(
    numbers=st.lists(
        st.tuples(st.integers(-LONG, LONG - 1), st.integers(-LONG, LONG - 1)), min_size=1, max_size=4
    )
)
@pytest.mark.parametrize("op", ["+", "-", "*"])
def test_the_error_names_a_result(op: str, numbers: list[tuple[int, int]]) -> None:
    """semantics 38.14: the engine raises exactly if a result does not fit, and names one that does not."""
    compute = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}[op]
    beyond = [compute(a, b) for a, b in numbers if not -LONG <= compute(a, b) < LONG]
    frame = pl.DataFrame(numbers, schema={"left:a": pl.Int64, "right:b": pl.Int64}, orient="row")
    condition = as_condition(compute_terms(op) >= left("a"))
    if not beyond:
        assert matches(condition, frame) == [compute(a, b) >= a for a, b in numbers]
        return
    with pytest.raises(InputError) as caught:
        matches(condition, frame)
    text, result = caught.value.given.split(" = ")
    assert text == f"left.a {op} right.b"
    assert int(result) in beyond


def compute_terms(op: str) -> Term:
    return {"+": left("a") + right("b"), "-": left("a") - right("b"), "*": left("a") * right("b")}[op]


@examples(300)
@given(unscaled=st.integers(-(10**38) + 1, 10**38 - 1), scale=st.integers(0, 38))
def test_a_decimal_is_converted_to_the_nearest_double(unscaled: int, scale: int) -> None:
    """semantics 38.7: it is rounded once."""
    value = Decimal(f"{unscaled}E-{scale}")
    nearest = float(value)
    frame = pl.DataFrame(
        {
            "left:a": [value] * 3,
            "right:b": [math.nextafter(nearest, -1e99), nearest, math.nextafter(nearest, 1e99)],
        },
        schema={"left:a": pl.Decimal(38, scale), "right:b": pl.Float64},
    )
    assert matches(as_condition(left("a") == right("b")), frame) == [False, True, False]


INSTANT = datetime(2024, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("dtype", "low", "high"),
    [
        (pl.Int8(), -128, 127),
        (pl.Int16(), -1, 1),
        (pl.Float32(), -0.5, 0.5),
        (pl.Decimal(38, 38), Decimal("-0." + "9" * 38), Decimal("0." + "9" * 38)),
        (pl.Binary(), b"\x00\x7f", b"\x00\x80"),
        (pl.Datetime("us", "UTC"), INSTANT - timedelta(microseconds=1), INSTANT),
        (pl.Datetime("us"), datetime(1969, 1, 1), datetime(1970, 1, 1)),  # noqa: DTZ001
        (pl.Duration("us"), timedelta(days=-1), timedelta(microseconds=1)),
    ],
    ids=str,
)
def test_other_types(dtype: pl.DataType, low: Any, high: Any) -> None:
    """semantics 38.5, 38.7 and 38.9"""
    frame = pl.DataFrame(
        {"left:a": [low, high, low, None, low], "right:b": [high, low, low, low, None]},
        schema={"left:a": dtype, "right:b": dtype},
    )
    assert matches(as_condition(left("a") < right("b")), frame) == [True, False, False, False, False]
    assert matches(as_condition(left("a") >= right("b")), frame) == [False, True, True, False, False]
    assert matches(as_condition(left("a") == right("b")), frame) == [False, False, True, False, False]
    assert matches(as_condition(~left("a").eq_null_safe(right("b"))), frame) == [
        True,
        True,
        False,
        True,
        True,
    ]


def test_small_numbers_are_computed_in_64_bits() -> None:
    """semantics 38.13: an int and a float are computed as a bigint and a double."""
    frame = pl.DataFrame(
        {"left:a": [127], "right:b": [0.1]}, schema={"left:a": pl.Int8, "right:b": pl.Float32}
    )
    assert matches(as_condition(left("a") * left("a") == 16129), frame) == [True]
    assert matches(as_condition(right("b") * 1 == 0.10000000149011612), frame) == [True]


def test_a_column_without_values() -> None:
    """semantics 38.4: all that is compared or computed with a column of nulls is null."""
    frame = pl.DataFrame({"left:a": [None, None], "right:b": [1, 2]})
    assert frame.schema["left:a"] == pl.Null()
    for term in (left("a") == right("b"), left("a") + right("b") > 1, left("a").is_in([1]), left("a") < 1.5):
        assert matches(as_condition(term), frame) == [False, False]
        assert matches(as_condition(~term), frame) == [False, False]
    assert matches(as_condition(left("a").is_null()), frame) == [True, True]
    assert matches(as_condition(~left("a").eq_null_safe(right("b"))), frame) == [True, True]


def test_whole_numbers_beside_a_literal_timestamp() -> None:
    """semantics 38.12"""
    frame = pl.DataFrame({"left:a": [-1, 0, None]})
    assert matches(as_condition(left("a") < datetime(1970, 1, 1, tzinfo=UTC)), frame) == [True, False, False]


def test_a_nested_column_may_be_null() -> None:
    frame = pl.DataFrame({"left:a": [[1], None]})
    assert matches(IsNull(as_condition(left("a"))), frame) == [False, True]


def test_a_frame_without_rows() -> None:
    frame = pl.DataFrame(schema={"left:a": pl.Int64, "right:b": pl.Decimal(10, 2)})
    condition = as_condition((left("a") * left("a") + 1 > right("b")) & left("a").is_in([1, 2]))
    assert matches(condition, frame) == []


def test_one_compiled_condition_serves_many_frames() -> None:
    frame = pl.DataFrame({"left:a": [1, LONG - 1]})
    compiled = compile_condition(as_condition((left("a") + 1) * 2 > 3), column_name, frame.schema)
    assert isinstance(compiled, CompiledCondition)
    assert compiled.matches(frame.head(1)).to_list() == [True]
    with pytest.raises(InputError, match=rf"left\.a \+ 1 = {LONG} \| "):
        compiled.matches(frame)
    assert compiled.matches(frame.clear()).to_list() == []
    assert frame.columns == ["left:a"]


def test_parts_are_evaluated_in_any_order() -> None:
    """semantics 38.1"""
    frame = pl.DataFrame({"left:a": [LONG - 1]})
    false, overflowing = as_condition(left("a") < 0), as_condition(left("a") * 2 > 0)
    for parts in ((false, overflowing), (overflowing, false)):
        with pytest.raises(InputError):
            matches(And(parts), frame)
