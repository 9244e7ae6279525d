"""Candidates of semi and anti joins without a condition: one for each left row suffices.

A left row matters once, with the partner that makes its first pair (40.3). So there are as many candidates as
left rows, however many right rows match each of them. Only where two keys have equal hashes all candidates
are compared.

Invariant: the candidates of a left row contain its first pair. For a new left row and stored right rows it is
the row itself that completes the pair, so any candidate does. Otherwise it is the candidate that arrived
first. Cost: for each left row the binary searches of a look-up, and the lowest number in a slice
(:mod:`panewise.engine.kernels.range_minimum`). Stored left rows are looked up among the new right rows once,
however many of these find them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from panewise.engine.columns import HASH, NUMBER, TIME
from panewise.engine.join.search.candidate_slices import CandidateSlices, SearchPlan, range_of, same_keys
from panewise.engine.kernels.range_minimum import lowest_places
from panewise.engine.kernels.small_frames import Mask, equal, expand_ranges, take_rows
from panewise.engine.kernels.sorting import Places
from panewise.engine.tables.rows_by_key import FoundSlices, Ranges, slices_of
from panewise.engine.tables.run import RunRows
from panewise.spec.operators.join.columns import LEFT, RIGHT


def with_first_partners(
    method: SearchPlan, new: Mapping[str, RunRows], candidates: Iterable[CandidateSlices]
) -> Iterator[CandidateSlices]:
    """Yields candidates that contain the first pair of each left row. `new` are the new rows."""
    for few in candidates:
        if few.own:
            yield replace(few, slices=_lowest(method, new[RIGHT], few.slices))
        elif few.side == LEFT:
            # Any stored row arrived before the new row.
            starts, ports = few.slices.starts, method.plan.ports
            same = same_keys(ports, LEFT, new[LEFT].frame, few.which, few.slices.rows, starts)
            yield replace(few, slices=_cut(few.slices, starts, same))
        else:
            yield from _candidates_of_stored(method, new[RIGHT], few.slices)


def _candidates_of_stored(method: SearchPlan, new: RunRows, stored: FoundSlices) -> Iterator[CandidateSlices]:
    """Yields the candidates of stored left rows among new right rows, as those of the new rows."""
    at = _union(stored)
    rows = take_rows(stored.rows.select(HASH, TIME), at)
    ranges = Ranges(rows[HASH].to_numpy(), *range_of(rows[TIME].to_numpy(), *method.reach[LEFT]))
    slices = slices_of(new, method.rows[RIGHT], ranges)
    some = np.flatnonzero(slices.lengths)
    if not len(some):
        return
    slices = _lowest(method, new, slices.chosen(some))
    which = expand_ranges(slices.starts, slices.lengths)
    starts = np.repeat(at[some], slices.lengths)
    yield CandidateSlices(RIGHT, which, FoundSlices(stored.rows, starts, np.ones_like(starts)), own=False)


def _lowest(method: SearchPlan, new: RunRows, slices: FoundSlices) -> FoundSlices:
    """Returns of each slice of new right rows the one that arrived first."""
    places = lowest_places(new.frame[NUMBER].to_numpy(), slices.starts, slices.lengths)
    return _cut(slices, places, _of_one_key(method.rows[RIGHT].by, slices))


def _cut(slices: FoundSlices, places: Places, which: Mask) -> FoundSlices:
    """Returns the slices. Where `which` is true, a slice is cut to the row at its place in `places`."""
    starts, lengths = np.where(which, places, slices.starts), np.where(which, 1, slices.lengths)
    return FoundSlices(slices.rows, starts, lengths)


def _of_one_key(keys: list[str], slices: FoundSlices) -> Mask:
    """Returns whether all rows of each slice have one key. Keys of equal hashes may differ."""
    rows, at = slices.rows, np.arange(slices.rows.height - 1)
    changes = np.concatenate([[0], np.cumsum(~equal(rows, at, rows, at + 1, keys))])
    same: Mask = changes[slices.starts] == changes[slices.starts + slices.lengths - 1]
    return same


def _union(slices: FoundSlices) -> Places:
    """Returns the places of the rows that are in any of the slices, each once."""
    order = np.argsort(slices.starts)
    starts = slices.starts[order]
    ends = np.maximum.accumulate(starts + slices.lengths[order])
    first = np.flatnonzero(np.append(True, starts[1:] > ends[:-1]))
    return expand_ranges(starts[first], ends[np.append(first[1:], len(ends)) - 1] - starts[first])
