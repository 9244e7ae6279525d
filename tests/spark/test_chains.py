"""Tests of chains in real queries: restarts, timers, several shards, and batch DataFrames."""

from functools import partial
from typing import Any

import polars as pl
import pytest
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spark import WindowResult, windowed
from panewise.spark.dataflow.dataflow import Dataflow
from tests.spark.conftest import Feed, beside, read_state, write

SUM = F.sum("n").alias("n")
PANE = ["window_start", "n", "timing", "index", "op"]


def keyed(feed: Feed, *, batch: bool = False, **options: Any) -> WindowResult:
    """Returns the counts of each key and value in windows of one minute, in retracting mode."""
    df = feed.batch() if batch else feed.stream().withWatermark("ts", "10 seconds")
    described = (
        windowed(df, event_time="ts")
        .groupBy("k", "v")
        .window(pw.Tumbling("1 minute"))
        .accumulation("retracting")
    )
    described = described.trigger(pw.AfterWatermark(early=pw.Always(), late=pw.Always())).allowed_lateness(
        "2 minutes"
    )
    described = described.options(**{"on_time": "if_pending", **options})
    return described.agg(F.count().alias("n"), F.max("ts").alias("last"))


run = partial(write, outputs=("panes", "late", "counts"))


@pytest.mark.soak
def test_a_restart_at_every_step_changes_nothing(feed: Feed) -> None:
    """A run for each file emits the same as one run (semantics 33). Late rows are the operator's (30.9)."""
    other = beside(feed, "other")
    chain = {"keys": ["k"], "aggregates": [SUM, F.count().alias("values"), F.max("last").alias("last")]}
    for n in range(3):
        rows = [(n * 20 + d, "abc"[(n + d) % 3], d % 4) for d in (0, 7, 31, -50)] + [(None, "a", n)]
        feed.put(*rows)
        other.put(*rows)
        run(other, keyed(other).then(**chain))
    for one in (feed, other):
        one.put((1000, "z", 0))
        one.put((0, "a", 1))
        run(one, keyed(one).then(**chain))
    columns = ["k", *PANE, "values", "last"]
    shown = [one.read("panes").select(columns).sort(columns) for one in (feed, other)]
    assert shown[0].equals(shown[1])
    assert shown[0].schema["last"] == pl.Datetime("us", "UTC")
    late = [sorted(one.read("late")["reason"]) for one in (feed, other)]
    assert late[0] == late[1]
    assert late[0]
    state = read_state(feed.spark, feed.sink("checkpoint"))
    assert state.operators[0].spec == keyed(feed).then(**chain).spec


@pytest.mark.nightly
def test_windows_are_completed_by_timers(feed: Feed) -> None:
    """The micro-batch without data that follows completes windows in every shard."""
    feed.put(*((1, f"key {n % 10}", n) for n in range(40)))
    feed.put((300, "key 0", 1))
    described = (
        windowed(feed.stream().withWatermark("ts", "10 seconds"), "ts")
        .groupBy("k", "v")
        .window(pw.Tumbling("1 minute"))
    )
    run(feed, described.agg(F.count().alias("n")).then(keys=["k"], aggregates=[SUM]))
    panes = feed.read("panes")
    assert panes["n"].to_list() == [4] * 10
    assert set(panes["timing"]) == {"ON_TIME"}


@pytest.mark.nightly
def test_a_key_moves_between_aggregates(feed: Feed) -> None:
    """If the key of a stage is an aggregate, it retracts, and there is one shard (semantics 30.4, 30.11)."""
    feed.put((0, "a", 1), (1, "b", 1), (2, "b", 1))
    feed.put((3, "a", 1))
    result = (
        keyed(feed)
        .then(keys=["n"], aggregates=[F.count().alias("keys")])
        .then(keys=["n"], aggregates=[F.sum("keys").alias("keys")])
    )
    assert len(result.dataflow.shards) == 1
    run(feed, result)
    panes = feed.read("panes").sort("batch_id", "n", "op").select("n", "keys", "op").rows()
    assert panes == [(1, 1, "+"), (2, 1, "+"), (1, 1, "-"), (2, 2, "+"), (2, 1, "-")]


def test_batch_dataframes(feed: Feed) -> None:
    """The stage's sums of counts are Spark's own counts."""
    feed.put(*((n * 7 % 400, "abc"[n % 3], n % 5) for n in range(200)))
    df = feed.batch()
    result = keyed(feed, batch=True).then(keys=["k"], aggregates=[SUM])
    native = (
        df.groupBy("k", SF.window("ts", "1 minute").alias("w"))
        .agg(SF.count("*").alias("n"))
        .select("k", "w.start", "n")
    )
    plus = result.panes.where("op = '+'").select("k", "window_start", "n")
    assert plus.schema.simpleString().replace("window_start", "start") == native.schema.simpleString()
    assert sorted(plus.collect()) == sorted(native.collect())


def test_what_is_refused(feed: Feed) -> None:
    feed.put((0, "a", 1))
    batch = keyed(feed, batch=True)
    with pytest.raises(
        SpecError,
        match=r"shards=4 \| a chain without a key that all stages keep has one shard",
    ):
        Dataflow.from_inputs({INPUT: feed.batch()}, batch.spec.then(aggregates=[SUM]), 4)
    with pytest.raises(SpecError, match="then: column 'ts'"):
        batch.then(keys=["k"], aggregates=[F.max("ts")])
    with pytest.raises(SpecError, match=r"'n' over k: string \| sum takes numbers"):
        batch.then(aggregates=[F.sum("k").alias("n")])
    assert "Shards: one, as a stage" in batch.then(aggregates=[SUM]).explain()
