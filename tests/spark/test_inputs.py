"""Tests of inputs whose watermarks are driven by rows (semantics 12.9), in streaming queries over a union."""

from functools import partial
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as S

import panewise as pw
from panewise import functions as F
from panewise.spark import WindowResult, windowed
from panewise.testing import run
from panewise.testing.runtimes import spark as on_spark
from tests.spark import in_process
from tests.spark.conftest import START, Feed, beside, write


def union(one: Feed, other: Feed) -> DataFrame:
    """Returns the union of both streams, with a column that names the stream of a row."""
    named = [
        each.stream().withColumn("source", S.lit(name)) for each, name in ((one, "one"), (other, "other"))
    ]
    return named[0].union(named[1])


def sums(df: DataFrame, shards: int = 3, **inputs: Any) -> WindowResult:
    described = (
        windowed(df, "ts")
        .groupBy("k")
        .window(pw.Tumbling("1 minute"))
        .allowed_lateness("1 minute")
        .shards(shards)
    )
    mark = pw.Inputs(["one", "other"], column="source", delay={"one": 0, "other": "10 seconds"}, **inputs)
    described = described.watermark(mark)
    return (described.clock("1 millisecond") if inputs else described).agg(F.sum("v").alias("s"))


drain = partial(write, outputs=("panes", "late", "invalid", "counts"))


def told(feed: Feed) -> list[tuple[Any, ...]]:
    """Returns key, start in seconds, sum, timing and index of every pane."""
    panes = feed.read("panes").sort("k", "window_start", "index")
    return [
        (k, (start - START).seconds, *rest)
        for k, start, *rest in panes.select("k", "window_start", "s", "timing", "index").rows()
    ]


