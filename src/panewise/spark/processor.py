"""The stateful processor.

Spark creates one in each task, and one on the driver before the first micro-batch.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from panewise.spark.processor_settings import Settings
from panewise.spark.run_store import SparkRunStore

if TYPE_CHECKING:
    import pandas as pd

    from panewise.spark.microbatch import ShardRunner


class Processor(StatefulProcessor):
    """The operator as Spark calls it.

    The processor on the driver only declares the state variables. So the engine is imported by the first call
    that has work to do.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state."""
        self._handle, self._store = handle, SparkRunStore(handle)
        self._opened: ShardRunner | None = None

    def handleInitialState(self, key: Any, initialState: Any, timerValues: TimerValues) -> None:
        """Takes rows of static inputs of a shard, before all other rows. It may be called several times."""
        self._shards.begin(int(key[0]), initialState)

    def handleInputRows(
        self, key: Any, rows: Iterator[Any], timerValues: TimerValues
    ) -> "Iterator[pd.DataFrame]":
        """Runs the step of a shard with its envelopes of one micro-batch."""
        return self._shards.take(int(key[0]), rows, timerValues)

    def handleExpiredTimer(
        self,
        key: Any,
        timerValues: TimerValues,
        expiredTimerInfo: ExpiredTimerInfo,
    ) -> "Iterator[pd.DataFrame]":
        """Runs the step of a shard whose timer the watermark has passed, unless it has received envelopes."""
        return self._shards.wake(int(key[0]), timerValues)

    def close(self) -> None:
        """Does nothing, because nothing stays open."""

    @property
    def _shards(self) -> "ShardRunner":
        if self._opened is None:
            # The import takes a quarter of a second, and the driver does not need it.
            from panewise.spark.microbatch import ShardRunner  # noqa: PLC0415

            self._opened = ShardRunner(self._settings, self._handle, self._store)
        return self._opened
