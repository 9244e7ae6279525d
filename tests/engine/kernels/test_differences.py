"""Differences are compared exactly, as Python does it (semantics 10.4)."""

import math
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.engine.kernels.differences import compared, rises_by_more

AMOUNTS = st.one_of(
    st.integers(0, 2**65),
    st.integers(0, 9),
    st.floats(0, allow_infinity=False),
    st.decimals(0, 10**6, places=3),
    st.just(10**400),
)
LONGS = st.integers(-(2**63), 2**63 - 1) | st.integers(-9, 9)
DIGITS = st.integers(-(10**38) + 1, 10**38 - 1) | st.integers(-99, 99)


def rises(low: Any, high: Any, amount: Any, dtype: pl.DataType) -> bool:
    new, old = (pl.Series([value], dtype=dtype) for value in (high, low))
    return bool(rises_by_more(new, old, amount)[0])


@given(LONGS, LONGS, AMOUNTS)
def test_whole_numbers(one: int, other: int, amount: Any) -> None:
    low, high = sorted((one, other))
    assert rises(low, high, amount, pl.Int64()) == (high - low > amount)


@given(st.floats(allow_nan=False), st.floats(allow_nan=False), AMOUNTS)
def test_doubles(one: float, other: float, amount: Any) -> None:
    low, high = sorted((one, other))
    rise = high - low  # no number, if both are the same infinity
    assert rises(low, high, amount, pl.Float64()) == (not math.isnan(rise) and rise > amount)


@given(DIGITS, DIGITS, AMOUNTS | st.integers(10**38, 2 * 10**38), st.sampled_from([0, 2, 38]))
def test_decimals(one: int, other: int, amount: Any, scale: int) -> None:
    low, high = (Decimal(digits).scaleb(-scale, Context(prec=80)) for digits in sorted((one, other)))
    wanted = Fraction(high) - Fraction(low) > Fraction(amount)
    assert rises(low, high, amount, pl.Decimal(38, scale)) == wanted


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_an_infinite_value_does_not_rise_above_itself(value: float) -> None:
    assert not rises(value, value, 0, pl.Float64())


@pytest.mark.parametrize(
    ("dtype", "found"),
    [
        (pl.Int16(), pl.Int64()),
        (pl.Datetime("us"), pl.Int64()),
        (pl.Float32(), pl.Float64()),
        (pl.Decimal(10, 2), pl.Decimal(10, 2)),
    ],
)
def test_the_type_in_which_values_are_compared(dtype: pl.DataType, found: pl.DataType) -> None:
    assert compared(dtype) == found
