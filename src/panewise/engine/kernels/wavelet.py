"""Questions about stretches of a row of numbers, each answered at a cost that grows with the logarithm of how many numbers there are.

The numbers are split by their highest bit, each half as it stood, then by the next one, and so on. A stretch of the row is a stretch
of either half, and two counts say where: so one pass over the row for each bit answers all questions at once, and nothing is kept of it.

Source: Claude, Navarro and Ordóñez: The wavelet matrix: an efficient wavelet tree for large alphabets (2015).
"""

from collections.abc import Iterator

import numpy as np

from panewise.engine.kernels.small_frames import Mask
from panewise.engine.kernels.sorting import Places


def smallest(numbers: Places, first: Places, last: Places, skipped: Places) -> Places:
    """The smallest number of each stretch, when so many smaller ones (or equal ones) are left out.

    Args:
        numbers: the row; numbers from 0 on.
        first, last: where each stretch begins and ends, half-open.
        skipped: how many are left out, from 0 on and less than the stretch is long.
    """
    low, high, left = first, last, skipped
    found = np.zeros(len(first), dtype=np.intp)
    for bit, zeros in _levels(numbers):
        low_zeros, high_zeros = zeros[low], zeros[high]
        within = high_zeros - low_zeros
        ones = left >= within
        left = left - within * ones
        low, high = _inside(ones, zeros[-1], low, low_zeros), _inside(ones, zeros[-1], high, high_zeros)
        found |= ones.astype(np.intp) << bit
    return found


def below(numbers: Places, first: Places, last: Places, limit: Places) -> Places:
    """How many numbers of each stretch are less than its limit."""
    low, high = first, last
    found = np.zeros(len(first), dtype=np.intp)
    for bit, zeros in _levels(numbers, int(limit.max(initial=0))):
        low_zeros, high_zeros = zeros[low], zeros[high]
        ones = (limit >> bit & 1).astype(np.bool_)
        found += (high_zeros - low_zeros) * ones
        low, high = _inside(ones, zeros[-1], low, low_zeros), _inside(ones, zeros[-1], high, high_zeros)
    return found


def _levels(numbers: Places, limit: int = 0) -> Iterator[tuple[int, Places]]:
    """The bits from the highest on, each with how many numbers without it come before every place of the row, as it is split by then."""
    greatest = max(limit, int(numbers.max(initial=0)))
    for bit in reversed(range(greatest.bit_length())):
        has = (numbers >> bit & 1).astype(np.bool_)
        zeros = np.zeros(len(numbers) + 1, dtype=numbers.dtype)
        np.cumsum(~has, out=zeros[1:])
        yield bit, zeros
        numbers = np.concatenate([numbers[~has], numbers[has]])


def _inside(ones: Mask, all_zeros: int, place: Places, zeros: Places) -> Places:
    """Where a place of the row lies in the half of the ones, or of the zeros."""
    inside: Places = np.where(ones, all_zeros + place - zeros, zeros)
    return inside
