"""The stateful processor: Spark creates one in each task, and one on the driver before the first micro-batch."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, StatefulProcessor, StatefulProcessorHandle, TimerValues

from panewise.spark.runstore import SparkRunStore
from panewise.spark.unpack import Unpack
from panewise.spec import Specification

if TYPE_CHECKING:
    import pandas as pd

    from panewise.spark.microbatch import Shards


@dataclass(frozen=True)
class Settings:
    """What a processor has to know.

    With `clocks="control"` both clocks come from control notes,
    and nowhere else; and with `held` the windows held are sent after each batch: so conformance transcripts drive a
    real query. With `direct` one kind of output leaves as real columns and the others not at all; else all leave as
    envelopes. `cache_mb` and `mirror_mb` are the bounds of :func:`panewise.spark.configure`.
    """

    spec: Specification
    schema: dict[str, pl.DataType]
    shards: int
    clocks: str = "spark"
    held: bool = False
    direct: Unpack | None = None
    cache_mb: int = 1024
    mirror_mb: int = 4096


class Processor(StatefulProcessor):
    """The window operator as Spark calls it.

    The processor on the driver only declares the state variables. So the engine is imported by the first call that has work to do.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state."""
        self._handle, self._store = handle, SparkRunStore(handle)
        self._opened: Shards | None = None

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> "Iterator[pd.DataFrame]":  # noqa: N802, N803
        """The envelopes of one shard in one micro-batch."""
        return self._shards.take(int(key[0]), rows, timerValues)

    def handleExpiredTimer(  # noqa: N802 - PySpark's name
        self,
        key: Any,
        timerValues: TimerValues,  # noqa: N803
        expiredTimerInfo: ExpiredTimerInfo,  # noqa: N803
    ) -> "Iterator[pd.DataFrame]":
        """The watermark has passed something that a shard waits for, and there is no data."""
        return self._shards.wake(int(key[0]), timerValues)

    def close(self) -> None:
        """Nothing is held open."""

    @property
    def _shards(self) -> "Shards":
        if self._opened is None:
            from panewise.spark.microbatch import Shards  # noqa: PLC0415 - a quarter of a second, which the driver has no use for

            self._opened = Shards(self._settings, self._handle, self._store)
        return self._opened
