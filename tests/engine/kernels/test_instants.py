"""Sums of instants are exact, or saturate at both ends of time; extremes of optional instants."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panewise.chrono import MAX_INSTANT, MIN_INSTANT, saturating_add
from panewise.engine.kernels.instants import (
    lowest,
    lowest_of_known,
    saturating_sum,
    shifted_instants,
    wide_sum,
)
from panewise.engine.progress.clocks import highest

INSTANTS = st.one_of(
    st.integers(-9, 9), st.integers(MAX_INSTANT - 9, MAX_INSTANT), st.integers(MIN_INSTANT, MIN_INSTANT + 9)
)


@given(st.lists(st.none() | INSTANTS, max_size=4), INSTANTS)
def test_sums(times: list[int | None], us: int) -> None:
    series = pl.Series(times, dtype=pl.Int64())
    assert wide_sum(series, us).to_list() == [None if one is None else one + us for one in times]
    expected = [None if one is None else saturating_add(one, us) for one in times]
    assert saturating_sum(series, us).to_list() == expected


@given(st.lists(INSTANTS, max_size=4), INSTANTS.filter(lambda us: us > MIN_INSTANT))
def test_shifted_instants(times: list[int], us: int) -> None:
    shifted = shifted_instants(np.array(times, dtype=np.int64), us)
    assert (shifted.dtype, shifted.tolist()) == (np.int64, [saturating_add(one, us) for one in times])


@pytest.mark.parametrize(
    ("values", "low", "high", "known"),
    [([], None, None, None), ([None], None, None, None), ([3, None, 0], 0, 3, None), ([3, 0, 5], 0, 5, 0)],
)
def test_extremes(values: list[int | None], low: int | None, high: int | None, known: int | None) -> None:
    assert (lowest(values), highest(values), lowest_of_known(values)) == (low, high, known)
