"""Sums of instants are exact, or saturate at both ends of time."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from panewise.chrono import MAX_INSTANT, MIN_INSTANT, saturating_add
from panewise.engine.kernels.instants import saturating_sum, wide_sum

INSTANTS = st.one_of(
    st.integers(-9, 9), st.integers(MAX_INSTANT - 9, MAX_INSTANT), st.integers(MIN_INSTANT, MIN_INSTANT + 9)
)


@given(st.lists(st.none() | INSTANTS, max_size=4), INSTANTS)
def test_sums(times: list[int | None], us: int) -> None:
    series = pl.Series(times, dtype=pl.Int64())
    assert wide_sum(series, us).to_list() == [None if one is None else one + us for one in times]
    expected = [None if one is None else saturating_add(one, us) for one in times]
    assert saturating_sum(series, us).to_list() == expected
