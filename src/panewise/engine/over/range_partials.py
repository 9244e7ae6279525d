"""Partials of frames, which are ranges of pieces (semantics 29.6).

A frame is one range, or with EXCLUDE several. The partials of its ranges are merged in order. With descending
event time a frame is read from its end, so pieces and ranges are reversed.

Invariant: partials are merged in the order in which a frame is read, and a frame without rows has the partial
of no rows. Cost: that of range aggregates (:mod:`panewise.engine.aggregate.range_aggregate`) for all ranges,
and with EXCLUDE once more for the frames, over one piece for each of their ranges.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from panewise.engine.aggregate import range_aggregate
from panewise.engine.aggregate.aggregation import Aggregation
from panewise.engine.over.jobs import Job
from panewise.engine.over.sequences import Flags, Numbers

Ranges = Sequence[tuple[Numbers, Numbers]]


def over_frames(
    aggregation: Aggregation, pieces: pl.DataFrame, ranges: Ranges, *, from_end: bool
) -> pl.DataFrame:
    """Returns the partials over frames, each of which has a place in each of the `ranges`.

    A range [low, high) with high <= low is empty.

    Args:
        aggregation: the aggregation of the pieces.
        pieces: the partials of all positions, in order.
        ranges: the bounds of the first, second, ... range of each frame.
        from_end: whether frames are read from their ends.
    """
    if from_end:
        length, pieces = pieces.height, pieces.reverse()
        ranges = [(length - high, length - low) for low, high in reversed(ranges)]
    if len(ranges) == 1:
        return range_aggregate.over_any(aggregation, pieces, *ranges[0])
    low, high = (np.stack(bounds, axis=1).ravel() for bounds in zip(*ranges, strict=True))
    some: Flags = high > low
    partials = range_aggregate.aggregate_ranges(
        aggregation, pieces, pl.Series(low[some]), pl.Series(high[some])
    )
    counts = some.reshape(-1, len(ranges)).sum(axis=1)
    until = np.cumsum(counts)
    return range_aggregate.over_any(aggregation, partials, until - counts, until)


def results(job: Job, pieces: pl.DataFrame, ranges: Ranges, *, from_end: bool) -> pl.DataFrame:
    """Returns the results of a job over frames, as :func:`over_frames` takes them."""
    return over_frames(job.whole, pieces, ranges, from_end=from_end).select(job.whole.results)
