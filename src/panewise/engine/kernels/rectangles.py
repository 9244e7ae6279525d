"""Finds the points of a sequence whose place and value both lie in given ranges, for many queries at once.

The places are divided into blocks. A level has blocks of one length, and each level doubles it. A range of
places is the union of at most two blocks of each level. Invariant: at a level the places are sorted by
block, then by value. So the points of a block with a value in the range are a slice, which bisection finds.

A query costs at most two bisections for each bit of its length, and the points that it finds. A level that a
query uses costs one sort of all points. It serves all queries, and is then discarded.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from panewise.engine.kernels.bisection import bisect_left
from panewise.engine.kernels.instants import Instants
from panewise.engine.kernels.sorting import Places, order


@dataclass(frozen=True)
class Level:
    """Slices of the sorted places of one level, each for a different query.

    Attributes:
        places: the places of all points, by block, then by value, then in their order.
        queries: the numbers of queries.
        starts: where the slice of each of them starts in `places`.
        lengths: how long it is, 1 or more.
    """

    places: Places
    queries: Places
    starts: Places
    lengths: Places


def in_rectangles(
    values: Instants, begins: Places, ends: Places, first: Instants, last: Instants
) -> Iterator[Level]:
    """Yields the points that queries find, as slices. Each point of a query is in exactly one of its slices.

    Args:
        values: the values of the points.
        begins, ends: the range of places of each query, half-open.
        first, last: its range of values, which includes both.

    >>> one, two, low, high = (np.array([it]) for it in (1, 4, 5, 6))
    >>> found = in_rectangles(np.array([5, 6, 9, 5, 5]), one, two, low, high)
    >>> sorted(int(p) for it in found for p in it.places[it.starts[0] : it.starts[0] + it.lengths[0]])
    [1, 3]
    """
    queries, by_value, bit = np.arange(len(begins)), order([values]), 0
    while len(queries := queries[begins < ends]):
        begins, ends = (bounds[begins < ends] for bounds in (begins, ends))
        # `begins` and `ends` count blocks of 2^bit places. A bound that is odd does not align with the
        # blocks of the next level. So the outermost block on this side is taken here.
        odd, until_odd = begins & 1 == 1, ends & 1 == 1
        if odd.any() or until_odd.any():
            places = by_value[order([by_value >> bit])]
            sorted_values = values[places]
            for chosen, blocks in ((odd, begins), (until_odd, ends - 1)):
                mine, low = queries[chosen], blocks[chosen] << bit
                high = np.minimum(low + (1 << bit), len(places))
                start = bisect_left(sorted_values, low, high, first[mine])
                after = bisect_left(sorted_values, start, high, last[mine], past_equal=True)
                full = after > start
                if full.any():
                    yield Level(places, mine[full], start[full], (after - start)[full])
        begins, ends, bit = (begins + odd) >> 1, (ends - until_odd) >> 1, bit + 1
