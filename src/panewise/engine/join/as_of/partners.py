"""The partners of left rows of an as-of join among stored right rows (semantics 37.2).

Right rows lie in parts, each sorted by hash of the key, time and number. For each part, and then for all of
them, a left row has at most one best right row. Invariant: after a part, `best` has the best right row of all
parts so far, by a total order of right rows (`_ranks`). So the order of the parts does not matter.

Cost: a binary search for each left row and part. With a condition, or if keys with equal hashes differ, all
right rows in the range of the left row are compared, in pieces of about `PIECE`.
"""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import NUMBER, TIME
from panewise.engine.join.plan import JoinPlan, has_null_key, satisfied
from panewise.engine.join.search.candidate_slices import PIECE, same_keys, with_equal_keys
from panewise.engine.join.search.pair_search import Pairs, with_condition
from panewise.engine.join.search.rows_of_keys import SortedKeys
from panewise.engine.kernels.bisection import bisect_left
from panewise.engine.kernels.hashing import hash_order, row_hashes
from panewise.engine.kernels.instants import Instants, saturating_sum
from panewise.engine.kernels.small_frames import expand_ranges, take_rows, vstack_frames
from panewise.engine.kernels.sorting import Places
from panewise.engine.tables.rows_by_key import FoundSlices, Ranges, RowsByKey
from panewise.spec.operators.join.as_of import AsOf
from panewise.spec.operators.join.columns import LEFT, RIGHT


@dataclass(frozen=True)
class Candidates:
    """A right row for each left row.

    Attributes:
        rows: right rows.
        at: the place in `rows` of the right row of each left row, -1 if it has none.
    """

    rows: pl.DataFrame
    at: Places

    def chosen(self, mask: npt.NDArray[np.bool_]) -> "Candidates":
        """Returns the right rows of some of the left rows."""
        return replace(self, at=self.at[mask])


def without_partners(count: int, right: RowsByKey) -> Candidates:
    """Returns that so many left rows have no right row."""
    return Candidates(right.shape.no_rows, np.full(count, -1, dtype=np.intp))


def partners_of(plan: JoinPlan, match: AsOf, rows: pl.DataFrame, right: RowsByKey) -> Candidates:
    """Returns the partner of each left row. Rows with a null key have none."""
    left = plan.ports[LEFT]
    hashes = row_hashes(rows, left.keys)
    places = hash_order(hashes)
    ordered = take_rows(rows, places)
    first, last = _range(match, ordered[TIME])
    best = without_partners(len(places), right)
    compared = ordered if plan.condition is not None else ordered.select(*dict.fromkeys([TIME, *left.keys]))
    for part in right.slices(Ranges(hashes[places], first, last)):
        mine = np.flatnonzero(part.lengths)
        few = take_rows(compared, mine)
        best = _better(match, few, best, mine, _of_part(plan, match, few, part.chosen(mine)))
    at = np.empty(len(places), dtype=np.intp)
    at[places] = best.at
    return Candidates(best.rows, np.where(has_null_key(left, rows), -1, at))


def last_rows(plan: JoinPlan, rows: pl.DataFrame, right: RowsByKey, count: int) -> Pairs:
    """Returns the pairs of each left row with the latest right rows that are not after it, in their order.

    The condition is tested for these right rows. Rows with a null key have no partner.
    """
    left = plan.ports[LEFT]
    latest = SortedKeys.from_rows(rows, left.keys).last(right, rows[TIME].to_numpy(), count)
    latest = latest.chosen(~has_null_key(left, rows)[latest.which])
    pairs = Pairs({LEFT: rows, RIGHT: latest.rows}, {LEFT: latest.which, RIGHT: latest.at})
    return with_condition(plan, pairs)


def _range(match: AsOf, times: pl.Series) -> tuple[Instants, Instants]:
    """Returns the first and the last time of the right rows that can be the partner of each left row."""
    near = 0 if match.allow_exact_matches else 1  # the last instant of all may be among these, see _compared
    if match.tolerance is None:
        first, last = np.full(len(times), MIN_INSTANT), np.full(len(times), MAX_INSTANT)
        if match.strategy == "forward":
            first = saturating_sum(times, near).to_numpy()
        return first, saturating_sum(times, -near).to_numpy() if match.strategy == "backward" else last
    far = match.tolerance.us
    low = saturating_sum(times, near if match.strategy == "forward" else -far)
    high = saturating_sum(times, -near if match.strategy == "backward" else far)
    return low.to_numpy(), high.to_numpy()


def _of_part(plan: JoinPlan, match: AsOf, rows: pl.DataFrame, part: FoundSlices) -> Candidates:
    """Returns the best row of one part for each left row.

    Usually that is the row at an end of the slice, or at the place of the left row in it. If this row has
    another key, because of equal hashes, or if there is a condition, all rows of the slice are compared, in
    pieces.
    """
    at, stored = np.full(rows.height, -1, dtype=np.intp), part.rows[[*plan.ports[RIGHT].stored]]
    if plan.condition is None:
        at = _nearest(match, rows[TIME].to_numpy(), part)
        known = np.flatnonzero(at >= 0)
        other = known[~same_keys(plan.ports, LEFT, rows, known, stored, at[known])]
        lengths = np.zeros_like(part.lengths)
        at[other], lengths[other] = -1, part.lengths[other]
        part = part.first(lengths)
    for piece in part.cut(PIECE):
        mine = np.flatnonzero(piece.lengths)
        few = take_rows(rows, mine)
        compared = _compared(plan, match, few, piece.chosen(mine), stored)
        at[mine] = _better_places(match, few, stored, at[mine], compared)
    return Candidates(stored, at)


