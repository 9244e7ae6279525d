"""The stateful processor.

Spark creates one in each task, and one on the driver before the first micro-batch.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from panewise.spark.run_store import SparkRunStore
from panewise.spark.unpack import Unpack
from panewise.spec import Specification

if TYPE_CHECKING:
    import pandas as pd

    from panewise.spark.microbatch import ShardRunner


@dataclass(frozen=True)
class Settings:
    """The settings of a processor.

    With `clocks="control"` and `live`, transcripts can drive a real query.

    Attributes:
        spec: the specification.
        schemas: the columns of each input port, with their types in the engine.
        shards: the number of shards.
        clocks: "spark", or "control" if both clocks come only from control notes.
        live: whether the live windows are emitted after each micro-batch.
        direct: the kind of output that is emitted in real columns; the other kinds are not emitted. Without
            it all kinds are emitted as envelopes.
        reports: whether the output watermark is emitted after each micro-batch, for a second operator.
        fed: the numbers of the shards of the operators whose rows are inputs, by port.
        static: the ports whose rows are the initial state. Their inputs end with it.
        query_ports: the ports whose watermark is that of the query.
        cache_mb: as in :func:`panewise.spark.configure`.
        mirror_mb: as in :func:`panewise.spark.configure`.
    """

    spec: Specification
    schemas: dict[str, dict[str, pl.DataType]]
    shards: int
    clocks: str = "spark"
    live: bool = False
    direct: Unpack | None = None
    cache_mb: int = 1024
    mirror_mb: int = 4096
    reports: bool = False
    fed: dict[str, tuple[int, ...]] = field(default_factory=dict)
    static: tuple[str, ...] = ()
    query_ports: tuple[str, ...] = ()


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
