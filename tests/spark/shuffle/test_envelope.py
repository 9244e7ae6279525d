"""Tests of the encoding of rows as payloads of envelopes."""

import datetime as dt

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.spark.shuffle.envelope import decode, encode
from tests.engine.effort import FEW

ROWS = 9_000  # of one column of 64 bits: enough for delta encoding
_WHOLE = st.one_of(st.integers(-(2**63), 2**63 - 1), st.integers(-300, 300), st.none())


def _repeated(values: list[int | None], dtype: pl.DataType) -> pl.Series:
    return pl.Series("n", [values[at % len(values)] for at in range(ROWS)], dtype=pl.Int64).cast(dtype)


@FEW
@given(
    st.lists(_WHOLE, min_size=1, max_size=5),
    st.sampled_from([pl.Int64(), pl.Datetime("us", "UTC"), pl.Duration("us")]),
)
def test_a_frame_comes_back_as_it_was(values: list[int | None], dtype: pl.DataType) -> None:
    frame = pl.DataFrame([_repeated(values, dtype), pl.Series("text", ["é", None, ""] * (ROWS // 3))])
    told = decode(encode(frame))
    assert told.schema == frame.schema
    assert told.equals(frame)


@pytest.mark.parametrize("distance", [2**bits + more for bits in (8, 16, 32) for more in (-1, 0)])
def test_the_largest_distance_of_each_width(distance: int) -> None:
    frame = _repeated([-7, distance - 7], pl.Int64()).to_frame()
    assert decode(encode(frame)).equals(frame)


def test_a_short_frame_comes_back_as_it_was() -> None:
    frame = pl.DataFrame({"at": [dt.datetime(1969, 12, 31, tzinfo=dt.UTC), None], "n": [-(2**63), 2**63 - 1]})
    assert decode(encode(frame)).equals(frame)
    assert decode(encode(frame.clear())).equals(frame.clear())


def test_a_column_with_one_value_travels_once() -> None:
    for rows in (1, ROWS):
        frame = pl.DataFrame({"n": [at % 7 for at in range(rows)]})
        sent = encode(frame, {"place": -(2**62)})
        assert decode(sent).equals(frame.with_columns(pl.lit(-(2**62), dtype=pl.Int64).alias("place")))
        assert len(sent) < len(encode(frame)) + 1_000


def test_distances_travel_in_as_few_bytes_as_they_need() -> None:
    near, far = (
        pl.Series("n", [2**62 + at % 256 for at in range(ROWS)]),
        pl.Series("n", [at % 2 * 2**40 for at in range(ROWS)]),
    )
    assert len(encode(near.to_frame())) < ROWS * 1.2
    assert len(encode(far.to_frame())) > ROWS * 8
