"""What a window join emits when windows fire (semantics 37.12, 37.13, 40.3).

The content of a window is its pairs, and the rows without a partner that the type emits. A firing compares
the content with that of the last firing. Each row that was in the window at an earlier firing has a
*group*, whether or not it was emitted. Two rows were in one pane before if their groups are equal and not
`NO_GROUP`.

Cost: each firing makes the pairs of its window again, in pieces of about `PIECE`, and sorts what it emits. It
makes no pairs that were in an earlier pane of a discarding window, nor any of "semi" and "anti" without a
condition, where counts suffice.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from panewise.engine.columns import TIME
from panewise.engine.join.batch.emission import pair_rows, single_rows
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.same_window.firings import Firings
from panewise.engine.join.same_window.groups import NO_GROUP
from panewise.engine.join.search.candidate_slices import steps
from panewise.engine.join.search.pair_search import Pairs, with_condition
from panewise.engine.kernels.small_frames import Mask, expand_ranges, take_rows, vstack_frames
from panewise.engine.kernels.sorting import Places, order
from panewise.spec import closed_at_end
from panewise.spec.operators.join.columns import JOIN_TIME, LEFT, OTHER, RIGHT
from panewise.spec.operators.join.same_window import SameWindow

_PAIR, _ALONE = 0, 1


@dataclass(frozen=True)
class _Candidates:
    """Pairs or single rows that windows may emit.

    Attributes:
        window: the window of each.
        now: whether the window contains it.
        before: whether the window contained it at the last firing.
        rows: makes the emitted rows at some places, with an op.
        retracted: returns the bounds and the timing with which those at some places were emitted.
        order: columns that sort them within a window.
    """

    window: Places
    now: Mask
    before: Mask
    rows: Callable[[Places, str], pl.DataFrame]
    retracted: Callable[[Places], pl.DataFrame]
    order: tuple[Places, Places, Places]
    kind: int


def emitted_rows(plan: JoinPlan, firings: Firings) -> Iterator[pl.DataFrame]:
    """Yields the rows that the firings emit, in the order of 40.3."""
    for some in _pieces(firings):
        yield _emitted_of(plan, some)


def emitting(plan: JoinPlan, firings: Firings) -> Mask:
    """Returns which of the windows emit what they contain: their content has changed, and is not empty."""
    emits = [np.zeros(0, dtype=np.bool_)]
    for some in _pieces(firings):
        kinds = _Content(plan, some).kinds()
        contains = np.zeros(some.panes.height, dtype=np.bool_)
        for candidates in kinds:
            contains[candidates.window[candidates.now]] = True
        emits.append(contains & _changed(kinds, some))
    return np.concatenate(emits)


def _pieces(firings: Firings) -> Iterator[Firings]:
    """Yields the firings in their order, as many at once as have about `PIECE` pairs and rows together."""
    windows = firings.panes.height
    left, right = (members.counts(windows) for members in firings.members.values())
    for first, after in steps(np.cumsum(left * right + left + right)):
        yield firings.chosen(first, after)


def _changed(kinds: list[_Candidates], firings: Firings) -> Mask:
    """Returns which of the windows have another content than at their last firing."""
    changed = np.zeros(firings.panes.height, dtype=np.bool_)
    for candidates in kinds:
        changed[candidates.window[candidates.now != candidates.before]] = True
    return changed


def _emitted_of(plan: JoinPlan, firings: Firings) -> pl.DataFrame:
    kinds = _Content(plan, firings).kinds()
    changed = _changed(kinds, firings)
    frames, keys = [], []
    for candidates in kinds:
        for op, chosen in _chosen(candidates, firings.accumulation, changed):
            at = np.flatnonzero(chosen)
            if len(at):
                panes = (
                    candidates.retracted(at) if op == "-" else take_rows(firings.panes, candidates.window[at])
                )
                frames.append(_of_windows(plan, candidates.rows(at, op), panes))
                rank = np.full(len(at), 2 * int(op == "+") + candidates.kind)
                keys.append((candidates.window[at], rank, *(column[at] for column in candidates.order)))
    if not frames:
        return pl.DataFrame(schema=plan.pane_schema)
    columns = [np.concatenate(column) for column in zip(*keys, strict=True)]
    return take_rows(vstack_frames(frames), order(columns))


def _chosen(candidates: _Candidates, accumulation: str, changed: Mask) -> list[tuple[str, Mask]]:
    """Returns which candidates are retracted and which are emitted, each with its `op`, in this order."""
    if accumulation == "discarding":
        return [("-", candidates.before & ~candidates.now), ("+", candidates.now & ~candidates.before)]
    retracted = (
        [("-", candidates.before & changed[candidates.window])] if accumulation == "retracting" else []
    )
    return [*retracted, ("+", candidates.now & changed[candidates.window])]


def _of_windows(plan: JoinPlan, rows: pl.DataFrame, panes: pl.DataFrame) -> pl.DataFrame:
    """Returns emitted rows with the columns of their windows."""
    both = rows.hstack(panes)
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
        self.pairs, self.in_last_pane = self._pairs()

    def kinds(self) -> list[_Candidates]:
        return [*self._of_pairs(), *self._of_single_rows()]

    def _of_pairs(self) -> list[_Candidates]:
        if self.spec.how in ("semi", "anti"):
            return []
        pairs, window = self.pairs, self.members[LEFT].window[self.pairs.at[LEFT]]
        left, right = (pairs.numbers(side) for side in (LEFT, RIGHT))
        times = [pairs.rows[side][TIME].to_numpy()[pairs.at[side]] for side in (LEFT, RIGHT)]
        other = np.where(left > right, times[1], times[0])
        order = np.maximum(left, right), other, np.minimum(left, right)

        def rows(at: Places, op: str) -> pl.DataFrame:
            return pair_rows(self.plan, pairs.chosen(at), op)

        def retracted(at: Places) -> pl.DataFrame:
            return take_rows(self.firings.retracted, window[at])

        now = ~self.firings.merged_away[window]
        return [_Candidates(window, now, self.in_last_pane, rows, retracted, order, _PAIR)]

    def _of_single_rows(self) -> list[_Candidates]:
        """Returns the rows that are emitted alone: left rows of "semi", and rows without a partner."""
        if self.spec.how == "semi":
            have, had = self._partnered(LEFT)
            return [self._single(LEFT, have, had)]
        early = self.spec.unmatched == "early"
        kinds = []
        for side in self.spec.outer_sides:
            have, had = self._partnered(side)
            known = self.groups[side] != NO_GROUP
            now = ~have & (early | self.firings.last[self.members[side].window])
            kinds.append(self._single(side, now, ~had & known & early))
        return kinds

    def _single(self, side: str, now: Mask, before: Mask) -> _Candidates:
        members = self.members[side]

        def rows(at: Places, op: str) -> pl.DataFrame:
            return single_rows(self.plan, side, take_rows(members.rows, at), op)

        def retracted(at: Places) -> pl.DataFrame:
            origins, panes = self.firings.origins, take_rows(self.firings.retracted, members.window[at])
            return panes if origins is None else origins.first_panes(members.at(at), panes)

        now = now & ~self.firings.merged_away[members.window]
        rank = np.full(len(members.window), int(side == RIGHT))
        order = members.rows[TIME].to_numpy(), rank, members.numbers
        return _Candidates(members.window, now, before, rows, retracted, order, _ALONE)

    def _partnered(self, side: str) -> tuple[Mask, Mask]:
        mine, other = self.members[side], self.members[OTHER[side]]
        if self.plan.condition is not None:
            at, height = self.pairs.at[side], mine.rows.height
            have = np.bincount(at, minlength=height) > 0
            return have, np.bincount(at[self.in_last_pane], minlength=height) > 0
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
        pairs = Pairs({LEFT: left.rows, RIGHT: right.rows}, {LEFT: which, RIGHT: at})
        pairs = with_condition(self.plan, pairs)
        group, other = (self.groups[side][pairs.at[side]] for side in (LEFT, RIGHT))
        return pairs, (group == other) & (group != NO_GROUP)

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
