"""The net effect of the rows of a micro-batch, for tables that contain results (semantics 49.3)."""

from collections.abc import Iterable

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from panewise.spark.columns.schemas import column_names
from panewise.spark.inputs.names import column_named
from panewise.spark.sinks.sequence import unused_name
from panewise.spec.net_effect import check_current, key_of_panes


def current(
    rows: DataFrame,
    *,
    key: Iterable[str] | None = None,
    sequence: str = "sequence",
    operation: str = "operation",
    op: str | None = "op",
) -> DataFrame:
    """Returns the net effect of the rows of a micro-batch: for each key what its row in a table becomes.

    It is for sinks of your own. It returns the last row of each key, by the sequence that
    `write(sequence=...)` adds, with a new column. This is "upsert" if the row is the result of the key, and
    "delete" if it is a retraction, after which the key has no result. So a table gets one change for each
    key, in any order.

    Args:
        rows: emitted rows, as a sink gets them.
        key: the columns that identify a row of the table. Default: the columns up to `window_end`, which are
            the keys and the bounds of the window of panes.
        sequence: the column with the sequence.
        operation: the name of the new column, which replaces `op`.
        op: the column that marks retractions by "-". Without it nothing is retracted. None: there is none,
            although a column of the input has this name.

    Raises:
        SpecError: if `rows` lack a column, if rows without `window_end` have no `key`, or if a column has the
            name of the new one.

    Example::

        def to_table(rows: DataFrame, batch_id: int) -> None:
            changes = current(rows)
            ...  # MERGE changes into the table

        hourly.write(panes=to_table, sequence="sequence", checkpoint="out/checkpoint")

    Source: semantics 49.3; Flink's changelog of a table.
    """
    columns = column_names(rows)
    names = key_of_panes(columns) if key is None else key
    checked = check_current(columns, names, operation, sequence)
    return net_effect(rows, checked, sequence, operation, op if op in columns else None)


def net_effect(
    rows: DataFrame, key: Iterable[str], sequence: str, operation: str, op: str | None
) -> DataFrame:
    """Returns what :func:`current` does, for columns that are checked."""
    columns = column_names(rows)
    name = unused_name(columns, "last")
    last = F.max_by(F.struct(*map(column_named, columns)), column_named(sequence)).alias(name)
    changes = rows.groupBy(*map(column_named, key)).agg(last).select(f"{name}.*")
    if op is None:
        return changes.withColumn(operation, F.lit("upsert"))
    return changes.withColumn(operation, F.when(column_named(op) == "-", "delete").otherwise("upsert")).drop(
        op
    )
