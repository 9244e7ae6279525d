"""What the new columns hold: aggregates over spans, values of other rows, and numbers (semantics 29.4 to 29.7)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from panewise.engine import over_ranges, spans
from panewise.engine.aggregation import Aggregation
from panewise.engine.frames import picked, stacked
from panewise.engine.over_bounds import bounds
from panewise.engine.over_layout import Flags, Layout, Numbers
from panewise.engine.over_plan import Job
from panewise.spec import FrameColumn, RowFunction


@dataclass(frozen=True)
class Values:
    """The new columns of the targets, in their order; and what is remembered of frames without a start, for each key of the layout."""

    new: pl.DataFrame
    running: list[pl.Series]


def values(layout: Layout, ranges: Sequence[Layout] = ()) -> Values:
    """The new columns, in the order of the specification. `ranges` are the sequences of the plan's jobs of ranges, in their order."""
    plan = layout.plan
    made, running = list[pl.Series](), list[pl.Series]()
    for job in plan.bounded:
        low, high = bounds(layout, job.frame)
        made += _results(job.aggregation, job.aggregation.singles(layout.values), low, high)
    for job, sequence in zip(plan.ranges, ranges, strict=True):
        made += _results(job.aggregation, over_ranges.pieces(sequence, job), *bounds(sequence, job.frame))
    for job in plan.unbounded:
        results, remembered = _of_unbounded(layout, job)
        made += results
        running += remembered
    made += [_of_function(layout, column) for column in plan.functions]
    by_name = {series.name: series for series in made}
    return Values(pl.DataFrame([by_name[column.name] for column in plan.spec.columns]), running)


def _results(aggregation: Aggregation, pieces: pl.DataFrame, low: Numbers, high: Numbers) -> list[pl.Series]:
    """The aggregates of spans, of which some may be empty."""
    some = high > low
    if some.all():
        found = spans.over(aggregation, pieces, pl.Series(low), pl.Series(high))
    else:
        nothing = pl.DataFrame([pl.Series(part.name, [part.empty], dtype=part.dtype) for part in aggregation.parts])
        held = spans.over(aggregation, pieces, pl.Series(low[some]), pl.Series(high[some]))
        found = picked(stacked([held, nothing]), np.where(some, np.cumsum(some) - 1, held.height))
    return found.select(aggregation.results).get_columns()


def _of_unbounded(layout: Layout, job: Job) -> tuple[list[pl.Series], list[pl.Series]]:
    """The results of frames without a start, and what they hold up to the rows to come.

    What is remembered of a key stands as one more piece before its rows; of these, those that it holds already are left out.
    """
    aggregation = job.aggregation
    slots = _folded(layout, layout.count_before) > 0
    own = layout.number >= np.repeat(_folded(layout, layout.count_before), layout.total)
    before = np.append(0, np.cumsum(own))  # how many pieces of rows lie before each position
    begins = before[layout.start] + np.cumsum(slots) - slots

    def place(position: Numbers, code: Numbers) -> Numbers:
        return before[position] + (np.cumsum(slots))[code]

    pieces = _pieces(layout, job, slots, own)
    low, high = bounds(layout, job.frame)
    codes = layout.code[layout.targets]
    high = place(np.maximum(high, low), codes)
    results = _results(aggregation, pieces, begins[codes], high)
    return results, _remembered(layout, job, pieces, begins, place(_fold_position(layout), np.arange(len(layout.start))))


def _pieces(layout: Layout, job: Job, slots: Flags, own: Flags) -> pl.DataFrame:
    """Single rows, and before those of a key what is remembered of it."""
    names = [part.name for part in job.aggregation.parts]
    rows = job.aggregation.singles(layout.values)
    if not slots.any():
        return rows if own.all() else rows.filter(pl.Series(own))
    known = layout.running.select(pl.col(job.stored(name)).alias(name) for name in names)
    together = stacked([rows, known])
    # Each piece is sorted to where its key begins: what is remembered before position `start`, rows at their own.
    keys = np.flatnonzero(slots)
    positions = np.flatnonzero(own)
    slots_until = np.cumsum(slots)
    order = np.empty(len(keys) + len(positions), dtype=np.int64)
    before = np.append(0, np.cumsum(own))
    order[before[positions] + slots_until[layout.code[positions]]] = positions
    order[before[layout.start[keys]] + slots_until[keys] - 1] = rows.height + keys
    return picked(together, order)


