"""RANGE frames that look back, computed from partials (semantics 29.5).

The frames of the rows of one step differ only at their starts and at the rows that pass. The rows between are
in all these frames. They are read as *blocks*: a block has, for one key, the merged partials of the rows that
passed in one earlier step. Only the rows near the starts of the frames are read one by one, from a time
queue. Invariant: each row that has passed within the range is in exactly one block of its key, and in the
queue.

So a step costs as much as the rows that pass, the rows near the starts of the frames, and one block for each
key and earlier step within the range. It does not depend on the number of rows in a frame.
"""

from dataclasses import dataclass

import polars as pl

from panewise.chrono import MIN_INSTANT
from panewise.engine.columns import BLOCK_START, END, IS_BLOCK, ROW_NUMBER, STORED_TIME
from panewise.engine.over.jobs import Job
from panewise.engine.over.plan import OverPlan
from panewise.engine.over.sequences import PassingRows, Sequences
from panewise.engine.tables.time_queue import TimeQueue


@dataclass(frozen=True)
class Span:
    """The times of the rows that pass in a step: low < time <= high; a `low` of None means no bound."""

    low: int | None
    high: int

    def moved(self, us: int) -> "Span":
        """Returns the span moved by `us` microseconds. Bounds saturate at the first instant."""
        return Span(
            None if self.low is None else max(MIN_INSTANT, self.low + us), max(MIN_INSTANT, self.high + us)
        )

    @property
    def length(self) -> int | None:
        """The length in microseconds; None if the span has no start."""
        return None if self.low is None else self.high - self.low


def sequences_of_range(
    plan: OverPlan, job: Job, step: PassingRows, span: Span, passed: TimeQueue, blocks: pl.DataFrame
) -> Sequences:
    """Returns sequences in which the frames of a job are ranges of positions.

    The sequence of a key contains the rows near the starts of the frames, then the blocks that are in all
    frames, then the rows that pass, then the rows that still wait. If a frame can start within a block, the
    rows of the block take its place.

    Args:
        plan: the plan of the operator.
        job: the aggregates over one range.
        step: the rows of the step.
        span: the times of the rows that pass.
        passed: the time queue of the rows that have passed.
        blocks: the blocks of the keys of the step.
    """
    assert job.frame.start is not None
    end = span.moved(job.frame.start)  # the span of the starts of the frames
    # Blocks that begin at or after the last start are in all frames. The rows of the others are read one by
    # one, up to the end of the last of these blocks.
    whole = pl.col(BLOCK_START) >= end.high
    cut = blocks.filter(~whole)[END].max()
    until = max(end.high, cut) if isinstance(cut, int) else end.high
    rows = passed.between(end.low, until).with_columns(
        pl.col(END).alias(STORED_TIME), pl.lit(False).alias(IS_BLOCK)
    )
    block = pl.col(END).alias(STORED_TIME), pl.lit(True).alias(IS_BLOCK)
    whole_blocks = blocks.filter(whole).sort(END).with_columns(block)
    known = pl.concat([rows, whole_blocks], how="diagonal").with_row_index(ROW_NUMBER)
    known = known.with_columns(pl.col(ROW_NUMBER).cast(pl.Int64))
    return Sequences(plan, PassingRows(step.rows, step.after, known, step.running, step.finished))


def pieces(sequences: Sequences, job: Job) -> pl.DataFrame:
    """Returns the partials of each position, which is a row or a block."""
    singles = job.aggregation.singles(sequences.values)
    if IS_BLOCK not in sequences.stack.columns:
        return singles
    is_block = sequences.column(IS_BLOCK).fill_null(False)
    if not is_block.any():
        return singles
    stored = (
        sequences.column(job.stored(partial.name)).alias(partial.name) for partial in job.aggregation.partials
    )
    return pl.DataFrame(
        [
            of_row.zip_with(~is_block, of_block)
            for of_row, of_block in zip(singles.get_columns(), stored, strict=True)
        ]
    )


def blocks_of(plan: OverPlan, rows: pl.DataFrame, span: Span) -> pl.DataFrame:
    """Returns the blocks of the rows that pass in a step, one for each key."""
    rows = rows.reverse() if plan.from_end else rows
    block = rows.group_by(plan.keys, maintain_order=True).agg(pl.len().alias(ROW_NUMBER)).drop(ROW_NUMBER)
    for job in plan.ranges:
        assert job.frame.start is not None
        names = {partial.name: job.stored(partial.name) for partial in job.aggregation.partials}
        # A block as long as the range is in no later frame as a whole, so its partials are never read.
        if span.length is None or span.length >= -job.frame.start:
            block = block.with_columns(
                pl.lit(partial.empty, dtype=partial.dtype).alias(names[partial.name])
                for partial in job.aggregation.partials
            )
        else:
            lifted = job.aggregation.lift(rows, plan.keys)
            block = block.hstack(lifted.select(pl.col(name).alias(stored) for name, stored in names.items()))
    low = MIN_INSTANT if span.low is None else span.low
    timed = block.with_columns(
        pl.lit(low, dtype=pl.Int64).alias(BLOCK_START), pl.lit(span.high, dtype=pl.Int64).alias(END)
    )
    return timed.select(pl.col(name).cast(dtype) for name, dtype in plan.blocks.schema.items())
