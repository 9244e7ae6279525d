"""Candidates of a batch if rows are retained by number (semantics 37.1).

A row matches only rows that arrived earlier. If a side retains n rows of a key, a row matches only the last n
of them. So candidates are looked up by a range of arrival and a range of time.

Cost: each candidate is a pair, unless the condition or `retain_for` excludes it. A look-up by time alone
would compare each row of a batch with all rows of its key in the batch.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from panewise.chrono import MIN_INSTANT
from panewise.engine.columns import NUMBER, ORDINAL, TIME
from panewise.engine.join.interval.retention import Retention, placed_with
from panewise.engine.join.plan import keys_of
from panewise.engine.join.search.candidate_slices import CandidateSlices, SearchPlan, looked_up, range_of
from panewise.engine.join.search.rows_by_arrival import ArrivalOrder
from panewise.engine.kernels.instants import Instants
from panewise.engine.kernels.small_frames import vstack_frames
from panewise.engine.tables.rows_by_key import RowsByKey
from panewise.engine.tables.run import RunRows
from panewise.spec.operators.join.columns import LEFT, OTHER, RIGHT


@dataclass(frozen=True)
class _Arrivals:
    """For each new row the rows of the other side that arrived in a range.

    Attributes:
        column: the column of the other rows that has their order.
        first: the first value of the range for each new row.
        last: the last one.
    """

    column: str
    first: Instants
    last: Instants


def candidates_by_arrival(
    method: SearchPlan, retention: Retention, stored: Mapping[str, RowsByKey], new: Mapping[str, RunRows]
) -> Iterator[CandidateSlices]:
    """Yields the candidates of all new rows among the rows that arrived before them.

    `stored` has the table of each side before the batch, and `new` the new rows of both sides.
    """
    for side in (LEFT, RIGHT):
        other, rows = OTHER[side], new[side].frame
        if other in retention.counted:
            seen = retention.seen(other, rows[NUMBER])
            arrivals = _Arrivals(ORDINAL, seen - (retention.count or 0), seen - 1)
            old = _retained(method, side, rows, stored[other], arrivals)
            yield from _among(method, side, rows, old, arrivals, own=False)
        else:
            yield from looked_up(method, side, new[side], stored[other])
            last = rows[NUMBER].to_numpy() - 1
            arrivals = _Arrivals(NUMBER, np.full_like(last, MIN_INSTANT), last)
        yield from _among(method, side, rows, new[other].frame, arrivals, own=True)


def _retained(
    method: SearchPlan, side: str, rows: pl.DataFrame, table: RowsByKey, arrivals: _Arrivals
) -> pl.DataFrame:
    """Returns the stored rows of the other side in the ranges of places that the rows of their key have."""
    keys = keys_of(method.plan, side, rows)
    bounds = arrivals.first, arrivals.last
    ends = [keys.with_columns(pl.Series(ORDINAL, bound, pl.Int64)) for bound in bounds]
    return placed_with(table, vstack_frames(ends).rechunk())


def _among(
    method: SearchPlan, side: str, rows: pl.DataFrame, others: pl.DataFrame, arrivals: _Arrivals, *, own: bool
) -> Iterator[CandidateSlices]:
    """Yields the candidates of new rows of a side among rows of the other side, by arrival and time."""
    if rows.is_empty() or others.is_empty():
        return
    ordered = ArrivalOrder.from_rows(others, arrivals.column, keys_of(method.plan, side, rows))
    ranges = ordered.between(arrivals.first, arrivals.last)
    times = others[TIME].to_numpy()[ordered.places]
    first, last = range_of(rows[TIME].to_numpy(), *method.reach[side])
    for which, slices in ordered.slices(others, times, ranges, first, last):
        yield CandidateSlices(side, which, slices, own)
