"""Sums of instants and lengths of time that neither wrap around nor fail."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT

Instants: TypeAlias = npt.NDArray[np.int64]  # microseconds, row numbers, window numbers or turns


def exact_sum(times: pl.Series, us: int) -> pl.Series:
    """Returns the sums of instants and a length in microseconds, as integers of 128 bits.

    >>> exact_sum(pl.Series([2**63 - 1]), 1).to_list() == [2**63]
    True
    """
    return times.to_frame("time").select(pl.col("time").cast(pl.Int128) + us).to_series()


def saturating_sum(times: pl.Series, us: int) -> pl.Series:
    """Returns the sums of instants and a length in microseconds, saturating.

    >>> saturating_sum(pl.Series([5, 2**63 - 1]), 1).to_list() == [6, 2**63 - 1]
    True
    """
    low, high = times.min(), times.max()
    if not isinstance(low, int) or not isinstance(high, int):
        return times
    if low + us >= MIN_INSTANT and high + us <= MAX_INSTANT:
        return times + us
    return exact_sum(times, us).clip(MIN_INSTANT, MAX_INSTANT).cast(pl.Int64)
