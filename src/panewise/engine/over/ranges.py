"""Ranges of time that look back, at a cost of what comes and goes (semantics 29.5).

Between two steps a range loses the rows at its far end, and gains those that pass; all between is in the frames of all rows of the step.
So that is kept in blocks, partials of what passed in one step, and only the rows at the far end are read one by one: from a queue, in
which they stand in the order of time.
"""

from dataclasses import dataclass

import polars as pl

from panewise.chrono import MIN_INSTANT
from panewise.engine.columns import BLOCK_START, IS_BLOCK, ROW_NUMBER, STORED_TIME
from panewise.engine.over.plan import TIME, FramePlan, Job
from panewise.engine.over.sequences import Layout, Step
from panewise.engine.store.time_queue import TimeQueue


@dataclass(frozen=True)
class Span:
    """The times of the rows that pass in a step: after `low` (None: from the first on), up to `high`."""

    low: int | None
    high: int

    def moved(self, us: int) -> "Span":
        """The same, so much earlier (negative) or later; what would be before the first instant is there."""
        return Span(None if self.low is None else max(MIN_INSTANT, self.low + us), max(MIN_INSTANT, self.high + us))

    @property
    def length(self) -> int | None:
        """How long it is; None if it has no start."""
        return None if self.low is None else self.high - self.low


def sequences(plan: FramePlan, job: Job, step: Step, span: Span, passed: TimeQueue, blocks: pl.DataFrame) -> Layout:
    """The sequences in which the frames of a job are spans: rows at the far end, blocks that are in all frames, and the rows that pass.

    `blocks` are those of the keys of the step. One that the far end cuts is read row by row.
    """
    assert job.frame.start is not None
    end = span.moved(job.frame.start)
    whole = pl.col(BLOCK_START) >= end.high
    cut = blocks.filter(~whole)[TIME].max()
    until = max(end.high, cut) if isinstance(cut, int) else end.high
    rows = passed.between(end.low, until).with_columns(pl.col(TIME).alias(STORED_TIME), pl.lit(False).alias(IS_BLOCK))
    held = blocks.filter(whole).sort(TIME).with_columns(pl.col(TIME).alias(STORED_TIME), pl.lit(True).alias(IS_BLOCK))
    known = pl.concat([rows, held], how="diagonal").with_row_index(ROW_NUMBER).with_columns(pl.col(ROW_NUMBER).cast(pl.Int64))
    return Layout(plan, Step(step.rows, step.after, known, step.running, step.finished))


def pieces(layout: Layout, job: Job) -> pl.DataFrame:
    """The partials of each position: of a row, or of a block."""
    singles = job.aggregation.singles(layout.values)
    if IS_BLOCK not in layout.stack.columns:
        return singles
    stands_for = layout.column(IS_BLOCK).fill_null(False)
    if not stands_for.any():
        return singles
    stored = (layout.column(job.stored(part.name)).alias(part.name) for part in job.aggregation.parts)
    return pl.DataFrame([one.zip_with(~stands_for, other) for one, other in zip(singles.get_columns(), stored, strict=True)])


def blocks_of(plan: FramePlan, rows: pl.DataFrame, span: Span) -> pl.DataFrame:
    """The blocks of the rows of a step, for each key one."""
    made = rows.group_by(plan.keys, maintain_order=True).agg(pl.len().alias(ROW_NUMBER)).drop(ROW_NUMBER)
    for job in plan.ranges:
        assert job.frame.start is not None
        names = {part.name: job.stored(part.name) for part in job.aggregation.parts}
        if span.length is None or span.length >= -job.frame.start:  # no frame to come holds all of it
            made = made.with_columns(pl.lit(part.empty, dtype=part.dtype).alias(names[part.name]) for part in job.aggregation.parts)
        else:
            lifted = job.aggregation.lift(rows, plan.keys)
            made = made.hstack(lifted.select(pl.col(name).alias(told) for name, told in names.items()))
    low = MIN_INSTANT if span.low is None else span.low
    timed = made.with_columns(pl.lit(low, dtype=pl.Int64).alias(BLOCK_START), pl.lit(span.high, dtype=pl.Int64).alias(TIME))
    return timed.select(pl.col(name).cast(dtype) for name, dtype in plan.blocks.schema.items())
