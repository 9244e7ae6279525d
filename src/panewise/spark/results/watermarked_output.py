"""Gives the emitted rows of a stream the watermark of the query, for Spark's operators after them.

A column of a stream has a watermark if its metadata says so. `withWatermark` writes these metadata, and adds
a node to the plan that makes a watermark from the rows. After an operator only the metadata may be written.
The watermark of a Spark query is the least of the watermarks of all such nodes. So a second node would wait
for the emitted rows, and these wait for the watermark. Spark itself passes the watermark on through the
operator.

Rows behind the watermark of the micro-batch before are late for Spark. So only columns get these metadata
whose values are never behind it (semantics 42.11).
"""

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from panewise.spark.inputs.ancestry import has_watermark_of_rows
from panewise.spark.inputs.checks import DELAY, delay_of, setting
from panewise.spark.inputs.watermarks import makes_own
from panewise.spec import Entry, StreamTime, parts

if TYPE_CHECKING:
    from panewise.spark.dataflow.dataflow import Dataflow

_POLICY = "spark.sql.streaming.multipleWatermarkPolicy"


def timely_column(dataflow: "Dataflow") -> str | None:
    """Returns the column of emitted rows that Spark never takes for late, None if there is none."""
    spec = dataflow.spec
    if dataflow.fed or dataflow.static or parts(spec).emits_again(spec) is not None:
        return None
    leads = all(_leads(df, spec.ports[port]) for port, df in dataflow.dfs.items())
    return parts(spec).timely_column(spec) if leads else None


def _leads(df: DataFrame, entry: Entry) -> bool:
    """Returns whether the watermark of an input is never below that of the query.

    It is that of the query, or it is made from the same rows, with a delay that is no longer.
    """
    if not makes_own(entry):
        return True
    watermark, delay = entry.watermark, delay_of(df, entry.time_columns)
    if not isinstance(watermark, StreamTime) or watermark.per != "all":
        return False
    if delay is None or watermark.delay > delay:
        return False
    all_valid = entry.null_keys and entry.max_future_skew is None and entry.position is None
    return all_valid and has_watermark_of_rows(df) and setting(df, _POLICY, "min").lower() == "min"


def with_watermark_of_query(rows: DataFrame, column: str) -> DataFrame:
    """Returns emitted rows with a column that has the watermark of the query."""
    return rows.withMetadata(column, {DELAY: 0})
