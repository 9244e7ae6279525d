"""The net effect of emitted rows in this process, for tables that contain results (semantics 49.3)."""

from collections.abc import Iterable

import polars as pl

from panewise.spec.net_effect import check_current, key_of_panes


def current(
    rows: pl.DataFrame,
    *,
    key: Iterable[str] | None = None,
    operation: str = "operation",
    op: str | None = "op",
) -> pl.DataFrame:
    """Returns the net effect of emitted rows: for each key what its row in a table becomes.

    It returns the last row of each key, with a new column in the place of `op`. This is "upsert" if the row
    is the result of the key, and "delete" if it is a retraction, after which the key has no result.

    Args:
        rows: emitted rows of one or more steps, in their order.
        key: the columns that identify a row of the table. Default: the columns up to `window_end`, which are
            the keys and the bounds of the window of panes.
        operation: the name of the new column.
        op: the column that marks retractions by "-". Without it nothing is retracted. None: there is none,
            although a column of the input has this name.

    Raises:
        SpecError: if `rows` lack a column, if rows without `window_end` have no `key`, or if a column has the
            name of the new one.

    >>> import polars as pl
    >>> panes = pl.DataFrame({"k": ["a", "a", "a", "b"], "window_start": 0, "window_end": [5, 5, 9, 5],
    ...     "n": [1, 1, 3, 2], "op": ["+", "-", "+", "+"]})
    >>> current(panes).rows()
    [('a', 0, 5, 1, 'delete'), ('a', 0, 9, 3, 'upsert'), ('b', 0, 5, 2, 'upsert')]

    Source: semantics 49.3; :func:`panewise.spark.current` on Spark.
    """
    names = check_current(rows.columns, key_of_panes(rows.columns) if key is None else key, operation)
    last = rows.group_by(names, maintain_order=True).tail(1).select(rows.columns)
    if op is None or op not in rows.columns:
        return last.with_columns(pl.lit("upsert").alias(operation))
    done = pl.when(pl.col(op) == "-").then(pl.lit("delete")).otherwise(pl.lit("upsert"))
    return last.with_columns(done.alias(operation)).drop(op)
