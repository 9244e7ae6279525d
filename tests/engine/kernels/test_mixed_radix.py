"""Several columns of whole numbers as one."""

from typing import TypeAlias

import polars as pl
import pytest

from panewise.engine.kernels.mixed_radix import MixedRadix
from panewise.engine.kernels.small_frames import grouped

Numbers: TypeAlias = list[int | None]
ROWS = 20_000  # so many that `grouped` uses a code
LEAST, MOST = -(2**63), 2**63 - 1
SUMS = [pl.len().alias("n"), pl.col("v").sum().alias("s")]


def frame(k: Numbers, t: Numbers, dtype: pl.DataType) -> pl.DataFrame:
    columns = {"k": (k * ROWS)[:ROWS], "t": (t * ROWS)[:ROWS], "v": range(ROWS)}
    return pl.DataFrame(columns, schema={"k": dtype, "t": pl.Int64(), "v": pl.Int64()})


@pytest.mark.parametrize(
    ("k", "t", "dtype"),
    [
        ([3, -1, 7, 7, 0], [60, 60, -120], pl.Int64()),
        ([LEAST, LEAST + 9], [5, 6, 7], pl.Int64()),
        ([MOST, MOST - 9], [MOST, MOST - 1, MOST - 2], pl.Int64()),
        ([255, 0, 1], [1], pl.UInt8()),
        ([127, -128], [0, 0, 1], pl.Int8()),
        ([2**63 - 1, 0], [0], pl.UInt64()),
    ],
)
def test_groups_are_those_of_the_columns(k: Numbers, t: Numbers, dtype: pl.DataType) -> None:
    rows = frame(k, t, dtype)
    expected = rows.group_by("k", "t", maintain_order=True).agg(SUMS)
    groups = grouped(rows, ["k", "t"], SUMS)
    assert groups.equals(expected)
    assert groups.schema == expected.schema


@pytest.mark.parametrize(
    ("k", "t", "dtype"),
    [
        ([LEAST, MOST], [0], pl.Int64()),  # the range of a column
        ([0, 2**31], [0, 2**31], pl.Int64()),  # the range of the code
        ([2**63, 2**63 + 1], [0], pl.UInt64()),  # a number beyond 64 bits with a sign
        ([1, None], [0], pl.Int64()),
        ([1], [None, 0], pl.Int64()),
    ],
)
def test_columns_without_a_code(k: Numbers, t: Numbers, dtype: pl.DataType) -> None:
    rows = frame(k, t, dtype)
    assert MixedRadix.fitting(rows, ["k", "t"]) is None
    groups = grouped(rows, ["k", "t"], SUMS)
    assert groups.equals(rows.group_by("k", "t", maintain_order=True).agg(SUMS))


def test_other_columns_have_no_code() -> None:
    rows = frame([1, 2], [3], pl.Int64())
    assert MixedRadix.fitting(rows, ["k"]) is None
    assert MixedRadix.fitting(rows.with_columns(pl.col("k").cast(pl.String)), ["k", "t"]) is None


def test_digits_are_the_columns() -> None:
    rows = frame([3, -1, 7], [60, -120], pl.Int64())
    numbers = MixedRadix.fitting(rows, ["k", "t", "v"])
    assert numbers is not None
    codes = rows.select(code=numbers.code)
    assert codes["code"].n_unique() == ROWS
    assert codes.select(numbers.digits(pl.col("code"))).equals(rows)
