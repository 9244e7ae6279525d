"""Finds the pairs of the rows of a batch with stored rows and with one another (semantics 27, 37, 40.3).

Three parts are searched: new left rows among stored right rows, new right rows among stored left rows, and
new left rows among new right rows. So each pair is found once. A pair is a place among the left and one
among the right rows, so a row is not copied for each of its pairs until they are emitted, except the columns
of a condition. Many pairs are made in pieces, so that the memory of a step does not grow with their number.

The cost is that of sorting and looking up the new rows, and of the candidates: rows of equal hash within
reach, which the keys or the condition may reject.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import polars as pl

from panewise.engine.columns import NUMBER, TIME
from panewise.engine.join.plan import JoinPlan, satisfied
from panewise.engine.join.search.candidate_slices import (
    ONCE,
    CandidateSlices,
    SearchPlan,
    among,
    looked_up,
    of_one_row,
    steps,
    with_equal_keys,
)
from panewise.engine.join.search.first_partner import with_first_partners
from panewise.engine.kernels.instants import Instants
from panewise.engine.kernels.small_frames import take_rows, vstack_frames
from panewise.engine.kernels.sorting import Places, order
from panewise.engine.tables.rows_by_key import RowsByKey, sorted_rows
from panewise.engine.tables.run import RunRows
from panewise.spec.operators.join.columns import LEFT, ONE_SIDED, OTHER, RIGHT


@dataclass(frozen=True)
class Pairs:
    """Pairs of rows.

    Attributes:
        rows: by side the new rows and the stored rows that were found, with the columns of the side's table.
        at: by side the place in `rows` of the row of each pair.
    """

    rows: Mapping[str, pl.DataFrame]
    at: Mapping[str, Places]

    def __len__(self) -> int:
        return len(self.at[LEFT])

    def numbers(self, side: str) -> Instants:
        """Returns the number of the side's row of each pair."""
        return self.values(side, NUMBER)

    @property
    def later(self) -> Instants:
        """The number of the row of each pair that arrived later."""
        return np.maximum(self.numbers(LEFT), self.numbers(RIGHT))

    def taken(self, side: str, columns: Iterable[str]) -> pl.DataFrame:
        """Returns columns of the side's row of each pair."""
        return take_rows(self.rows[side].select(*dict.fromkeys(columns)), self.at[side])

    def chosen(self, places: Places) -> "Pairs":
        """Returns the pairs at these places."""
        return replace(self, at={side: at[places] for side, at in self.at.items()})

    def in_order(self) -> "Pairs":
        """Returns the pairs by the number of their later row, then by time and number of the other (40.3)."""
        left, right = (self.numbers(side) for side in (LEFT, RIGHT))
        other_time = np.where(left > right, self.values(RIGHT, TIME), self.values(LEFT, TIME))
        return self.chosen(order([np.maximum(left, right), other_time, np.minimum(left, right)]))

    def values(self, side: str, column: str) -> Instants:
        """Returns a column of whole numbers of the side's row of each pair."""
        return self.rows[side][column].to_numpy()[self.at[side]]


class PairCollector:
    """Collects pairs of new rows with stored rows, and with one another.

    Args:
        new: the new rows by side.
    """

    def __init__(self, new: Mapping[str, pl.DataFrame]) -> None:
        self.rows = {side: [rows] for side, rows in new.items()}
        self.at: dict[str, list[Places]] = {side: [np.empty(0, dtype=np.intp)] for side in new}

    def add(self, side: str, which: Places, at: Places, others: pl.DataFrame | None) -> None:
        """Adds pairs of the new rows of a side, at `which`, with rows of the other side.

        `others` has these rows, at `at`. None: they are new rows.
        """
        rows, before = self.rows[OTHER[side]], 0
        if others is not None:
            before = sum(frame.height for frame in rows)
            rows.append(others)
        self.at[side].append(which)
        self.at[OTHER[side]].append(at + before)

    def pairs(self, plan: JoinPlan, chosen: Callable[[Pairs], Pairs] | None = None) -> Pairs:
        """Returns the pairs that satisfy the condition, in order. `chosen` is that of :class:`Matching`."""
        rows = {side: vstack_frames(frames).rechunk() for side, frames in self.rows.items()}
        pairs = Pairs(rows, {side: np.concatenate(at) for side, at in self.at.items()})
        # The condition may fail for a row that is no longer stored, which chance may have left in a run.
        pairs = pairs if chosen is None else chosen(pairs)
        return with_condition(plan, pairs).in_order()


