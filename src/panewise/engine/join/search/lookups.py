"""The pairs of new rows with the rows in the windows of the other side at their arrival.

A look-up has new rows of one side. Before the tables change, it determines the places of the rows that
each of them finds. It reads these rows when the pairs are requested, in pieces of a bounded number of
candidates. So the memory of a step does not grow with the number of pairs.

Invariant: the pairs are in the order of the numbers of their new rows (40.3), in one piece or in many. For
each new row finds rows in one look-up, and its candidates follow each other. Cost: linear in the candidates;
the new rows are searched once for each piece.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import polars as pl

from panewise.engine.columns import NUMBER, TIME
from panewise.engine.join.plan import JoinPlan
from panewise.engine.join.search import candidate_slices
from panewise.engine.join.search.candidate_slices import of_one_row, steps
from panewise.engine.join.search.pair_search import PairCollector, Pairs
from panewise.engine.join.search.rows_of_keys import RowsOfKeys, SortedKeys
from panewise.engine.kernels.instants import Instants
from panewise.engine.kernels.small_frames import Mask
from panewise.engine.tables.rows_by_key import FoundSlices, RowsByKey


@dataclass(frozen=True)
class Lookup:
    """A look-up of new rows of a side among rows of the other side.

    Attributes:
        table: the rows of the other side.
        keys: the keys of the new rows.
        parts: the slices that may have rows that match, by key.
        count: how many of the last rows of its key each row finds; None for any number.
        inside: returns those of the rows found that the window contained.
    """

    table: RowsByKey
    keys: SortedKeys
    parts: Sequence[FoundSlices]
    count: int | None
    inside: Callable[[RowsOfKeys], RowsOfKeys]

    def count_candidates(self, counts: Instants) -> None:
        """Adds to a number for each new row how many rows it may find."""
        for part in self.parts:
            lengths = part.lengths if self.count is None else np.minimum(part.lengths, self.count)
            counts[self.keys.places] += lengths

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
        yield from (replace(self, parts=parts) for parts in of_one_row(self.parts))


def looked_up_pairs(
    plan: JoinPlan, rows: Mapping[str, pl.DataFrame], lookups: list[tuple[str, Lookup]], numbers: range
) -> Iterable[Pairs]:
    """Returns the pairs that look-ups find, in the order of 40.3. They can be iterated again.

    It is one piece unless there are many candidates.

    Each look-up comes with the side of its new rows, and each new row finds rows in one of them at most.
    `numbers` are those of the new rows of both sides.
    """
    total = np.zeros(len(numbers), dtype=np.int64)
    for side, lookup in lookups:
        counts = np.zeros(rows[side].height, dtype=np.int64)
        lookup.count_candidates(counts)
        total[rows[side][NUMBER].to_numpy() - numbers.start] += counts
    ends = np.cumsum(total)
    if len(ends) and ends[-1] > candidate_slices.PIECE:
        return _Pieces(plan, rows, lookups, numbers.start, ends)
    return [_together(plan, rows, lookups)]


@dataclass(frozen=True)
class _Pieces:
    """The pairs that look-ups find, as pieces of a bounded number of candidates.

    `ends` has for each number the count of candidates of the rows up to it.
    """

    plan: JoinPlan
    rows: Mapping[str, pl.DataFrame]
    lookups: Sequence[tuple[str, Lookup]]
    first_number: int
    ends: Instants

    def __iter__(self) -> Iterator[Pairs]:
        for low, high in steps(self.ends):
            count = self.ends[high - 1] - (self.ends[low - 1] if low else 0)
            some = [*self._between(low + self.first_number, high - 1 + self.first_number)] if count else []
            if count > candidate_slices.PIECE:  # of one row
                ((side, lookup),) = some
                for piece in lookup.pieces():
                    yield _together(self.plan, self.rows, [(side, piece)])
            elif count:
                yield _together(self.plan, self.rows, some)

    def _between(self, first: int, last: int) -> Iterator[tuple[str, Lookup]]:
        """Yields the look-ups of the new rows with these numbers that may find something."""
        chosen = {side: rows[NUMBER].is_between(first, last).to_numpy() for side, rows in self.rows.items()}
        for side, lookup in self.lookups:
            some = lookup.chosen(chosen[side])
            if len(some.keys.places):
                yield side, some


def _together(plan: JoinPlan, rows: Mapping[str, pl.DataFrame], lookups: list[tuple[str, Lookup]]) -> Pairs:
    """Returns the pairs of what new rows find. Look-ups are removed when they are read: they use memory."""
    collector = PairCollector(rows)
    while lookups:
        side, lookup = lookups.pop()
        rows_found = lookup.read()
        collector.add(side, rows_found.which, rows_found.at, rows_found.rows)
    return collector.pairs(plan)
