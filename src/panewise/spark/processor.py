"""The stateful processor: one call for each shard and micro-batch, around :mod:`panewise.spark.shard`."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd
import polars as pl
from pyspark.sql.streaming.stateful_processor import ExpiredTimerInfo, StatefulProcessor, StatefulProcessorHandle, TimerValues

from panewise.engine import Output
from panewise.engine.firing import next_due
from panewise.engine.persistence import Cache, Stored
from panewise.spark.envelope import encode
from panewise.spark.runstore import SparkRunStore
from panewise.spark.shard import Mail, envelopes, step
from panewise.spark.unpack import Unpack
from panewise.spec import WindowOperator

_CACHE = Cache()  # decoded states of this worker process, shared by the queries that it serves


@dataclass(frozen=True)
class Settings:
    """What a processor has to know.

    `name` tells operators of one worker process apart. With `clocks="control"` both clocks come from control notes,
    and nowhere else; and with `held` the windows held are sent after each batch: so conformance transcripts drive a
    real query. With `direct` one kind of output leaves as real columns and the others not at all; else all leave as
    envelopes.
    """

    spec: WindowOperator
    schema: dict[str, pl.DataType]
    shards: int
    name: str
    clocks: str = "spark"
    held: bool = False
    direct: Unpack | None = None


class Processor(StatefulProcessor):
    """The window operator as Spark calls it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state."""
        self._handle = handle
        self._served: set[int] = set()  # shards that this micro-batch has already been given to
        self._store = SparkRunStore(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """The envelopes of one shard in one micro-batch."""
        shard = int(key[0])
        self._served.add(shard)
        mail = Mail.read(told for frame in rows for told in zip(frame["kind"], frame["payload"], strict=True))
        return self._handle_mail(shard, mail, timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo) -> Iterator[pd.DataFrame]:  # noqa: N802, N803
        """The watermark has passed something that a shard waits for, and there is no data."""
        shard = int(key[0])
        return iter(()) if shard in self._served else self._handle_mail(shard, Mail(), timerValues)

    def close(self) -> None:
        """Nothing is held open."""

    def _handle_mail(self, shard: int, mail: Mail, timers: TimerValues) -> Iterator[pd.DataFrame]:
        settings = self._settings
        stored = Stored.load(settings.spec, settings.schema, self._store, _CACHE, f"{settings.name}/{shard}", settings.shards)
        now, watermark = self._clocks(mail, timers)
        output = Output.joined(list(step(stored.operator, mail, now, watermark)))
        if stored.changed or (stored.moved and settings.clocks == "control"):  # a control note is sent once
            before = stored.manifest.header.get("timer")
            after = self._next_timer(stored)
            stored.commit(self._store, timer=after)
            self._move_timer(before, after, watermark)
        clocks = stored.operator.state.clocks
        told = envelopes(output, shard, clocks.processing_time, clocks.watermark)
        if settings.direct is not None:
            return (frame for kind, payload in told if kind == settings.direct.kind for frame in settings.direct.frames(payload))
        held = [("held", _held(stored.operator.held(), shard))] if settings.held else []
        return _envelopes([*told, *held])

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


def _envelopes(told: Iterable[tuple[str, bytes]]) -> Iterator[pd.DataFrame]:
    """Envelopes as the frame that Spark takes; none if there is nothing to tell."""
    rows = list(told)
    if rows:
        yield pd.DataFrame(rows, columns=["kind", "payload"])


def _held(windows: pl.DataFrame, shard: int) -> bytes:
    """The windows held with their shard; a line of nulls where there is none, so that this is told too."""
    shown = windows if windows.height else pl.DataFrame(schema=windows.schema, data=[[None] * windows.width], orient="row")
    return encode(shown.with_columns(pl.lit(shard).alias("shard")))
