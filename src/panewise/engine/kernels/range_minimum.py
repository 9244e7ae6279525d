"""The place of the lowest value in many ranges of one array.

A range is covered by two ranges of the largest power of two that fits. Invariant: at a level, an array has
for each place that of the lowest value in the range of this power that starts there. Cost: a pass
over the values for each power of two up to the longest range, and a constant time for each range. Only one
level is in memory.
"""

import numpy as np
import numpy.typing as npt

from panewise.engine.kernels.sorting import Places


def lowest_places(values: npt.NDArray[np.int64], starts: Places, lengths: Places) -> Places:
    """Returns the place of the lowest value of each range. No range is empty, and no value occurs twice.

    >>> lowest_places(np.array([5, 3, 4, 1]), np.array([0, 2]), np.array([3, 1]))
    array([1, 2])
    """
    levels = np.frexp(lengths)[1] - 1
    lowest_of_ranges, lowest, width = np.empty(len(starts), dtype=np.intp), np.arange(len(values)), 1
    for level in range(int(levels.max(initial=-1)) + 1):
        if level:
            lowest = _lower(values, lowest[:-width], lowest[width:])
            width *= 2
        at_level = np.flatnonzero(levels == level)
        ends = starts[at_level] + lengths[at_level] - width
        lowest_of_ranges[at_level] = _lower(values, lowest[starts[at_level]], lowest[ends])
    return lowest_of_ranges


def _lower(values: npt.NDArray[np.int64], first: Places, other: Places) -> Places:
    return np.where(values[other] < values[first], other, first)
