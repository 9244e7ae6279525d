"""Tests of clocks in streaming queries: the operator's own watermarks, processing time, clock streams."""

from dataclasses import replace
from datetime import timedelta
from functools import partial
from importlib.metadata import version

import pytest
from pyspark.sql import DataFrame

import panewise as pw
from panewise import functions as F
from panewise.spark import WindowBuilder, windowed
from tests.nightly import first_here
from tests.spark.conftest import Feed, beside, write

POLICY = "spark.sql.streaming.multipleWatermarkPolicy"
YEARS_40 = 40 * 365 * 86_400


def minutes(df: DataFrame) -> WindowBuilder:
    return windowed(df, event_time="ts").groupBy("k").window(pw.Tumbling("1 minute"))


run = partial(write, outputs=("panes", "late", "counts"))


@pytest.mark.nightly
def test_a_fixed_lag_needs_no_watermark_of_the_stream(feed: Feed) -> None:
    """Rows of 2024 are years behind the clock, and late. A row ahead of the clock is not (semantics 12.4)."""
    feed.put((0, "a", 1), (YEARS_40, "a", 2), (70, "b", 3))
    run(
        feed,
        minutes(feed.stream()).watermark(pw.FixedLag("1 hour")).finish("at_end").agg(F.sum("v").alias("s")),
    )
    late = feed.read("late")
    assert sorted((row["v"], reason) for row, reason in late.select("row", "reason").rows()) == [
        (1, "expired"),
        (3, "expired"),
    ]
    assert feed.read("panes")["s"].to_list() == [2]


@pytest.mark.nightly
def test_the_watermark_of_the_stream_counts_beside_a_fixed_lag(feed: Feed) -> None:
    """The larger of the stream's watermark and the fixed lag wins (semantics 12.4)."""
    feed.put((0, "a", 1))
    feed.put((300, "b", 2))
    feed.put((None, "b", 2))
    feed.put((30, "a", 4))
    lagging = minutes(feed.stream().withWatermark("ts", "10 seconds")).watermark(pw.FixedLag("100000 days"))
    run(feed, lagging.agg(F.sum("v").alias("s")))
    assert feed.read("panes")["s"].to_list() == [1]
    assert feed.read("late")["reason"].to_list() == ["expired"]


@pytest.mark.nightly
def test_windows_of_processing_time(feed: Feed) -> None:
    """Windows of processing time need neither event times nor a watermark (semantics 6.7, 6.8).

    Each micro-batch is in a window of its own.
    """
    feed.put((0, "a", 1), (None, "b", 2))
    feed.put((-500, None, 3))
    result = (
        windowed(feed.stream()).window(pw.Tumbling(1)).options(time="processing").agg(F.count().alias("n"))
    )
    run(feed, result)
    panes = feed.read("panes")
    assert panes["n"].to_list() == [2]
    assert (panes["processing_time"] > panes["window_start"]).all()
    run(feed, result)  # without new rows nothing is emitted
    assert feed.read("panes").height == 1
    run(feed, replace(result, at_end=True))
    panes = feed.read("panes").sort("window_start")
    assert panes["n"].to_list() == [2, 1]
    assert (panes["window_end"] - panes["window_start"]).to_list() == [timedelta(microseconds=1)] * 2
    assert feed.read("late").is_empty()


@pytest.mark.nightly
@pytest.mark.parametrize(("policy", "sent"), [("min", [1]), ("max", [1, 2, 4])])
def test_spark_takes_the_least_watermark_of_a_union(feed: Feed, policy: str, sent: list[int]) -> None:
    """The stream that is behind decides the watermark, unless Spark's policy is `max` (semantics 12.5)."""
    other = beside(feed, "other")
    feed.put((0, "ahead", 1), (70, "ahead", 2), (500, "ahead", 3))
    other.put((65, "behind", 4), (75, "behind", 0))
    both = (
        feed.stream()
        .withWatermark("ts", "10 seconds")
        .union(other.stream().withWatermark("ts", "10 seconds"))
    )
    before = feed.spark.conf.get(POLICY, "min")
    feed.spark.conf.set(POLICY, policy)
    try:
        run(feed, minutes(both).agg(F.sum("v").alias("s")))
    finally:
        feed.spark.conf.set(POLICY, before)
    assert sorted(feed.read("panes")["s"]) == sent


