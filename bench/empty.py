"""The lower bound for ours: its two Python stages with almost no work.

Rows are read and counted, and the counts are summed in state.
"""

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from bench.shapes import WATERMARK_DELAY
from panewise.spark.workers.worker import settle

_COUNTED = "shard INT, rows BIGINT"
_NAME = StructType([StructField("name", StringType())])
_DATA = StructType([StructField("data", BinaryType())])


def query(events: DataFrame) -> DataFrame:
    """Has as many stages, shards and state variables as the dataflow of an operator."""
    counted = first_stage(events).groupBy("shard")
    return counted.transformWithStateInPandas(Empty(), _COUNTED, "Append", "EventTime")


def first_stage(events: DataFrame) -> DataFrame:
    """Returns the number of rows of each task of the first stage, once for each shard."""
    shards = int(events.sparkSession.conf.get("spark.sql.shuffle.partitions", "2"))
    return events.withWatermark("ts", WATERMARK_DELAY).mapInArrow(_counts(shards), _COUNTED)


def _counts(shards: int) -> Any:
    def counts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle()
        rows = sum(arrived.num_rows for arrived in batches)
        if rows:
            columns = [pa.array(range(shards), pa.int32()), pa.array([rows] * shards, pa.int64())]
            yield pa.RecordBatch.from_arrays(columns, names=["shard", "rows"])

    return counts


class Empty(StatefulProcessor):
    """Reads one value, writes one value and emits one row for each shard and micro-batch."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state."""
        settle()
        self.state = handle.getMapState("state", _NAME, _DATA)

    def handleInputRows(
        self, key: Any, rows: Iterator[pd.DataFrame], timerValues: TimerValues
    ) -> Iterator[pd.DataFrame]:
        """Adds the rows to the count in state, and emits the count."""
        _, total = self.count(rows)
        yield pd.DataFrame({"shard": [int(key[0])], "rows": [total]})

    def count(self, rows: Iterator[pd.DataFrame]) -> tuple[int, int]:
        """Returns the number of rows of this batch and, with those in state, of all batches."""
        came = sum(int(frame["rows"].sum()) for frame in rows)
        stored = self.state.getValue(("rows",))
        total = came + (0 if stored is None else int(bytes(stored[0])))
        self.state.updateValue(("rows",), (str(total).encode(),))
        return came, total

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[pd.DataFrame]:
        """There are no timers."""
        return iter(())
