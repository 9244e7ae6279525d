"""Finds the pairs of the rows of a batch with stored rows and with one another (semantics 27, 37, 40.3).

Three parts are searched: new left rows among stored right rows, new right rows among stored left rows, and
new left rows among new right rows. So each pair is found once. A pair is a position among the left and one
among the right rows, so a row is not copied for each of its pairs until they are emitted, except the columns
of a condition.

The cost is that of sorting and looking up the new rows, and of the candidates: rows of equal hash within
reach, which the keys or the condition may reject.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import NUMBER, TIME
from panewise.engine.join.plan import JoinPlan, SidePort, named
from panewise.engine.kernels.frames import equal_values, expand_ranges, take_rows, vstack_frames
from panewise.engine.kernels.instants import exact_sum
from panewise.engine.kernels.sorting import Places, order
from panewise.engine.store.rows_by_key import Ranges, RowsByKey, Slices, slices_of, sorted_rows
from panewise.engine.store.run import RunRows, Shape
from panewise.spec.conditions import columns_of
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT

Instants = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """Pairs of rows.

    Attributes:
        rows: by side the new rows and the stored rows that were found, with the columns of the side's table.
        at: by side the position in `rows` of the row of each pair.
    """

    rows: Mapping[str, pl.DataFrame]
    at: Mapping[str, Places]

    def __len__(self) -> int:
        return len(self.at[LEFT])

    def numbers(self, side: str) -> Instants:
        """Returns the number of the side's row of each pair."""
        return self._of(side, NUMBER)

    @property
    def later(self) -> Instants:
        """The number of the row of each pair that arrived later."""
        later: Instants = np.maximum(self.numbers(LEFT), self.numbers(RIGHT))
        return later

    def taken(self, side: str, columns: Iterable[str]) -> pl.DataFrame:
        """Returns columns of the side's row of each pair."""
        return take_rows(self.rows[side].select(*dict.fromkeys(columns)), self.at[side])

    def chosen(self, places: Places) -> "Pairs":
        """Returns the pairs at these positions."""
        return replace(self, at={side: at[places] for side, at in self.at.items()})

    def in_order(self) -> "Pairs":
        """Returns the pairs by the number of their later row, then by time and number of the other (40.3)."""
        left, right = (self.numbers(side) for side in (LEFT, RIGHT))
        other_time = np.where(left > right, self._of(RIGHT, TIME), self._of(LEFT, TIME))
        return self.chosen(order([np.maximum(left, right), other_time, np.minimum(left, right)]))

    def _of(self, side: str, column: str) -> Instants:
        values: Instants = self.rows[side][column].to_numpy()[self.at[side]]
        return values


class Searched(Protocol):
    """What a search needs to know of a join.

    `reach` has, by side, how far after a row the first and the last row lie that match it, and `rows` the
    shape of the side's table.
    """

    @property
    def plan(self) -> JoinPlan:
        """The plan."""
        ...

    @property
    def reach(self) -> Mapping[str, tuple[int, int]]:
        """The reach of each side, in microseconds."""
        ...

    @property
    def rows(self) -> Mapping[str, Shape]:
        """The shape of the table of each side."""
        ...


