"""Sums of instants and lengths of time that neither wrap around nor fail; the lowest of optional instants."""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT

Instants: TypeAlias = npt.NDArray[np.int64]  # microseconds, row numbers, window numbers or turns


def wide_sum(times: pl.Series, us: int) -> pl.Series:
    """Returns the sums of instants and a length in microseconds, as integers of 128 bits.

    >>> wide_sum(pl.Series([2**63 - 1]), 1).to_list() == [2**63]
    True
    """
    return times.to_frame("time").select(pl.col("time").cast(pl.Int128) + us).to_series()


def shifted(time: pl.Expr, us: int) -> pl.Expr:
    """Returns an instant that is later by a length in microseconds, saturating. The length may be negative.

    >>> pl.select(shifted(pl.lit(2**63 - 1), 1), earlier=shifted(pl.lit(5), -6)).row(0) == (2**63 - 1, -1)
    True
    """
    if us > MAX_INSTANT:
        return shifted(shifted(time, MAX_INSTANT), us - MAX_INSTANT)
    beyond, limit = (
        (time > MAX_INSTANT - us, MAX_INSTANT) if us >= 0 else (time < MIN_INSTANT - us, MIN_INSTANT)
    )
    return pl.when(beyond).then(pl.lit(limit, dtype=pl.Int64)).otherwise(time + us)


def shifted_instants(times: Instants, us: int) -> Instants:
    """Returns instants that are later by a length in microseconds, saturating. The length may be negative.

    >>> shifted_instants(np.array([5, 2**63 - 1]), 1).tolist() == [6, 2**63 - 1]
    True
    """
    if us < 0:
        return np.where(times < MIN_INSTANT - us, MIN_INSTANT, times + us)
    return np.where(times > MAX_INSTANT - us, MAX_INSTANT, times + us)


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
    return wide_sum(times, us).clip(MIN_INSTANT, MAX_INSTANT).cast(pl.Int64)


def lowest(values: Iterable[int | None]) -> int | None:
    """Returns the lowest of the values that are not None; None if there is none."""
    return min((value for value in values if value is not None), default=None)


def lowest_of_known(values: Iterable[int | None]) -> int | None:
    """Returns the lowest value; None if there is none, or if one of them is None, which may be any.

    >>> lowest_of_known([5, 7]), lowest_of_known([5, None])
    (5, None)
    """
    known = [*values]
    return None if None in known else lowest(known)
