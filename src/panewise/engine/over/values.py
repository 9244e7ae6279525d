"""The values of the new columns: aggregates, values of other rows, and ranks (semantics 29.4 to 29.7).

All frames are ranges of positions of a layout, so no function looks a row up. Aggregates are range
aggregates, values of other rows are gathered by position, and row numbers and ranks are computed from
positions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from panewise.engine.over.bounds import bounds
from panewise.engine.over.ranges import pieces
from panewise.engine.over.running import Running, results
from panewise.engine.over.sequences import Flags, Layout, Numbers
from panewise.spec import OverColumn, RowFunction

_FAR = 1 << 62  # a number of rows that no stream reaches; sums with a position fit in 64 bits


@dataclass(frozen=True)
class Values:
    """The values that a step computes.

    Attributes:
        new: the new columns of the targets, in their order.
        running: the partials of frames without a start to store, by key of the layout.
    """

    new: pl.DataFrame
    running: list[pl.Series]


def values(layout: Layout, ranges: Sequence[Layout] = ()) -> Values:
    """Returns the new columns, in the order of the specification.

    `ranges` has a layout for each job of `plan.ranges`, in the same order.
    """
    plan = layout.plan
    new_columns, running = list[pl.Series](), list[pl.Series]()
    # Each kind of frame has pieces of its own: single rows here, rows and blocks for ranges that look back,
    # and a stored partial with rows for frames without a start.
    for job in plan.bounded:
        low, high = bounds(layout, job.frame)
        new_columns += results(job, job.aggregation.singles(layout.values), low, high).get_columns()
    for job, sequence in zip(plan.ranges, ranges, strict=True):
        new_columns += results(job, pieces(sequence, job), *bounds(sequence, job.frame)).get_columns()
    for job in plan.unbounded:
        columns, remembered = Running(layout).results(job)
        new_columns += columns
        running += remembered
    new_columns += [_of_function(layout, column) for column in plan.functions]
    by_name = {series.name: series for series in new_columns}
    return Values(pl.DataFrame([by_name[column.name] for column in plan.spec.columns]), running)


def _of_function(layout: Layout, column: OverColumn) -> pl.Series:
    """Returns a new column that is the result of a function, not of an aggregate."""
    what, at = column.what, layout.targets
    assert isinstance(what, RowFunction)
    match what.fn:
        case "row_number":
            return pl.Series(what.name, layout.number[at] + 1)
        case "rank":
            return pl.Series(what.name, layout.ranks[0][at] + 1)
        case "dense_rank":
            return pl.Series(what.name, layout.ranks[1][at] + 1)
        case "nth_value":
            return _nth(layout, column, what)
    assert what.n is not None
    code, longest = layout.code[at], len(layout.code)
    place = at + min(what.n, longest) * (-1 if what.fn == "lag" else 1)
    inside = (place >= layout.start[code]) & (place < layout.passed[code])
    values_there = _values_at(layout, what, place, inside)
    default = layout.plan.defaults[column.name]
    if default is not None and not inside.all():
        values_there = values_there.zip_with(
            pl.Series(inside), pl.repeat(default[0], len(at), dtype=values_there.dtype, eager=True)
        )
    return values_there.alias(what.name)


def _values_at(layout: Layout, what: RowFunction, place: Numbers, inside: Flags) -> pl.Series:
    """Returns the column of the function at each place, null where `inside` is false."""
    values = layout.values[what.columns[0]]
    index = pl.Series(np.where(inside, place, 0).astype(np.uint32))
    return values.gather(
        index if inside.all() else index.zip_with(pl.Series(inside), pl.Series([None], dtype=pl.UInt32))
    )


def _nth(layout: Layout, column: OverColumn, what: RowFunction) -> pl.Series:
    """Returns the value in the n-th row of each frame, null if the frame has fewer rows.

    The n-th row of a frame without a start is the same for all rows of a key. It may have passed in an
    earlier step: then the table `running` has its value.
    """
    assert column.frame is not None
    assert what.n is not None
    low, high = bounds(layout, column.frame)
    skipped = min(what.n, len(layout.code) + 1) - 1
    if column.frame.start is not None:
        place = low + skipped
        return _values_at(layout, what, place, (place < high)).alias(what.name)
    code = layout.code[layout.targets]
    first = layout.count_before - layout.stored_count  # by key, the number of the first row of its sequence
    place = layout.start[code] + (min(what.n, _FAR) - 1 - first[code])
    reached = place < np.maximum(low, high)  # whether the frame has n rows
    inside = reached & (place >= layout.start[code])
    values_there = _values_at(layout, what, np.where(inside, place, 0), inside)
    known = layout.running[_stored(layout, what)].gather(pl.Series(code.astype(np.uint32)))
    return values_there.zip_with(pl.Series(inside | ~reached), known).alias(what.name)


def _stored(layout: Layout, what: RowFunction) -> str:
    return next(name for name, other in layout.plan.firsts() if other == what)


def firsts(layout: Layout) -> list[pl.Series]:
    """Returns the columns that store `nth_value` without a start: by key, null until it has n rows."""
    remembered = []
    for name, what in layout.plan.firsts():
        assert what.n is not None
        place = layout.first_new + (min(what.n, _FAR) - 1 - layout.count_before)
        inside = (layout.count_before < what.n) & (layout.count >= what.n)
        values_there = _values_at(layout, what, np.where(inside, place, 0), inside)
        remembered.append(values_there.zip_with(pl.Series(inside), layout.running[name]).alias(name))
    return remembered
