"""A listener of all queries of a session, for log lines, Prometheus metrics and a journal."""

import logging
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from threading import Condition
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from pyspark.sql import SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)

from panewise.errors import SetupError
from panewise.extras import from_extra
from panewise.observe.activity import merged_activity
from panewise.observe.entries import Ended, Entry, Started
from panewise.observe.journal import DEFAULT_MB, Journal
from panewise.observe.log_line import log_line
from panewise.observe.micro_batch import TIMINGS, BatchFigures, MicroBatch
from panewise.spark.activity import SETTING
from panewise.spark.metrics import ACTIVITY, NAMES, PANES_BY_TIMING, REASONS, STATE, by_name
from panewise.spark.session.failures import reason_of

if TYPE_CHECKING:
    from panewise.observe.prometheus import PrometheusMetrics

LOGGER = "panewise"
_MOST_KEYS = 100
_LAST_EVENTS_S = 10  # how long `close` waits for what ended queries have yet to report


class Observer(StreamingQueryListener):
    """Watches the queries of a session. :func:`observe` makes and attaches it."""

    def __init__(self, session: SparkSession, *, log: bool, journal: Journal | None = None) -> None:
        self._session = session
        self._log = log
        self._journal, self._is_writable = journal, True
        self._metrics = _prometheus_metrics(needed=journal is None)
        self._names: dict[UUID, str] = {}  # by the id of a run: a terminated query has no name
        self._close_server: Callable[[], None] | None = None
        self._has_ended = Condition()

    def __enter__(self) -> Self:
        """Returns the observer."""
        return self

    def __exit__(self, *error: object) -> None:
        """Closes the observer."""
        self.close()

    def prometheus_text(self) -> str:
        """Returns the metrics of all queries since `observe`, in the text format of Prometheus."""
        return self._prometheus().text()

    def serve(self, port: int = 9464, *, host: str = "127.0.0.1") -> int:
        """Serves :meth:`prometheus_text` over HTTP, at `/metrics`, until :meth:`close`.

        Args:
            port: the port, 0 for any that is free.
            host: the address on which the server listens. Default: loopback, this machine only.

        Returns:
            The port.

        Raises:
            SetupError: if the observer serves already, or the port cannot be used.
        """
        if self._close_server is not None:
            raise SetupError(
                "serve() a second time", "an observer has one server", "close() the observer first"
            )
        try:
            port, self._close_server = self._prometheus().serve(port, host)
        except OSError as error:
            call, rule = f"serve({port}, host={host!r})", f"a server needs a port that it can open: {error}"
            raise SetupError(call, rule, "give a free port, or 0") from None
        return port

    def close(self) -> None:
        """Stops watching and serving. The observer cannot be used again.

        First it waits, up to ten seconds, for what queries that have ended have yet to report.
        """
        self._wait_for_ended()
        self._session.streams.removeListener(self)
        if self._journal is not None:
            self._session.conf.unset(SETTING)
            self._journal.close()
            self._journal = None
        if self._close_server is not None:
            self._close_server()
            self._close_server = None

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - PySpark's name
        """Spark calls this when a query starts."""
        self._names[event.runId] = query = event.name or str(event.id)
        self._note_start(query)
        self._write(Started(query, str(event.runId), _microseconds(event.timestamp) or _now()))

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - PySpark's name
        """Spark calls this after each micro-batch."""
        report = micro_batch(event.progress)
        if event.progress.runId not in self._names:  # it has started before it was observed
            self._names[event.progress.runId] = report.query
            self._note_start(report.query)
        if self._metrics is not None:
            self._metrics.add(report)
        self._write(report)
        line = log_line(report) if self._log else None
        if line is not None:
            logging.getLogger(LOGGER).warning(line)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - PySpark's name
        """Spark calls this while a query has no new rows."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - PySpark's name
        """Spark calls this when a query ends."""
        query = self._names.get(event.runId, str(event.id))
        if self._metrics is not None:
            self._metrics.ended(query, failed=event.exception is not None)
        reason = None if event.exception is None else reason_of(event.exception)
        self._write(Ended(query, str(event.runId), _now(), reason))
        with self._has_ended:
            self._names.pop(event.runId, None)
            self._has_ended.notify_all()

    def _wait_for_ended(self) -> None:
        """Waits until the queries that have ended have reported that, as Spark reports a little later."""

        def all_have_reported() -> bool:
            active = {str(query.runId) for query in self._session.streams.active}
            return {str(run) for run in [*self._names]} <= active

        with self._has_ended:
            self._has_ended.wait_for(all_have_reported, timeout=_LAST_EVENTS_S)

    def _note_start(self, query: str) -> None:
        if self._metrics is not None:
            self._metrics.started(query)

    def _write(self, entry: Entry) -> None:
        """Writes an entry to the journal. A full disk does not end the query, and is reported once."""
        if self._journal is None:
            return
        try:
            self._journal.add(entry)
            self._is_writable = True
        except OSError as error:
            if self._is_writable:
                logging.getLogger(LOGGER).warning("journal %s: %s", self._journal.directory, error)
            self._is_writable = False

    def _prometheus(self) -> "PrometheusMetrics":
        return self._metrics or _needed_metrics()


def observe(
    spark: SparkSession,
    *,
    log: bool = True,
    journal: str | Path | None = None,
    journal_mb: int = DEFAULT_MB,
    hot_keys: int = 0,
) -> Observer:
    """Watches all queries of a session from now on, also those that are not written with `write`.

    The figures are those of Spark's progress reports (semantics 15.5 to 15.10). With a journal, queries that
    are started from now on also report what happens to windows and shards (semantics 15.16 to 15.19).

    Args:
        spark: the session, classic or Connect.
        log: whether the logger "panewise" writes a line, as a warning, for each micro-batch in which rows
            were late or invalid, and none for other micro-batches.
        journal: a directory on the disk of the driver, which `panewise watch DIRECTORY` shows. It is made if
            it does not exist, and continued if it does.
        journal_mb: the most megabytes of the journal. Beyond that the oldest entries are deleted.
        hot_keys: how many keys of each operator a micro-batch reports: those with most rows. Their values
            are then in the journal and on the page. 0, the default, reports none.

    Returns:
        An observer. Its `prometheus_text()` returns the metrics, and its `serve()` serves them over HTTP.
        A `with` statement closes it at the end.

    Raises:
        SetupError: if neither a journal is given nor the extra `metrics` is installed, the journal cannot be
            written or is that of another observer, or a number is out of its range.

    Example::

        observer = observe(spark)
        query = result.write(panes="out/panes", checkpoint="checkpoint")
        observer.serve(port=9464)

        with observe(spark, journal="out/journal"):  # in a shell: panewise watch out/journal
            result.write(panes="out/panes", checkpoint="checkpoint").awaitTermination()
    """
    if not 0 <= hot_keys <= _MOST_KEYS:
        rule = f"a micro-batch reports 0 to {_MOST_KEYS} keys (semantics 15.19)"
        raise SetupError(f"hot_keys={hot_keys}", rule, "give a number such as 10")
    if hot_keys and journal is None:
        rule = "hot keys are written to a journal"
        raise SetupError(f"hot_keys={hot_keys} without a journal", rule, "give journal='out/journal'")
    written = None if journal is None else Journal(journal, megabytes=journal_mb)
    observer = Observer(spark, log=log, journal=written)
    if written is not None:
        spark.conf.set(SETTING, str(hot_keys))
    spark.streams.addListener(observer)
    return observer


def _prometheus_metrics(*, needed: bool) -> "PrometheusMetrics | None":
    """Returns new metrics. If they are not needed, None without the extra `metrics`."""
    try:
        return _needed_metrics()
    except SetupError:
        if needed:
            raise
        return None


def _needed_metrics() -> "PrometheusMetrics":
    with from_extra("metrics", "metrics need the package prometheus-client"):
        from panewise.observe.prometheus import PrometheusMetrics  # noqa: PLC0415 - of an extra

        return PrometheusMetrics()


def _now() -> int:
    return time.time_ns() // 1000


def _microseconds(timestamp: str | None) -> int | None:
    """Returns a time that Spark has written, in microseconds since 1970."""
    try:
        return None if timestamp is None else int(datetime.fromisoformat(timestamp).timestamp() * 1_000_000)
    except ValueError:
        return None


def micro_batch(progress: StreamingQueryProgress) -> MicroBatch:
    """Returns what a progress report says. Observations that are not panewise's are left out."""
    rows = {name: by_name(row) for name, row in (progress.observedMetrics or {}).items()}
    return MicroBatch(
        query=progress.name or str(progress.id),
        batch=progress.batchId,
        rows=progress.numInputRows,
        seconds=progress.durationMs.get("triggerExecution", 0) / 1000,
        operators={name: _figures(row) for name, row in rows.items() if "rows_in" in row},
        began=_microseconds(progress.timestamp),
    )


def _figures(row: Mapping[str, Any]) -> BatchFigures:
    late, invalid = (dict(row.get(name) or {}) for name in REASONS)
    return BatchFigures(
        counts={name: row.get(name) or 0 for name in NAMES},
        timings={timing: row.get(PANES_BY_TIMING[timing]) or 0 for timing in TIMINGS},
        late=late,
        invalid=invalid,
        state={name: row.get(name) for name in STATE},
        activity=merged_activity(row.get(ACTIVITY) or ()),
    )
