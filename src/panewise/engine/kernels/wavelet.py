"""Queries on many ranges of a sequence of numbers: the k-th smallest number, and the count below a limit.

The numbers are split stably by their highest bit, then by the next bit, and so on. Invariant: after each
split, the zeros of a range are contiguous, and so are its ones. Two prefix counts give their bounds. So one
pass over the sequence for each bit answers all queries at once, and no index is stored.

n numbers of b bits and q queries cost b passes over n numbers and q bounds. Ranks have as many bits as the
logarithm of their number.

Source: Claude, Navarro and Ordóñez: The wavelet matrix: an efficient wavelet tree for large alphabets (2015).
"""

from collections.abc import Iterator

import numpy as np

from panewise.engine.kernels.small_frames import Mask
from panewise.engine.kernels.sorting import Places


def smallest(numbers: Places, first: Places, last: Places, skipped: Places) -> Places:
    """Returns the number at a given place of each range, as if the range were sorted.

    Args:
        numbers: the sequence; whole numbers from 0 on.
        first, last: the bounds of each range, half-open.
        skipped: the place in the sorted range, from 0 on and less than the length of the range.
    """
    low, high, left = first, last, skipped
    numbers_of_ranges = np.zeros(len(first), dtype=np.intp)
    for bit, zeros in _levels(numbers):
        low_zeros, high_zeros = zeros[low], zeros[high]
        within = high_zeros - low_zeros
        # The zeros of a range are its smaller numbers. If there are not enough of them, the wanted number is
        # among the ones, and all zeros are skipped.
        ones = left >= within
        left = left - within * ones
        low, high = _inside(ones, zeros[-1], low, low_zeros), _inside(ones, zeros[-1], high, high_zeros)
        numbers_of_ranges |= ones.astype(np.intp) << bit
    return numbers_of_ranges


def below(numbers: Places, first: Places, last: Places, limit: Places) -> Places:
    """Returns how many numbers of each range are less than the limit of the range."""
    low, high = first, last
    counts = np.zeros(len(first), dtype=np.intp)
    for bit, zeros in _levels(numbers, int(limit.max(initial=0))):
        low_zeros, high_zeros = zeros[low], zeros[high]
        # Where the limit has a 1, the numbers with a 0 that are equal so far are below the limit.
        ones = (limit >> bit & 1).astype(np.bool_)
        counts += (high_zeros - low_zeros) * ones
        low, high = _inside(ones, zeros[-1], low, low_zeros), _inside(ones, zeros[-1], high, high_zeros)
    return counts


def _levels(numbers: Places, limit: int = 0) -> Iterator[tuple[int, Places]]:
    """Yields each bit, the highest first, with prefix counts of the numbers in which it is 0.

    Entry i counts them among the first i numbers of the sequence, which the higher bits have split already.
    """
    greatest = max(limit, int(numbers.max(initial=0)))
    for bit in reversed(range(greatest.bit_length())):
        has = (numbers >> bit & 1).astype(np.bool_)
        zeros = np.zeros(len(numbers) + 1, dtype=numbers.dtype)
        np.cumsum(~has, out=zeros[1:])
        yield bit, zeros
        numbers = np.concatenate([numbers[~has], numbers[has]])


def _inside(ones: Mask, all_zeros: int, place: Places, zeros: Places) -> Places:
    """Returns where a bound of a range lies after the split, among the ones or among the zeros."""
    return np.where(ones, all_zeros + place - zeros, zeros)
