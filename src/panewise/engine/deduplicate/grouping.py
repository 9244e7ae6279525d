"""Finds the groups of rows (semantics 45.2).

Rows are taken one after another, but hardly any row depends on the row before it. So whole columns are
computed at once:

1. Rows near the anchor of a stored group join it.
2. The first one of the other rows of each key opens a group, and rows near it join. This is repeated.
3. After a few rounds, keys with many new groups are left. Their rows are taken one by one.

Invariant: the anchors of one key are at least `within` apart. So at most two of them are nearer to a row than
that: one at or before its time, and one after it. A bisection in the sorted anchors finds both. n rows and m
anchors cost a sort of the anchors, and n bisections for each round.
"""

from bisect import bisect_left, insort
from dataclasses import dataclass

import numpy as np

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.kernels.bisection import bisect_left as bisect_ranges
from panewise.engine.kernels.instants import Instants, shifted_instants
from panewise.engine.kernels.small_frames import Mask
from panewise.engine.kernels.sorting import Places, order

_ROUNDS = 3


@dataclass(frozen=True)
class Anchors:
    """The anchors of groups, sorted by key and time.

    Attributes:
        code: the number of the key of each group.
        time: the anchor of each group.
        place: the place of each group in the order in which the groups were given.
        opener: the place of the row that opened each group, -1 for a stored group.
    """

    code: Instants
    time: Instants
    place: Places
    opener: Places

    @classmethod
    def in_order(cls, code: Instants, time: Instants, opener: Places) -> "Anchors":
        """Returns the anchors of groups that are in any order."""
        place = order([code, time])
        return cls(code[place], time[place], place, opener[place])

    def first_near(self, code: Instants, low: Instants, high: Instants) -> tuple[Places, Mask]:
        """Returns for each (key, low, high) the place of the first anchor of the key at or after `low`.

        Also returns whether the anchor is at or before `high`.
        """
        ends = np.cumsum(np.bincount(self.code, minlength=int(code.max(initial=0)) + 1))
        end = ends[code]
        start = np.where(code > 0, ends[code - 1], 0)
        places = bisect_ranges(self.time, start, end, low)
        return places, self._within(places, code, high)

    def _within(self, places: Places, code: Instants, high: Instants) -> Mask:
        if not len(self.code):
            return np.zeros(len(places), dtype=np.bool_)
        at = np.minimum(places, len(self.code) - 1)
        inside: Mask = (places < len(self.code)) & (self.code[at] == code) & (self.time[at] <= high)
        return inside

    def groups_of_rows(self, code: Instants, low: Instants, high: Instants) -> Places:
        """Returns the place of the group that each row joins: the earliest in range that is open by then."""
        # The first anchor in range may belong to a group that a later row opened. Then the row joins the
        # group of the next anchor.
        places, _ = self.first_near(code, low, high)
        later = self.opener[np.minimum(places, len(self.code) - 1)] > np.arange(len(code))
        return self.place[places + later]


def reach(times: Instants, within: int | None) -> tuple[Instants, Instants]:
    """Returns the first and the last instant that are nearer to each time than `within`.

    These are the first and the last instant of all if `within` is None.
    """
    if within is None:
        return np.full(len(times), MIN_INSTANT), np.full(len(times), MAX_INSTANT)
    return shifted_instants(times, 1 - within), shifted_instants(times, within - 1)


def opening(code: Instants, times: Instants, stored: Anchors, within: int | None) -> Places:
    """Returns the places of the rows that open groups, ascending. Rows are in the order of taking."""
    low, high = reach(times, within)
    left = np.arange(len(code))
    if len(stored.code):
        left = left[~stored.first_near(code, low, high)[1]]
    # Invariant: no remaining row is near the anchor of a stored group, or of a group that an earlier round
    # opened. So the first remaining row of each key opens a group.
    opened, leaders = [], np.empty(int(code.max(initial=0)) + 1, dtype=np.intp)
    for _ in range(_ROUNDS):
        if not len(left):
            break
        leaders[code[left[::-1]]] = left[::-1]  # of several rows of a key the first one is written last
        leader = leaders[code[left]]
        opened.append(left[leader == left])
        left = left[(times[left] < low[leader]) | (times[left] > high[leader])]
    opened.append(_one_by_one(code, times, low, high, left))
    return np.sort(np.concatenate(opened))


def _one_by_one(code: Instants, times: Instants, low: Instants, high: Instants, left: Places) -> Places:
    """Returns the places of the remaining rows that open groups."""
    known, opened = dict[int, list[int]](), list[int]()
    columns = (left, code[left], times[left], low[left], high[left])
    for place, key, time, first, last in zip(*(column.tolist() for column in columns), strict=True):
        anchors = known.setdefault(key, [])
        at = bisect_left(anchors, first)
        if at == len(anchors) or anchors[at] > last:
            insort(anchors, time)
            opened.append(place)
    return np.array(opened, dtype=np.intp)
