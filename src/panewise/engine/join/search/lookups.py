"""The pairs of new rows with what the windows of the other side contained when each of them arrived.

A look-up has new rows of one side. Where the rows lie that each of them finds is known before the tables
change. The rows are read when the pairs are requested, in pieces of a bounded number of candidates, so that
the memory of a step does not grow with the number of pairs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import polars as pl

from panewise.engine.columns import NUMBER, TIME
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.search import candidate_slices
from panewise.engine.join.search.candidate_slices import CandidateSlices, of_one_row, steps
from panewise.engine.join.search.matching import Pairs, with_condition
from panewise.engine.join.search.rows_of_keys import RowsOfKeys, SortedKeys
from panewise.engine.kernels.frames import Mask, vstack_frames
from panewise.engine.kernels.instants import Instants
from panewise.engine.kernels.sorting import Places
from panewise.engine.store.rows_by_key import RowsByKey, Slices
from panewise.spec.operators.join.columns import OTHER


@dataclass(frozen=True)
class Lookup:
    """A look-up of new rows of a side among rows of the other side.

    Attributes:
        side: the side of the new rows.
        rows: the new rows.
        table: the rows of the other side.
        keys: the keys of the new rows.
        parts: the slices that may have rows that match, by key.
        count: how many of the last rows of its key each row finds; None for any number.
        inside: returns those of the rows found that the window contained.
    """

    side: str
    rows: pl.DataFrame
    table: RowsByKey
    keys: SortedKeys
    parts: Sequence[Slices]
    count: int | None
    inside: Callable[[RowsOfKeys], RowsOfKeys]

    @property
    def counts(self) -> Instants:
        """How many rows each new row may find."""
        counts = np.zeros(self.rows.height, dtype=np.int64)
        for part in self.parts:
            lengths = part.lengths if self.count is None else np.minimum(part.lengths, self.count)
            counts[self.keys.places] += lengths
        return counts

    def read(self) -> RowsOfKeys:
        """Returns the rows that the new rows find."""
        return self.inside(self.keys.rows_in(self.table, self.parts, self.count))

    def chosen(self, mask: Mask) -> Self:
        """Returns the look-up of some of the new rows."""
        places = np.flatnonzero(mask[self.keys.places])
        parts = [part.chosen(places) for part in self.parts]
        return replace(self, keys=self.keys.chosen(places), parts=parts)

    def pieces(self) -> Iterator[Self]:
        """Yields the look-up of one new row in pieces of about `PIECE` candidates, by their time and number.

        It stays in one piece if the last rows are to be found, or if the table is not sorted by time.
        """
        if self.count is not None or self.table.time != TIME:
            yield self
            return
        found = [CandidateSlices("", np.zeros(1, dtype=np.intp), part, own=False) for part in self.parts]
        for some in of_one_row([one for one in found if one.slices.lengths[0]]):
            yield replace(self, parts=[one.slices for one in some])


@dataclass(frozen=True)
class LookedUpPairs:
    """The pairs that look-ups find, as pieces of a bounded number of candidates.

    Attributes:
        plan: the plan.
        nothing: by side no rows, with the columns that all rows of the side have.
        lookups: the look-ups. Each new row is in one of them at most.
        first_number: the number of the first new row.
        ends: for each number the count of candidates of the rows up to it.
    """

    plan: JoinPlan
    nothing: Mapping[str, pl.DataFrame]
    lookups: Sequence[Lookup]
    first_number: int
    ends: Instants

    @classmethod
    def of(
        cls,
        plan: JoinPlan,
        nothing: Mapping[str, pl.DataFrame],
        lookups: Sequence[Lookup],
        numbers: range,
    ) -> Self:
        """Returns the pairs. `numbers` are those of the new rows of both sides."""
        counts = np.zeros(len(numbers), dtype=np.int64)
        for lookup in lookups:
            counts[lookup.rows[NUMBER].to_numpy() - numbers.start] = lookup.counts
        return cls(plan, nothing, lookups, numbers.start, np.cumsum(counts))

    @property
    def long(self) -> bool:
        """Whether there are several pieces."""
        return len(self.ends) > 0 and self.ends[-1] > candidate_slices.PIECE

    def __iter__(self) -> Iterator[Pairs]:
        """Yields the pairs in the order of 40.3: one piece unless there are many candidates."""
        if not self.long:
            yield self._together(self.lookups)
            return
        for low, high in steps(self.ends):
            count = self.ends[high - 1] - (self.ends[low - 1] if low else 0)
            some = [*self._between(low + self.first_number, high - 1 + self.first_number)] if count else []
            if count > candidate_slices.PIECE:  # of one row
                yield from (self._together([piece]) for piece in some[0].pieces())
            elif count:
                yield self._together(some)

    def _between(self, first: int, last: int) -> Iterator[Lookup]:
        """Yields the look-ups of the new rows with these numbers."""
        for lookup in self.lookups:
            mine = lookup.rows[NUMBER].is_between(first, last).to_numpy()
            if mine.any():
                yield lookup.chosen(mine)

    def _together(self, lookups: Iterable[Lookup]) -> Pairs:
        """Returns the pairs of rows with what they find that meet the condition, in their order."""
        rows: dict[str, list[pl.DataFrame]] = {side: [one] for side, one in self.nothing.items()}
        at: dict[str, list[Places]] = {side: [np.empty(0, dtype=np.intp)] for side in self.nothing}
        for lookup in lookups:
            found, mine = lookup.read(), lookup.side
            for side, frame, places in (
                (mine, lookup.rows, found.which),
                (OTHER[mine], found.rows, found.at),
            ):
                at[side].append(places + sum(before.height for before in rows[side]))
                rows[side].append(frame)
        both = {side: vstack_frames(frames).rechunk() for side, frames in rows.items()}
        pairs = Pairs(both, {side: np.concatenate(places) for side, places in at.items()})
        return with_condition(self.plan, pairs).in_order()
