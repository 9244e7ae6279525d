"""Received offsets, remembered as intervals, for positions that do not arrive in order (semantics 4.4).

Invariant: the intervals are ascending and neither overlap nor touch. Below them lies the floor. The floor and
all offsets below it count as received. When an offset begins one interval too many, the lowest interval is
removed, and the floor rises to its end. The floor also rises over received offsets that directly follow it.

The offsets of a batch are received in ascending order, so each is above every floor that the batch has made.
Therefore a batch has the same effect as its rows one by one. Cost: a look-up is a binary search among at most
`most` intervals. A batch costs a sort of its own intervals, and a search and an insertion for each.
"""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

OffsetInterval: TypeAlias = tuple[int, int]  # the first and the last of consecutive offsets


@dataclass
class Offsets:
    """The offsets received from one partition: a floor, and at most `most` intervals above it.

    The floor is None until there is one interval too many.

    >>> offsets = Offsets(2)
    >>> offsets.receive([(5, 6), (9, 9)]), offsets.receive([(2, 2)])
    (None, None)
    >>> offsets.floor, offsets.intervals(), offsets.has(7), offsets.has(1)
    (2, [(5, 6), (9, 9)], False, True)
    """

    most: int
    floor: int | None = None
    first: list[int] = field(default_factory=list)
    last: list[int] = field(default_factory=list)

    def intervals(self) -> list[OffsetInterval]:
        """Returns the intervals, in ascending order."""
        return list(zip(self.first, self.last, strict=True))

    def rows(self) -> list[tuple[int | None, int]]:
        """Returns the floor, with None as its first offset, and the intervals."""
        return [*([] if self.floor is None else [(None, self.floor)]), *self.intervals()]

    def load(self, first: int | None, last: int) -> None:
        """Adds one of :meth:`rows`, which come in ascending order."""
        if first is None:
            self.floor = last
        else:
            self.first.append(first)
            self.last.append(last)

    def has(self, offset: int) -> bool:
        """Returns whether an offset counts as received."""
        if self.floor is not None and offset <= self.floor:
            return True
        place = bisect_right(self.first, offset) - 1
        return place >= 0 and offset <= self.last[place]

    def receive(self, intervals: Iterable[OffsetInterval]) -> None:
        """Receives the offsets of these intervals, in ascending order.

        Offsets that already count as received change nothing.
        """
        for start, end in united(intervals):
            at = start
            # Each round moves `at` past offsets that count as received, or receives offsets from `at` on.
            while at <= end:
                at = at if self.floor is None else max(at, self.floor + 1)
                place = bisect_right(self.first, at) - 1
                if place >= 0 and at <= self.last[place]:
                    at = self.last[place] + 1
                elif at <= end:
                    at = self._fill(at, end, place) + 1

    def _fill(self, at: int, end: int, place: int) -> int:
        """Receives offsets from `at` on, up to `end` or the next interval. Returns the last offset received.

        `place` is the index of the interval before `at`, -1 if there is none.
        """
        following = self.first[place + 1] if place + 1 < len(self.first) else None
        until = end if following is None else min(end, following - 1)
        touches = self.floor == at - 1 or (place >= 0 and self.last[place] == at - 1)
        # Only the first offset begins an interval, or extends the next one to the left. The others extend the
        # interval that then contains it, so an interval has the same effect as its offsets one by one.
        if not touches and following != at + 1:
            self.first.insert(place + 1, at)
            self.last.insert(place + 1, at)
            if len(self.first) > self.most:
                self.floor = self.last.pop(0)
                del self.first[0]
        elif not touches:
            self.first[place + 1] = at
            return until
        self._extend(at, until)
        return until

    def _extend(self, at: int, until: int) -> None:
        """Extends the interval, or the floor, that ends at `at` or directly before it to end at `until`.

        If the next interval begins directly after `until`, both become one.
        """
        place = bisect_right(self.first, at) - 1
        to_floor = self.floor is not None and at <= self.floor + 1
        joins = place + 1 < len(self.first) and self.first[place + 1] == until + 1
        reached = self.last[place + 1] if joins else until
        if joins:
            del self.first[place + 1], self.last[place + 1]
        if to_floor:
            self.floor = reached
        else:
            self.last[place] = reached


def united(intervals: Iterable[OffsetInterval]) -> list[OffsetInterval]:
    """Returns the intervals in ascending order. Those that overlap or directly follow each other become one.

    >>> united([(4, 5), (1, 2), (3, 3), (9, 9)])
    [(1, 5), (9, 9)]
    """
    merged: list[OffsetInterval] = []
    for start, end in sorted(intervals):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
