"""Tests of session time zones: every one that Spark accepts works, and none changes an instant."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.families import INPUT
from panewise.spark import WindowResult, windowed
from panewise.spark.columns.types import in_utc
from panewise.spark.shuffle.envelope import decode
from panewise.spark.workers.pack import Pack
from tests.nightly import first_here
from tests.spark.conftest import START, Feed, emitted, write

ZONE = "spark.sql.session.timeZone"
ZONES = ["+05:30", "GMT+8", "UTC+01:00", "Z", "PST"]  # accepted by Spark, and not in the IANA database
MINUTE = pw.Tumbling("1 minute")
HOUR = 3_600_000_000


@contextmanager
def zone(spark: SparkSession, name: str) -> Iterator[None]:
    before = spark.conf.get(ZONE)
    spark.conf.set(ZONE, name)
    try:
        yield
    finally:
        spark.conf.set(ZONE, before or "UTC")


def described(df: DataFrame, *, at_end: bool = False) -> WindowResult:
    """Returns windows of calendar days in Berlin, over rows with instants nested in structs and arrays."""
    nested = df.withColumn("seen", SF.struct(SF.col("ts").alias("at"), SF.array("ts").alias("all")))
    watched = nested.withWatermark("ts", "0 seconds") if df.isStreaming else nested
    window = pw.Calendar("day", zone="Europe/Berlin")
    described = (
        windowed(watched, "ts")
        .groupBy("k")
        .window(window)
        .finish("at_end" if at_end or not df.isStreaming else "never")
    )
    return described.agg(F.sum("v").alias("s"), F.max("ts").alias("last"))


def micros(df: DataFrame, *names: str) -> list[list[Any]]:
    return sorted(
        list(row)
        for row in df.selectExpr(*(f"unix_micros({name}) AS m{n}" for n, name in enumerate(names))).collect()
    )


BERLIN_DAY = int(START.timestamp()) * 1_000_000 - HOUR  # 2024-01-01 begins an hour earlier there than in UTC
PANES = [[BERLIN_DAY, BERLIN_DAY + HOUR + 40_000_000], [BERLIN_DAY + 24 * HOUR, BERLIN_DAY + 25 * HOUR]]


@pytest.mark.parametrize("name", ZONES)
def test_rows_enter_with_any_label(name: str) -> None:
    schema = {"ts": pl.Datetime("us", "UTC"), "k": pl.String()}
    spec = pw.WindowOperator(
        window=MINUTE, keys=["k"], event_time="ts", aggregates=[F.max("ts").alias("last")]
    )
    rows = pa.table({"ts": pa.array([5, None], pa.timestamp("us", name)), "k": ["a", "b"]})
    sent = [
        one
        for batch in Pack(spec, {INPUT: schema}, [0], late_wanted=True)(iter(rows.to_batches()))
        for one in batch.to_pylist()
    ]
    found = {one["kind"]: decode(one["payload"]) for one in sent if one["kind"] != "tick"}
    assert {kind: frame["ts"].to_physical().to_list() for kind, frame in found.items()} == {
        "rows": [5],
        "invalid": [None],
    }


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["+05:30"])
def test_a_stream_written_with_late_rows(feed: Feed, spark: SparkSession, name: str) -> None:
    feed.put((0, "a", 1), (40, "a", 2))
    feed.put((86_400, "a", 3))
    feed.put()  # the watermark moves before the next rows (semantics 18.3)
    feed.put((3, "a", 7))
    with zone(spark, name):
        write(feed, described(feed.stream(), at_end=True), outputs=("panes", "late"))
        assert micros(spark.read.parquet(feed.sink("panes")), "window_start", "last") == PANES
        late = spark.read.parquet(feed.sink("late"))
        at = BERLIN_DAY + HOUR + 3_000_000
        assert micros(late, "row.ts", "row.seen.at", "row.seen.all[0]", "windows[0].start") == [
            [at, at, at, BERLIN_DAY]
        ]


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["PST"])
def test_a_query_of_ones_own(feed: Feed, spark: SparkSession, name: str) -> None:
    """The panes leave the state operator as real columns."""
    feed.put((0, "a", 1), (40, "a", 2))
    feed.put((86_400 * 3, "a", 3))
    with zone(spark, name):
        emitted(feed, described(feed.stream()).panes, "panes")
        assert micros(spark.read.parquet(feed.sink("panes")), "window_start", "last") == PANES[:1]


@pytest.mark.parametrize("name", first_here(["GMT+8", "Z"]))
def test_a_batch_dataframe(feed: Feed, spark: SparkSession, name: str) -> None:
    feed.put((0, "a", 1), (40, "a", 2), (86_400, "a", 3), (None, "a", 9))
    with zone(spark, name):
        result = described(feed.batch())
        assert micros(result.panes, "window_start", "last") == PANES
        assert micros(result.invalid, "row.ts", "row.seen.at") == [[None, None]]


@pytest.mark.parametrize("name", ZONES)
def test_a_calendar_needs_a_zone_with_rules(name: str) -> None:
    with pytest.raises(
        pw.SpecError,
        match=r"^zone='.*' \| a zone is one of the IANA time zone database \| give a name such as",
    ):
        pw.Calendar("day", zone=name)


def test_timestamps_get_another_label_wherever_they_are() -> None:
    """No value is copied. Local timestamps have no zone, and stay as they are. Fields may be null."""
    told, ntz = pa.timestamp("us", "PST"), pa.timestamp("us")
    struct = pa.struct([pa.field("at", told), pa.field("n", pa.int64(), nullable=False)])
    types = [
        told,
        ntz,
        struct,
        pa.list_(struct),
        pa.large_list(told),
        pa.map_(pa.string(), told),
        pa.map_(told, struct),
    ]
    values: list[Any] = [
        5,
        5,
        {"at": 5, "n": 1},
        [{"at": 5, "n": 1}],
        [5],
        [("a", 5)],
        [(5, {"at": 5, "n": 1})],
    ]
    table = pa.table(
        [pa.array([value, None], dtype) for value, dtype in zip(values, types, strict=True)],
        [str(n) for n in range(7)],
    )
    seen = table.cast(in_utc(table.schema))
    assert [str(dtype).replace("UTC", "PST") for dtype in seen.schema.types] == [
        str(dtype).replace("n: int64 not null", "n: int64") for dtype in types
    ]
    assert "PST" not in str(seen.schema)
    assert seen.column(0).chunk(0).buffers()[1].address == table.column(0).chunk(0).buffers()[1].address
    assert pl.DataFrame(seen.select(["0"]))["0"].to_physical().to_list() == [5, None]