def _folded(layout: Layout, count: Numbers) -> Numbers:
    """How many rows of each key all frames of the rows to come hold, when so many have passed."""
    folded: Numbers = np.maximum(0, np.maximum(0, count - layout.plan.ahead) + layout.plan.folds_to)
    return folded


def _fold_position(layout: Layout) -> Numbers:
    """The position at which the rows that are remembered from now on end."""
    position: Numbers = layout.passed - (layout.count - _folded(layout, layout.count))
    return position


def _remembered(layout: Layout, job: Job, pieces: pl.DataFrame, low: Numbers, high: Numbers) -> list[pl.Series]:
    """The partials of each key up to there; of those that have none yet, those of no rows."""
    aggregation, some = job.aggregation, high > low
    nothing = pl.DataFrame([pl.Series(part.name, [part.empty], dtype=part.dtype) for part in aggregation.parts])
    held = spans.over(aggregation, pieces, pl.Series(low[some]), pl.Series(high[some]))
    found = picked(stacked([held, nothing]), np.where(some, np.cumsum(some) - 1, held.height))
    return [series.alias(job.stored(series.name)) for series in found.get_columns()]


def _of_function(layout: Layout, column: FrameColumn) -> pl.Series:
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
    found = _gathered(layout, what, place, inside)
    default = layout.plan.defaults[column.name]
    if default is not None and not inside.all():
        found = found.zip_with(pl.Series(inside), pl.repeat(default[0], len(at), dtype=found.dtype, eager=True))
    return found.alias(what.name)


def _gathered(layout: Layout, what: RowFunction, place: Numbers, inside: Flags) -> pl.Series:
    """The function's column at positions; null where there is none."""
    values = layout.values[what.columns[0]]
    index = pl.Series(np.where(inside, place, 0).astype(np.uint32))
    return values.gather(index if inside.all() else index.zip_with(pl.Series(inside), pl.Series([None], dtype=pl.UInt32)))


def _nth(layout: Layout, column: FrameColumn, what: RowFunction) -> pl.Series:
    """The value of the n-th row of each frame."""
    assert column.frame is not None
    assert what.n is not None
    low, high = bounds(layout, column.frame)
    skipped = min(what.n, len(layout.code) + 1) - 1
    if column.frame.start is not None:
        place = low + skipped
        return _gathered(layout, what, place, (place < high)).alias(what.name)
    code = layout.code[layout.targets]
    first = layout.count_before - layout.kept_count  # the number of each sequence's first row
    place = layout.start[code] + (what.n - 1 - first[code])
    reached = place < np.maximum(low, high)  # the frame has n rows
    inside = reached & (place >= layout.start[code])
    found = _gathered(layout, what, np.where(inside, place, 0), inside)
    known = layout.running[_stored(layout, what)].gather(pl.Series(code.astype(np.uint32)))
    return found.zip_with(pl.Series(inside | ~reached), known).alias(what.name)


def _stored(layout: Layout, what: RowFunction) -> str:
    return next(name for name, other in layout.plan.firsts() if other == what)


def firsts(layout: Layout) -> list[pl.Series]:
    """The n-th rows of keys that have so many now, for nth_value without a start."""
    made = []
    for name, what in layout.plan.firsts():
        assert what.n is not None
        place = layout.first_new + (what.n - 1 - layout.count_before)
        inside = (layout.count_before < what.n) & (layout.count >= what.n)
        found = _gathered(layout, what, np.where(inside, place, 0), inside)
        made.append(found.zip_with(pl.Series(inside), layout.running[name]).alias(name))
    return made
