"""Tests of the activity of a step, of every family, and of its way through Spark into a journal."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

import panewise as pw
from panewise import functions as F
from panewise.chrono import MAX_INSTANT
from panewise.errors import SetupError
from panewise.observe.activity import Activity, emitted_count
from panewise.observe.entries import Ended, Entry, Started
from panewise.observe.journal_reader import JournalReader
from panewise.observe.micro_batch import MicroBatch
from panewise.spark import configure, observe, windowed
from panewise.spark.activity import SETTING, ActivitySettings
from panewise.streamwindow import count
from tests.observe.played import SCHEMA, Played, micros, played
from tests.spark.conftest import Feed, write

SUM: Any = {"keys": ["k"], "event_time": "ts", "aggregates": [F.sum("v").alias("s")]}
SIDES: Any = {name: pw.Side(keys=["k"], event_time="ts") for name in ("left", "right")}
JOINED: Any = {"left": SIDES["left"], "right": pw.Side(keys=["k"], event_time="ts", prefix="r_")}
TWO: Any = {"left": SCHEMA, "right": SCHEMA}
MINUTE = pw.Tumbling("1 minute")
ROWS = [(5, "a", 1), (40, "b", 2), (70, "a", 3), (200, "a", 4)]
BOTH = {"left": ROWS, "right": ROWS}


def activity_of(spec: Any, *batches: Any, **options: Any) -> list[Activity]:
    reports = played(spec, batches, **options)
    found = [report.operators["panewise"].activity for report in reports]
    return [activity for activity in found if activity is not None]


def seconds(activity: Activity) -> dict[tuple[float | None, float | None], tuple[int, ...]]:
    """Returns the counts by bounds in seconds after noon."""
    zero = micros(0)

    def since(time: int | None) -> float | None:
        return None if time is None else (time - zero) / 1_000_000

    return {(since(start), since(end)): counts for (start, end), counts in (activity.windows or {}).items()}


def test_windows_open_fire_and_expire() -> None:
    """Panes have a timing, and windows at the horizon have expired (semantics 15.18)."""
    spec = pw.WindowOperator(
        window=MINUTE,
        trigger=pw.AfterWatermark(early=pw.Always(), late=pw.Always()),
        allowed_lateness="1 minute",
        accumulation="retracting",
        **SUM,
    )
    opened, fired, expired = activity_of(
        spec, ([(5, "a", 1), (6, "b", 1)], 0), ([(7, "a", 1)], 60), ([(8, "a", 1), (150, "a", 1)], 120)
    )
    assert seconds(opened) == {(0, 60): (2, 0, 0, 0, 0, 2, 0)}
    # "a" fires early and on time, "b" on time; each replaces a pane, which is retracted
    assert seconds(fired) == {(0, 60): (1, 2, 0, 0, 3, 2, 0)}
    assert seconds(expired)[0, 60][:5] == (0, 0, 1, 0, 1)
    assert seconds(expired)[120, 180] == (1, 0, 0, 0, 0, 1, 0)
    assert [activity.horizon for activity in (opened, fired, expired)] == [micros(at) for at in (-60, 0, 60)]
    assert opened.family == "windows"


FAMILIES: dict[str, tuple[Any, Any, Any]] = {
    "hopping": (pw.WindowOperator(window=pw.Hopping("1 minute", "30 seconds"), **SUM), ROWS, 6),
    "sliding": (pw.WindowOperator(window=pw.Sliding("1 minute"), **SUM), ROWS, 3),
    "session": (pw.WindowOperator(window=pw.Session("30 seconds"), **SUM), ROWS, 3),
    "calendar": (pw.WindowOperator(window=pw.Calendar("day"), trigger=pw.Always(), **SUM), ROWS, 2),
    "chain": (pw.WindowOperator(window=MINUTE, **SUM).then(aggregates=[F.max("s").alias("m")]), ROWS, 2),
    "over": (
        pw.OverOperator(
            keys=["k"],
            event_time="ts",
            columns=[pw.OverColumn(F.sum("v").alias("t"), pw.Frame("rows", -2, 0))],
        ),
        ROWS,
        3,
    ),
    "deduplicate": (pw.DeduplicateOperator(keys=["k"], event_time="ts", within="1 hour"), ROWS, 2),
    "join": (pw.JoinOperator(match=pw.Interval("-1 minute", "1 minute"), **JOINED), BOTH, 4),
    "same window": (pw.JoinOperator(match=pw.SameWindow(MINUTE), **JOINED), BOTH, 3),
    "cogroup": (
        pw.CogroupOperator(
            window=MINUTE,
            left_aggregates=[F.sum("v").alias("s")],
            right_aggregates=[F.count().alias("n")],
            **SIDES,
        ),
        BOTH,
        3,
    ),
    "windowed join": (
        pw.JoinOperator(match=pw.Interval("-1 second", "1 second"), **JOINED).then(
            keys=["k"], window=MINUTE, aggregates=[F.count().alias("n")]
        ),
        BOTH,
        3,
    ),
    "policy": (
        pw.StreamWindow.tumbling(count(2), partition_by=["k"], aggregates=[F.sum("v").alias("s")]),
        ROWS,
        1,
    ),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family(name: str) -> None:
    """All emitted rows are counted, and hot keys are known (semantics 15.18, 15.19)."""
    spec, rows, expected = FAMILIES[name]
    schema = TWO if rows is BOTH else SCHEMA
    report, *_ = played(spec, [(rows, 120)], schema=schema, keys=1)
    figures = report.operators["panewise"]
    activity = figures.activity
    assert activity is not None
    counts = list((activity.windows or {}).values())
    assert sum(map(emitted_count, counts)) == figures.counts["panes"] == expected
    assert activity.keys == {"a": 6 if rows is BOTH else 3}
    times = [time for bounds in activity.windows or {} for time in bounds if time is not None]
    assert bool(times) == (name != "policy")
    assert all(micros(-86400) <= time <= micros(86400) for time in times)


def test_windows_of_rows() -> None:
    """Their bounds are row numbers (semantics 15.18)."""
    spec = pw.WindowOperator(keys=["k"], window=pw.Tumbling(pw.rows(2)), aggregates=[F.count().alias("n")])
    (activity,) = activity_of(spec, (ROWS, None))
    assert activity.by_row_number
    assert activity.windows == {(0, 2): (0, 1, 0, 0, 0, 1, 0), (2, 4): (0, 0, 0, 0, 0, 1, 0)}


def test_the_global_window() -> None:
    """It has no bounds (semantics 15.18)."""
    spec = pw.WindowOperator(window=pw.Global(), trigger=pw.Always(), **SUM)
    (activity,) = activity_of(spec, (ROWS, None))
    assert activity.windows == {(None, None): (2, 0, 0, 0, 0, 2, 0)}


def test_a_merged_session_is_deleted() -> None:
    """So it is not live beside the one that contains it (semantics 15.18)."""
    spec = pw.WindowOperator(window=pw.Session("1 minute"), **SUM)
    _, activity = activity_of(spec, ([(0, "a", 1)], None), ([(30, "a", 1)], None))
    assert seconds(activity) == {(0, 60): (0, 0, 0, 0, 0, 0, 1), (0, 90): (0, 0, 0, 0, 0, 1, 0)}


def test_windows_that_expire_early() -> None:
    """It is known of how many keys a window is stored (semantics 15.28)."""
    spec = pw.WindowOperator(window=MINUTE, max_windows=pw.MaxWindows(1), **SUM)
    opened, again, evicted = activity_of(
        spec,
        ([(5, "a", 1), (6, "b", 1)], None),
        ([(7, "a", 1), (8, "c", 1), (9, "c", 1), (80, "c", 1)], None),
        ([(90, "a", 1), (7, "b", 2)], None),
    )
    zero, minute = micros(0), 60_000_000
    assert opened.stored == {(zero, zero + minute): 2}
    assert again.stored == {(zero + minute, zero + 2 * minute): 1}, "that of c was never stored"
    assert evicted.stored == {(zero, zero + minute): -1, (zero + minute, zero + 2 * minute): 1}


def test_the_end_of_input_expires_all_windows() -> None:
    """Nothing is live after it (semantics 15.21)."""
    operator = Played(pw.WindowOperator(window=pw.Global(), **SUM))
    ended = operator.stored().operator
    ended.finish()
    activity = operator.activity(ended)
    activity.add_state(ended)
    assert json.loads(activity.text(0, {}))["horizon"] == MAX_INSTANT


def test_a_shard_reports_few_windows() -> None:
    """Those with most panes; the others are counted (semantics 15.18)."""
    spec = pw.WindowOperator(window=MINUTE, trigger=pw.Always(), **SUM)
    settings = [ActivitySettings.for_spec(spec, 0, shards, ["window_start"]) for shards in (1, 50, 200, 5000)]
    assert [one.windows for one in settings] == [200, 40, 10, 10]
    rows = [(60 * n, key, 1) for n in range(300) for key in "abc"[: 1 + (n % 100 == 0)]]
    (activity,) = activity_of(spec, (rows, None))
    assert activity.windows is not None
    assert len(activity.windows) == 200
    assert {(60.0 * n, 60.0 * n + 60) for n in (0, 100, 200)} <= set(seconds(activity))
    assert (activity.windows_left_out, activity.panes_left_out) == (100, 100)


def test_keys_are_reported_on_request() -> None:
    """Their values stay where they are otherwise; texts are cut (semantics 15.19)."""
    spec = pw.WindowOperator(window=MINUTE, **SUM)
    (without,) = activity_of(spec, (ROWS, None))
    (of_two,) = activity_of(spec, ([*ROWS, (6, "b", 1), (7, "c" * 500, 1)], None), keys=2)
    (long,) = activity_of(spec, ([(7, "c" * 500, 1), (8, None, 1)], None), keys=2)
    assert not without.keys
    assert of_two.keys == {"a": 3, "b": 2}
    assert long.keys == {"c" * 60: 1, "null": 1}


def test_a_step_without_rows() -> None:
    """It reports the figures of its shard (semantics 15.19)."""
    (activity,) = activity_of(pw.WindowOperator(window=MINUTE, **SUM), ([], 60))
    assert (activity.windows, activity.shards) == ({}, {0: (0, 0, 0, 0, micros(60))})


def entries_of(journal: Path) -> list[Entry]:
    return list(JournalReader(journal).new_entries())


@pytest.mark.spark
def test_a_query_is_written_to_a_journal(feed: Feed) -> None:
    """Two operators, the start and the end; a later observer continues (semantics 15.16, 15.17)."""
    for rows in (((0, "a", 1), (None, "a", 2)), ((90, "b", 3),), (), ((1, "a", 4), (200, "b", 5))):
        feed.put(*rows)
    stream = feed.stream().withWatermark("ts", "10 seconds")
    first = windowed(stream, "ts").groupBy("k").window(MINUTE).options(timestamp="window_time")
    behind = windowed(first.agg(F.sum("v").alias("s")), "timestamp").window(pw.Tumbling("3 minutes"))
    journal = feed.folder / "journal"
    with observe(feed.spark, log=False, journal=journal, hot_keys=2):
        write(feed, behind.agg(F.sum("s").alias("t")), outputs=["panes"], name="watched")
        assert feed.spark.conf.get(SETTING) == "2"
    started, *batches, ended = entries_of(journal)
    assert isinstance(started, Started)
    assert isinstance(ended, Ended)
    assert (started.query, ended.query, ended.error) == ("watched", "watched", None)
    assert all(isinstance(entry, MicroBatch) for entry in batches)
    reports = [entry.operators["panewise"] for entry in batches if isinstance(entry, MicroBatch)]
    assert [
        sum(report.counts.get(name, 0) for report in reports) for name in ("rows_in", "late", "panes")
    ] == [5, 1, 2]
    windows: dict[Any, int] = {}
    keys: dict[str, int] = {}
    for report in reports:
        assert report.activity is not None
        for bounds, counts in (report.activity.windows or {}).items():
            windows[bounds] = windows.get(bounds, 0) + emitted_count(counts)
        for key, rows in (report.activity.keys or {}).items():
            keys[key] = keys.get(key, 0) + rows
    assert sorted(count for count in windows.values() if count) == [1, 1]
    assert keys == {"a": 2, "b": 2}
    assert {name for entry in batches if isinstance(entry, MicroBatch) for name in entry.operators} == {
        "panewise",
        "panewise_2",
    }
    assert feed.spark.conf.get(SETTING, None) is None
    observe(feed.spark, log=False, journal=journal).close()  # nobody else has the journal


@pytest.mark.spark
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"hot_keys": 3}, r"hot_keys=3 without a journal \| .* \| give journal="),
        ({"journal": "out", "hot_keys": -1}, r"hot_keys=-1 \| .* 0 to 100 keys .* \| give a number"),
        ({"journal": "out", "hot_keys": 101}, r"hot_keys=101 \| .* 0 to 100 keys .* \| give a number"),
    ],
)
def test_arguments(spark: SparkSession, arguments: Any, message: str) -> None:
    with pytest.raises(SetupError, match=message):
        observe(spark, **arguments)


@pytest.mark.spark
@pytest.mark.nightly
def test_a_query_without_metrics_has_no_activity(feed: Feed) -> None:
    """The activity is a part of the report of 15.5 (semantics 15.16)."""
    feed.put((0, "a", 1))
    journal = feed.folder / "journal"
    with observe(feed.spark, log=False, journal=journal):
        configure(feed.spark, metrics=None)
        try:
            stream = feed.stream().withWatermark("ts", "10 seconds")
            result = windowed(stream, "ts").groupBy("k").window(MINUTE).agg(F.sum("v").alias("s"))
            write(feed, result, outputs=["panes"], name="silent")
        finally:
            configure(feed.spark, metrics="panewise")
    batches = [entry for entry in entries_of(journal) if isinstance(entry, MicroBatch)]
    assert batches
    assert all(not entry.operators for entry in batches)


def test_very_many_changed_windows() -> None:
    """They are in a run before the state is stored (semantics 15.18)."""
    spec = pw.WindowOperator(window=MINUTE, **SUM)
    rows = pl.DataFrame({"n": pl.int_range(70_000, eager=True)}).select(
        pl.lit(micros(5)).cast(pl.Datetime("us", "UTC")).alias("ts"),
        pl.col("n").cast(pl.String).alias("k"),
        v=1,
    )
    first, second = activity_of(spec, (rows.cast(SCHEMA), None), ([(6, "1", 1), (7, "2", 1)], None))
    assert seconds(first) == {(0, 60): (0, 0, 0, 0, 0, 70_000, 0)}
    assert seconds(second) == {(0, 60): (0, 0, 0, 0, 0, 2, 0)}


def test_the_text_is_short() -> None:
    """A step reports a text of bounded size (semantics 15.18)."""
    operator = Played(pw.WindowOperator(window=MINUTE, trigger=pw.Always(), **SUM), keys=100)
    rows = pl.DataFrame([(60 * n, f"{n}" * 60, 1) for n in range(3000)], orient="row", schema=["s", "k", "v"])
    text, *_ = operator.text([*rows.iter_rows()], None)
    assert len(json.loads(text)["windows"]) == 200
    assert len(text) < 25_000
