"""One micro-batch of the shards of one task: state, clocks and timer of a shard around :mod:`panewise.spark.shard`."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues

from panewise.engine.checkpoint import Stored, StoredLibrary
from panewise.engine.store.cache import Cache
from panewise.spark.envelope import encode, groups, pieces
from panewise.spark.metrics import COLUMN, metrics_of
from panewise.spark.processor import Settings
from panewise.spark.runstore import SparkRunStore
from panewise.spark.shard import Mail, encoded, step, tables, telling
from panewise.spark.unpack import Unpack
from panewise.spark.worker import settle, short_errors
from panewise.state import Mirror
from panewise.state.streams import shares_text

_CACHE = Cache()  # runs that this worker process knows, of all the queries that it serves


class Shards:
    """The shards that a task serves in one micro-batch."""

    def __init__(self, settings: Settings, handle: StatefulProcessorHandle, store: SparkRunStore) -> None:
        settle("step")
        self._settings, self._handle, self._store = settings, handle, store
        self._served: set[int] = set()  # shards that this micro-batch has already been given to
        _CACHE.bound(settings.cache_mb << 20)
        _mirror().bound(settings.mirror_mb << 20)

    def take(self, shard: int, rows: Iterator[Any], timers: TimerValues) -> Iterator[pd.DataFrame]:
        """A step with the envelopes of one shard."""
        self._served.add(shard)
        with short_errors():
            mail = Mail.read(envelope for frame in rows for envelope in zip(frame["kind"], frame["payload"], strict=True))
            return self._handle_mail(shard, mail, timers)

    def wake(self, shard: int, timers: TimerValues) -> Iterator[pd.DataFrame]:
        """A step of a shard whose timer went off; none if its envelopes came before."""
        with short_errors():
            return iter(()) if shard in self._served else self._handle_mail(shard, Mail(), timers)

    def _handle_mail(self, shard: int, mail: Mail, timers: TimerValues) -> Iterator[pd.DataFrame]:
        settings = self._settings
        library = StoredLibrary(self._store, _CACHE, _mirror())
        stored = Stored.load(settings.spec, settings.schema, library, settings.shards)
        now, watermark = self._clocks(mail, timers)
        output = telling(step(stored.operator, mail, now, watermark))
        clocks = stored.operator.state.clocks
        emitted, metrics = dict(tables(output, shard, clocks.processing_time, clocks.told)), metrics_of(output)
        if settings.direct is not None:
            emitted = {kind: table for kind, table in emitted.items() if kind == settings.direct.kind}
        sent = encoded(emitted.items())
        if settings.direct is None and any(map(shares_text, emitted.values())):
            # Before the commit: panes share their text with the state, which is replaced by a copy when it is stored.
            sent, emitted = iter(list(sent)), {}
        del output
        waiting = _waiting(stored.manifest.header.get("timer"), watermark)
        clocks_moved = stored.moved and settings.clocks == "control"
        if stored.changed or clocks_moved or waiting != stored.manifest.header.get("timer"):
            stored.commit(timer=self._timer(stored, waiting))
        if settings.direct is not None:
            return _direct(settings.direct, emitted.get(settings.direct.kind), metrics)
        live = [("held", _live_windows(stored.operator.held(), shard))] if settings.held else []
        return _envelopes(chain(sent, live), metrics)

    def _clocks(self, mail: Mail, timers: TimerValues) -> tuple[int | None, int | None]:
        """Processing time and watermark in microseconds. Spark's first watermark, 0, is none (semantics 12.1)."""
        if self._settings.clocks == "control":
            return mail.control.get("clock"), mail.control.get("watermark")
        watermark = timers.getCurrentWatermarkInMs()
        return timers.getCurrentProcessingTimeInMs() * 1000, watermark * 1000 if watermark > 0 else None

    def _timer(self, stored: Stored, waiting: int | None) -> int | None:
        """Sees to it that this shard is woken without data when a window is due; the earliest timer, in milliseconds of the watermark.

        A timer costs two round trips and is not taken back: one that finds nothing to do only sets the next.
        """
        if self._settings.clocks == "control" or stored.operator.plan.hears is not None:
            return None  # the watermark of the query is not that of the operator, which comes from its rows
        due = stored.operator.next_due()
        wanted = None if due is None else max(1, -(-due // 1000))
        if wanted is None or (waiting is not None and waiting <= wanted):
            return waiting
        self._handle.registerTimer(wanted)
        return wanted


@cache
def _mirror() -> Mirror:
    """Copies of runs, in a directory of this machine that Spark removes when the executor ends; its workers share it."""
    local = (os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir()).split(",")[0]
    return Mirror(Path(local) / "panewise")


def _waiting(timer: int | None, watermark: int | None) -> int | None:
    """The timer that was set, unless it goes off in this micro-batch: Spark deletes it then."""
    return None if timer is not None and watermark is not None and timer * 1000 <= watermark else timer


def _direct(unpack: Unpack, table: pl.DataFrame | None, metrics: str | None) -> Iterator[pd.DataFrame]:
    """One kind of output in real columns, in frames of bounded size, the metrics in the first; no frame if there is neither."""
    if table is None and metrics is not None:
        yield unpack.frame(None, metrics)
    for piece in () if table is None else pieces(table):
        yield unpack.frame(piece, metrics)
        metrics = None


def _envelopes(envelopes: Iterable[tuple[str, bytes]], metrics: str | None) -> Iterator[pd.DataFrame]:
    """Envelopes as the frames that Spark takes, the metrics with the first of them; no frame if there is neither."""
    there = False
    for rows in groups(envelopes):
        there, numbers = True, [metrics, *[None] * (len(rows) - 1)]
        yield pd.DataFrame([(*row, number) for row, number in zip(rows, numbers, strict=True)], columns=["kind", "payload", COLUMN])
        metrics = None
    if not there and metrics is not None:
        yield pd.DataFrame([("metrics", b"", metrics)], columns=["kind", "payload", COLUMN])


def _live_windows(windows: pl.DataFrame, shard: int) -> bytes:
    """The live windows with their shard, as an envelope; a row of nulls stands for none, so that the reader knows of it."""
    shown = windows if windows.height else pl.DataFrame(schema=windows.schema, data=[[None] * windows.width], orient="row")
    return encode(shown.with_columns(pl.lit(shard).alias("shard")))