@dataclass
class _Search:
    """Collects the rows that take part, by side, and the positions of the pairs among them."""

    method: Searched
    rows: dict[str, list[pl.DataFrame]]
    at: dict[str, list[Places]] = field(default_factory=lambda: {LEFT: [], RIGHT: []})

    def partners(
        self, side: str, new: RunRows, find: Callable[[Ranges], Iterable[Slices]], *, own: bool
    ) -> None:
        """Finds partners of the new rows of a side.

        With `own` they are found among the new rows of the other side, else among stored rows.
        """
        if new.frame.is_empty():
            return
        times = new.frame[TIME].to_numpy()
        ranges = Ranges(new.hashes, *range_of(times, *self.method.reach[side]))
        for found in find(ranges):
            which = np.repeat(np.arange(new.frame.height), found.lengths)
            at = expand_ranges(found.starts, found.lengths)
            which, at = with_equal_keys(self.method.plan.ports, side, new.frame, which, found.rows, at)
            self.at[side].append(which)
            self.at[OTHER[side]].append(at if own else self._added(OTHER[side], found.rows, at))

    def _added(self, side: str, stored: pl.DataFrame, at: Places) -> Places:
        """Adds stored rows, each once, and returns their positions among the rows of the side."""
        taken, which = np.unique(at, return_inverse=True)
        before = sum(frame.height for frame in self.rows[side])
        self.rows[side].append(take_rows(stored[self.rows[side][0].columns], taken))
        return which + before

    def pairs(self) -> Pairs:
        """Returns the pairs in their order."""
        rows = {side: vstack_frames(frames).rechunk() for side, frames in self.rows.items()}
        none = np.empty(0, dtype=np.intp)
        found = Pairs(rows, {side: np.concatenate([none, *at]) for side, at in self.at.items()})
        return _meeting(self.method.plan, found).in_order()


def pairs(method: Searched, stored: Mapping[str, RowsByKey], new: Mapping[str, pl.DataFrame]) -> Pairs:
    """Returns the pairs that the new rows make, in the order of 40.3.

    `stored` has the table of each side before the batch, `new` the new rows of both sides, with the columns
    of the tables and without null keys.
    """
    ordered = {side: sorted_rows(rows, method.rows[side]) for side, rows in new.items()}
    search = _Search(method, {side: [rows.bare] for side, rows in ordered.items()})
    for side in (LEFT, RIGHT):
        search.partners(side, ordered[side], stored[OTHER[side]].slices, own=False)
    if new[RIGHT].height:
        among, shape = ordered[RIGHT], method.rows[RIGHT]
        search.partners(LEFT, ordered[LEFT], lambda ranges: [slices_of(among, shape, ranges)], own=True)
    return search.pairs()


def _meeting(plan: JoinPlan, found: Pairs) -> Pairs:
    """Returns the pairs that meet the condition, if there is one (semantics 38)."""
    if plan.condition is None or plan.spec.condition is None:
        return found
    columns = []
    for side in (LEFT, RIGHT):
        names = columns_of(plan.spec.condition, side)
        taken = found.taken(side, names) if names else pl.DataFrame()
        columns += [one.alias(named(side, one.name)) for one in taken.get_columns()]
    return found.chosen(plan.condition.matches(pl.DataFrame(columns)).arg_true().to_numpy())


def with_equal_keys(
    ports: Mapping[str, SidePort],
    side: str,
    rows: pl.DataFrame,
    which: Places,
    others: pl.DataFrame,
    at: Places,
) -> tuple[Places, Places]:
    """Returns the positions of the rows whose keys are equal, not only the hashes of the keys."""
    same = np.ones(len(at), dtype=np.bool_)
    for mine, other in zip(ports[side].keys, ports[OTHER[side]].keys, strict=True):
        same &= equal_values(rows[mine], which, others[other], at)
    return (which, at) if same.all() else (which[same], at[same])


def range_of(times: Instants, first: int, last: int) -> tuple[Instants, Instants]:
    """Returns the first and the last time that match each of the times. Sums do not wrap around."""
    low, high = int(times.min()), int(times.max())
    if low + min(first, 0) >= MIN_INSTANT and high + max(last, 0) <= MAX_INSTANT:
        return times + first, times + last
    begins, ends = (exact_sum(pl.Series(times), us) for us in (first, last))
    none = ((begins > MAX_INSTANT) | (ends < MIN_INSTANT)).to_numpy()
    begin, end = (
        one.clip(MIN_INSTANT, MAX_INSTANT).cast(pl.Int64).to_numpy().copy() for one in (begins, ends)
    )
    begin[none], end[none] = 1, 0
    return begin, end