@pytest.mark.parametrize(("ticking", "sent"), first_here([(True, [("EARLY", 3)]), (False, [])]))
def test_a_clock_stream_fires_time_triggers_of_a_silent_stream(
    feed: Feed, ticking: bool, sent: list[tuple[str, int]]
) -> None:
    """A clock stream fires the trigger in a later run without rows, and this run ends (semantics 12.7).

    There is no watermark, so no micro-batch without rows follows the first one.
    """
    feed.put((0, "a", 1), (1, "a", 2))
    delays = (pw.AfterProcessingTime("1 millisecond"), pw.AfterSilence("1 millisecond"))
    early = pw.AfterAll(pw.Every("1 millisecond"), *delays)
    described = minutes(feed.stream().withWatermark("ts", "30000 days")).trigger(
        pw.AfterWatermark(early=early)
    )
    result = (described.clock("1 millisecond") if ticking else described).agg(F.sum("v").alias("s"))
    run(feed, result)
    assert feed.read("panes").is_empty()  # the trigger waits for a later time than that of the micro-batch
    run(feed, result)
    assert feed.read("panes").select("timing", "s").rows() == sent
    assert feed.read("counts")["rows_in"].sum() == 2


@pytest.mark.nightly
def test_a_clock_stream_ends_with_what_is_available(feed: Feed) -> None:
    """A micro-batch has one file, and in the last one the windows fire that are complete (semantics 12.7).

    On PySpark 4.1 there is one micro-batch for all rows, and none after it.
    """
    feed.put((0, "a", 1))
    feed.put((1, "a", 2), (100, "a", 4))
    described = minutes(feed.stream().withWatermark("ts", "10 seconds")).clock("1 hour")
    run(feed, described.agg(F.sum("v").alias("s")))
    assert feed.read("panes")["s"].to_list() == ([] if version("pyspark").startswith("4.1.") else [3])


def test_a_clock_means_nothing_on_a_batch(feed: Feed) -> None:
    feed.put((0, "a", 1))
    with pytest.raises(
        pw.SpecError,
        match=r"clock\('1 second'\) on a batch DataFrame \| a batch DataFrame is processed at one time",
    ):
        minutes(feed.batch()).clock("1 second").agg(F.count())


def test_processing_time_and_stream_time_on_a_batch(feed: Feed) -> None:
    """All rows arrive at once: none is late, and one window of processing time contains them all."""
    feed.put((0, "a", 1), (None, "b", 2), (500, "a", 4))
    arrived = (
        windowed(feed.batch())
        .window(pw.Calendar("year", 100))
        .options(time="processing")
        .agg(F.sum("v").alias("s"))
    )
    assert [(row.s, row.timing) for row in arrived.panes.collect()] == [(7, "ON_TIME")]
    own = minutes(feed.batch()).watermark(pw.StreamTime()).agg(F.sum("v").alias("s"))
    assert sorted(row.s for row in own.panes.collect()) == [1, 4]
    assert own.late.count() == 0


def test_a_fixed_lag_means_nothing_on_a_batch(feed: Feed) -> None:
    feed.put((0, "a", 1))
    with pytest.raises(pw.SpecError) as caught:
        minutes(feed.batch()).watermark(pw.FixedLag("1 hour")).agg(F.count())
    assert caught.value.args[0] == (
        "watermark=FixedLag(lag=Duration('1 hour')) on a batch DataFrame | the rows of a "
        "batch DataFrame do not arrive as they happen, so all rows older than the lag would "
        "be late | leave watermark out, or read a stream"
    )
