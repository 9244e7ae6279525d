"""Rows with a sum over the rows before them: in panewise, in transformWithStateInPandas and without Spark.

transformWithStateInPandas is used as its documentation shows it. Rows of a key are taken as they arrive, and
those of one micro-batch in order of event time.
"""

from collections.abc import Iterator
from typing import Any

import pandas as pd
import polars as pl
from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

from bench.shapes import WATERMARK_DELAY, Framed
from panewise import Window
from panewise import functions as F
from panewise.spark import over

_COLUMNS = "ts TIMESTAMP, k BIGINT, v BIGINT, s BIGINT"


def ours(events: DataFrame, shape: Framed) -> DataFrame:
    """Returns the rows of panewise, in order of event time if the shape says so, otherwise as they arrive."""
    keyed = Window.partitionBy("k").orderBy("ts") if shape.by_time else Window.partitionBy("k")
    frame = keyed.rowsBetween(-shape.preceding, Window.currentRow)
    watched = events.withWatermark("ts", WATERMARK_DELAY) if shape.by_time else events
    return over(watched, "ts").withColumn("s", F.sum("v").over(frame)).rows


def per_key(events: DataFrame, shape: Framed) -> DataFrame:
    """Returns the rows of one call per key, which has the last values in a state variable."""
    keyed = events.withWatermark("ts", WATERMARK_DELAY).groupBy("k")
    return keyed.transformWithStateInPandas(RowProcessor(shape), _COLUMNS, "append", "EventTime")


class RowProcessor(StatefulProcessor):
    """Reads and writes state once for each key and micro-batch; pandas computes the sums."""

    def __init__(self, shape: Framed) -> None:
        self.shape = shape

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state."""
        self.last = handle.getValueState("last", "v ARRAY<BIGINT>")

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        """Emits every row with its sum."""
        came = pd.concat(rows).sort_values("ts", kind="stable")
        held = self.last.get()
        before = [] if held is None else list(held[0])
        values = pd.Series([*before, *came["v"]])
        sums = values.rolling(self.shape.preceding + 1, min_periods=1).sum()[len(before) :]
        self.last.update((values.tail(self.shape.preceding).tolist(),))
        yield came[["ts", "k", "v"]].assign(s=sums.astype("int64").to_numpy())


def polars(events: pl.LazyFrame, shape: Framed) -> pl.LazyFrame:
    """Returns all rows with their sums, in order of event time."""
    total = pl.col("v").rolling_sum(shape.preceding + 1, min_samples=1).over("k")
    return events.sort("ts", maintain_order=True).with_columns(total.alias("s"))
