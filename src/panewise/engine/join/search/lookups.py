"""The pairs of new rows with what the windows of the other side contained when each of them arrived.

A *search* has the new rows of one side. Where the rows lie that each of them finds is known before the tables
change. The rows are read when the pairs are requested, in pieces of a bounded number of candidates, so that
the memory of a step does not grow with the number of pairs.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import polars as pl

from panewise.engine.columns import NUMBER, TIME
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.search import candidate_slices
from panewise.engine.join.search.candidate_slices import CandidateSlices, of_one_row, steps
from panewise.engine.join.search.matching import Pairs, with_condition
from panewise.engine.join.search.rows_of_keys import Found, Keys
from panewise.engine.kernels.frames import Mask, vstack_frames
from panewise.engine.kernels.instants import Instants
from panewise.engine.kernels.sorting import Places
from panewise.engine.store.rows_by_key import RowsByKey, Slices
from panewise.spec.operators.join.columns import OTHER


class Search(Protocol):
    """A search of new rows of a side among rows of the other side."""

    @property
    def side(self) -> str:
        """The side of the new rows."""
        ...

    @property
    def rows(self) -> pl.DataFrame:
        """The new rows."""
        ...

    @property
    def counts(self) -> Instants:
        """How many rows each new row may find."""
        ...

    def all(self) -> Found:
        """Returns the rows that the new rows find."""
        ...

    def found(self, chosen: Mask, *, cut: bool) -> Iterator[Found]:
        """Yields what some of the new rows find: all at once or, with `cut`, of one row in pieces."""
        ...


@dataclass(frozen=True)
class Lookup:
    """A search by key and a range of time: :class:`Search`.

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
    keys: Keys
    parts: Sequence[Slices]
    count: int | None
    inside: Callable[[Found], Found]

    @property
    def counts(self) -> Instants:
        """How many rows each new row may find."""
        counts = np.zeros(self.rows.height, dtype=np.int64)
        for part in self.parts:
            lengths = part.lengths if self.count is None else np.minimum(part.lengths, self.count)
            counts[self.keys.places] += lengths
        return counts

    def all(self) -> Found:
        """Returns the rows that the new rows find."""
        return self.inside(self.keys.found_in(self.table, self.parts, self.count))

    def found(self, chosen: Mask, *, cut: bool) -> Iterator[Found]:
        """Yields what some of the new rows find: all at once or, with `cut`, of one row in pieces."""
        places = np.flatnonzero(chosen[self.keys.places])
        keys, parts = self.keys.chosen(places), [part.chosen(places) for part in self.parts]
        # Pieces follow the event times, by which not all tables are sorted.
        cut = cut and self.count is None and self.table.time == TIME
        for some in _in_pieces(parts) if cut else [parts]:
            yield self.inside(keys.found_in(self.table, some, self.count))


def _in_pieces(parts: Sequence[Slices]) -> Iterator[list[Slices]]:
    """Yields the slices of one row in pieces of about `PIECE` rows, by time and number of its candidates."""
    found = [CandidateSlices("", np.zeros(1, dtype=np.intp), part, own=False) for part in parts]
    for some in of_one_row([one for one in found if one.slices.lengths[0]]):
        yield [one.slices for one in some]


@dataclass(frozen=True)
class LookedUpPairs:
    """The pairs that searches find, as pieces of a bounded number of candidates.

    Attributes:
        plan: the plan.
        nothing: by side no rows, with the columns that all rows of the side have.
        searches: the searches. Each new row is in one of them at most.
        first_number: the number of the first new row.
        ends: for each number the count of candidates of the rows up to it.
    """

    plan: JoinPlan
    nothing: Mapping[str, pl.DataFrame]
    searches: Sequence[Search]
    first_number: int
    ends: Instants

    @classmethod
    def of(
        cls,
        plan: JoinPlan,
        nothing: Mapping[str, pl.DataFrame],
        searches: Sequence[Search],
        numbers: range,
    ) -> Self:
        """Returns the pairs. `numbers` are those of the new rows of both sides."""
        counts = np.zeros(len(numbers), dtype=np.int64)
        for search in searches:
            counts[search.rows[NUMBER].to_numpy() - numbers.start] = search.counts
        return cls(plan, nothing, searches, numbers.start, np.cumsum(counts))

    @property
    def long(self) -> bool:
        """Whether there are several pieces."""
        return len(self.ends) > 0 and self.ends[-1] > candidate_slices.PIECE

    def __iter__(self) -> Iterator[Pairs]:
        """Yields the pairs in the order of 40.3: one piece unless there are many candidates."""
        if not self.long:
            yield self._together([(one, one.all()) for one in self.searches])
            return
        for low, high in steps(self.ends):
            count = self.ends[high - 1] - (self.ends[low - 1] if low else 0)
            if count:
                yield from self._between(low, high, cut=count > candidate_slices.PIECE)

    def _between(self, low: int, high: int, *, cut: bool) -> Iterator[Pairs]:
        """Yields the pairs of a range of new rows: all at once or, with `cut`, of one row in pieces."""
        first, last = low + self.first_number, high - 1 + self.first_number
        chosen = [(one, one.rows[NUMBER].is_between(first, last).to_numpy()) for one in self.searches]
        found = [(one, one.found(mask, cut=cut)) for one, mask in chosen if mask.any()]
        if not cut:
            yield self._together([(one, next(pieces)) for one, pieces in found])
            return
        ((search, pieces),) = found
        for piece in pieces:
            yield self._together([(search, piece)])

    def _together(self, found: Iterable[tuple[Search, Found]]) -> Pairs:
        """Returns the pairs of rows with what they have found that meet the condition, in their order."""
        rows: dict[str, list[pl.DataFrame]] = {side: [one] for side, one in self.nothing.items()}
        at: dict[str, list[Places]] = {side: [np.empty(0, dtype=np.intp)] for side in self.nothing}
        for search, one in found:
            mine = search.side
            for side, frame, places in ((mine, search.rows, one.which), (OTHER[mine], one.rows, one.at)):
                at[side].append(places + sum(before.height for before in rows[side]))
                rows[side].append(frame)
        both = {side: vstack_frames(frames).rechunk() for side, frames in rows.items()}
        pairs = Pairs(both, {side: np.concatenate(places) for side, places in at.items()})
        return with_condition(self.plan, pairs).in_order()
