"""Runs one micro-batch of the shards of one task.

For each shard it loads the state, reads the clocks, runs the step (:mod:`panewise.spark.workers.step`), sets
the timer and commits the state.

Invariant: the state and the outputs of a micro-batch take effect together, or not at all. So panes may be
passed to Spark before the state is committed: if the task fails, Spark discards them, and repeats the
micro-batch from the old state. Envelopes and the timer of a shard cause one step together.
Cost: a step for each shard that receives envelopes or whose timer has expired. It reads the runs that it
needs from the cache of the worker or the mirror of the machine, and commits only if something stored has
changed.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import pandas as pd
import polars as pl
from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle, TimerValues

from panewise.chrono import MAX_INSTANT
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.imported_shard import ImportedShard, begin
from panewise.engine.ingest.output import Counts, Output
from panewise.engine.protocol import Operator
from panewise.engine.run_library import Cache, RunLibrary
from panewise.errors import PanewiseError, StateError
from panewise.spark.activity import StepActivity
from panewise.spark.metrics import COLUMN, LENGTHS, Tally, figures_of, metrics_of
from panewise.spark.shuffle.envelope import encode, groups
from panewise.spark.shuffle.reports import FEEDS, KIND, Reports, highest_reports, lowest, report
from panewise.spark.workers.processor_settings import Settings
from panewise.spark.workers.state_pieces import StatePieces
from panewise.spark.workers.step import OutputBuffer, ShardBatch, StepOutput, encoded, step
from panewise.spark.workers.worker import hide_traceback, settle
from panewise.state import Mirror, RunStore
from panewise.state.arrow_streams import shares_text

_CACHE = Cache()  # runs of all queries that this worker process serves
# A timer. Spark's first watermark, 0, has passed it, so it expires at the end of the task that sets it.
_END_OF_TASK = -1


class _Store(RunStore, Protocol):
    """The run store of the shard that Spark is processing, with the stored lengths of its runs by name."""

    lengths: dict[str, int]

    def know_lengths(self, lengths: Mapping[str, int]) -> None: ...


class ShardRunner:
    """The shards that a task serves in one micro-batch."""

    def __init__(self, settings: Settings, handle: StatefulProcessorHandle, store: _Store) -> None:
        settle("step")
        self._settings, self._handle, self._store = settings, handle, store
        self._served: set[int] = set()  # shards that have received envelopes in this micro-batch
        self._static: dict[int, list[tuple[str, bytes]]] = {}  # envelopes of static inputs, by shard
        self._imports: dict[int, StatePieces] = {}  # pieces of another state, by shard
        _CACHE.bound(settings.cache_mb << 20)
        _mirror().bound(settings.mirror_mb << 20)

    def begin(self, shard: int, rows: pd.DataFrame) -> None:
        """Takes envelopes of static inputs of a shard, or pieces of another state.

        Spark cuts the initial state of a shard if it is long, and calls this for each part. But all its rows
        are one batch (semantics 36.8). So they wait for the first envelope of another input or, if there is
        none, for the end of the task.
        """
        if self._settings.imports:
            if shard not in self._imports:
                self._imports[shard] = StatePieces()
                self._handle.registerTimer(_END_OF_TASK)
            self._imports[shard].add(zip(rows["kind"], rows["payload"], strict=True))
            return
        if shard not in self._static:
            self._static[shard] = []
            self._handle.registerTimer(_END_OF_TASK)
        self._static[shard].extend(zip(rows["kind"], rows["payload"], strict=True))

    def take(self, shard: int, rows: Iterator[Any], timers: TimerValues) -> Iterator[pd.DataFrame]:
        """Runs the step of a shard with its envelopes, and returns the output as frames for Spark."""
        self._served.add(shard)
        try:
            self._begin(shard)
            shard_batch = ShardBatch.read(
                envelope for frame in rows for envelope in zip(frame["kind"], frame["payload"], strict=True)
            )
            yield from self._run_step(shard, shard_batch, timers)
        except PanewiseError:
            hide_traceback()
            raise

    def wake(self, shard: int, timers: TimerValues) -> Iterator[pd.DataFrame]:
        """Runs the step of a shard whose timer has expired, unless envelopes have already caused one."""
        try:
            if not self._begin(shard) and shard not in self._served:
                yield from self._run_step(shard, ShardBatch(), timers)
        except PanewiseError:
            hide_traceback()
            raise

    def _begin(self, shard: int) -> bool:
        """Adds what waits to the state of a shard. Returns whether rows of static inputs waited."""
        if shard in self._imports:
            self._import(shard)
        if shard not in self._static:
            return False
        self._add_static(shard)
        return True

    def _add_static(self, shard: int) -> None:
        """Adds the rows of static inputs, which wait, to the state of the shard."""
        shard_batch, stored = ShardBatch.read(self._static.pop(shard)), self._load()
        for _ in step(stored.operator, shard_batch, None):
            pass  # nothing is emitted: no row of another side has arrived
        stored.commit(more={LENGTHS: self._store.lengths})

    def _import(self, shard: int) -> None:
        """Makes the state of a shard from the pieces of another state."""
        state_pieces = self._imports.pop(shard)
        begin(self._store, self._settings.spec, self._settings.shard_count, state_pieces.header)
        imported = ImportedShard(
            self._load, lambda stored: stored.commit(more={LENGTHS: self._store.lengths})
        )
        for table, rows in state_pieces.rows():
            imported.add(table, rows)
        imported.end()
        state_pieces.close()

    def _run_step(self, shard: int, shard_batch: ShardBatch, timers: TimerValues) -> Iterator[pd.DataFrame]:
        """Yields the output. If there are many panes, Spark gets them before the state is committed."""
        stored = self._load()
        now, watermark = self._clocks(shard_batch, timers)
        operator, feeds = stored.operator, self._feeds(stored, shard_batch)
        buffer, watermarks = OutputBuffer(), self._watermarks(shard_batch, watermark, feeds)
        tally = self._tally(operator, shard_batch)
        steps = step(operator, shard_batch, now, watermarks)
        outputs = chain(stored.evaluated(), self._ended(stored), steps)
        for panes in buffer.many_panes(outputs):
            tally.add_panes(panes)
            yield from self._many(panes)
        output = buffer.rest()
        emitted, counts = self._emitted(output, operator, shard), output.counts
        tally.add_panes(output.panes)
        tally.add_ports(output.ports)
        envelopes = () if self._settings.direct else _before_commit(emitted)
        del output, buffer
        if tally.activity is not None:
            tally.activity.add_state(operator)  # the commit makes runs of what the step has changed
        self._commit(stored, watermark, feeds)
        metrics = self._metrics(stored, shard, counts, tally)
        if self._settings.direct is not None:
            yield from self._settings.direct.frames(emitted.get(self._settings.direct.kind), metrics)
            return
        more = [*self._live(operator, shard), *self._report(operator, shard)]
        yield from envelope_frames(chain(shard_batch.carried, envelopes, more), metrics)

    def _tally(self, operator: Operator, shard_batch: ShardBatch) -> Tally:
        """Returns the tally of a step that begins; with a journal it has the activity of the step."""
        activity = None
        if self._settings.activity is not None:
            activity = StepActivity.at_start(self._settings.activity, operator)
            activity.add_rows(operator, shard_batch.ports)
        return Tally(timed=self._settings.emits_panes, activity=activity)

    def _emitted(self, output: StepOutput, operator: Operator, shard: int) -> dict[str, pl.DataFrame]:
        """Returns the tables of an output by kind; if Spark reads a single one, that alone."""
        clocks, direct = operator.state.clocks, self._settings.direct
        tables = output.tables(shard, clocks.processing_time, clocks.instant_watermark)
        return {kind: table for kind, table in tables if direct is None or kind == direct.kind}

    def _metrics(self, stored: StoredOperator, shard: int, counts: Counts, tally: Tally) -> str:
        """Returns the metrics of a step that is committed. Refuses a state that is larger than its limit."""
        figures = figures_of(stored, self._store.lengths)
        check_state_size(figures["state_bytes"], self._settings.state_mb, shard)
        return metrics_of(counts, tally, figures, shard)

    def _commit(self, stored: StoredOperator, watermark: int | None, feeds: dict[str, Reports]) -> None:
        """Sets the timer, and commits the state unless the step has changed nothing that is stored."""
        header = stored.manifest.header
        timer = self._timer(header.get("timer"), watermark)
        clocks_moved = stored.moved and self._settings.clocks == "control"
        more_changed = timer != header.get("timer") or feeds != header.get(FEEDS, {})
        if stored.changed or clocks_moved or more_changed:
            more = {FEEDS: feeds} if feeds else {}
            stored.commit(timer=timer, more={**more, LENGTHS: self._store.lengths})

    def _load(self) -> StoredOperator:
        """Returns the operator of the shard that Spark is processing."""
        library = RunLibrary(self._store, _CACHE, _mirror())
        stored = StoredOperator.load(
            self._settings.spec, self._settings.schemas, library, self._settings.shard_count
        )
        if stored.operator.spec != self._settings.spec:
            raise StateError(
                "aggregates that were added now or at an earlier start",
                "aggregates can be added only in a query that write() starts",
                "start the query with write(), or from a new checkpoint",
            )
        self._store.know_lengths(stored.manifest.header.get(LENGTHS, {}))
        return stored

    def _many(self, panes: pl.DataFrame) -> Iterator[pd.DataFrame]:
        """Yields panes as frames for Spark, without metrics."""
        direct = self._settings.direct
        if direct is None:
            yield from envelope_frames(encoded([("panes", panes)]), None)
        elif direct.kind == "panes":
            yield from direct.frames(panes, None)

    def _ended(self, stored: StoredOperator) -> Iterator[Output]:
        """Ends the inputs of static sides, whose rows are all in the state (semantics 36.8).

        Ending an input that has ended changes nothing.
        """
        return (stored.operator.finish(port) for port in self._settings.static)

    def _live(self, operator: Operator, shard: int) -> list[tuple[str, bytes]]:
        """Returns the envelope with the live windows, if they are wanted."""
        return [("live", _live_payload(operator.live(), shard))] if self._settings.live else []

    def _report(self, operator: Operator, shard: int) -> list[tuple[str, bytes]]:
        """Returns the envelope with the output watermark, if a second operator wants it and there is one.

        After the end of its input an operator emits nothing more.
        """
        if not self._settings.reports:
            return []
        watermark = MAX_INSTANT if operator.state.clocks.finished else operator.output_watermark()
        return [] if watermark is None else [(KIND, report(shard, watermark))]

    def _feeds(self, stored: StoredOperator, shard_batch: ShardBatch) -> dict[str, Reports]:
        """Returns the reports of the operators whose rows are inputs, by port: stored ones and new ones."""
        known, ports = stored.manifest.header.get(FEEDS, {}), shard_batch.ports
        merged = {
            port: highest_reports(known.get(port, {}), ports[port].reports if port in ports else {})
            for port in self._settings.fed
        }
        return {port: reports for port, reports in merged.items() if reports}

    def _watermarks(
        self, shard_batch: ShardBatch, watermark: int | None, feeds: Mapping[str, Reports]
    ) -> dict[str | None, int]:
        """Returns the watermarks that move after the rows, by port, as :func:`step` takes them.

        Spark has one watermark for the whole query. It is the watermark of every input, except of those that
        another operator feeds: these have the output watermark of that operator.
        """
        control = self._settings.clocks == "control"
        own = map(self._source, self._settings.query_ports)
        sources = [shard_batch.control.get("input")] if control else own
        of_query = {} if watermark is None else dict.fromkeys(sources, watermark)
        reported = {port: lowest(reports, self._settings.fed[port]) for port, reports in feeds.items()}
        of_feeds = {self._source(port): least for port, least in reported.items() if least is not None}
        return {**of_query, **of_feeds}

    def _clocks(self, shard_batch: ShardBatch, timers: TimerValues) -> tuple[int | None, int | None]:
        """Returns processing time and watermark in microseconds.

        Spark's initial watermark, 0, means that there is none (semantics 12.1). The watermark of a query that
        continues another one is not below the watermark of that one (semantics 48.10).
        """
        if self._settings.clocks == "control":
            return shard_batch.control.get("clock"), shard_batch.control.get("watermark")
        now, watermark = timers.getCurrentProcessingTimeInMs() * 1000, timers.getCurrentWatermarkInMs()
        known = [self._settings.least_watermark, watermark * 1000 if watermark > 0 else None]
        return now, max((at for at in known if at is not None), default=None)

    def _source(self, port: str) -> str | None:
        """Returns a port as the source of a watermark; None for the only one of an operator."""
        return port if len(self._settings.schemas) > 1 else None

    def _timer(self, last: int | None, watermark: int | None) -> int | None:
        """Sets a timer that wakes this shard in the next micro-batch in which the watermark has moved.

        So each shard stores the watermark of every micro-batch, by which rows of the next one are late.
        Returns the timer, in milliseconds of the watermark. `last` is the one that was set before. Spark
        deletes a timer when it expires.
        """
        if self._settings.clocks == "control" or not self._settings.query_ports:
            return None  # the operator's watermark is not that of the query
        timer = (watermark or 0) // 1000 + 1
        if last != timer:
            self._handle.registerTimer(timer)
        return timer


@cache
def _mirror() -> Mirror:
    """Returns the mirror, in a local directory that the workers of an executor share.

    Spark removes the directory when the executor ends.
    """
    local = (os.environ.get("SPARK_LOCAL_DIRS") or tempfile.gettempdir()).split(",")[0]
    return Mirror(Path(local) / "panewise")


def _before_commit(emitted: dict[str, pl.DataFrame]) -> Iterator[tuple[str, bytes]]:
    """Returns tables as envelopes. Where a table shares text with the state, encodes and removes all at once.

    The commit replaces the state by a copy. Panes that share text with the old state would keep that text in
    memory.
    """
    envelopes = encoded(emitted.items())
    if any(map(shares_text, emitted.values())):
        envelopes = iter(list(envelopes))
        emitted.clear()
    return envelopes


def check_state_size(size: int | None, most_mb: int, shard: int) -> None:
    """Refuses a state above the limit. The task fails, so that Spark commits nothing (semantics 15.11)."""
    if most_mb and (size or 0) > most_mb << 20:
        stored = f"{(size or 0) / (1 << 20):,.1f} MB of state in shard {shard}"
        rule = f"configure(state_mb={most_mb}) limits the state of a shard"
        remedy = (
            "look at the state with `panewise state`; then raise the limit, or bound the state: by a shorter "
            "lateness, fewer keys, or a watermark that moves"
        )
        raise StateError(stored, rule, remedy)


def envelope_frames(envelopes: Iterable[tuple[str, bytes]], metrics: str | None) -> Iterator[pd.DataFrame]:
    """Yields envelopes as frames for Spark.

    The first envelope has the metrics. Without envelopes and metrics there is no frame.
    """
    empty = True
    for rows in groups(envelopes):
        empty, numbers = False, [metrics, *[None] * (len(rows) - 1)]
        yield pd.DataFrame(
            [(*row, number) for row, number in zip(rows, numbers, strict=True)],
            columns=["kind", "payload", COLUMN],
        )
        metrics = None
    if empty and metrics is not None:
        yield pd.DataFrame([("metrics", b"", metrics)], columns=["kind", "payload", COLUMN])


def _live_payload(windows: pl.DataFrame, shard: int) -> bytes:
    """Encodes the live windows with their shard as a payload.

    A row of nulls stands for no windows, so that the reader sees that the shard has none.
    """
    rows = (
        windows
        if windows.height
        else pl.DataFrame(schema=windows.schema, data=[[None] * windows.width], orient="row")
    )
    return encode(rows.with_columns(pl.lit(shard).alias("shard")))
