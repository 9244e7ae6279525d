"""Columns of users with the names of the columns that operators and envelopes have."""

from typing import Any

import pyspark.sql.functions as SF
import pytest
from pyspark.sql import DataFrame

import panewise as pw
import panewise.functions as F
from panewise.errors import SpecError
from panewise.spark import ParquetSink, joined, over, policy_windows, windowed
from panewise.spark.metrics import COLUMN
from panewise.spark.shuffle.reports import PROGRESS
from panewise.spark.workers.pack import NOW, SHARD
from panewise.streamwindow import count
from tests.reserved import NAMES
from tests.spark.conftest import Feed


def with_all_names(df: DataFrame) -> DataFrame:
    """Returns the DataFrame with a column of each name that panewise uses itself."""
    return df.select("ts", "k", *(SF.lit(place).alias(name) for place, name in enumerate(NAMES)))


def test_every_name_of_the_operator_passes_through(feed: Feed) -> None:
    """Rows of joins and OVER, deltas, tuples, invalid rows: no name is lost (semantics 35.4)."""
    feed.put((1, "a", 1), (None, "a", 2))
    df, wanted = with_all_names(feed.batch()), list(range(len(NAMES)))
    timed = df.where("ts IS NOT NULL")

    def values(row: Any, prefix: str = "") -> list[int]:
        return [row[f"{prefix}{name}"] for name in NAMES]

    w = pw.Window.partitionBy("k").orderBy("ts")
    (row,) = over(timed).withColumn("number", F.count().over(w)).rows.collect()
    assert values(row) == wanted
    pairs = joined(timed, timed, event_time="ts").on("k").within(0, 0).prefix("l_", "r_").how("inner")
    (row,) = pairs.rows.collect()
    assert (values(row, "l_"), values(row, "r_")) == (wanted, wanted)
    windows = windowed(df, "ts").groupBy("k").window(pw.Tumbling("1 minute"))
    (row,) = windows.delta().agg(F.count().alias("n")).panes.collect()
    assert values(row["delta"][0]) == wanted
    (row,) = windows.agg(F.count().alias("n")).invalid.collect()
    assert values(row["row"]) == wanted
    (row,) = policy_windows(timed).tumbling(count(1)).events("INSERTION").tuples().events.collect()
    assert values(row["tuples"][0]) == wanted


@pytest.mark.nightly
def test_such_names_pass_through_two_operators_on_a_stream(feed: Feed) -> None:
    """Late rows and the rows that a second operator takes have them, too (semantics 35.4, 42.5)."""
    feed.put((1, "a", 1))
    feed.put((100, "a", 2))
    feed.put()  # the watermark moves before the next rows (semantics 18.3)
    feed.put((1, "late", 3), (200, "a", 4))
    names = ("__progress", NOW, COLUMN, SHARD, "__row")
    df = with_all_names(feed.stream()).select("ts", "k", *names).withWatermark("ts", "0 seconds")
    pairs = joined(df, df, event_time="ts").on("k").within(0, 0).select(*(("left", name) for name in names))
    windows = windowed(pairs.how("inner")).window(pw.Tumbling("1 minute"))
    result = windows.agg(*(F.first(name).alias(f"first {name}") for name in names))
    sinks = {kind: ParquetSink(feed.sink(kind)) for kind in ("panes", "invalid")}
    result.write(**sinks, checkpoint=feed.sink("checkpoint"), available_now=True).awaitTermination()
    panes = feed.read("panes")
    assert panes.height == 2
    assert panes.select(f"first {name}" for name in names).unique().rows() == [tuple(map(NAMES.index, names))]
    late = windowed(df, "ts").window(pw.Tumbling("1 minute")).agg(F.count().alias("n"))
    late.write(
        late=ParquetSink(feed.sink("late")), checkpoint=feed.sink("other"), available_now=True
    ).awaitTermination()
    (row,) = feed.read("late")["row"]
    assert [row[name] for name in names] == list(map(NAMES.index, names))


@pytest.mark.parametrize("name", [PROGRESS, PROGRESS.upper()])
def test_the_only_name_that_is_refused(feed: Feed, name: str) -> None:
    """It is an error (semantics 35.7)."""
    df = feed.batch()
    with pytest.raises(SpecError, match=rf"column '{name}' \| between operators"):
        windowed(df.withColumnRenamed("v", name), "ts").window(pw.Tumbling("1 minute")).agg(F.count())
    with pytest.raises(SpecError, match=rf"column '{name}' \| between operators"):
        windowed(df, "ts").window(pw.Tumbling("1 minute")).agg(F.count().alias(name))