def by_the_oracle(spec: Any, batches: list[list[tuple[float, str, int, str]]]) -> list[tuple[Any, ...]]:
    """Returns the same from the oracle."""
    rows = [
        [{"ts": int(s * 1e6), "k": k, "v": v, "source": source} for s, k, v, source in batch]
        for batch in batches
    ]
    events = [{"op": "add", "rows": batch} for batch in rows]
    panes = [pane for output in run(spec, events) for pane in output["panes"]]
    panes.sort(key=lambda pane: (pane["k"], pane["window_start"], pane["index"]))
    return [
        (pane["k"], pane["window_start"] // 1_000_000, pane["s"], pane["timing"], pane["index"])
        for pane in panes
    ]


@pytest.mark.soak
def test_the_least_of_a_union_whose_streams_take_turns(feed: Feed) -> None:
    """Every shard takes account of all rows, also after a restart.

    Each batch has a run of its own, which begins with the checkpoint of the run before.
    """
    one, other = feed, beside(feed, "other")
    batches = [
        [(0.0, "a", 1, "one"), (70.0, "a", 2, "other")],
        [(65.0, "b", 4, "one"), (200.0, "c", 8, "one")],
        [(71.0, "b", 16, "other"), (30.0, "a", 32, "other")],
        [(5.0, "a", 64, "one"), (140.0, "d", 128, "other")],
        [(59.0, "e", 256, "one"), (195.0, "d", 512, "other")],
        [(500.0, "f", 0, "one"), (310.0, "f", 0, "other")],
    ]
    result = sums(union(one, other))
    for batch in batches:
        for each, name in ((one, "one"), (other, "other")):
            each.put(*((s, k, v) for s, k, v, source in batch if source == name))
        drain(feed, result)
    assert told(feed) == by_the_oracle(result.spec, batches)
    assert feed.read("counts")["rows_in"].sum() == 12
    assert feed.read("counts").filter(feed.read("counts")["late"] > 0)["watermark"].null_count() == 0


@pytest.mark.nightly
def test_a_stream_that_falls_silent_is_left_out_by_the_clock(feed: Feed) -> None:
    """A clock stream makes an input idle, also in later runs without rows (semantics 12.6, 12.7)."""
    one, other = feed, beside(feed, "other")
    one.put((0.0, "a", 1), (70.0, "b", 2), (3.0, "c", 4))
    other.put((15.0, "a", 8))
    result = sums(union(one, other), idle_after="1 microsecond")
    drain(feed, result)
    assert feed.read("panes").is_empty()  # the watermark is that of the other stream: 5 seconds
    one.put((75.0, "a", 16))
    drain(feed, result)  # both were idle between the runs; `one` reports again, and counts alone
    assert told(feed) == [("a", 0, 9, "ON_TIME", 0), ("c", 0, 4, "ON_TIME", 0)]
    other.put((72.0, "c", 32), (65.0, "d", 64))
    drain(feed, result)  # `other` reports 62 seconds, and the watermark does not go back
    assert feed.read("late").is_empty()
    drain(feed, result)  # all are idle: the watermark stays
    assert len(told(feed)) == 2


def test_windows_close_by_the_clock_alone_in_every_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows complete when an input becomes idle: with several shards and restarts as in the oracle."""
    inputs = {
        "kind": "inputs",
        "names": ["a", "b"],
        "idle_after": 10,
        "column": "s",
        "delay": {"a": 1, "b": 0},
    }
    spec = {
        "keys": ["k"],
        "window": {"kind": "tumbling", "size": 5},
        "aggregates": [{"fn": "sum", "column": "v", "name": "sum"}],
    }

    def add(*rows: tuple[Any, ...]) -> dict[str, Any]:
        named = [dict(zip(("event_time", "k", "s", "v"), row, strict=True)) for row in rows]
        return {"op": "add", "rows": named}

    events = [
        {"op": "clock", "to": 100},
        add(*((t, f"key {t}", "ab"[t % 2], t) for t in range(10)), (3, "key 3", "c", 1)),
        {"op": "clock", "to": 105},
        add((16, "key 1", "a", 1), (12, "key 2", "a", 1)),
        {"op": "restart"},
        {"op": "clock", "to": 110},
        add((13, "key 8", "b", 1), (14, "key 9", "b", 1)),
        add((21, "key 8", "a", 1)),
        {"op": "restart"},
        {"op": "clock", "to": 119},
        add((9, "key 5", "a", 1)),
        {"op": "clock", "to": 120},
    ]
    monkeypatch.setattr(on_spark, "play", in_process.play)
    wanted, got = (
        run(spec | {"watermark": inputs}, events),
        run(spec | {"watermark": inputs}, events, "spark", shards=3),
    )
    order = lambda pane: (pane["window_end"], pane["k"])  # noqa: E731 - between keys it is Spark's
    for right, left in zip(wanted, got, strict=True):
        assert sorted(left["panes"], key=order) == sorted(right["panes"], key=order)
        assert (left["counts"], left["late"], left["invalid"]) == (
            right["counts"],
            right["late"],
            right["invalid"],
        )
    assert [len(output["panes"]) for output in wanted] == [0, 5, 0, 0, 0, 6, 0, 0, 0, 0, 0, 1]


def test_rows_of_no_input_are_invalid(feed: Feed) -> None:
    feed.put((0.0, "one", 1), (3600.0, "neither", 2), (3600.0, None, 3), (10.0, "other", 4))
    mark = pw.Inputs(["one", "other"], column="k")
    result = (
        windowed(feed.stream(), "ts")
        .window(pw.Tumbling("1 minute"))
        .watermark(mark)
        .agg(F.count().alias("n"))
    )
    drain(feed, result)
    reasons = [(row["v"], reason) for row, reason in feed.read("invalid").select("row", "reason").rows()]
    assert sorted(reasons) == [(2, "input k is unknown"), (3, "input k is null")]
    assert feed.read("panes").is_empty()


def test_inputs_of_a_batch(feed: Feed) -> None:
    """All rows arrive at once, so none is late."""
    feed.put((0.0, "one", 1), (200.0, "one", 2), (10.0, "other", 4), (100.0, "other", 8))
    mark = pw.Inputs(["one", "other"], column="k")
    result = (
        windowed(feed.batch(), "ts")
        .groupBy("k")
        .window(pw.Tumbling("1 minute"))
        .watermark(mark)
        .agg(F.sum("v").alias("s"))
    )
    assert sorted(row.s for row in result.panes.collect()) == [1, 2, 4, 8]
    assert result.late.count() == 0


def test_inputs_without_a_column_are_refused(feed: Feed) -> None:
    feed.put((0.0, "a", 1))
    with pytest.raises(pw.SpecError) as caught:
        windowed(feed.stream(), "ts").window(pw.Tumbling(1)).watermark(pw.Inputs(["a", "b"])).agg(F.count())
    assert caught.value.args[0] == (
        "watermark=Inputs(names=('a', 'b'), idle_after=None, column=None, delay=None) on a "
        "DataFrame | on a DataFrame a column names the input of each row, and rows drive the "
        "watermarks (semantics 12.9) | add a column with the name before the union, and give "
        "Inputs(..., column='...', delay='...')"
    )


def test_row_by_row_there_is_one_shard(feed: Feed) -> None:
    feed.put((0.0, "a", 1))
    each = (
        windowed(feed.stream(), "ts").groupBy("v").window(pw.Tumbling("1 minute")).options(evaluate="record")
    )
    each = each.watermark(pw.Inputs(["a", "b"], column="k"))
    assert len(each.agg(F.count()).dataflow.shards) == 1
    with pytest.raises(
        pw.SpecError,
        match=r"shards=2 \| with evaluate='record' each row moves the watermark .* "
        r"\| leave shards out, or use",
    ):
        each.shards(2).agg(F.count())


def test_the_column_holds_strings(feed: Feed) -> None:
    feed.put((0.0, "a", 1))
    with pytest.raises(
        pw.SpecError,
        match=r"input v: .* \| the column that names the input of a row contains strings .* "
        r"\| cast v to STRING",
    ):
        windowed(feed.stream(), "ts").window(pw.Tumbling(1)).watermark(pw.Inputs(["a", "b"], column="v")).agg(
            F.count()
        )