@dataclass(frozen=True)
class Matching:
    """The pairs that new rows make, as pieces of a bounded number of candidates.

    Attributes:
        method: the method of the join.
        new: the new rows by side, as those of a run.
        candidates: their candidates. New rows are searched among stored rows, and new left rows among new
            right rows.
        chosen: returns the pairs to emit among those that match; None if all are.
        by_arrival: whether `candidates` instead has the candidates of each new row that arrived before it.
    """

    method: SearchPlan
    new: Mapping[str, RunRows]
    candidates: list[CandidateSlices]
    chosen: Callable[[Pairs], Pairs] | None = None
    by_arrival: bool = False

    @classmethod
    def prepare(
        cls,
        method: SearchPlan,
        stored: Mapping[str, RowsByKey],
        new: Mapping[str, pl.DataFrame],
        chosen: Callable[[Pairs], Pairs] | None = None,
    ) -> "Matching":
        """Returns the matching of new rows.

        `stored` has the table of each side before the batch, `new` the new rows of both sides, with the
        columns of the tables and without null keys. `chosen` is the attribute.
        """
        ordered = {side: sorted_rows(rows, method.rows[side]) for side, rows in new.items()}
        candidates = (looked_up(method, side, ordered[side], stored[OTHER[side]]) for side in (LEFT, RIGHT))
        every = chain(*candidates, among(method, LEFT, ordered))
        one_each = chosen is None and _one_each(method.plan)
        return cls(
            method, ordered, [*(with_first_partners(method, ordered, every) if one_each else every)], chosen
        )

    @property
    def long(self) -> bool:
        """Whether there are several pieces."""
        count = sum(int(of_rows.slices.lengths.sum()) for of_rows in self.candidates)
        return count > ONCE and not (self.chosen is None and _one_each(self.method.plan))

    def __iter__(self) -> Iterator[Pairs]:
        """Yields the pairs in the order of 40.3: one piece unless there are many candidates.

        Semi and anti joins without a condition need only the first pair of each left row. The others
        may be missing.
        """
        if self.long:
            yield from self._many()
            return
        yield self._together(self.candidates, earlier=False)

    def _many(self) -> Iterator[Pairs]:
        """Yields the pairs in pieces.

        The new rows are taken in the order of arrival, each with the candidates that arrived before it. So
        new rows of both sides are searched among those of the other side.
        """
        more = () if self.by_arrival else among(self.method, RIGHT, self.new)
        candidates = [*self.candidates, *more]
        numbers = [self.new[of_rows.side].frame[NUMBER].to_numpy()[of_rows.which] for of_rows in candidates]
        arrived, row = np.unique(np.concatenate(numbers), return_inverse=True)
        lengths = np.concatenate([of_rows.slices.lengths for of_rows in candidates])
        ends = np.cumsum(np.bincount(row, weights=lengths).astype(np.int64))
        for low, high in steps(ends):
            first, last = arrived[low], arrived[high - 1]
            chosen = (np.flatnonzero((each >= first) & (each <= last)) for each in numbers)
            some = [of_rows.chosen(at) for of_rows, at in zip(candidates, chosen, strict=True) if len(at)]
            pieces = _of_one_row(some) if high == low + 1 else [some]
            yield from (self._together(piece, earlier=True) for piece in pieces)

    def _together(self, candidates: Iterable[CandidateSlices], *, earlier: bool) -> Pairs:
        """Returns the pairs of candidates; with `earlier` those whose other row has arrived before."""
        collector = PairCollector({side: rows.bare for side, rows in self.new.items()})
        plan = self.method.plan
        for of_rows in candidates:
            rows, others = self.new[of_rows.side].frame, of_rows.slices.rows
            which, at = np.repeat(of_rows.which, of_rows.slices.lengths), of_rows.slices.found_places()
            if earlier and of_rows.own:
                before = others[NUMBER].to_numpy()[at] < rows[NUMBER].to_numpy()[which]
                which, at = which[before], at[before]
            which, at = with_equal_keys(plan.ports, of_rows.side, rows, which, others, at)
            stored = None
            if not of_rows.own:
                taken, at = np.unique(at, return_inverse=True)
                stored = take_rows(others[self.new[OTHER[of_rows.side]].bare.columns], taken)
            collector.add(of_rows.side, which, at, stored)
        return collector.pairs(plan, self.chosen)


def _of_one_row(candidates: list[CandidateSlices]) -> Iterator[list[CandidateSlices]]:
    """Yields the candidates of one new row in pieces, by their time and number."""
    for slices in of_one_row([of_rows.slices for of_rows in candidates]):
        yield [replace(of_rows, slices=part) for of_rows, part in zip(candidates, slices, strict=True)]


def _one_each(plan: JoinPlan) -> bool:
    return plan.spec.how in ONE_SIDED and plan.condition is None


def with_condition(plan: JoinPlan, pairs: Pairs) -> Pairs:
    """Returns the pairs that satisfy the condition, if there is one (semantics 38)."""
    true = satisfied(plan, pairs.taken)
    return pairs if true is None else pairs.chosen(true.arg_true().to_numpy())
