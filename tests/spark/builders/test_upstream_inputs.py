"""Operators over results of other operators, in one query (semantics 42.5 and following)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.errors import SetupError, SpecError, StateError
from panewise.spark import (
    JoinResult,
    OverResult,
    ParquetSink,
    PolicyResult,
    WindowResult,
    apply,
    configure,
    joined,
    over,
    policy_windows,
    windowed,
)
from panewise.spec.operators.join.columns import How
from panewise.streamwindow import count
from tests.spark.conftest import Feed, read_state, write

TEN = pw.Tumbling("10 seconds")


def put(feed: Feed, other: Feed, *turns: int, keys: str = "abcdef") -> None:
    """Adds a file to both sides, with rows of each turn of 10 seconds; no row is late."""
    left = [(10 * n + (7 * i + n) % 10, keys[i % len(keys)], i) for n in turns for i in range(9)]
    feed.put(*left)
    other.put(*((10 * n + (3 * i) % 10, "abcdgh"[i % 6], i) for n in turns for i in range(7)))


def inputs(feed: Feed, other: Feed, *, stream: bool) -> tuple[Any, Any]:
    if not stream:
        return feed.batch(), other.batch()
    return feed.stream().withWatermark("ts", "4 seconds"), other.stream().withWatermark("ts", "4 seconds")


def pairs(feed: Feed, other: Feed, *, stream: bool, how: How = "left") -> JoinResult:
    both = joined(*inputs(feed, other, stream=stream), "ts").on("k").within("-2 seconds", "5 seconds")
    return both.prefix(right="r_").how(how)


def by_value(feed: Feed, other: Feed, *, stream: bool) -> WindowResult:
    """Windows over a join, by a column that is no key of it."""
    return summed(pairs(feed, other, stream=stream))


def summed(rows: Any) -> WindowResult:
    sums = F.count().alias("n"), F.max("join_time").alias("latest")
    return windowed(rows, "join_time").groupBy("v").window(TEN).agg(*sums)


@pytest.mark.nightly
def test_windows_over_a_join_with_other_keys(feed: Feed, other: Feed) -> None:
    """A stream emits what a batch emits, also over a restart (semantics 42.5 to 42.7)."""
    put(feed, other, 0, 1)
    write(feed, by_value(feed, other, stream=True), outputs=("panes", "late"))
    rows = inputs(feed, other, stream=True)[0].withColumnRenamed("ts", "join_time")
    with pytest.raises(
        StateError, match=r"^results as the inputs \[\] \| in this checkpoint .* \['input'\] \| "
    ):
        write(feed, summed(rows), outputs=["panes"])
    with pytest.raises(StateError, match=r"^a changed specification \(how: 'left' -> 'inner'; unmatched"):
        write(feed, summed(pairs(feed, other, stream=True, how="inner")), outputs=["panes"])
    put(feed, other, 2, 30)
    write(feed, by_value(feed, other, stream=True), outputs=("panes", "late"))
    panes = feed.read("panes")
    columns = ["v", "window_start", "n", "latest"]
    batch = pl.DataFrame(by_value(feed, other, stream=False).panes.toArrow())
    before = batch.filter(pl.col("window_end") <= panes["window_end"].max())
    assert panes.select(columns).sort(columns).equals(before.select(columns).sort(columns))
    assert before.height > 20
    assert set(panes["timing"]) == {"ON_TIME"}
    assert feed.read("late").is_empty()
    shards = int(feed.spark.conf.get("spark.sql.shuffle.partitions", ""))
    state = read_state(feed.spark, feed.sink("checkpoint"))
    assert [len(operator.shards) for operator in state.operators] == [shards, shards]


def with_panes(feed: Feed, other: Feed, *, stream: bool) -> JoinResult:
    """A join of panes and rows: each pane with the rows of its key in the last 3 seconds of its window."""
    rows, others = inputs(feed, other, stream=stream)
    panes = windowed(rows, "ts").groupBy("k").window(TEN).options(timestamp="window_time")
    summed = panes.agg(F.sum("v").alias("s"))
    times = ("timestamp", "ts")
    return (
        joined(summed, others, times)
        .on("k")
        .within("-3 seconds", 0)
        .select("k", "s", "window_end", "v")
        .how("inner")
    )


@pytest.mark.nightly
def test_a_join_of_panes_and_rows(feed: Feed, other: Feed) -> None:
    """The first operator waits for the watermark of the query, and its timers report it (semantics 42.6).

    There are windows in one shard only. The other one reports the watermark, too.
    """
    put(feed, other, 0, 1, keys="a")
    write(feed, with_panes(feed, other, stream=True), outputs=["rows"])
    put(feed, other, 2, 30, keys="a")
    write(feed, with_panes(feed, other, stream=True), outputs=("rows", "left_late"))
    rows, columns = feed.read("rows"), ["k", "s", "window_end", "v", "join_time"]
    batch = pl.DataFrame(with_panes(feed, other, stream=False).rows.toArrow())
    before = batch.filter(pl.col("window_end") <= rows["window_end"].max())
    assert rows.select(columns).sort(columns).equals(before.select(columns).sort(columns))
    assert before["window_end"].n_unique() == 3
    states = read_state(feed.spark, feed.sink("checkpoint")).operators
    first, second = (states if states[0].spec == with_panes(feed, other, stream=True).spec else states[::-1])[
        ::-1
    ]
    # The rows of panes that are complete are no longer stored, as the second operator follows the first one.
    assert first.total.watermark is not None
    assert second.total.windows < 10
    assert second.total.watermark == first.total.watermark


def by_minutes(feed: Feed, **options: Any) -> WindowResult:
    rows = feed.stream().withWatermark("ts", "1 second")
    windows = windowed(rows, "ts").groupBy("k").window(pw.Tumbling("1 minute")).options(**options)
    return windows.agg(F.sum("v").alias("v"))


def refused(result: Any, message: str) -> None:
    with pytest.raises((SpecError, SetupError), match=message):
        windowed(result).window(TEN).agg(F.count())


def test_results_without_an_output_watermark(feed: Feed, other: Feed) -> None:
    """semantics 42.5"""
    early = joined(*inputs(feed, other, stream=True), "ts").on("k").within(0, 5).prefix(right="r_")
    given = early.options(unmatched="early").how("left")
    refused(
        given,
        r"^unmatched='early' before a second operator \| a second operator takes rows that are emitted once",
    )
    refused(
        by_minutes(feed),
        r"^timestamp=None before a second operator \| the event time of panes is their .*"
        r" \(semantics 42.5\) \| set timestamp='window_time' \[PW-",
    )
    stamped = (
        windowed(feed.stream().withWatermark("ts", "1 second"), "ts").options(timestamp="end").groupBy("k")
    )
    retracting = stamped.window(TEN).accumulation("retracting").agg(F.count())
    refused(retracting, r"^accumulation='retracting' before a second operator \| .* are not retracted \| use")
    of_keys = stamped.window(TEN).watermark(pw.StreamTime()).agg(F.count())
    refused(
        of_keys, r"^windows of rows, or StreamTime of each key, before a second operator \| the panes have no"
    )
    in_arrival_order = over(feed.stream()).withColumn("n", F.row_number().over(pw.Window.partitionBy("k")))
    no_time = r"before a second operator \| rows in arrival order have no watermark .* \| order the windows"
    refused(in_arrival_order, no_time)
    events = policy_windows(feed.stream()).tumbling(count(2)).agg(F.count())
    refused(
        events, r"^the events of policy windows before a second operator \| .* \| use windows of rows or of"
    )


def test_what_a_second_operator_refuses(feed: Feed, other: Feed) -> None:
    """semantics 42.5"""
    first = by_minutes(feed, timestamp="window_time")
    with pytest.raises(
        SpecError, match=r"^watermark=StreamTime\(.* over a result \| the watermark of these rows"
    ):
        windowed(first).window(TEN).watermark(pw.StreamTime(per="all")).agg(F.count())
    with pytest.raises(
        SpecError, match=r"^event time window_end over a result \| .* \| give 'timestamp' \[PW-"
    ):
        windowed(first, "window_end").window(TEN).agg(F.count())
    both = joined(first, other.stream(), ("timestamp", "ts")).on("k").within(0, 5).select("k", ("left", "v"))
    with pytest.raises(
        SetupError, match=r"^a stream without a watermark \(right\) \| the operator whose result is the left"
    ):
        both.watermark(right=pw.StreamTime(per="all")).how("inner")
    with pytest.raises(
        SpecError, match=r"^joined\(right=...\), of int \| the sides of a join are DataFrames, or"
    ):
        joined(first, 3)  # type: ignore[arg-type]


def second(result: Any) -> WindowResult:
    """Windows of all keys over panes."""
    return windowed(result).groupBy("k").window(TEN).options(timestamp="end").agg(F.sum("v").alias("v"))


def beside(one: Any, other: Any) -> JoinResult:
    """A join of two results."""
    both = joined(one, other).on("k").within(0, 0)
    return both.select("k", ("left", "v"), ("right", "v", "w")).how("inner")


def totals(rows: Any, key: str, time: str) -> OverResult:
    """Each row with the sum of `v` of the rows of its key so far, as `total`."""
    window = pw.Window.partitionBy(key).orderBy(time).rowsBetween(pw.Window.unboundedPreceding, 0)
    result: OverResult = over(rows, time).withColumn("total", F.sum("v").over(window))
    return result


def of_policies(rows: Any) -> PolicyResult:
    return policy_windows(rows).partition_by("k").tumbling(count(2)).agg(F.sum("v").alias("s"))


def of_minutes(rows: Any) -> WindowResult:
    windows = windowed(rows, "ts").groupBy("k").window(TEN).options(timestamp="end")
    return windows.agg(F.sum("v").alias("v"))


CHAINS: dict[str, Callable[[Any], Any]] = {
    "OVER of another partition, of some rows": lambda rows: totals(
        totals(rows, "k", "ts").where("total > 3").select("ts", "k", "v"), "v", "ts"
    ),
    "OVER behind windows": lambda rows: totals(of_minutes(rows), "k", "timestamp"),
    "windows behind OVER": lambda rows: of_minutes(
        totals(rows, "k", "ts").withColumn("v", SF.col("total") + 1)
    ),
    "windows of rows behind policy windows": lambda rows: (
        windowed(of_policies(rows)).groupBy("k").window(pw.Tumbling(pw.rows(2))).agg(F.sum("s").alias("v"))
    ),
    "policy windows behind windows": lambda rows: of_policies(of_minutes(rows)),
    "a join of two results": lambda rows: beside(of_minutes(rows), of_minutes(rows)),
    "rows in the order of their event time, behind OVER": lambda rows: over(
        totals(rows, "k", "ts").where("total > 3"), "ts"
    ).ordered("k"),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", CHAINS)
def test_any_operator_behind_any_other(feed: Feed, other: Feed, name: str) -> None:
    """A stream that ends emits what a batch emits (semantics 42.5, 42.8, 42.10)."""
    put(feed, other, 0, 1)
    put(feed, other, 2, 5)
    result = CHAINS[name](feed.stream().withWatermark("ts", "4 seconds"))
    ended = replace(result, at_end=True)
    first = "events" if isinstance(result, PolicyResult) else result.OUTPUT
    write(feed, ended, outputs=[first])
    batch = pl.DataFrame(CHAINS[name](feed.batch())._alone("panes").toArrow())
    columns = [column for column in batch.columns if column not in ("processing_time", "batch_id")]
    found = feed.read(first).select(columns)
    assert found.sort(columns).equals(batch.select(columns).sort(columns))
    assert batch.height > 4


def test_outputs_of_all_operators_of_a_query(feed: Feed, other: Feed) -> None:
    """semantics 42.9: the late rows of a join that windows are behind, and of the windows behind a third."""
    put(feed, other, 0, 3)
    feed.put((1, "a", 1000), (60, None, 2))
    other.put((60, "a", 4))
    outputs = ("panes", "first_rows", "first_left_late", "first_left_counts", "second_panes")
    with_panes = windowed(pairs(feed, other, stream=True)).groupBy("v").window(TEN).options(timestamp="end")
    second = with_panes.agg(F.count().alias("n"))
    hours = windowed(second.where("n > 0")).window(pw.Tumbling("1 hour"))
    third = hours.finish("at_end").agg(F.sum("n").alias("n"))
    write(feed, third, outputs=outputs)
    assert sorted(feed.read("first_left_late")["row"].struct.field("v")) == [1000]
    counts, rows, sums = (feed.read(name) for name in ("first_left_counts", "first_rows", "second_panes"))
    assert counts["rows_in"].sum() == counts["applied"].sum() + counts["late"].sum() + counts["invalid"].sum()
    assert rows.height == sums["n"].sum() == feed.read("panes")["n"].sum() > 10
    unknown = (
        r"^write\(first_late=...\) \| the outputs are .* earlier operators .*'first_left_late'.* \| give one"
    )
    with pytest.raises(SpecError, match=unknown):
        third.write(first_late=ParquetSink(feed.sink("x")), checkpoint=feed.sink("other"), available_now=True)
    never = hours.agg(F.sum("n").alias("n"))
    with pytest.raises(StateError, match=r"^finish='at_end' left out, over a result \| a checkpoint fixes"):
        write(feed, never, outputs=["panes"])


def test_rows_between_keep_their_event_time(feed: Feed) -> None:
    """semantics 42.8"""
    rows = totals(feed.stream().withWatermark("ts", "1 second"), "k", "ts")
    changed = (
        r"^rows without 'ts' as it was emitted \| the column ts is the event time .* \| select 'ts' by name"
    )
    for given in (rows.select("k", "v"), rows.withColumn("ts", SF.current_timestamp())):
        with pytest.raises(SpecError, match=changed):
            windowed(given, "ts").window(TEN).agg(F.count())


@pytest.mark.nightly
def test_metrics_of_two_second_operators(feed: Feed, spark: SparkSession) -> None:
    """semantics 15.5, 42.5: two chains of operators in one query need names of their own."""
    one = second(by_minutes(feed, timestamp="window_time"))
    assert beside(one, one).rows.isStreaming
    with pytest.raises(SetupError, match=r"^two results with the metrics panewise \| .* \| call configure\("):
        beside(one, second(by_minutes(feed, timestamp="end")))
    again = second(by_minutes(feed, timestamp="window_time")).panes
    with pytest.raises(SetupError, match=r"^two outputs of one result, or of two .* configure\(spark"):
        one.panes.union(again)
    configure(spark, metrics="other")
    try:
        other = second(by_minutes(feed, timestamp="window_time"))
    finally:
        configure(spark, metrics="panewise")
    assert one.panes.union(other.panes).isStreaming
    assert beside(one, other).rows.isStreaming


@pytest.mark.nightly
def test_three_operators_and_a_self_join(feed: Feed, other: Feed) -> None:
    """Results can be both sides, and the results of a second operator are an input, too."""
    first = by_minutes(feed, timestamp="window_time")
    both = (
        joined(first, first).on("k").within(0, 0).select("k", ("left", "v"), ("right", "v", "w")).how("inner")
    )
    assert both.spec.left.event_time == both.spec.right.event_time == "timestamp"
    third = windowed(both).groupBy("w").window(pw.Tumbling("1 hour")).agg(F.count().alias("n"))
    assert third.spec.event_time == "join_time"
    assert third.panes.columns[:4] == ["w", "window_start", "window_end", "n"]
    again = apply(both, third.spec)
    assert again.panes.schema == third.panes.schema
