"""Looks new rows up by key and range of time: their candidates are slices of rows of the other side.

A table is sorted by the hash of the key, then by time. So the candidates of a row are a slice of each part of
the table. Slices may contain rows with an equal hash and another key, so keys are compared afterwards.

Cost: a look-up takes one binary search for each new row and part. Candidates are read and compared in pieces
of about `PIECE`, which bounds the memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT, MIN_INSTANT
from panewise.engine.columns import NUMBER, TIME
from panewise.engine.join.plan import JoinPlan, SidePort
from panewise.engine.kernels.instants import Instants, wide_sum
from panewise.engine.kernels.small_frames import Mask, equal_columns
from panewise.engine.kernels.sorting import Places
from panewise.engine.tables.rows_by_key import FoundSlices, Ranges, RowsByKey, slices_of
from panewise.engine.tables.run import RunRows, Shape
from panewise.spec.operators.join.columns import OTHER

ONCE = 1 << 19  # up to so many candidates of a batch are compared at once
PIECE = 1 << 17  # more of them are compared in pieces of up to so many, which need less memory


class SearchPlan(Protocol):
    """What a search needs to know of a join.

    `reach` has, by side, how far after a row the first and the last row lie that match it, in microseconds;
    None for any distance. `rows` has the shape of the side's table.
    """

    plan: JoinPlan
    reach: dict[str, tuple[int | None, int | None]]
    rows: dict[str, Shape]


@dataclass(frozen=True)
class CandidateSlices:
    """Candidates of new rows of a side: slices of rows of the other side.

    Attributes:
        side: the side of the new rows.
        which: the places of new rows, among those of the side, whose slices are not empty.
        slices: a slice for each of them.
        own: whether they are slices of the new rows of the other side, not of stored rows.
    """

    side: str
    which: Places
    slices: FoundSlices
    own: bool

    def chosen(self, places: Places) -> "CandidateSlices":
        """Returns the candidates of some of the new rows."""
        slices = self.slices.chosen(places)
        return replace(self, which=self.which[places], slices=slices)


def looked_up(method: SearchPlan, side: str, new: RunRows, others: RowsByKey) -> Iterator[CandidateSlices]:
    """Yields the candidates of the new rows of a side among the stored rows of the other side."""
    if new.frame.height:
        for slices in others.slices(_ranges(method, side, new)):
            yield from _filled(side, slices, own=False)


def among(method: SearchPlan, side: str, new: Mapping[str, RunRows]) -> Iterator[CandidateSlices]:
    """Yields the candidates of the new rows of a side among the new rows of the other side."""
    mine, others = new[side], new[OTHER[side]]
    if mine.frame.height and others.frame.height:
        slices = slices_of(others, method.rows[OTHER[side]], _ranges(method, side, mine))
        yield from _filled(side, slices, own=True)


def steps(ends: Places) -> Iterator[tuple[int, int]]:
    """Yields ranges of rows, each with up to `PIECE` candidates or a single row.

    `ends` has the number of candidates up to each row, and with it.
    """
    low = 0
    while low < len(ends):
        before = int(ends[low - 1]) if low else 0
        high = max(low + 1, int(np.searchsorted(ends, before + PIECE, side="right")))
        yield low, high
        low = high


def of_one_row(slices: Sequence[FoundSlices]) -> Iterator[list[FoundSlices]]:
    """Yields the candidates of one new row in pieces of about `PIECE`, by their time and number.

    They are the first slice of each of the `slices`.
    """
    step = max(1, PIECE // max(1, len(slices)))
    while any(part.lengths[0] for part in slices):
        long = [part for part in slices if part.lengths[0] > step]
        cuts = [part.rows[part.inside(int(part.starts[0]) + step - 1, 1)] for part in long]
        until = min((cut.select(TIME, NUMBER).row(0) for cut in cuts), default=None)
        counts = [part.lengths if until is None else _up_to(part, *until) for part in slices]
        yield [part.first(count) for part, count in zip(slices, counts, strict=True)]
        slices = [part.after(count) for part, count in zip(slices, counts, strict=True)]


def _up_to(slices: FoundSlices, time: int, number: int) -> Places:
    """Returns how many rows of the first slice are at a time and number or before it."""
    inside = slices.inside(int(slices.starts[0]), int(slices.lengths[0]))
    times, numbers = (slices.rows[name].to_numpy()[inside] for name in (TIME, NUMBER))
    low, high = (int(np.searchsorted(times, time, side)) for side in ("left", "right"))
    return np.array([low + int(np.searchsorted(numbers[low:high], number, side="right"))])


def _filled(side: str, slices: FoundSlices, *, own: bool) -> Iterator[CandidateSlices]:
    which = np.flatnonzero(slices.lengths)
    if len(which):
        yield CandidateSlices(side, which, slices.chosen(which), own)


def _ranges(method: SearchPlan, side: str, new: RunRows) -> Ranges:
    times, (first, last) = new.frame[TIME].to_numpy(), method.reach[side]
    # The other side's rows end with their last match, unless they can match rows at any time after them.
    ends_matter = first is not None
    return Ranges(new.hashes, *range_of(times, first, last), times if ends_matter else None)


def with_equal_keys(
    ports: Mapping[str, SidePort],
    side: str,
    rows: pl.DataFrame,
    which: Places,
    others: pl.DataFrame,
    at: Places,
) -> tuple[Places, Places]:
    """Returns the places of the rows whose keys are equal, not only the hashes of the keys."""
    same = same_keys(ports, side, rows, which, others, at)
    return (which, at) if same.all() else (which[same], at[same])


def same_keys(
    ports: Mapping[str, SidePort],
    side: str,
    rows: pl.DataFrame,
    which: Places,
    others: pl.DataFrame,
    at: Places,
) -> Mask:
    """Returns whether the keys of the rows at each pair of places are equal."""
    return equal_columns(rows, which, ports[side].keys, others, at, ports[OTHER[side]].keys)


def range_of(times: Instants, first: int | None, last: int | None) -> tuple[Instants, Instants]:
    """Returns the first and the last time that match each of the times. Sums do not wrap around.

    A bound that is None is any distance away.
    """
    if first is None:
        if last is None:
            return np.full_like(times, MIN_INSTANT), np.full_like(times, MAX_INSTANT)
        begin, end = range_of(times, min(last, 0), last)
        return np.where(begin <= end, MIN_INSTANT, begin), end
    if last is None:
        begin, end = range_of(times, first, max(first, 0))
        return begin, np.where(begin <= end, MAX_INSTANT, end)
    low, high = int(times.min()), int(times.max())
    if low + min(first, 0) >= MIN_INSTANT and high + max(last, 0) <= MAX_INSTANT:
        return times + first, times + last
    begins, ends = (wide_sum(pl.Series(times), us) for us in (first, last))
    none = ((begins > MAX_INSTANT) | (ends < MIN_INSTANT)).to_numpy()
    begin, end = (
        sums.clip(MIN_INSTANT, MAX_INSTANT).cast(pl.Int64).to_numpy().copy() for sums in (begins, ends)
    )
    begin[none], end[none] = 1, 0
    return begin, end
