"""Exact comparison of differences with an amount (semantics 10.4).

A difference is computed in the width of its operands. Invariant: no difference is negative, so a whole number
or a decimal that has wrapped around is still known: as an unsigned number, or by its sign. The amount becomes
the largest number of the type of the values that is not above it, which decides every comparison as the
amount itself does. Cost: a few passes over the columns.
"""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl

from panewise.engine.kernels.small_frames import Mask

Amount = int | float | Decimal
_WIDTH = 1 << 128


def compared(dtype: pl.DataType) -> pl.DataType:
    """Returns the type in which the values of a column are compared: whole numbers, doubles or decimals."""
    if isinstance(dtype, pl.Decimal):
        return dtype
    return pl.Float64() if dtype.is_float() else pl.Int64()


def rises_by_more(new: pl.Series, old: pl.Series, amount: Amount) -> Mask:
    """Returns whether each new value minus the old one is more than the amount, which is 0 or more.

    No new value is below the old one. Both have a type that :func:`compared` returns. The difference is
    exact, or of doubles that of IEEE 754.

    >>> rises_by_more(pl.Series([5, 2**63 - 1]), pl.Series([2, -(2**63)]), 3).tolist()
    [False, True]
    """
    if new.dtype.is_float():
        return _floats(new, old, amount)
    if new.dtype == pl.Int64:
        # No difference is negative, so each fits in 64 bits without a sign, even if the subtraction wraps.
        difference = new.to_numpy().view(np.uint64) - old.to_numpy().view(np.uint64)
        limit = math.floor(amount)
        return difference > np.uint64(limit) if limit < 1 << 64 else np.zeros(len(new), dtype=np.bool_)
    return _decimals(new, old, amount)


def _floats(new: pl.Series, old: pl.Series, amount: Amount) -> Mask:
    limit = _float_up_to(amount)
    with np.errstate(invalid="ignore", over="ignore"):  # the difference of two infinities is not above it
        above: Mask = new.to_numpy() - old.to_numpy() > limit
    return above


def _float_up_to(amount: Amount) -> float:
    """Returns the largest double that is not above the amount.

    Every double is above both or above neither, so a comparison with it is exact.
    """
    try:
        limit = float(amount)
    except OverflowError:
        return math.nextafter(math.inf, 0)
    return limit if limit <= amount else math.nextafter(limit, -math.inf)


def _decimals(new: pl.Series, old: pl.Series, amount: Amount) -> Mask:
    """Compares the digits of decimals, whose difference fits in 128 bits without a sign."""
    assert isinstance(new.dtype, pl.Decimal)
    limit = math.floor(Fraction(amount) * 10**new.dtype.scale)
    if limit >= _WIDTH:
        return np.zeros(len(new), dtype=np.bool_)
    # The difference is not negative. If it exceeds 127 bits it wraps around, and appears as itself - 2^128.
    difference = new.to_physical() - old.to_physical()
    wrapped = difference < 0
    small = limit < _WIDTH // 2
    above: Mask = (
        wrapped | (difference > limit) if small else wrapped & (difference > limit - _WIDTH)
    ).to_numpy()
    return above
