"""Metrics of queries in the text format of Prometheus."""

from collections.abc import Callable
from threading import Thread
from typing import Any, Final
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, start_http_server

from panewise.observe.micro_batch import TIMINGS, BatchFigures, MicroBatch

_QUERY: Final = ("query",)
_OPERATOR: Final = ("query", "operator")
# Name without the suffix `_total`, label names and description of each counter.
COUNTERS: Final = {
    "panewise_source_rows": (_QUERY, "Rows that Spark has read from the sources of the query."),
    "panewise_query_failures": (_QUERY, "Runs of the query that ended with an error."),
    "panewise_rows_in": (_OPERATOR, "Rows that the operator has read."),
    "panewise_rows_applied": (_OPERATOR, "Rows that were added to a window, a frame or a side."),
    "panewise_rows_replayed": (_OPERATOR, "Rows that had been applied before, by position."),
    "panewise_rows_late": (_OPERATOR, "Late rows."),
    "panewise_rows_invalid": (_OPERATOR, "Invalid rows."),
    "panewise_rows_late_by_reason": ((*_OPERATOR, "reason"), "Late rows, by reason."),
    "panewise_rows_invalid_by_reason": ((*_OPERATOR, "reason"), "Invalid rows, by reason."),
    "panewise_panes": ((*_OPERATOR, "timing"), "Emitted rows, by timing. Rows that are not panes have none."),
}
GAUGES: Final = {
    "panewise_query_active": (_QUERY, "1 while the query runs, else 0."),
    "panewise_shards": (_OPERATOR, "Shards that ran a step in the last micro-batch."),
    "panewise_state_rows": (_OPERATOR, "Stored rows of these shards, an upper bound of live windows."),
    "panewise_state_bytes": (_OPERATOR, "Stored bytes of these shards."),
    "panewise_oldest_end_timestamp_seconds": (_OPERATOR, "Lower bound of the ends of live windows."),
    "panewise_watermark_timestamp_seconds": (_OPERATOR, "Lowest watermark of the shards."),
    "panewise_watermark_delay_seconds": (_OPERATOR, "Largest distance of the watermark to processing time."),
}
HISTOGRAM: Final = "panewise_micro_batch_seconds"
_COUNTS: Final = {
    "panewise_rows_in": "rows_in",
    "panewise_rows_applied": "applied",
    "panewise_rows_replayed": "replays",
    "panewise_rows_late": "late",
    "panewise_rows_invalid": "invalid",
}
# Each gauge of an operator, with its figure and the number of the figure's units in one of the gauge's.
_FIGURES: Final = {
    "panewise_shards": ("shards", 1),
    "panewise_state_rows": ("live", 1),
    "panewise_state_bytes": ("state_bytes", 1),
    "panewise_oldest_end_timestamp_seconds": ("oldest_end", 1_000_000),
    "panewise_watermark_timestamp_seconds": ("watermark", 1_000_000),
    "panewise_watermark_delay_seconds": ("watermark_delay", 1_000_000),
}
_BUCKETS: Final = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900)


class PrometheusMetrics:
    """Adds up the reports of micro-batches, from the time at which it is made."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._counters = {
            name: Counter(name, text, labels, registry=self._registry)
            for name, (labels, text) in COUNTERS.items()
        }
        self._gauges = {
            name: Gauge(name, text, labels, registry=self._registry)
            for name, (labels, text) in GAUGES.items()
        }
        text = "Durations of micro-batches."
        self._seconds = Histogram(HISTOGRAM, text, _QUERY, registry=self._registry, buckets=_BUCKETS)

    def add(self, report: MicroBatch) -> None:
        """Adds a micro-batch."""
        self._gauges["panewise_query_active"].labels(report.query).set(1)
        self._counters["panewise_source_rows"].labels(report.query).inc(report.rows)
        self._seconds.labels(report.query).observe(report.seconds)
        for name, figures in report.operators.items():
            self._add_operator(report.query, name, figures)

    def _add_operator(self, query: str, operator: str, figures: BatchFigures) -> None:
        for name, count in _COUNTS.items():
            self._counters[name].labels(query, operator).inc(figures.counts.get(count, 0))
        by_label = {
            "panewise_rows_late_by_reason": figures.late,
            "panewise_rows_invalid_by_reason": figures.invalid,
            "panewise_panes": _by_timing(figures),
        }
        for name, numbers in by_label.items():
            for label, number in numbers.items():
                self._counters[name].labels(query, operator, label).inc(number)
        if figures.state.get("shards"):  # else no shard ran, and the figures of the last micro-batch stand
            for name, (figure, units) in _FIGURES.items():
                value = figures.state.get(figure)
                if value is not None:
                    self._gauges[name].labels(query, operator).set(value / units)

    def started(self, query: str) -> None:
        """Notes that a query has started."""
        self._gauges["panewise_query_active"].labels(query).set(1)
        self._counters["panewise_query_failures"].labels(query)  # 0 until it fails
        self._seconds.labels(query)  # also while the first micro-batch runs

    def ended(self, query: str, *, failed: bool) -> None:
        """Notes that a query has ended. Its operators then have no state, watermark or delay."""
        for name in _FIGURES:
            self._gauges[name].remove_by_labels({"query": query})
        self._gauges["panewise_query_active"].labels(query).set(0)
        self._counters["panewise_query_failures"].labels(query).inc(int(failed))

    def text(self) -> str:
        """Returns all metrics in the text format of Prometheus."""
        return generate_latest(self._registry).decode()

    def serve(self, port: int, host: str) -> tuple[int, Callable[[], None]]:
        """Serves the text over HTTP; returns the port and what ends it. Port 0 takes a free port."""
        server, thread = _typed(start_http_server(port, addr=host, registry=self._registry))

        def close() -> None:
            server.shutdown()
            server.server_close()
            thread.join()

        return server.server_port, close


def _typed(running: Any) -> tuple[WSGIServer, Thread]:
    server, thread = running
    return server, thread


def _by_timing(figures: BatchFigures) -> dict[str, int]:
    """Returns the emitted rows by timing. Rows that are not panes have the label "none"."""
    timed = {timing: figures.timings.get(timing, 0) for timing in TIMINGS}
    others = figures.counts.get("panes", 0) - sum(timed.values())
    return {**timed, "none": others}
