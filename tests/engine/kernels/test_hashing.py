"""Hashes of rows are part of stored states: they are the same in each release."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
import xxhash

from panewise.engine.kernels.hashing import row_hashes

HASHES = {
    "text": (["a", "", "é", None], [0x1206E184AE81C132, 0x8E8030F0B1C4F86F, 0x2ACB71D4F3DD8855]),
    "whole": ([1, -(2**63), 2**63 - 1, None], [0xDCE423FC82C0D5B8, 0x9E6265A28E5C1035, 0xE5D2C2F76C5F0A36]),
    "double": ([0.0, -0.0, float("nan"), None], [0x48218226FF3CD4BF, 0x48218226FF3CD4BF, 0x02509A11745E3D99]),
    "flag": ([True, False, True, None], [0xDCE423FC82C0D5B8, 0x48218226FF3CD4BF, 0xDCE423FC82C0D5B8]),
    "day": (
        [date(2024, 1, 1), date(1969, 12, 31), date(1970, 1, 1), None],
        [0xCC50E1FBDAD79EC7, 0x445018E305810B78, 0x48218226FF3CD4BF],
    ),
    "instant": (
        [
            datetime(2024, 1, 1, tzinfo=UTC),
            datetime(1960, 1, 1, tzinfo=UTC),
            datetime(1970, 1, 1, tzinfo=UTC),
            None,
        ],
        [0x66DB8024965A2E12, 0x2555DFF8542AAB2A, 0x48218226FF3CD4BF],
    ),
    "decimal": (
        [Decimal("1.50"), Decimal("-2.00"), Decimal("0.00"), None],
        [0x1101E3E9FEBDAFDE, 0x92AB5AF32B146F54, 0x0B1D167676022CE7],
    ),
    "bytes": ([b"\x00", b"", b"a", None], [0x56A9814B3C129165, 0x8E8030F0B1C4F86F, 0x1206E184AE81C132]),
}
NULL_HASH = 0xE220A8397B1DCDAF
TYPES: dict[str, Any] = {"instant": pl.Datetime("us", "UTC"), "decimal": pl.Decimal(10, 2)}
HASHES_OF_THREE = [0xF750F9DCBFAC9307, 0xA4D6C4A2D0DB1935, 0x609C7DA1B8A0E46D, 0x283CCA1B6853754A]


@pytest.fixture
def values() -> pl.DataFrame:
    return pl.DataFrame(
        {name: pl.Series(given, dtype=TYPES.get(name)) for name, (given, _) in HASHES.items()}
    )


@pytest.mark.parametrize("name", sorted(HASHES))
def test_hashes_never_change(name: str, values: pl.DataFrame) -> None:
    """All 64 bits are compared: they decide the order of rows in runs, and some of them the shards."""
    assert row_hashes(values, [name]).tolist() == [*HASHES[name][1], NULL_HASH]


def test_hashes_of_several_columns_never_change(values: pl.DataFrame) -> None:
    assert row_hashes(values, ["text", "whole", "instant"]).tolist() == HASHES_OF_THREE


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int16, pl.Int32])
def test_the_width_of_a_whole_number_does_not_matter(dtype: type[pl.DataType]) -> None:
    wide = pl.DataFrame({"n": [1, -1, None]})
    assert np.array_equal(row_hashes(wide, ["n"]), row_hashes(wide.cast(dtype), ["n"]))


def test_hashes_are_what_the_document_says(values: pl.DataFrame) -> None:
    """The expected hash is computed as docs/state-format.md describes it, in Python integers."""
    by_hand = _documented_hash([_documented(1), _documented(b"a")])
    assert row_hashes(pl.DataFrame({"n": [1], "t": ["a"]}), ["n", "t"]).tolist() == [by_hand]


def _documented(value: int | bytes) -> int:
    bits = value if isinstance(value, int) else xxhash.xxh64_intdigest(value, seed=0)
    return _mixed(bits + 0x9E3779B97F4A7C15)


def _documented_hash(hashes: list[int]) -> int:
    total = 0
    for one in hashes:
        total = _mixed(31 * total + one)
    return total


def _mixed(value: int) -> int:
    """Returns the value after the finalizer of SplitMix64."""
    value %= 2**64
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % 2**64
    return value ^ (value >> 31)
