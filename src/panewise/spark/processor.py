"""The stateful processor: one call for each shard and micro-batch, around :mod:`panewise.spark.shard`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, StatefulProcessor, StatefulProcessorHandle, TimerValues

from panewise.engine import Output
from panewise.engine.firing import next_due
from panewise.engine.persistence import Cache, Stored
from panewise.spark.envelope import encode
from panewise.spark.runstore import SparkRunStore
from panewise.spark.shard import Mail, envelopes, step
from panewise.spec import WindowOperator

_CACHE = Cache()  # decoded states of this worker process, shared by the queries that it serves


@dataclass(frozen=True)
class Settings:
    """What a processor has to know.

    `name` tells operators of one worker process apart. With `clocks="control"` both clocks come from control notes,
    and nowhere else; and with `held` the windows held are sent after each batch: so conformance transcripts drive a
    real query.
    """

    spec: WindowOperator
    schema: dict[str, pl.DataType]
    shards: int
    name: str
    clocks: str = "spark"
    held: bool = False


class Processor(StatefulProcessor):
    """The window operator as Spark calls it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state."""
        self._handle = handle
        self._served: set[int] = set()  # shards that this micro-batch has already been given to
        self._store = SparkRunStore(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Row]:  # noqa: N802, N803
        """The envelopes of one shard in one micro-batch."""
        shard = int(key[0])
        self._served.add(shard)
        return self._handle_mail(shard, Mail.read((row.kind, bytes(row.payload)) for row in rows), timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo) -> Iterator[Row]:  # noqa: N802, N803
        """The watermark has passed something that a shard waits for, and there is no data."""
        shard = int(key[0])
        return iter(()) if shard in self._served else self._handle_mail(shard, Mail(), timerValues)

    def close(self) -> None:
        """Nothing is held open."""

    def _handle_mail(self, shard: int, mail: Mail, timers: TimerValues) -> Iterator[Row]:
        settings = self._settings
        stored = Stored.load(settings.spec, settings.schema, self._store, _CACHE, f"{settings.name}/{shard}", settings.shards)
        now, watermark = self._clocks(mail, timers)
        output = Output.joined(list(step(stored.operator, mail, now, watermark)))
        if stored.changed:
            before = stored.manifest.header.get("timer")
            after = self._next_timer(stored)
            stored.commit(self._store, timer=after)
            self._move_timer(before, after, watermark)
        return self._rows(stored, shard, output)

    def _clocks(self, mail: Mail, timers: TimerValues) -> tuple[int | None, int | None]:
        """Processing time and watermark in microseconds. Spark's first watermark, 0, is none (semantics 12.1)."""
        if self._settings.clocks == "control":
            return mail.control.get("clock"), mail.control.get("watermark")
        watermark = timers.getCurrentWatermarkInMs()
        return timers.getCurrentProcessingTimeInMs() * 1000, watermark * 1000 if watermark > 0 else None

    def _next_timer(self, stored: Stored) -> int | None:
        """When, in milliseconds of the watermark, this shard has to be woken without data."""
        if self._settings.clocks == "control":
            return None
        due = next_due(stored.operator.plan.spec, stored.operator.state.windows)
        return None if due is None else max(1, -(-due // 1000))

    def _move_timer(self, before: int | None, after: int | None, watermark: int | None) -> None:
        """One timer a shard. One that expires in this micro-batch is left to Spark, which deletes it."""
        if before == after:
            return
        if before is not None and (watermark is None or before * 1000 > watermark):
            self._handle.deleteTimer(before)
        if after is not None:
            self._handle.registerTimer(after)

    def _rows(self, stored: Stored, shard: int, output: Output) -> Iterator[Row]:
        clocks = stored.operator.state.clocks
        for kind, payload in envelopes(output, shard, clocks.processing_time, clocks.watermark):
            yield Row(kind=kind, payload=payload)
        if self._settings.held:
            yield Row(kind="held", payload=_held(stored.operator.held(), shard))


def _held(windows: pl.DataFrame, shard: int) -> bytes:
    """The windows held with their shard; a line of nulls where there is none, so that this is told too."""
    shown = windows if windows.height else pl.DataFrame(schema=windows.schema, data=[[None] * windows.width], orient="row")
    return encode(shown.with_columns(pl.lit(shard).alias("shard")))
