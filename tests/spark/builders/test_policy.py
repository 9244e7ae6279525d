"""Tests of policy windows on Spark: streams, batch DataFrames, restarts, shards, refused specifications."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as SF

from panewise import Position, SpecError, StreamWindow, WindowListener
from panewise import functions as F
from panewise.spark import PolicyBuilder, PolicyResult, apply, policy_windows
from panewise.streamwindow import count, delta, partition_age, partition_count, punct, time
from panewise.testing import run
from tests.spark.conftest import Feed, write

ROWS = [{"k": k, "v": v} for k, v in [("a", 1), ("b", 2), ("a", 3), ("a", 4), ("b", 5), ("a", 6)]]


def listed(rows: list[Any]) -> list[tuple[Any, ...]]:
    return [(row["k"], row["event"], [one["v"] for one in row["tuples"]]) for row in rows]


def test_a_batch(spark: SparkSession) -> None:
    df = spark.createDataFrame([(row["k"], row["v"]) for row in ROWS], "k STRING, v INT").coalesce(1)
    spec = StreamWindow.tumbling(count(3), partition_by=["k"], events=["EVICTION", "FINAL"])
    result = apply(df, spec)
    assert dict(result.events.dtypes)["tuples"] == "array<struct<k:string,v:int>>"
    wanted = [("a", "EVICTION", [1, 3, 4]), ("a", "FINAL", [6]), ("b", "FINAL", [2, 5])]
    assert sorted(listed(result.events.collect())) == wanted
    assert result.counts.agg(SF.sum("applied")).first()[0] == len(ROWS)


def test_the_end_of_a_batch_without_rows(spark: SparkSession) -> None:
    df = spark.createDataFrame([], "k STRING, v INT")
    [event] = apply(df, StreamWindow.tumbling(count(3))).events.collect()
    assert (event["event"], event["tuples"]) == ("FINAL", [])
    assert apply(df, StreamWindow.tumbling(count(3), partition_by=["k"])).events.collect() == []


def test_types_come_through(spark: SparkSession) -> None:
    df = spark.sql(
        "SELECT timestamp'2024-01-01 00:00:00' AS ts, 1.50BD AS price, array(1, 2) AS items, true AS "
        "flag, date'2024-01-02' AS day"
    )
    spec = StreamWindow.sliding(delta("ts", "1 hour"), delta("price", 1), events=["INSERTION"])
    event = apply(df, spec).events
    assert (
        dict(event.dtypes)["tuples"]
        == "array<struct<ts:timestamp,price:decimal(3,2),items:array<int>,flag:boolean,day:date>>"
    )
    [row] = event.collect()
    assert row["tuples"][0].asDict() == df.first().asDict()


def test_what_is_made_of_tuples_may_have_any_name(spark: SparkSession) -> None:
    df = spark.createDataFrame([(5,), (6,)], "v BIGINT").coalesce(1)
    spec = StreamWindow.tumbling(
        count(2), aggregates=[F.min("v").alias("window_start"), F.max("v").alias("window_end")]
    )
    event = apply(df, spec).events.select("window_start", "window_end")
    assert event.dtypes == [("window_start", "bigint"), ("window_end", "bigint")]
    assert [tuple(row) for row in event.collect()] == [(5, 6)]


SPEC = StreamWindow.sliding(
    count(2),
    count(1),
    partition_by=["k"],
    aggregates=[F.sum("v").alias("total")],
    order=["ts"],
    null_keys=False,
)


def run_stream(feed: Feed, spec: StreamWindow, **options: Any) -> None:
    write(feed, apply(feed.stream(), spec, **options), outputs=("events", "invalid", "counts"))


def test_a_stream_goes_on_after_a_restart(feed: Feed) -> None:
    feed.put(*((n, row["k"], row["v"]) for n, row in enumerate(ROWS[:4])))
    run_stream(feed, SPEC)
    feed.put((4, "b", 5), (5, "a", 6), (6, None, 7))
    run_stream(feed, SPEC)
    rows = [{**row, "ts": n} for n, row in enumerate(ROWS)]
    wanted = [(pane["k"], pane["total"]) for pane in run(SPEC, [{"op": "add", "rows": rows}])[0]["panes"]]
    assert sorted(feed.read("events").select("k", "total").rows()) == sorted(wanted)
    assert [(row["row"]["v"], row["reason"]) for row in feed.read("invalid").to_dicts()] == [
        (7, "key k is null (null_keys=False)")
    ]
    counts = feed.read("counts")
    assert counts["rows_in"].sum() == 7 == counts["applied"].sum() + counts["invalid"].sum()


@pytest.mark.nightly
def test_time_passes_between_micro_batches(feed: Feed) -> None:
    """Tuples arrive at the time of their micro-batch; the next reads the clock (semantics 10.24, 10.25)."""
    spec = StreamWindow.tumbling(
        time("1 microsecond"), partition_by=["k"], columns=["v"], events=["EVICTION"]
    )
    for n in range(3):
        feed.put((n, "a", n))
        run_stream(feed, spec)
    assert [
        [row["v"] for row in tuples]
        for tuples in feed.read("events").sort("processing_time")["tuples"].to_list()
    ] == [[0], [1]]


class Total:
    """Adds up the inserted values, and returns the total at every other event."""

    def __init__(self) -> None:
        self.total = 0

    def handle(self, event: Any) -> Any:
        if event.type == "INSERTION":
            self.total += sum(row["v"] for row in event.tuples)
        else:
            yield {"total": self.total}


# Made from the methods alone: Spark's workers would have to import a class of this module.
LISTENER = type("Total", (), {"__init__": Total.__init__, "handle": Total.handle})
TOTAL = WindowListener(LISTENER, name="total", outputs={"total": "bigint"})


@pytest.mark.nightly
def test_a_listener_on_a_stream(feed: Feed) -> None:
    spec = StreamWindow.tumbling(count(2), partition_by=["k"], listener=TOTAL, order=["ts"])
    for n, row in enumerate(ROWS):
        feed.put((n, row["k"], row["v"]))
    run_stream(feed, spec, finish="at_end", shards=3)
    got = sorted(feed.read("events").select("k", "event", "total").rows())
    assert got == [
        ("a", "EVICTION", 4),
        ("a", "EVICTION", 14),
        ("a", "FINAL", 14),
        ("b", "EVICTION", 7),
        ("b", "FINAL", 7),
    ]


REFUSED = [
    (StreamWindow.tumbling(count(2)), 2, ("no partition_by: one shard has all partitions (semantics 10.25)")),
    (
        StreamWindow.tumbling(punct("flag"), partition_by=["k"]),
        2,
        "evict=PunctPolicy(column='flag'): one shard has all partitions",
    ),
    (
        StreamWindow.tumbling(count(2), partition_by=["k"], partition_eviction=partition_count(3)),
        2,
        "partition_eviction=PartitionCount(n=3): one shard has all partitions",
    ),
    (
        StreamWindow.tumbling(time(5)),
        1,
        ("a batch DataFrame is processed at one time, so no processing time passes"),
    ),
    (
        StreamWindow.tumbling(count(2), partition_by=["k"], partition_eviction=partition_age(9)),
        1,
        "a batch DataFrame is processed at one time",
    ),
]


@pytest.mark.parametrize(("spec", "shards", "rule"), REFUSED)
def test_what_is_refused(spark: SparkSession, spec: StreamWindow, shards: int, rule: str) -> None:
    df = spark.createDataFrame([("a", 1, True)], "k STRING, v INT, flag BOOLEAN")
    with pytest.raises(SpecError) as caught:
        apply(df, spec, shards=shards)
    assert caught.value.rule.startswith(rule)


BUILT = [
    (
        lambda built: built.partition_by("k").tumbling(count(2)).events("EVICTION").tuples("v"),
        StreamWindow.tumbling(count(2), partition_by=["k"], events=["EVICTION"], columns=["v"]),
    ),
    (
        lambda built: built.sliding(count(2)).order_by("v").agg(F.sum("v").alias("s")),
        StreamWindow.sliding(count(2), order=["v"], aggregates=[F.sum("v").alias("s")]),
    ),
    (
        lambda built: built.sliding(delta("v", 3), count(2)).position("k", "v").tuples(),
        StreamWindow.sliding(delta("v", 3), count(2), position=Position("k", "v")),
    ),
    (
        lambda built: (
            built.partition_by("k")
            .partition_eviction(partition_count(2))
            .tumbling(count(2))
            .options(flush_on_final=True, null_keys=False)
            .listen(TOTAL)
        ),
        StreamWindow.tumbling(
            count(2),
            partition_by=["k"],
            partition_eviction=partition_count(2),
            flush_on_final=True,
            null_keys=False,
            listener=TOTAL,
        ),
    ),
]


@pytest.mark.parametrize(("describe", "spec"), BUILT)
def test_a_description_is_a_specification(
    spark: SparkSession, describe: Callable[[PolicyBuilder], PolicyResult], spec: StreamWindow
) -> None:
    """The methods of `policy_windows` set the fields of StreamWindow (semantics 10)."""
    df = spark.createDataFrame([("a", 1)], "k STRING, v INT")
    assert describe(policy_windows(df)).spec == spec
    assert apply(df, spec).spec == spec


def test_a_partition_may_be_an_expression(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", 1), ("A", 2)], "k STRING, v INT")
    built = policy_windows(df).partition_by(SF.upper("k").alias("shop")).tumbling(count(2))
    [event] = built.agg(F.sum("v").alias("s")).events.collect()
    assert (event["shop"], event["s"]) == ("A", 3)


def test_descriptions_that_are_refused(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", 1)], "k STRING, v INT")
    built = policy_windows(df).tumbling(count(2))
    cases: list[tuple[Callable[[], Any], str]] = [
        (
            policy_windows(df).tuples,
            r"^no window \| policy windows are tumbling or sliding \| call \.tumbling\(",
        ),
        (built.agg, r"^agg\(\) \| an event has one aggregate or more \| give one such as F\.count\(\)"),
        (
            lambda: built.options(late=1),
            r"^option 'late' \| the options of the operator are \['flush_on_final', .* \| use the method",
        ),
        (lambda: built.shards(2).tuples(), r"^shards=2 \| no partition_by: one shard has all partitions"),
        (lambda: built.finish("never").tuples(), r"^finish='never' on a batch DataFrame \| the input of"),
        (lambda: built.tuples().write(), r"give events=ParquetSink\(path\)"),
    ]
    for call, message in cases:
        with pytest.raises(SpecError, match=message):
            call()
    assert not hasattr(built.tuples(), "then")


def test_what_is_no_specification_is_refused(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", 1)], "k STRING, v INT")
    known = [
        "Chain",
        "CogroupOperator",
        "DeduplicateOperator",
        "JoinOperator",
        "OverOperator",
        "StreamWindow",
        "WindowOperator",
        "WindowedJoin",
    ]
    rule = rf"a specification is one of {re.escape(str(known))}"
    with pytest.raises(SpecError, match=rf"^spec=CountPolicy\(n=2\) \| {rule} \| give one such as"):
        apply(df, count(2))  # type: ignore[call-overload]
