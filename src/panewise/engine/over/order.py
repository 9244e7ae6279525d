"""The order of rows in an OVER operator (semantics 29.1, 29.8).

Rows are sorted by event time, then by the order columns (:attr:`OverPlan.sort_columns`), each in its
direction. Equal rows are in arrival order. Without an event time all rows are in arrival order. The keys have
no part in this sort: :class:`~panewise.engine.over.sequences.Sequences` then groups the rows by key, and the
order within a key stays.

The order is made in three places:

- :func:`in_arrival_order` puts a batch into arrival order, before its rows wait or pass.
- :func:`passing_in_order` returns the rows that pass in this order. All frames are computed in it. The time
  queue does the sort (`engine/tables/time_queue.py`), except by columns in another direction than its own.
- :func:`emitted_in_order` sorts the rows that are emitted. It sorts again only if rows wait for rows after
  them.
"""

import numpy as np
import polars as pl

from panewise.chrono import MAX_INSTANT
from panewise.engine.columns import PLACE, STORED_TIME
from panewise.engine.ingest import arrival
from panewise.engine.kernels.small_frames import ordered, take_rows
from panewise.engine.over.plan import OverPlan
from panewise.engine.over.sequences import Sequences
from panewise.engine.tables.time_queue import TimeQueue
from panewise.spec import OverOperator


def in_arrival_order(spec: OverOperator, rows: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows of a batch in arrival order.

    It is defined by the position or, without an event time, by the order columns. Otherwise it is the order
    of the input. With an event time the order columns sort the rows that pass.
    """
    placed = arrival.placed(rows)
    if spec.position or (spec.order and not spec.time_columns):
        return arrival.in_order(spec, placed)
    return placed if placed[PLACE].is_sorted() else placed.sort(PLACE)


def passing_in_order(
    waiting: TimeQueue, before: int | None, now: int | None, us_ahead: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the rows that pass, and the rows still waiting that their ranges reach ahead to, both sorted.

    Both are sorted by :attr:`OverPlan.stored_order`, which are the event time and the order columns, nulls
    first, then by arrival, across all keys. :meth:`TimeQueue.between` (`engine/tables/time_queue.py`) does
    the sort, because these columns are the identity of the queue's table (:meth:`OverPlan._tables`). It takes
    a slice of each run, which was sorted when it was written. It sorts the newest rows, which are in no run
    yet. Then it merges all of these with a stable sort. They are in order of age, so equal rows stay in
    arrival order.

    Args:
        waiting: the rows that have not passed.
        before: the time up to which rows have passed, None if none has.
        now: the time up to which rows pass in this step, None if none does.
        us_ahead: how far ranges reach ahead, in microseconds; 0 at the end of input.
    """
    nothing = waiting.between(MAX_INSTANT, MAX_INSTANT)
    if now is None or now == before:
        return nothing, nothing
    due = waiting.between(before, now)
    return due, waiting.between(now, now + us_ahead) if due.height and us_ahead else nothing


def in_each_direction(plan: OverPlan, due: pl.DataFrame) -> pl.DataFrame:
    """Returns the rows that pass, sorted by all columns of the order.

    The queue sorts by the columns before the first one that is not ascending with nulls first.
    """
    return due if plan.stored_order == plan.sort_columns else _sorted(plan, due, plan.sort_columns)


def emitted_in_order(sequences: Sequences, new: pl.DataFrame) -> pl.DataFrame:
    """Returns the emitted rows with their new columns, in the order of semantics 29.8.

    `new` has the new columns of the rows at `sequences.targets`.
    """
    plan, rows = sequences.plan, sequences.step.rows
    if not plan.ahead:  # the emitted rows are those that pass, which are in this order already
        place = sequences.source[sequences.targets] - (sequences.stack.height - rows.height - sequences.later)
        # Positions are in the order of keys. `back` leads from the place of a row in the step to its
        # position.
        back = np.empty(len(place), dtype=np.int64)
        back[place] = np.arange(len(place))
        return rows.select(*plan.payload).hstack(take_rows(new, back))
    by = [STORED_TIME, *plan.spec.order] if plan.sort_columns else []
    keys_of = [f"__by:{key}" for key in plan.keys]
    emitted = take_rows(sequences.stack, sequences.source[sequences.targets]).select(*plan.payload, *by[:1])
    keys = [
        sequences.keys[key].gather(sequences.code[sequences.targets]).alias(name)
        for key, name in zip(plan.keys, keys_of, strict=True)
    ]
    both = emitted.hstack(new).hstack(keys)
    return _sorted(plan, both, [*by, *keys_of]).select(*plan.pane_schema)


def _sorted(plan: OverPlan, rows: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    """Returns the rows sorted by these columns, each in its direction. The sort is stable."""
    spec = plan.spec
    if not spec.descending and not spec.nulls_last:
        return ordered(rows, by)
    descending, nulls_last = ([name in names for name in by] for names in (spec.descending, spec.nulls_last))
    return rows.sort(by, descending=descending, nulls_last=nulls_last, maintain_order=True)
