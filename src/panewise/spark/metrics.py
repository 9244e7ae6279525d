"""Observed metrics: the counts of each micro-batch, in Spark's progress report of every streaming query.

The step emits its counts as text in a column of their own, in one row for each shard. An observe node after
the step sums them, before the rows of other kinds are filtered out. So they reach the progress report
whichever output the query has (semantics 15.5).
"""

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from panewise.engine.ingest.output import Counts

COLUMN = "__metrics"
NAMES = ("rows_in", "applied", "replays", "late", "invalid", "panes")


def with_metrics(schema: StructType) -> StructType:
    """Returns the schema of the step's output with the metrics column."""
    return StructType([*schema.fields, StructField(COLUMN, StringType())])


def metrics_of(counts: Counts, panes: int) -> str | None:
    """Returns the metrics of one step as text, or None if all are 0."""
    if counts == Counts() and not panes:
        return None
    return ",".join(str(panes if name == "panes" else getattr(counts, name)) for name in NAMES)


def joined(table: pa.Table, metrics: str | None) -> pa.Table:
    """Returns the rows with the metrics column, which is null in all of them.

    If there are metrics, a further row contains them and nothing else.
    """
    rows = table.append_column(COLUMN, pa.nulls(table.num_rows, pa.string()))
    if metrics is None:
        return rows
    further = [pa.nulls(1, field.type) for field in table.schema]
    return pa.concat_tables(
        [rows, pa.table([*further, pa.array([metrics])], schema=rows.schema)]
    ).combine_chunks()


def observed(stepped: DataFrame, name: str) -> DataFrame:
    """Returns the output of the step, whose metrics are summed under the name in the progress report.

    With an empty name nothing is observed.
    """
    if not name:
        return stepped
    parts = F.split(COLUMN, ",")
    sums = (
        F.coalesce(F.sum(parts[place].cast("bigint")), F.lit(0)).alias(of) for place, of in enumerate(NAMES)
    )
    return stepped.observe(name, *sums)


def without_metrics(stepped: DataFrame) -> DataFrame:
    """Returns the output without the rows and the column of the metrics."""
    return stepped.where(F.col(COLUMN).isNull()).drop(COLUMN)
