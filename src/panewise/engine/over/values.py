"""The values of the new columns: aggregates, values of other rows, and ranks (semantics 29.4 to 29.7).

All frames are ranges of positions in sequences, so no function looks a row up. Aggregates are range
aggregates, values of other rows are gathered by position, and row numbers and ranks are computed from
positions.

Invariant: a value depends on the rows of its key in its sequence and on what is stored of the key, and not on
how rows were cut into steps. Cost: linear in the positions for each column, besides that of range aggregates.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from panewise.engine.over.bounds import bounds
from panewise.engine.over.bounds import ranges as ranges_of
from panewise.engine.over.nth import FAR, nth, values_at
from panewise.engine.over.range_partials import results
from panewise.engine.over.ranges import pieces
from panewise.engine.over.running import Running
from panewise.engine.over.sequences import Sequences
from panewise.spec import Frame, RowFunction


@dataclass(frozen=True)
class Values:
    """The values that a step computes.

    Attributes:
        new: the new columns of the targets, in their order.
        running: the partials of frames without a start to store, by key of the sequences.
    """

    new: pl.DataFrame
    running: list[pl.Series]


def values(sequences: Sequences, ranges: Sequence[Sequences] = ()) -> Values:
    """Returns the new columns, in the order of the specification.

    `ranges` has the sequences of each job of `plan.ranges`, in the same order.
    """
    plan = sequences.plan
    new_columns, running = list[pl.Series](), list[pl.Series]()
    # Each kind of frame has pieces of its own: single rows here, rows and blocks for ranges that look back,
    # and a stored partial with rows for frames without a start.
    from_end = plan.from_end
    for job in plan.bounded:
        singles, frames = job.aggregation.singles(sequences.values), ranges_of(sequences, job.frame)
        new_columns += results(job, singles, frames, from_end=from_end).get_columns()
    for job, own in zip(plan.ranges, ranges, strict=True):
        frames = ranges_of(own, job.frame)
        new_columns += results(job, pieces(own, job), frames, from_end=from_end).get_columns()
    for job in plan.unbounded:
        columns, remembered = Running(sequences).results(job)
        new_columns += columns
        running += remembered
    new_columns += [_of_function(sequences, what, frame) for what, frame in plan.functions]
    by_name = {series.name: series for series in new_columns}
    return Values(pl.DataFrame([by_name[column.name] for column in plan.spec.columns]), running)


def _of_function(sequences: Sequences, what: RowFunction, frame: Frame | None) -> pl.Series:
    """Returns a new column that is the result of a function, not of an aggregate."""
    at = sequences.targets
    match what.fn:
        case "row_number":
            return pl.Series(what.name, sequences.number[at] + 1)
        case "rank":
            return pl.Series(what.name, sequences.ranks[0][at] + 1)
        case "dense_rank":
            return pl.Series(what.name, sequences.ranks[1][at] + 1)
        case "nth_value":
            return _nth(sequences, what, frame)
    return _shifted(sequences, what)


def _shifted(sequences: Sequences, what: RowFunction) -> pl.Series:
    """Returns `lag` or `lead`."""
    assert what.n is not None
    at, code, longest = sequences.targets, sequences.code[sequences.targets], len(sequences.code)
    if what.skips and what.fn == "lag":
        there = nth(sequences, what, [(sequences.start[code], at)], from_end=True)
        values_there, inside = there.values, there.reached
    elif what.skips:
        there = nth(sequences, what, [(at + 1, sequences.passed[code])], from_end=False)
        values_there, inside = there.values, there.reached
    else:
        place = at + min(what.n, longest) * (-1 if what.fn == "lag" else 1)
        inside = (place >= sequences.start[code]) & (place < sequences.passed[code])
        values_there = values_at(sequences, what, place, inside)
    default = sequences.plan.defaults[what.name]
    if default is not None and not inside.all():
        defaults = pl.repeat(default[0], len(at), dtype=values_there.dtype, eager=True)
        values_there = values_there.zip_with(pl.Series(inside), defaults)
    return values_there.alias(what.name)


def _nth(sequences: Sequences, what: RowFunction, frame: Frame | None) -> pl.Series:
    """Returns the value in the n-th row of each frame, null if the frame has fewer rows.

    The n-th row of a frame without a start is the same for all rows of a key. It may have passed in an
    earlier step: then the table `running` has its value.
    """
    assert frame is not None
    assert what.n is not None
    name = sequences.plan.firsts.get(what)
    if name is None:
        from_end = sequences.plan.from_end
        return nth(sequences, what, ranges_of(sequences, frame), from_end=from_end).values.alias(what.name)
    low, high = bounds(sequences, frame)
    code = sequences.code[sequences.targets]
    # By key, the number of the first row of its sequence.
    first = sequences.count_before - sequences.stored_count
    place = sequences.start[code] + (min(what.n, FAR) - 1 - first[code])
    reached = place < np.maximum(low, high)  # whether the frame has n rows
    inside = reached & (place >= sequences.start[code])
    values_there = values_at(sequences, what, np.where(inside, place, 0), inside)
    known = sequences.running[name].gather(pl.Series(code.astype(np.uint32)))
    return values_there.zip_with(pl.Series(inside | ~reached), known).alias(what.name)


def firsts(sequences: Sequences) -> list[pl.Series]:
    """Returns the columns that store `nth_value` without a start: by key, null until it has n rows."""
    remembered = []
    for what, name in sequences.plan.firsts.items():
        assert what.n is not None
        place = sequences.first_new + (min(what.n, FAR) - 1 - sequences.count_before)
        inside = (sequences.count_before < what.n) & (sequences.count >= what.n)
        values_there = values_at(sequences, what, np.where(inside, place, 0), inside)
        remembered.append(values_there.zip_with(pl.Series(inside), sequences.running[name]).alias(name))
    return remembered
