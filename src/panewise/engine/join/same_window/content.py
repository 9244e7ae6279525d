"""What a window join emits when windows fire (semantics 37.12, 37.13, 40.3).

The content of a window is its pairs, and the rows without a partner that the type emits. A firing compares
the content with that of the last firing. Each row that was in the window at an earlier firing has a
*group*, whether or not it was emitted. Two rows were in one pane before if their groups are equal and not
`NO_GROUP`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from panewise.engine.columns import TIME
from panewise.engine.join.candidate_slices import steps
from panewise.engine.join.emission import pair_rows, single_rows
from panewise.engine.join.matching import Pairs, with_condition
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.same_window.groups import NO_GROUP
from panewise.engine.join.same_window.rows import Members
from panewise.engine.kernels.frames import Mask, expand_ranges, take_rows, vstack_frames
from panewise.engine.kernels.sorting import Places, order
from panewise.spec import closed_at_end
from panewise.spec.operators.join.columns import JOIN_TIME, LEFT, OF_WINDOWS, OTHER, RIGHT
from panewise.spec.operators.join.same_window import SameWindow

_PAIR, _ALONE = 0, 1


@dataclass(frozen=True)
class Firings:
    """Windows that fire, and sessions that have merged away.

    Attributes:
        panes: window_start, window_end and timing of each.
        last: whether the window can get no row after this.
        merged_away: whether the pane is only retracted, because its session has merged into another one.
        null_keys: whether a key of the window is null.
        members: the rows of the windows by side.
        groups: by side the group of each of these rows.
        merged_from: the first group of sessions that have merged; those below are of the window's last pane.
        accumulation: what a firing emits (semantics 37.13).
    """

    panes: pl.DataFrame
    last: Mask
    merged_away: Mask
    null_keys: Mask
    members: Mapping[str, Members]
    groups: Mapping[str, Places]
    merged_from: int
    accumulation: str

    def chosen(self, first: int, after: int) -> "Firings":
        """Returns the firings of the windows from `first` until before `after`."""
        if after - first == self.panes.height:
            return self
        windows = slice(first, after)
        places = {
            side: slice(*np.searchsorted(one.window, [first, after]).tolist())
            for side, one in self.members.items()
        }
        return replace(
            self,
            panes=self.panes[windows],
            last=self.last[windows],
            merged_away=self.merged_away[windows],
            null_keys=self.null_keys[windows],
            members={side: one.chosen(places[side], first) for side, one in self.members.items()},
            groups={side: one[places[side]] for side, one in self.groups.items()},
        )


@dataclass(frozen=True)
class _Part:
    """Pairs or single rows that windows may emit.

    Attributes:
        window: the window of each.
        now: whether the window contains it.
        before: whether the window contained it at the last firing.
        rows: makes the emitted rows at some positions, with an op.
        order: columns that sort them within a window.
    """

    window: Places
    now: Mask
    before: Mask
    rows: Any
    order: tuple[Places, Places, Places]
    kind: int


def emitted(plan: JoinPlan, firings: Firings) -> Iterator[pl.DataFrame]:
    """Yields the rows that the firings emit, in the order of 40.3.

    The windows are taken one after the other, so many that they have about `PIECE` pairs and rows.
    """
    windows = firings.panes.height
    left, right = (members.counts(windows) for members in firings.members.values())
    for first, after in steps(np.cumsum(left * right + left + right)):
        yield _emitted_of(plan, firings.chosen(first, after))


def _emitted_of(plan: JoinPlan, firings: Firings) -> pl.DataFrame:
    content = _Content(plan, firings)
    parts = [*content.pairs(), *content.single()]
    changed = np.zeros(firings.panes.height, dtype=np.bool_)
    for part in parts:
        changed[part.window[part.now != part.before]] = True
    frames, keys = [], []
    for part in parts:
        for op, chosen in _chosen(part, firings.accumulation, changed):
            at = np.flatnonzero(chosen)
            if len(at):
                frames.append(_of_windows(plan, firings, part.rows(at, op), part.window[at]))
                rank = np.full(len(at), 2 * int(op == "+") + part.kind)
                keys.append((part.window[at], rank, *(column[at] for column in part.order)))
    if not frames:
        return pl.DataFrame(schema=plan.pane_schema)
    columns = [np.concatenate(column) for column in zip(*keys, strict=True)]
    return take_rows(vstack_frames(frames), order(columns))


def _chosen(part: _Part, accumulation: str, changed: Mask) -> list[tuple[str, Mask]]:
    """Returns what is retracted and what is emitted, in this order."""
    if accumulation == "discarding":
        return [("-", part.before & ~part.now), ("+", part.now & ~part.before)]
    retracted = [("-", part.before & changed[part.window])] if accumulation == "retracting" else []
    return [*retracted, ("+", part.now & changed[part.window])]


def _of_windows(plan: JoinPlan, firings: Firings, rows: pl.DataFrame, window: Places) -> pl.DataFrame:
    """Returns emitted rows with the columns of their windows."""
    panes = take_rows(firings.panes, window)
    both = rows.hstack(panes.select(*OF_WINDOWS))
    if plan.spec.timestamp == "window":
        match = plan.spec.match
        assert isinstance(match, SameWindow)
        end = pl.col("window_end")
        both = both.with_columns((end if closed_at_end(match.window) else end - 1).alias(JOIN_TIME))
    return both.select(*plan.pane_schema)


class _Content:
    """The content of the windows, now and before."""

    def __init__(self, plan: JoinPlan, firings: Firings) -> None:
        self.plan, self.spec, self.firings = plan, plan.spec, firings
        self.members, self.groups = firings.members, firings.groups
        self.found, self.was = self._pairs()

    def pairs(self) -> list[_Part]:
        """Returns the pairs, if the type emits pairs."""
        if self.spec.how in ("semi", "anti"):
            return []
        found, window = self.found, self.members[LEFT].window[self.found.at[LEFT]]
        left, right = (found.numbers(side) for side in (LEFT, RIGHT))
        times = [found.rows[side][TIME].to_numpy()[found.at[side]] for side in (LEFT, RIGHT)]
        other = np.where(left > right, times[1], times[0])
        order = np.maximum(left, right), other, np.minimum(left, right)

        def rows(at: Places, op: str) -> pl.DataFrame:
            return pair_rows(self.plan, found.chosen(at), op)

        now = ~self.firings.merged_away[window]
        return [_Part(window, now, self.was, rows, order, _PAIR)]

    def single(self) -> list[_Part]:
        """Returns the rows that are emitted alone: left rows of "semi", and rows without a partner."""
        if self.spec.how == "semi":
            have, had = self._partnered(LEFT)
            return [self._single(LEFT, have, had)]
        early = self.spec.unmatched == "early"
        parts = []
        for side in self.spec.outer_sides:
            have, had = self._partnered(side)
            known = self.groups[side] != NO_GROUP
            now = ~have & (early | self.firings.last[self.members[side].window])
            parts.append(self._single(side, now, ~had & known & early))
        return parts

    def _single(self, side: str, now: Mask, before: Mask) -> _Part:
        members = self.members[side]

        def rows(at: Places, op: str) -> pl.DataFrame:
            return single_rows(self.plan, side, take_rows(members.rows, at), op)

        now = now & ~self.firings.merged_away[members.window]
        rank = np.full(len(members.window), int(side == RIGHT))
        order = members.rows[TIME].to_numpy(), rank, members.numbers
        return _Part(members.window, now, before, rows, order, _ALONE)

    def _partnered(self, side: str) -> tuple[Mask, Mask]:
        """Returns whether each row of a side has a partner, and whether it had one in its group."""
        mine, other = self.members[side], self.members[OTHER[side]]
        if self.plan.condition is not None:
            at, height = self.found.at[side], mine.rows.height
            have = np.bincount(at, minlength=height) > 0
            return have, np.bincount(at[self.was], minlength=height) > 0
        windows = self.firings.panes.height
        open_ = ~self.firings.null_keys[mine.window]
        have = (other.counts(windows)[mine.window] > 0) & open_
        groups, known = self.groups[side], self.groups[side] != NO_GROUP
        others = self.groups[OTHER[side]]
        counts = np.bincount(others[others != NO_GROUP], minlength=int(groups.max(initial=0)) + 1)
        return have, known & (counts[np.where(known, groups, 0)] > 0) & open_

    def _pairs(self) -> tuple[Pairs, Mask]:
        """Returns the pairs that are of use, and which of them were in a pane before.

        These are left out: rows with a null key, which have no pairs; all pairs of semi and anti without a
        condition, where counts suffice; and with "discarding" pairs that were in the content before.
        """
        left, right = self.members[LEFT], self.members[RIGHT]
        windows = self.firings.panes.height
        starts, counts = right.starts(windows)[left.window], right.counts(windows)[left.window]
        counts = np.where(self.firings.null_keys[left.window], 0, counts)
        if self.plan.condition is None and self.spec.how in ("semi", "anti"):
            counts = np.zeros_like(counts)
        elif self.plan.condition is None or self.spec.how == "inner":  # counts suffice, or are not needed
            skipped = np.minimum(self._known_pairs(windows), counts)
            starts, counts = starts + skipped, counts - skipped
        which = np.repeat(np.arange(len(left.window)), counts)
        at = expand_ranges(starts, counts)
        found = Pairs({LEFT: left.rows, RIGHT: right.rows}, {LEFT: which, RIGHT: at})
        found = with_condition(self.plan, found)
        one, other = (self.groups[side][found.at[side]] for side in (LEFT, RIGHT))
        return found, (one == other) & (one != NO_GROUP)

    def _known_pairs(self, windows: int) -> Places:
        """Returns for each left row how many of the first right rows of its window need not be paired again.

        A discarding window does not emit pairs again. The right rows of its last pane come first, because
        rows are sorted by number. Those of merged sessions do not.
        """
        left, right = (self.groups[side] for side in (LEFT, RIGHT))
        highest = max(left.max(initial=NO_GROUP), right.max(initial=NO_GROUP))
        if highest >= self.firings.merged_from or self.firings.accumulation != "discarding":
            return np.zeros(len(left), dtype=np.intp)
        old = np.bincount(self.members[RIGHT].window[right != NO_GROUP], minlength=windows)
        return np.where(left != NO_GROUP, old[self.members[LEFT].window], 0)
