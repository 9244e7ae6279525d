"""The window table of an operator: one row for each key and window.

Columns: the keys; ``__start`` and ``__end``; bookkeeping; the partial columns of the aggregates; and, where
panes are compared, the live pane (``__live:*``). :class:`panewise.engine.tables.stored_table.StoredTable`
stores it.

The windows of a batch are merged with stored windows in one of two ways, with the same result. If each window
occurs at most once in the batch, :func:`merged_row_by_row` merges two columns in one expression, and groups
nothing. Otherwise :func:`merged_in_groups` groups the rows of each window. Either costs one pass over the
partial columns.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from panewise.engine.aggregate.aggregation import Aggregation, columns_that_need_carries
from panewise.engine.columns import (
    BORN,
    CLOSED,
    END,
    FIRED,
    INDEX,
    KEY_WATERMARK,
    LIVE,
    NONSPECULATIVE,
    PENDING,
    ROWS,
    START,
    UNFLIPPED,
    WAS_STORED,
    is_live_column,
    live_column,
)
from panewise.engine.kernels.small_frames import (
    constant_column,
    filter_rows,
    grouped,
    take_rows,
    vstack_frames,
)
from panewise.engine.progress.clocks import Clocks
from panewise.engine.tables.run import FoundRows
from panewise.spec import WindowOperator

LIVE_PANE = {
    "timing": pl.String(),
    "index": pl.Int64(),
    "nonspeculative_index": pl.Int64(),
    "is_first": pl.Boolean(),
    "is_last": pl.Boolean(),
}

# BORN and FIRED are the processing times of the first row and of the last firing. With a periodic trigger
# they are A and F of semantics 16.3; F = A while FIRED is null.
_BOOKKEEPING: dict[str, pl.DataType] = {
    PENDING: pl.Int64(),
    UNFLIPPED: pl.Boolean(),
    CLOSED: pl.Boolean(),
    INDEX: pl.Int64(),
    NONSPECULATIVE: pl.Int64(),
    BORN: pl.Int64(),
    FIRED: pl.Int64(),
}


def table_schema(
    keys: dict[str, pl.DataType], aggregation: Aggregation, trigger: dict[str, pl.DataType], *, live: bool
) -> dict[str, pl.DataType]:
    """Returns the columns of the table."""
    schema = {**keys, START: pl.Int64(), END: pl.Int64(), **_BOOKKEEPING, **trigger, **aggregation.schema}
    return schema | (live_columns(aggregation.result_types) if live else {})


def live_columns(results: dict[str, pl.DataType]) -> dict[str, pl.DataType]:
    """Returns the columns in which a table stores the live panes, with these results."""
    columns = {live_column(name): dtype for name, dtype in (results | LIVE_PANE).items()}
    return {LIVE: pl.Boolean(), **columns}


def newborn(
    partials: pl.DataFrame,
    schema: dict[str, pl.DataType],
    *,
    born: int,
    open_: pl.Series | bool,
    pending: str = ROWS,
) -> pl.DataFrame:
    """Returns table rows for windows that only this batch's rows have made.

    `pending` is the column with the number of their rows. `open_` says which windows are not complete.
    """
    columns = {column.name: column for column in partials.get_columns()}
    constants = {CLOSED: False, INDEX: 0, NONSPECULATIVE: 0, BORN: born, LIVE: False}
    if isinstance(open_, bool):
        constants[UNFLIPPED] = open_
    else:
        columns[UNFLIPPED] = open_
    columns[PENDING] = columns[pending]

    def filled(name: str, dtype: pl.DataType) -> pl.Series:
        if name in constants or name not in columns:
            return constant_column(name, constants.get(name), dtype, partials.height)
        column = columns[name]
        return (column if column.dtype == dtype else column.cast(dtype)).alias(name)

    return pl.DataFrame([filled(name, dtype) for name, dtype in schema.items()])


def merged_in_groups(
    rows: pl.DataFrame,
    by: list[str],
    aggregation: Aggregation,
    schema: dict[str, pl.DataType],
    trigger: list[pl.Expr],
    *,
    periodic: bool,
) -> pl.DataFrame:
    """Returns one table row for each group; within a group rows are in arrival order, stored windows first.

    `trigger` are the aggregations of the trigger's columns (:mod:`panewise.engine.windowing.trigger.tree`).
    With `periodic`, BORN is that of the earliest pending row.
    """
    stored = pl.col(WAS_STORED)
    keep_first = pl.col(UNFLIPPED).first()  # of the stored window, which comes first, if there is one
    aggregations = [
        pl.col(PENDING).sum(),
        keep_first,
        pl.col(CLOSED).any(),
        pl.col(INDEX).sum(),
        pl.col(NONSPECULATIVE).sum(),
        pl.col(BORN).filter(pl.col(PENDING) > 0).min() if periodic else pl.col(BORN).min(),
        pl.col(FIRED).min(),  # only sessions that are merged have several: the earliest F (9.1)
        *([pl.col(KEY_WATERMARK).max()] if KEY_WATERMARK in schema else []),
        *aggregation.merging(rows),
        *trigger,
    ]
    live = [name for name in schema if is_live_column(name)]
    if LIVE in schema:
        aggregations += [pl.col(LIVE).any(), *(pl.col(name).filter(stored).first() for name in live)]
    groups = grouped(rows, by, aggregations)
    return groups.with_columns_seq(
        pl.col(name).cast(dtype) for name, dtype in schema.items() if name in groups.columns
    )


_ADDED = "__added:"


def row_by_row_merge(aggregation: Aggregation, *, periodic: bool) -> dict[str, pl.Expr] | None:
    """Returns the columns of a stored window merged with a new one; None if they must be merged in groups.

    A new window is younger than any stored window and has not fired yet. So of the bookkeeping only the
    number of pending rows changes, and with `periodic` also the time since when rows are pending.
    """
    if any(partial.merge_two is None and partial.fitting is None for partial in aggregation.partials):
        return None
    columns = {PENDING: pl.col(PENDING) + pl.col(_ADDED + PENDING)}
    if periodic:
        columns[BORN] = pl.when(pl.col(PENDING) > 0).then(BORN).otherwise(pl.col(_ADDED + BORN))
    for partial in aggregation.partials:
        if partial.merge_two is not None:
            columns[partial.name] = partial.merge_two(pl.col(partial.name), pl.col(_ADDED + partial.name))
    return {name: expr.alias(name) for name, expr in columns.items()}


def merged_row_by_row(
    aggregation: Aggregation, merge: Mapping[str, pl.Expr], known: FoundRows, new: pl.DataFrame
) -> pl.DataFrame | None:
    """Returns the new windows merged with the stored ones; None if they must be merged in groups.

    They must be if a sum may leave the range of its type. Each new window must occur once. The merged windows
    equal those of :func:`merged_in_groups`.
    """
    if any(columns_that_need_carries(aggregation.partials, frame, 2) for frame in (known.rows, new)):
        return None
    added = take_rows(new[[*merge]], known.which)
    both = known.rows.hstack([column.alias(_ADDED + column.name) for column in added.get_columns()])
    both = both.with_columns_seq(merge.values())
    if len(known.which) == new.height:
        return both[known.rows.columns]
    others = np.ones(new.height, dtype=np.bool_)
    others[known.which] = False
    return vstack_frames([both[known.rows.columns], filter_rows(new, pl.Series(others))])


def merges_in_any_order(aggregation: Aggregation) -> bool:
    """Returns whether the pieces of a window may be merged with each other first, with the same result.

    A sum of floats depends on the order of its additions, so floats must be added to the stored window one
    after another.
    """
    return all(
        partial.fitting is not None or (partial.merge_two is not None and not partial.dtype.is_float())
        for partial in aggregation.partials
    )


_NONE = pl.lit(False)
_HAS_PENDING = pl.col(PENDING) > 0
_SINCE = pl.coalesce(FIRED, BORN)
# In state from before 0.2, BORN is the time of the first row, which can lie before F. A cannot.
_PENDING_SINCE = pl.max_horizontal(FIRED, BORN)


@dataclass(frozen=True)
class TriggerContext:
    """The clocks, and expressions over the window table.

    Attributes:
        clocks: the clocks.
        complete: whether the window is complete.
        flips: whether it flips in this evaluation.
        pending: whether it has pending rows.
        since: F of a periodic trigger (semantics 16.3).
        pending_since: A of a periodic trigger (semantics 16.3).
    """

    clocks: Clocks
    complete: pl.Expr
    flips: pl.Expr
    pending: pl.Expr = _HAS_PENDING
    since: pl.Expr = _SINCE
    pending_since: pl.Expr = _PENDING_SINCE

    @classmethod
    def at(cls, spec: WindowOperator, clocks: Clocks, flips: pl.Expr | None = None) -> "TriggerContext":
        """Returns the context at these clocks.

        Without `flips` it is that of a batch, in which no window flips.
        """
        complete = clocks.complete(spec, pl.col(END))
        return cls(clocks, complete, _NONE if flips is None else flips)
