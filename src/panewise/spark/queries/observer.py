"""A listener of all queries of a session, for log lines and Prometheus metrics."""

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
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
from panewise.observe.log_line import log_line
from panewise.observe.micro_batch import TIMINGS, BatchFigures, MicroBatch
from panewise.spark.metrics import NAMES, PANES_BY_TIMING, REASONS, STATE, by_name

if TYPE_CHECKING:
    from panewise.observe.prometheus import PrometheusMetrics

LOGGER = "panewise"


class Observer(StreamingQueryListener):
    """Watches the queries of a session. :func:`observe` makes and attaches it."""

    def __init__(self, session: SparkSession, *, log: bool) -> None:
        self._session = session
        self._log = log
        self._metrics = _prometheus_metrics()
        self._names: dict[UUID, str] = {}  # by the id of a run: a terminated query has no name
        self._close_server: Callable[[], None] | None = None

    def prometheus_text(self) -> str:
        """Returns the metrics of all queries since `observe`, in the text format of Prometheus."""
        return self._metrics.text()

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
            port, self._close_server = self._metrics.serve(port, host)
        except OSError as error:
            call, rule = f"serve({port}, host={host!r})", f"the port can be used: {error}"
            raise SetupError(call, rule, "give a free port, or 0") from None
        return port

    def close(self) -> None:
        """Stops watching and serving. The observer cannot be used again."""
        self._session.streams.removeListener(self)
        if self._close_server is not None:
            self._close_server()
            self._close_server = None

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802 - PySpark's name
        """Spark calls this when a query starts."""
        self._names[event.runId] = event.name or str(event.id)
        self._metrics.started(self._names[event.runId])

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802 - PySpark's name
        """Spark calls this after each micro-batch."""
        report = micro_batch(event.progress)
        if event.progress.runId not in self._names:  # it has started before it was observed
            self._names[event.progress.runId] = report.query
            self._metrics.started(report.query)
        self._metrics.add(report)
        line = log_line(report) if self._log else None
        if line is not None:
            logging.getLogger(LOGGER).warning(line)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802 - PySpark's name
        """Spark calls this while a query has no new rows."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802 - PySpark's name
        """Spark calls this when a query ends."""
        query = self._names.pop(event.runId, str(event.id))
        self._metrics.ended(query, failed=event.exception is not None)


def observe(spark: SparkSession, *, log: bool = True) -> Observer:
    """Watches all queries of a session from now on, also those that are not written with `write`.

    The figures are those of Spark's progress reports (semantics 15.5 to 15.10).

    Args:
        spark: the session, classic or Connect.
        log: whether the logger "panewise" writes a line, as a warning, for each micro-batch in which rows
            were late or invalid, and none for other micro-batches.

    Returns:
        An observer. Its `prometheus_text()` returns the metrics, and its `serve()` serves them over HTTP.

    Raises:
        SetupError: if the extra `metrics` is not installed.

    Example::

        observer = observe(spark)
        query = result.write(panes="out/panes", checkpoint="checkpoint")
        observer.serve(port=9464)
    """
    observer = Observer(spark, log=log)
    spark.streams.addListener(observer)
    return observer


def _prometheus_metrics() -> "PrometheusMetrics":
    try:
        from panewise.observe.prometheus import PrometheusMetrics  # noqa: PLC0415 - of an extra
    except ImportError as error:
        rule = "observe() needs the package prometheus-client"
        raise SetupError(str(error), rule, "install panewise[metrics]") from None
    return PrometheusMetrics()


def micro_batch(progress: StreamingQueryProgress) -> MicroBatch:
    """Returns what a progress report says. Observations that are not panewise's are left out."""
    rows = {name: by_name(row) for name, row in (progress.observedMetrics or {}).items()}
    return MicroBatch(
        query=progress.name or str(progress.id),
        batch=progress.batchId,
        rows=progress.numInputRows,
        seconds=progress.durationMs.get("triggerExecution", 0) / 1000,
        operators={name: _figures(row) for name, row in rows.items() if "rows_in" in row},
    )


def _figures(row: Mapping[str, Any]) -> BatchFigures:
    late, invalid = (dict(row.get(name) or {}) for name in REASONS)
    return BatchFigures(
        counts={name: row.get(name) or 0 for name in NAMES},
        timings={timing: row.get(PANES_BY_TIMING[timing]) or 0 for timing in TIMINGS},
        late=late,
        invalid=invalid,
        state={name: row.get(name) for name in STATE},
    )
