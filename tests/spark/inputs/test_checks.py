"""Tests of what is refused before a query starts, and of the messages."""

import re
from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.errors import DataLossWarning, PanewiseError, SetupError, SpecError
from panewise.spark import ParquetSink, WindowResult, apply, windowed
from tests.spark.conftest import Feed

MINUTE = pw.Tumbling("1 minute")
SPEC = pw.WindowOperator(window=MINUTE, keys=["k"], event_time="ts", aggregates=[F.count()])
COUNT = F.count().alias("n")


def described(df: DataFrame, **kwargs: str) -> WindowResult:
    return (
        windowed(df, event_time=kwargs.get("time", "ts"))
        .groupBy(kwargs.get("key", "k"))
        .window(MINUTE)
        .agg(COUNT)
    )


CASES: list[tuple[Callable[[DataFrame, DataFrame], object], type[PanewiseError], str]] = [
    (
        lambda s, b: described(b, time="when"),
        SpecError,
        "column 'when' | the columns that an operator reads are in its input | use one of the columns",
    ),
    (
        lambda s, b: described(b, key="kk"),
        SpecError,
        ("column 'kk' | the columns that an operator reads are in its input"),
    ),
    (lambda s, b: described(b, time="v"), SpecError, "event time v: bigint | the event time is a TIMESTAMP"),
    (
        lambda s, b: described(b.withColumn("ts", SF.col("ts").cast("timestamp_ntz"))),
        SpecError,
        (
            "event time ts: timestamp_ntz | the event time is a TIMESTAMP, which names an instant "
            "(semantics 1) | cast it: df.withColumn('ts'"
        ),
    ),
    (
        lambda s, b: described(s),
        SetupError,
        (
            "a stream without a watermark | the query's watermark decides when windows are "
            "complete and rows are late"
        ),
    ),
    (
        lambda s, b: windowed(b, "ts").agg(COUNT),
        SpecError,
        "no window | an operator has a window | call .window(",
    ),
    (
        lambda s, b: windowed(b, "ts").window(MINUTE).agg(),
        SpecError,
        "aggregates=() | a pane contains at least one aggregate",
    ),
    (
        lambda s, b: windowed(b, "ts").window(MINUTE).agg(F.sum("k")),
        SpecError,
        "'sum(k)' over k: string | sum takes numbers",
    ),
    (
        lambda s, b: windowed(b, "ts").options(lateness=1),
        SpecError,
        "option 'lateness' | the options of the operator are",
    ),
    (
        lambda s, b: windowed(b, "ts").window(MINUTE).shards(0).agg(COUNT),
        SpecError,
        "shards=0 | the number of shards is 1 or more",
    ),
    (lambda s, b: apply(b, SPEC, shards=True), SpecError, "shards=True | the number of shards is 1 or more"),
    (
        lambda s, b: windowed(b, "ts").window(MINUTE).finish("now").agg(COUNT),
        SpecError,
        "finish='now' | finish is 'never' or 'at_end'",
    ),
    (
        lambda s, b: apply(b, SPEC, finish="at-end"),
        SpecError,
        "finish='at-end' | finish is 'never' or 'at_end'",
    ),
    (
        lambda s, b: windowed(b, "ts").window(MINUTE).finish("never").agg(COUNT),
        SpecError,
        "finish='never' on a batch DataFrame",
    ),
    (
        lambda s, b: described(b).write(),
        SpecError,
        ("write() without a sink | write() needs a sink for at least one output"),
    ),
    (
        lambda s, b: (
            windowed(b, "ts").window(MINUTE).trigger(pw.AfterCount(3)).options(strict=True).agg(COUNT)
        ),
        SpecError,
        "a top-level AfterCount(n=3) closes a window after its first pane",
    ),
    (
        lambda s, b: described(b.withColumn("m", SF.parse_json(SF.lit("1")))).invalid,
        SpecError,
        "column m: variant | variants cannot pass through the operator | drop m, or turn it into a string",
    ),
]


@pytest.mark.parametrize(("build", "error", "message"), CASES)
def test_refused(
    feed: Feed, build: Callable[[DataFrame, DataFrame], object], error: type[PanewiseError], message: str
) -> None:
    feed.put((0, "a", 1))
    with pytest.raises(error, match=re.escape(message)):
        build(feed.stream(), feed.batch())


def test_a_trigger_that_may_lose_data_warns(feed: Feed) -> None:
    feed.put((0, "a", 1))
    with pytest.warns(DataLossWarning, match="closes a window after its first pane"):
        windowed(feed.batch(), "ts").window(MINUTE).trigger(pw.AfterCount(3)).agg(COUNT)


def test_a_state_store_that_is_not_rocksdb(feed: Feed, spark: SparkSession) -> None:
    name = "spark.sql.streaming.stateStore.providerClass"
    before = spark.conf.get(name)
    spark.conf.set(name, "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider")
    try:
        with pytest.raises(
            SetupError,
            match=r"HDFSBacked.* \| transformWithState needs RocksDB as its state store \| call "
            r"panewise.spark.configure",
        ):
            described(feed.stream().withWatermark("ts", "1 second"))
    finally:
        spark.conf.set(name, before or "")


def test_a_stream_is_written_with_a_checkpoint_and_ended_only_where_it_ends(feed: Feed) -> None:
    watched = feed.stream().withWatermark("ts", "1 second")
    sink = ParquetSink(feed.sink("panes"))
    with pytest.raises(SpecError, match=r"write\(\) on a stream without a checkpoint"):
        described(watched).write(panes=sink)
    at_end = windowed(watched, "ts").window(MINUTE).finish("at_end").agg(COUNT)
    with pytest.raises(SpecError, match="finish='at_end' without available_now"):
        at_end.write(panes=sink, checkpoint=feed.sink("checkpoint"))
    with pytest.raises(SetupError, match=r"finish='at_end' without write\(\)"):
        _ = at_end.panes


def test_explain_says_in_words_what_is_emitted_when(feed: Feed) -> None:
    text = described(feed.batch()).explain()
    assert "1 minute" in text
    assert "watermark" in text
