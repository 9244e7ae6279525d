"""The window table of an operator: one row for each key and window.

Columns: the keys; ``__start`` and ``__end``; bookkeeping; the partial columns of the aggregates; and, where
panes are compared, the live pane (``__live:*``). :class:`panewise.engine.store.stored_table.StoredTable`
stores it.
"""

import polars as pl

from panewise.engine.aggregate.aggregation import Aggregation
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
    START,
    UNFLIPPED,
    WAS_STORED,
    is_live_column,
    live_column,
)
from panewise.engine.kernels.frames import grouped

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
    if live:
        schema[LIVE] = pl.Boolean()
        schema |= {live_column(name): dtype for name, dtype in (aggregation.result_types | LIVE_PANE).items()}
    return schema


def newborn(
    partials: pl.DataFrame, schema: dict[str, pl.DataType], *, pending: pl.Expr, born: int, open_: pl.Expr
) -> pl.DataFrame:
    """Returns table rows for windows that only this batch's rows have made."""
    values = {
        PENDING: pending,
        UNFLIPPED: open_,
        CLOSED: pl.lit(False),
        INDEX: pl.lit(0),
        NONSPECULATIVE: pl.lit(0),
        BORN: pl.lit(born),
        LIVE: pl.lit(False),
    }
    filled = [
        values.get(name, pl.col(name) if name in partials.columns else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in schema.items()
    ]
    return partials.select_seq(filled)


def merged(
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
