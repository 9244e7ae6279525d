"""Finds the groups of rows (semantics 45.2).

Rows are taken one after another, but hardly any row depends on the row before it. So whole columns are
computed at once:

1. Rows near the anchor of a stored group join it.
2. Of the other rows of each key the first one opens a group, and rows near it join. This is repeated.
3. After a few rounds, keys with many new groups are left. Their rows are taken one by one.

Anchors of one key are at least `within` apart. So at most two of them are nearer to a row than that: one at
its time or before it, and one after it.
"""

from bisect import bisect_left, insort
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.kernels.bisection import bisect_left as bisect_ranges
from panewise.engine.kernels.frames import Mask
from panewise.engine.kernels.sorting import Places, order

Numbers: TypeAlias = npt.NDArray[np.int64]
_ROUNDS = 3


@dataclass(frozen=True)
class Anchors:
    """The anchors of groups, sorted by key and time.

    Attributes:
        code: the key of each, as a number.
        time: the anchor.
        place: its place among the groups.
        opener: the place of the row that opened the group, -1 if it was stored.
    """

    code: Numbers
    time: Numbers
    place: Places
    opener: Places

    @classmethod
    def of(cls, code: Numbers, time: Numbers, opener: Places) -> "Anchors":
        """Returns the anchors of groups that are in any order."""
        place = order([code, time])
        return cls(code[place], time[place], place, opener[place])

    def first_near(self, code: Numbers, low: Numbers, high: Numbers) -> tuple[Places, Mask]:
        """Returns the position of the first anchor of each key from `low` on, and whether it is in range."""
        ends = np.cumsum(np.bincount(self.code, minlength=int(code.max(initial=0)) + 1))
        end = ends[code]
        start = np.where(code > 0, ends[code - 1], 0)
        found = bisect_ranges(self.time, start, end, low)
        return found, self._within(found, code, high)

    def _within(self, found: Places, code: Numbers, high: Numbers) -> Mask:
        if not len(self.code):
            return np.zeros(len(found), dtype=np.bool_)
        at = np.minimum(found, len(self.code) - 1)
        inside: Mask = (found < len(self.code)) & (self.code[at] == code) & (self.time[at] <= high)
        return inside

    def joined(self, code: Numbers, low: Numbers, high: Numbers) -> Places:
        """Returns the place of the group of each row: of the groups that were open, the earliest in range."""
        found, _ = self.first_near(code, low, high)
        later = self.opener[np.minimum(found, len(self.code) - 1)] > np.arange(len(code))
        return self.place[found + later]


def reach(times: Numbers, within: int | None) -> tuple[Numbers, Numbers]:
    """Returns the first and the last instant that are nearer to each time than `within`; None: all are."""
    if within is None:
        return np.full(len(times), MIN_INSTANT), np.full(len(times), MAX_INSTANT)
    far = within - 1
    low = np.where(times < MIN_INSTANT + far, MIN_INSTANT, times - far)
    return low, np.where(times > MAX_INSTANT - far, MAX_INSTANT, times + far)


def opening(code: Numbers, times: Numbers, stored: Anchors, within: int | None) -> Places:
    """Returns the places of the rows that open groups, in their order. Rows are in the order of taking."""
    low, high = reach(times, within)
    left = np.arange(len(code))
    if len(stored.code):
        left = left[~stored.first_near(code, low, high)[1]]
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


def _one_by_one(code: Numbers, times: Numbers, low: Numbers, high: Numbers, left: Places) -> Places:
    """Returns which of the rows that are left open groups."""
    known, opened = dict[int, list[int]](), list[int]()
    columns = (left, code[left], times[left], low[left], high[left])
    for place, key, time, first, last in zip(*(column.tolist() for column in columns), strict=True):
        anchors = known.setdefault(key, [])
        at = bisect_left(anchors, first)
        if at == len(anchors) or anchors[at] > last:
            insort(anchors, time)
            opened.append(place)
    return np.array(opened, dtype=np.intp)
