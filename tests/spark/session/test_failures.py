"""Tests of the messages of failed queries, which begin with the reason."""

import shutil
from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame

import panewise as pw
from panewise import functions as F
from panewise.spark import ParquetSink, QueryError, WindowResult, windowed
from panewise.spark.queries import query_checkpoint
from panewise.spark.session.failures import reason_of
from tests.spark.conftest import Feed, emitted, write

CHANGED = (
    "StateError: a changed specification (window: {'kind': 'tumbling', 'size': 60000000, 'origin': 0} -> "
    "{'kind': 'tumbling', 'size': 120000000, 'origin': 0}) | "
)
WORKER = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: Job aborted due to stage
failure: Task 0 failed org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "/python/pyspark/worker.py", line 3630, in main
    process()
KeyError: 'k'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "job.py", line 3, in accumulate
    raise ValueError("no such key")
ValueError: no such key

\tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:3)
Caused by: java.lang.RuntimeException: x: y
"""


SINK = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: An exception was raised by the
Python Proxy. Return Message: Traceback (most recent call last):
  File "sinks.py", line 21, in __call__
    rows.write.parquet(path)
py4j.protocol.Py4JJavaError: An error occurred while calling o322.parquet.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 1 in stage 6.0 failed 1 times

\tat org.apache.spark.scheduler.DAGScheduler.abortStage(DAGScheduler.scala:3)
Caused by: java.io.IOException: Mkdirs failed to create file:/out/panes
\tat org.apache.hadoop.fs.ChecksumFileSystem.create(ChecksumFileSystem.java:5)
"""


def test_the_reason_of_a_sink_that_cannot_write() -> None:
    """If the last Python error only names a method of the JVM, the first cause in the JVM is the reason."""
    assert reason_of(SINK) == "java.io.IOException: Mkdirs failed to create file:/out/panes"
    proxy = "Caused by: py4j.Py4JException: An exception was raised by the Python Proxy.\n"
    assert reason_of(SINK + proxy) == "java.io.IOException: Mkdirs failed to create file:/out/panes"
    without_cause = SINK.partition("Caused by")[0]
    assert reason_of(without_cause).startswith(
        "org.apache.spark.SparkException: Job aborted due to stage failure"
    )
    assert (
        reason_of(SINK.partition("\n: org")[0])
        == "py4j.protocol.Py4JJavaError: An error occurred while calling o322.parquet."
    )


def test_the_reason_in_a_report() -> None:
    assert reason_of(WORKER) == "ValueError: no such key"
    ours = WORKER.replace("ValueError: no", "panewise.errors.StateError: a | b | c\nValueError: no")
    assert reason_of(ours) == "StateError: a | b | c"
    short = (
        "Lost task 0.0: org.apache.spark.api.python.PythonException: panewise.errors.SpecError: a | "
        "b | c\n\tat org.apache"
    )
    assert reason_of(short) == "SpecError: a | b | c"
    assert (
        reason_of("[STREAM_FAILED] Query [id = 1] terminated with exception: [PATH_NOT_FOUND] no path\n more")
        == "[PATH_NOT_FOUND] no path"
    )
    assert reason_of("") == "Spark gives no reason"


def minutes(df: DataFrame, size: str) -> WindowResult:
    watched = df.withWatermark("ts", "10 seconds")
    described = (
        windowed(watched, event_time="ts").groupBy("k").window(pw.Tumbling(size)).allowed_lateness("1 minute")
    )
    return described.agg(F.sum("v").alias("s"))


@pytest.mark.nightly
def test_a_query_of_ones_own(feed: Feed) -> None:
    """An error of panewise in a worker is reported in one line, without a traceback."""
    feed.put((0, "a", 1))
    emitted(feed, minutes(feed.stream(), "1 minute").panes)
    feed.put((1, "a", 1))
    with pytest.raises(StreamingQueryException) as caught:
        emitted(feed, minutes(feed.stream(), "2 minutes").panes)
    report = str(caught.value)
    assert f"panewise.errors.{CHANGED}" in report
    assert "Traceback (most recent call last)" not in report
    assert reason_of(report).startswith(CHANGED)


def test_a_written_query(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A changed specification is found in the state itself, too, if no record of the checkpoint says it."""
    feed.put((0, "a", 1))
    written = {"panes": ParquetSink(feed.sink("panes"))}
    write(feed, minutes(feed.stream(), "1 minute"), outputs=written)
    shutil.rmtree(Path(feed.sink("checkpoint")) / "panewise" / "operator")  # else write() refuses the change
    monkeypatch.setattr(query_checkpoint, "check_unused", lambda *_: None)
    feed.put((1, "a", 1))
    query = minutes(feed.stream(), "2 minutes").write(
        **written, checkpoint=feed.sink("checkpoint"), available_now=True
    )
    with pytest.raises(QueryError) as caught:
        query.awaitTermination()
    assert str(caught.value).startswith(CHANGED)
    assert caught.value.reason.startswith(CHANGED)
    assert caught.value.report in str(caught.value)
    assert isinstance(caught.value, StreamingQueryException)
    found = query.exception()
    assert found is not None
    assert found.reason == caught.value.reason


@pytest.mark.nightly
def test_a_sink_that_fails(feed: Feed) -> None:
    def sink(rows: DataFrame, batch_id: int) -> None:
        raise ValueError("the disk is full")

    feed.put((0, "a", 1))
    query = minutes(feed.stream(), "1 minute").write(
        counts=sink, checkpoint=feed.sink("checkpoint"), name="full"
    )
    with pytest.raises(QueryError, match=r"^ValueError: the disk is full\n"):
        query.processAllAvailable()
    assert not query.isActive