def _nearest(match: AsOf, times: Instants, part: FoundSlices) -> Places:
    """Returns the place of the best row of each slice, -1 if the slice is empty. Keys are not compared."""
    low, high = part.starts, part.starts + part.lengths
    if match.strategy == "backward":
        return np.where(part.lengths == 0, -1, high - 1)  # the slice ends at the time of the left row
    stored, exact = part.rows[TIME].to_numpy(), match.allow_exact_matches
    backward = bisect_left(stored, low, high, times, past_equal=exact) - 1
    backward = np.where(backward >= low, backward, -1)
    forward = bisect_left(stored, low, high, times, past_equal=not exact)
    some = forward < high
    following = np.where(some, stored[np.minimum(forward, len(stored) - 1)], 0)
    # Among rows of equal time the last one arrived last.
    forward = np.where(some, bisect_left(stored, low, high, following, past_equal=True) - 1, -1)
    none = part.lengths == 0
    if match.strategy == "forward":
        return np.where(none, -1, forward)
    return np.where(none, -1, _nearer(times, stored, backward, forward))


def _nearer(times: Instants, stored: Instants, backward: Places, forward: Places) -> Places:
    """Returns the nearer one of two rows, the earlier one if they are equally near. -1 is no row."""
    back = distance(times, stored[backward])
    ahead = distance(times, stored[forward])
    nearer = (forward >= 0) & ((backward < 0) | (ahead < back))
    return np.where(nearer, forward, backward)


def distance(first: Instants, other: Instants) -> npt.NDArray[np.uint64]:
    """Returns how far apart instants are. The difference of two instants fits in 64 bits without a sign."""
    low, high = np.minimum(first, other), np.maximum(first, other)
    return high.view(np.uint64) - low.view(np.uint64)


def _compared(
    plan: JoinPlan, match: AsOf, rows: pl.DataFrame, part: FoundSlices, stored: pl.DataFrame
) -> Places:
    which = np.repeat(np.arange(rows.height), part.lengths)
    at = expand_ranges(part.starts, part.lengths)
    which, at = with_equal_keys(plan.ports, LEFT, rows, which, stored, at)
    if not match.allow_exact_matches:
        other = stored[TIME].to_numpy()[at] != rows[TIME].to_numpy()[which]
        which, at = which[other], at[other]
    both = {LEFT: (rows, which), RIGHT: (stored, at)}
    true = satisfied(plan, lambda side, names: take_rows(both[side][0].select(*names), both[side][1]))
    if true is not None:
        which, at = which[true.to_numpy()], at[true.to_numpy()]
    best = np.full(rows.height, -1, dtype=np.intp)
    times, numbers = (stored[name].to_numpy()[at] for name in (TIME, NUMBER))
    ranks = _ranks(match, rows[TIME].to_numpy()[which], times, numbers)
    order = np.lexsort((*ranks, which))
    best[which[order]] = at[order]  # of several the last one stays, which is the best
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
    return numbers, -stored, far - distance(times, stored)


def _better(match: AsOf, rows: pl.DataFrame, best: Candidates, mine: Places, other: Candidates) -> Candidates:
    """Returns the best candidates of all left rows, after comparing them with those of some left rows.

    `rows` are these left rows, and `mine` their places among all. Other right rows are left out.
    """
    there = np.flatnonzero(other.at >= 0)
    at = np.full(len(mine), -1, dtype=np.intp)
    at[there] = np.arange(len(there)) + best.rows.height
    stack = vstack_frames([best.rows, take_rows(other.rows, other.at[there])])
    places = best.at.copy()
    places[mine] = _better_places(match, rows, stack, best.at[mine], at)
    return Candidates(stack, places)


def _better_places(
    match: AsOf, rows: pl.DataFrame, right: pl.DataFrame, first_at: Places, other: Places
) -> Places:
    """Returns for each left row the place of the better one of two right rows. -1 is no row."""
    both = np.flatnonzero((first_at >= 0) & (other >= 0))
    best = np.where(other >= 0, other, first_at)
    if len(both):
        times, stored, numbers = rows[TIME].to_numpy()[both], right[TIME].to_numpy(), right[NUMBER].to_numpy()
        ranks = [_ranks(match, times, stored[at[both]], numbers[at[both]]) for at in (first_at, other)]
        first = np.zeros(len(both), dtype=np.bool_)
        equal = np.ones(len(both), dtype=np.bool_)
        for mine, its in zip(reversed(ranks[0]), reversed(ranks[1]), strict=True):
            first |= equal & (mine > its)
            equal &= mine == its
        best[both[first]] = first_at[both[first]]
    return best
