"""Tests of the listener that watches the queries of a session."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as SF
from pyspark.sql.streaming.listener import QueryProgressEvent, QueryTerminatedEvent, StreamingQueryProgress

import panewise as pw
from panewise import functions as F
from panewise.errors import SetupError
from panewise.observe.entries import Entry
from panewise.observe.journal import Journal
from panewise.observe.prometheus import PrometheusMetrics
from panewise.spark import Observer, observe, windowed
from panewise.spark.metrics import METRICS, by_name
from panewise.spark.queries.observer import micro_batch
from tests.spark.conftest import Feed, write


@pytest.fixture
def observer(spark: SparkSession) -> Iterator[Observer]:
    watching = observe(spark)
    yield watching
    watching.close()


def wait_for_listeners(spark: SparkSession) -> None:
    """Waits until Spark has delivered all events of queries."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()


def test_a_query_is_watched(feed: Feed, observer: Observer, caplog: pytest.LogCaptureFixture) -> None:
    """The metrics are those of the progress reports, and late rows write one line (semantics 15.8, 15.9)."""
    for rows in (((0, "a", 1), (None, "a", 2)), ((90, "b", 3),), (), ((1, "a", 4), (95, "b", 5))):
        feed.put(*rows)
    stream = feed.stream().withWatermark("ts", "10 seconds")
    result = windowed(stream, "ts").groupBy("k").window(pw.Tumbling("1 minute")).agg(F.sum("v").alias("s"))
    with caplog.at_level(logging.WARNING, "panewise"):
        write(feed, result, outputs=["panes"], name="watched")
        wait_for_listeners(feed.spark)
    assert [record.getMessage() for record in caplog.records if record.name == "panewise"] == [
        "query watched, micro-batch 0: 1 of 2 rows invalid (event time is null 1)",
        "query watched, micro-batch 3: 1 of 2 rows late (expired 1)",
    ]
    text = observer.prometheus_text()
    for line in (
        'panewise_rows_in_total{operator="panewise",query="watched"} 5.0',
        'panewise_rows_late_by_reason_total{operator="panewise",query="watched",reason="expired"} 1.0',
        'panewise_panes_total{operator="panewise",query="watched",timing="ON_TIME"} 1.0',
        'panewise_query_active{query="watched"} 0.0',
        'panewise_query_failures_total{query="watched"} 0.0',
    ):
        assert line in text.splitlines()


def test_a_query_that_fails(feed: Feed, observer: Observer) -> None:
    """A query of Spark alone has no operator, and its failure is counted (semantics 15.9)."""
    feed.put((0, "a", 1))
    failing = feed.stream().select(SF.raise_error(SF.lit("refused")))
    writer = failing.writeStream.format("noop").queryName("failing").trigger(availableNow=True)
    query = writer.option("checkpointLocation", feed.sink("checkpoint")).start()
    with pytest.raises(Exception, match="refused"):
        query.awaitTermination()
    wait_for_listeners(feed.spark)
    assert 'panewise_query_failures_total{query="failing"} 1.0' in observer.prometheus_text().splitlines()


def test_an_observer_has_one_server(observer: Observer) -> None:
    assert observer.serve(0) > 0
    with pytest.raises(SetupError, match="serve\\(\\) a second time"):
        observer.serve(0)


def test_a_port_that_is_used(spark: SparkSession, observer: Observer) -> None:
    port = observer.serve(0)
    other = observe(spark, log=False)
    try:
        with pytest.raises(SetupError, match=f"serve\\({port}, .* a server needs a port that it can open"):
            other.serve(port)
    finally:
        other.close()


def test_a_query_that_had_started_before(spark: SparkSession, observer: Observer) -> None:
    """Its end is that of the query of this name (semantics 15.9)."""
    observer.onQueryProgress(QueryProgressEvent(progress_of("earlier")))
    run = progress_of("earlier").runId
    observer.onQueryTerminated(QueryTerminatedEvent(run, run, "an error", None))
    lines = observer.prometheus_text().splitlines()
    assert 'panewise_query_failures_total{query="earlier"} 1.0' in lines
    assert 'panewise_query_active{query="earlier"} 0.0' in lines


def test_observations_of_others_are_left_out() -> None:
    """A query may observe other things with `df.observe` (semantics 15.9)."""
    report = micro_batch(progress_of(None))
    assert (report.query, report.batch, report.rows) == ("6f1a1f3c-3f4e-4a3e-8a39-0d7f8d3f3b11", 3, 4)
    assert (report.seconds, report.operators) == (0.25, {})
    PrometheusMetrics().add(report)


def test_a_full_disk_is_reported_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Queries run on, and the journal continues when there is room (semantics 15.17)."""

    class Full(Journal):
        def add(self, entry: Entry) -> None:
            written.append(entry)
            if len(written) != 3:
                raise OSError(28, "No space left on device")

    written: list[Entry] = []
    journal = Full(tmp_path)
    observer = Observer(None, log=False, journal=journal)  # type: ignore[arg-type] - it is not attached
    with caplog.at_level(logging.WARNING, "panewise"):
        for _ in range(4):
            observer.onQueryProgress(QueryProgressEvent(progress_of("full")))
    journal.close()
    assert [record.getMessage() for record in caplog.records] == [
        f"journal {tmp_path}: [Errno 28] No space left on device"
    ] * 2


def test_metrics_of_connect() -> None:
    """PySpark's client may give the values without their names (semantics 15.5, 15.18)."""
    figures = by_name({"values": [*range(len(METRICS)), ['{"family": "windows"}']]})
    assert (figures["rows_in"], figures["activity"]) == (0, ['{"family": "windows"}'])


def progress_of(name: str | None) -> StreamingQueryProgress:
    return StreamingQueryProgress.fromJson(
        {
            "id": "6f1a1f3c-3f4e-4a3e-8a39-0d7f8d3f3b11",
            "runId": "6f1a1f3c-3f4e-4a3e-8a39-0d7f8d3f3b12",
            "name": name,
            "timestamp": "2024-01-01T00:00:00.000Z",
            "batchId": 3,
            "batchDuration": 5,
            "durationMs": {"triggerExecution": 250},
            "eventTime": {},
            "stateOperators": [],
            "sources": [],
            "sink": {"description": "noop", "numOutputRows": 0, "metrics": {}},
            "numInputRows": 4,
            "inputRowsPerSecond": 1.0,
            "processedRowsPerSecond": 1.0,
            "observedMetrics": {"mine": {"most": 4}},
        }
    )
