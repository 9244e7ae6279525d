"""The partners of left rows of an as-of join among stored right rows (semantics 37.2)."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from panewise.chrono import MIN_INSTANT
from panewise.engine.columns import NUMBER, TIME
from panewise.engine.join.matching import Instants, with_equal_keys
from panewise.engine.join.plan import JoinPlan, named
from panewise.engine.kernels.bisection import bisect_left
from panewise.engine.kernels.frames import expand_ranges, take_rows, vstack_frames
from panewise.engine.kernels.hashing import row_hashes
from panewise.engine.kernels.instants import saturating_sum
from panewise.engine.kernels.sorting import Places, hash_order
from panewise.engine.store.rows_by_key import Ranges, RowsByKey, Slices
from panewise.spec.conditions import columns_of
from panewise.spec.operators.join.columns import LEFT, RIGHT
from panewise.spec.operators.join.match import AsOf


@dataclass(frozen=True)
class Candidates:
    """A right row for each left row.

    Attributes:
        rows: right rows.
        at: the position in `rows` of the right row of each left row, -1 if it has none.
    """

    rows: pl.DataFrame
    at: Places

    def chosen(self, mask: npt.NDArray[np.bool_]) -> "Candidates":
        """Returns the right rows of some of the left rows."""
        return replace(self, at=self.at[mask])


def partners_of(plan: JoinPlan, match: AsOf, rows: pl.DataFrame, right: RowsByKey) -> Candidates:
    """Returns the partner of each left row. Rows with a null key have none."""
    left = plan.ports[LEFT]
    hashes = row_hashes(rows, left.keys)
    places = hash_order(hashes)
    ordered = take_rows(rows, places)
    first, last = _range(match, ordered[TIME])
    none = right.newest.clear().select(*right.shape.schema)
    best = Candidates(none, np.full(len(places), -1, dtype=np.intp))
    for part in right.slices(Ranges(hashes[places], first, last)):
        best = _better(match, ordered, best, _of_part(plan, match, ordered, part))
    at = np.empty(len(places), dtype=np.intp)
    at[places] = best.at
    nulls = rows.select(pl.any_horizontal(pl.col(left.keys).is_null())).to_series().to_numpy()
    return Candidates(best.rows, np.where(nulls, -1, at))


def _range(match: AsOf, times: pl.Series) -> tuple[Instants, Instants]:
    """Returns the first and the last time of the right rows that can be the partner of each left row."""
    if match.tolerance is None:
        return np.full(len(times), MIN_INSTANT), times.to_numpy()
    far = match.tolerance.us
    low = saturating_sum(times, -far) if match.strategy != "forward" else times
    high = saturating_sum(times, far) if match.strategy != "backward" else times
    return low.to_numpy(), high.to_numpy()


def _of_part(plan: JoinPlan, match: AsOf, rows: pl.DataFrame, part: Slices) -> Candidates:
    """Returns the best row of one part for each left row.

    Usually that is the row at an end of the slice, or at the place of the left row in it. If one of these has
    another key, because of equal hashes, or if there is a condition, all rows of all slices are compared.
    """
    at = _nearest(match, rows[TIME].to_numpy(), part)
    known = np.flatnonzero(at >= 0)
    stored = part.rows[[*plan.ports[RIGHT].stored]]
    which, _ = with_equal_keys(plan.ports, LEFT, rows, known, stored, at[known])
    if plan.condition is None and len(which) == len(known):
        return Candidates(stored, at)
    return Candidates(stored, _compared(plan, match, rows, part, stored))


def _nearest(match: AsOf, times: Instants, part: Slices) -> Places:
    """Returns the position of the best row of each slice, -1 if the slice is empty. Keys are not compared."""
    stored = part.rows[TIME].to_numpy()
    low, high = part.starts, part.starts + part.lengths
    backward = bisect_left(stored, low, high, times, past_equal=True) - 1
    backward = np.where(backward >= low, backward, -1)
    forward = bisect_left(stored, low, high, times)
    some = forward < high
    following = np.where(some, stored[np.minimum(forward, len(stored) - 1)], 0)
    # Of equal times the last row arrived last.
    forward = np.where(some, bisect_left(stored, low, high, following, past_equal=True) - 1, -1)
    none = part.lengths == 0
    if match.strategy == "backward":
        return np.where(none, -1, backward)
    if match.strategy == "forward":
        return np.where(none, -1, forward)
    return np.where(none, -1, _nearer(times, stored, backward, forward))


def _nearer(times: Instants, stored: Instants, backward: Places, forward: Places) -> Places:
    """Returns the nearer one of two rows, the earlier one if they are equally near. -1 is no row."""
    behind = _distance(times, stored[backward])
    ahead = _distance(times, stored[forward])
    nearer = (forward >= 0) & ((backward < 0) | (ahead < behind))
    return np.where(nearer, forward, backward)


def _distance(one: Instants, other: Instants) -> npt.NDArray[np.uint64]:
    """Returns how far apart instants are. The difference of two instants fits in 64 bits without a sign."""
    low, high = np.minimum(one, other), np.maximum(one, other)
    distance: npt.NDArray[np.uint64] = high.view(np.uint64) - low.view(np.uint64)
    return distance


def _compared(plan: JoinPlan, match: AsOf, rows: pl.DataFrame, part: Slices, stored: pl.DataFrame) -> Places:
    """Returns the best row of each slice by comparing all its rows."""
    which = np.repeat(np.arange(rows.height), part.lengths)
    at = expand_ranges(part.starts, part.lengths)
    which, at = with_equal_keys(plan.ports, LEFT, rows, which, stored, at)
    if plan.condition is not None and plan.spec.condition is not None:
        columns = []
        for side, frame, taken in ((LEFT, rows, which), (RIGHT, stored, at)):
            names = columns_of(plan.spec.condition, side)
            found = take_rows(frame.select(*names), taken) if names else pl.DataFrame()
            columns += [one.alias(named(side, one.name)) for one in found.get_columns()]
        true = plan.condition.matches(pl.DataFrame(columns)).to_numpy()
        which, at = which[true], at[true]
    best = np.full(rows.height, -1, dtype=np.intp)
    times, numbers = (stored[name].to_numpy()[at] for name in (TIME, NUMBER))
    ranks = _ranks(match, rows[TIME].to_numpy()[which], times, numbers)
    order = np.lexsort((*ranks, which))
    best[which[order]] = at[order]  # of several the last one is kept, which is the best
    return best


def _ranks(
    match: AsOf, times: Instants, stored: Instants, numbers: Instants
) -> tuple[npt.NDArray[np.generic], ...]:
    """Returns columns that sort right rows, the best last. The last column is the most significant."""
    if match.strategy == "backward":
        return numbers, stored
    if match.strategy == "forward":
        return numbers, -stored
    far = np.uint64(2**64 - 1)
    return numbers, -stored, far - _distance(times, stored)


def _better(match: AsOf, rows: pl.DataFrame, one: Candidates, other: Candidates) -> Candidates:
    """Returns for each left row the better one of two candidates. Only the rows of candidates are kept."""
    there = other.at >= 0
    taken = np.unique(other.at[there])
    at = np.full(len(other.at), -1, dtype=np.intp)
    at[there] = np.searchsorted(taken, other.at[there]) + one.rows.height
    stack = vstack_frames([one.rows, take_rows(other.rows, taken)])
    both = np.flatnonzero((one.at >= 0) & (at >= 0))
    best = np.where(at >= 0, at, one.at)
    if len(both):
        times, stored, numbers = rows[TIME].to_numpy()[both], stack[TIME].to_numpy(), stack[NUMBER].to_numpy()
        ranks = [_ranks(match, times, stored[of[both]], numbers[of[both]]) for of in (one.at, at)]
        first = np.zeros(len(both), dtype=np.bool_)
        equal = np.ones(len(both), dtype=np.bool_)
        for mine, its in zip(reversed(ranks[0]), reversed(ranks[1]), strict=True):
            first |= equal & (mine > its)
            equal &= mine == its
        best[both[first]] = one.at[both[first]]
    return Candidates(stack, best)
