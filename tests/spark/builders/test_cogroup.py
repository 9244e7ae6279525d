"""Cogroups in real queries (semantics 43 to 43.8)."""

from functools import partial

import polars as pl
import pytest
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.cli import main
from panewise.errors import SpecError
from panewise.spark import CogroupResult, apply, cogrouped, windowed
from tests.spark.conftest import Feed, read_state, write

TEN = pw.Tumbling("10 seconds")
SURPLUS = pw.UserMergeAggregate(
    "surplus",
    init=lambda: 0,
    accumulate_left=lambda state, value: state + (value or 0),
    accumulate_right=lambda state, value: state - (value or 0),
    merge=lambda one, other: one + other,
    finish=lambda state: state,
    result="bigint",
)
PANE = ["k", "window_start", "n", "total", "values", "m", "other", "surplus"]


def put(feed: Feed, other: Feed, *turns: int) -> None:
    """Adds a file to both sides, with rows of each turn of 10 seconds; no row is late."""
    feed.put(*((10 * n + (7 * i + n) % 10, ("a", "b", None)[i % 3], i) for n in turns for i in range(9)))
    other.put(*((10 * n + (3 * i) % 10, ("a", None, "c")[i % 3], i) for n in turns for i in range(7)))


def described(feed: Feed, other: Feed, *, stream: bool) -> CogroupResult:
    sides = (
        one.stream().withWatermark("ts", "4 seconds") if stream else one.batch() for one in (feed, other)
    )
    return (
        cogrouped(*sides, "ts")
        .on("k")
        .window(TEN)
        .agg(
            left=[F.count().alias("n"), F.sum("v").alias("total"), F.collect_list("v").alias("values")],
            right=[F.count().alias("m"), F.sum("v").alias("other")],
            both=[SURPLUS("v", "v").alias("surplus")],
        )
    )


run = partial(write, outputs=("panes", "left_late", "right_counts"))


def sums_of_spark(feed: Feed, other: Feed) -> pl.DataFrame:
    """Returns what Spark computes: two aggregations, joined by key and window."""
    by = "k, window(ts, '10 seconds').start AS w"
    feed.batch().createOrReplaceTempView("l")
    other.batch().createOrReplaceTempView("r")
    found = feed.spark.sql(
        f"""SELECT coalesce(l.k, r.k) AS k, coalesce(l.w, r.w) AS window_start, coalesce(n, 0) AS n, total,
        coalesce(m, 0) AS m, other, coalesce(total, 0) - coalesce(other, 0) AS surplus
        FROM (SELECT {by}, count(*) AS n, sum(v) AS total FROM l GROUP BY k, w) l
        FULL JOIN (SELECT {by}, count(*) AS m, sum(v) AS other FROM r GROUP BY k, w) r
        ON l.k <=> r.k AND l.w = r.w"""
    )
    return pl.DataFrame(found.toArrow())


def ordered(panes: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    return panes.select(columns).sort("k", "window_start")


def test_a_stream_emits_what_a_batch_and_spark_emit(
    feed: Feed, other: Feed, capsys: pytest.CaptureFixture[str]
) -> None:
    """semantics 43.4: a null key is a key."""
    put(feed, other, 0, 1)
    put(feed, other, 2, 30)
    run(feed, described(feed, other, stream=True))
    batch = pl.DataFrame(described(feed, other, stream=False).panes.toArrow())
    plain = [name for name in PANE if name != "values"]
    assert ordered(batch, plain).equals(ordered(sums_of_spark(feed, other), plain))
    panes = feed.read("panes")
    before = batch.filter(pl.col("window_end") <= panes["window_end"].max())
    assert ordered(panes, PANE).equals(ordered(before, PANE))
    assert set(panes["k"]) == {"a", "b", "c", None}
    assert panes["batch_id"].n_unique() > 1
    assert feed.read("left_late").is_empty()
    assert feed.read("right_counts")["applied"].sum() == 28
    assert main(["state", feed.sink("checkpoint")]) == 0
    assert "Cogroup: emits a pane for each k" in capsys.readouterr().out
    assert read_state(feed.spark, feed.sink("checkpoint")).operators[0].spec.family.name == "cogroup"


@pytest.mark.nightly
def test_a_second_operator_and_apply(feed: Feed, other: Feed) -> None:
    """semantics 43.8: panes with a timestamp are the input of windows. Expressions are columns of a side."""
    feed.put((1, "a", 1), (2, "a", 2), (13, "b", 3))
    other.put((2, "A", 5), (14, "A", 6), (18, "B", 7))
    began = cogrouped(feed.batch(), other.batch(), "ts").on((SF.upper("k").alias("key"), "k")).window(TEN)
    sums = began.options(timestamp="window_time").agg(
        left=[F.sum(SF.col("v") * 10).alias("ten"), F.first("v").alias("first")],
        right=[F.count().filter(SF.col("v") > 5).alias("many")],
        both=[SURPLUS("v", SF.col("v") + 1).alias("s")],
    )
    rows = sums.panes.sort("key", "window_start").select("key", "ten", "first", "many", "s").collect()
    assert [tuple(row) for row in rows] == [
        ("A", 30, 1, 0, -3),
        ("A", None, None, 1, -7),
        ("B", 30, 3, 1, -5),
    ]
    assert sums.explain().startswith("Cogroup: emits a pane for each key (right: k) and window")
    days = windowed(sums).window(pw.Tumbling("1 day")).agg(F.sum("s").alias("s"), F.count().alias("n"))
    assert [(row.s, row.n) for row in days.panes.collect()] == [(-15, 3)]
    spec = pw.CogroupOperator(
        left=pw.Side(keys=["k"], event_time="ts"),
        right=pw.Side(keys=["k"], event_time="ts", null_keys=False),
        window=TEN,
        right_aggregates=[F.collect_list("v").alias("values")],
    )
    made = apply({"right": other.batch(), "left": feed.batch()}, spec)
    assert isinstance(made, CogroupResult)
    assert [row["values"] for row in made.panes.sort("k", "window_start").collect()] == [
        [5],
        [6],
        [7],
        [],
        [],
    ]
    assert made.left.late.collect() == []


def test_what_is_refused(feed: Feed) -> None:
    """semantics 43.4, 43.7."""
    began = cogrouped(feed.batch(), feed.batch(), "ts")
    with pytest.raises(SpecError, match=r"^no window \| a cogroup has a window \| call \.window\("):
        began.on("k").agg(left=[F.count()])
    with pytest.raises(SpecError, match=r"^keys k: string \(left\) and v: bigint \(right\) \| "):
        began.on(("k", "v")).window(TEN).agg(left=[F.count().alias("n")])
    with pytest.raises(SpecError, match=r"^shards=3 \| without keys all rows have equal keys"):
        began.window(TEN).shards(3).agg(left=[F.count().alias("n")])
    with pytest.raises(SpecError, match=r"^option 'how' \| the options of the operator are "):
        began.options(how="left")
    with pytest.raises(SpecError, match=r"^cogrouped\(right=\.\.\.\), of str \| the sides of a cogroup are "):
        cogrouped(feed.batch(), "right")  # type: ignore[arg-type]
    given = (
        began.on("k").window(TEN).trigger(pw.Always()).accumulation("retracting").allowed_lateness("1 hour")
    )
    result = given.options(null_keys=(True, False)).agg(left=[F.count().alias("n")])
    with pytest.raises(SpecError, match="accumulation='retracting' before a second operator"):
        windowed(result)
    assert result.spec.allowed_lateness == pw.Duration.of("1 hour", "lateness")
    assert [side.null_keys for side in result.spec.sides.values()] == [True, False]
