"""Bisection of many ranges of one array at once.

Invariant: in each range [low, high) the place that is looked for is one of low to high, and each round
halves the ranges that are still open. Cost: as many rounds as the logarithm of the longest range, each with a
few operations of numpy on the open ranges.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from panewise.engine.kernels.instants import Instants
from panewise.engine.kernels.sorting import Places


def bisect_left(
    values: Instants, low: Places, high: Places, wanted: Instants, *, past_equal: bool = False
) -> Places:
    """Returns the place of the first value that is not below `wanted`, for each range of sorted values.

    A range is [low, high). With `past_equal` it is the first value above `wanted`. If there is none, it is
    `high`.

    >>> bisect_left(np.array([1, 3, 5, 2, 4]), np.array([0, 3]), np.array([3, 5]), np.array([3, 9]))
    array([1, 5])
    """

    def before(which: Places, middle: Places) -> npt.NDArray[np.bool_]:
        at_middle = values[middle]
        return at_middle <= wanted[which] if past_equal else at_middle < wanted[which]

    return first_not(low, high, before)


def first_not(low: Places, high: Places, before: Callable[[Places, Places], npt.NDArray[np.bool_]]) -> Places:
    """Returns the first place of each range that does not pass a test; if all pass, its end.

    In a range [low, high), places that pass come before those that do not. `before` gets the numbers of
    ranges, and a place in each of them.
    """
    low, high = low.copy(), np.maximum(low, high)
    which = np.flatnonzero(low < high)
    while len(which):
        middle = (low[which] + high[which]) >> 1
        passes = before(which, middle)
        low[which[passes]] = middle[passes] + 1
        high[which[~passes]] = middle[~passes]
        which = which[low[which] < high[which]]
    return low
