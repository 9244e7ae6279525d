"""Tests of OVER operators in real queries (semantics 29).

Spark's own window functions give the expected results. Restarts, timers, shards and late rows are covered.
"""

import random
from functools import partial
from typing import Any

import polars as pl
import pytest
from pyspark.sql import Column, DataFrame
from pyspark.sql import Window as SparkWindow
from pyspark.sql import functions as SF

import panewise as pw
from panewise import Window
from panewise import functions as F
from panewise.errors import SetupError, SpecError
from panewise.spark import apply, over, windowed
from tests.spark.conftest import Feed, beside, read_state, write


def ours(feed: Feed, *, batch: bool = False, event_time: str | None = "ts") -> Any:
    return over(feed.batch() if batch else feed.stream().withWatermark("ts", "10 seconds"), event_time)


run = partial(write, outputs=("rows", "late", "invalid", "counts"))


def test_columns_one_after_another_are_one_operator(feed: Feed) -> None:
    feed.put((0, "a", 1), (1, "a", 2), (2, "b", 3))
    w = Window.partitionBy("k").orderBy("ts")
    both = {"total": F.sum("v").over(w), "before": F.lag("v").over(w)}
    chained = ours(feed, batch=True).withColumn("total", both["total"]).withColumn("before", both["before"])
    assert chained.spec == ours(feed, batch=True).withColumns(both).spec
    assert sorted(row["total"] for row in chained.rows.collect()) == [1, 3, 3]


def put_some(feed: Feed, files: int = 3) -> None:
    """Adds files of unordered rows. No two rows of a key have the same time, and none is late."""
    chosen = random.Random(5)
    for n in range(files):
        times = chosen.sample(range(n * 40, n * 40 + 45), 25)
        rows = [(t + key / 10 + n / 100, "abc"[key]) for key in range(3) for t in times if t % (key + 2)]
        feed.put(*((*row, chosen.choice([None, *range(9)])) for row in rows))


def windows(kind: Any, ordered: Any, spark: bool) -> dict[str, Any]:
    """Returns the same windows for either library, with bounds in seconds for Spark, else in microseconds."""
    one = 1 if spark else 1_000_000
    return {
        "rows": ordered.rowsBetween(-2, kind.currentRow),
        "before": ordered.rowsBetween(-3, -1),
        "around": ordered.rowsBetween(-1, 2),
        "all": ordered.rowsBetween(kind.unboundedPreceding, kind.currentRow),
        "all but one": ordered.rowsBetween(kind.unboundedPreceding, -1),
        "to time": ordered,
        "plain": ordered,
        "range": _seconds(ordered, spark).rangeBetween(-10 * one, 0),
        "range around": _seconds(ordered, spark).rangeBetween(-4 * one, 5 * one),
    }


def _seconds(ordered: Any, spark: bool) -> Any:
    return SparkWindow.partitionBy("k").orderBy(SF.col("ts").cast("double")) if spark else ordered


def made(fns: Any, over_: dict[str, Any]) -> dict[str, Any]:
    """Returns new columns, computed by the functions that both libraries have."""
    columns = {
        f"{fn} {name}": getattr(fns, fn)("v").over(window)
        for name, window in over_.items()
        if name != "plain"
        for fn in (
            "sum",
            "count",
            "max",
            "last",
            *(("avg", "min", "first", "stddev") if name in ("rows", "all", "range") else ()),
        )
    }
    columns |= {
        f"list {name}": fns.collect_list("v").over(over_[name]) for name in ("rows", "around", "range")
    }
    columns |= {
        f"nth {name}": fns.nth_value("v", 2).over(over_[name])
        for name in ("rows", "before", "all", "to time")
    }
    plain = over_["plain"]
    return columns | {
        "lag": fns.lag("v").over(plain),
        "lag 2": fns.lag("v", 2, -1).over(plain),
        "lag ahead": fns.lag("v", offset=-1, default=3).over(plain),
        "lead back": fns.lead("v", offset=-2).over(plain),
        "itself": fns.lag("v", 0).over(plain),
        "first not null": fns.first("v", ignorenulls=True).over(over_["before"]),
        "last not null": fns.last("v", ignorenulls=True).over(over_["range"]),
        "lead": fns.lead("v", 1, 7).over(plain),
        "number": fns.row_number().over(plain),
        "rank": fns.rank().over(plain),
        "dense": fns.dense_rank().over(plain),
    }


def spark_answers(feed: Feed) -> DataFrame:
    """Returns Spark's own results. Its ranks and row numbers are cast to bigint, the type in panewise."""
    columns: dict[str, Column] = made(
        SF, windows(SparkWindow, SparkWindow.partitionBy("k").orderBy("ts"), spark=True)
    )
    numbers = {name: columns[name].cast("bigint") for name in ("number", "rank", "dense")}
    return feed.batch().withColumns(columns | numbers)


def native(feed: Feed) -> pl.DataFrame:
    return pl.DataFrame(spark_answers(feed).toArrow()).sort("k", "ts")


def assert_equal(found: pl.DataFrame, wanted: pl.DataFrame) -> None:
    found = found.select(wanted.columns).sort("k", "ts")
    assert found.schema == wanted.schema
    for name in wanted.columns:
        if wanted.schema[name] == pl.Float64:
            both = pl.DataFrame({"one": found[name], "other": wanted[name]}).drop_nulls()
            assert found[name].is_null().equals(wanted[name].is_null()), name
            assert ((both["one"] - both["other"]).abs() < 1e-9).all(), name
        else:
            assert found[name].equals(wanted[name]), name


COLUMNS = made(F, windows(Window, Window.partitionBy("k").orderBy("ts"), spark=False))


@pytest.mark.nightly
def test_a_stream_answers_as_spark_does_on_a_batch(feed: Feed) -> None:
    """Every function and kind of frame agrees with Spark, over several micro-batches and shards.

    The end of input emits the rows that wait.
    """
    put_some(feed)
    run(feed, ours(feed).finish("at_end").withColumns(COLUMNS))
    assert_equal(feed.read("rows"), native(feed))
    counts = feed.read("counts").sum()
    assert counts["rows_in"][0] == counts["applied"][0] == feed.batch().count()


def test_peers_answer_as_in_spark(feed: Feed) -> None:
    """Ranges and ranks do not depend on the order of peers, so they agree with Spark, nulls included."""
    chosen = random.Random(7)
    feed.put(
        *((chosen.randrange(12), chosen.choice("ab"), chosen.choice([None, 1, 2, 5])) for _ in range(60))
    )

    def asked(fns: Any, kind: Any, spark: bool) -> dict[str, Any]:
        ordered = kind.partitionBy("k").orderBy("ts")
        near = _seconds(ordered, spark).rangeBetween(*((-3, -1) if spark else ("-3 seconds", "-1 second")))
        same_time = ordered.rangeBetween(kind.currentRow, kind.currentRow)
        found = {"rank": fns.rank().over(ordered), "dense": fns.dense_rank().over(ordered)}
        for name, window in {"so far": ordered, "near": near, "same time": same_time}.items():
            found |= {
                f"{fn} {name}": getattr(fns, fn)("v").over(window) for fn in ("sum", "count", "min", "avg")
            }
            found |= {
                f"rows {name}": fns.count("*").over(window),
                f"bool {name}": fns.first("k").over(window),
            }
        return found

    wanted = asked(SF, SparkWindow, spark=True)
    wanted |= {name: wanted[name].cast("bigint") for name in ("rank", "dense")}
    columns = ["k", "ts", "v", *wanted]
    native_rows = pl.DataFrame(feed.batch().withColumns(wanted).select(columns).toArrow())
    found = pl.DataFrame(
        ours(feed, batch=True).withColumns(asked(F, Window, spark=False)).rows.select(columns).toArrow()
    )
    assert found.sort(columns).equals(native_rows.sort(columns))


def test_a_batch_answers_as_spark_does(feed: Feed) -> None:
    put_some(feed, files=1)
    result = ours(feed, batch=True).withColumns(COLUMNS)
    assert result.rows.schema.simpleString() == spark_answers(feed).schema.simpleString()
    assert_equal(pl.DataFrame(result.rows.toArrow()), native(feed))


@pytest.mark.soak
def test_a_restart_at_every_step_changes_nothing(feed: Feed) -> None:
    """A run for each file emits the same as one run, late and invalid rows included (semantics 33, 29.3)."""
    other = beside(feed, "other")
    w = Window.partitionBy("k").orderBy("ts")
    columns = {
        "total": F.sum("v").over(w.rowsBetween(-2, 0)),
        "near": F.max("v").over(w.rangeBetween("-20 seconds", 0)),
    }
    columns |= {"next": F.lead("v").over(w), "number": F.row_number().over(w), "mean": F.avg("v").over(w)}
    for n in range(3):
        rows = [(n * 20 + d, "abc"[(n + d) % 3], d % 4) for d in (0, 7, 15, -50)] + [
            (None, "a", n),
            (n * 20, None, n),
        ]
        feed.put(*rows)
        other.put(*rows)
        run(other, ours(other).withColumns(columns))
    for one in (feed, other):
        one.put((1000, "z", 0))
        run(one, ours(one).finish("at_end").withColumns(columns))
    shown = [one.read("rows").select("k", "ts", "v", *columns).sort("k", "ts") for one in (feed, other)]
    assert shown[0].equals(shown[1])
    for part in ("late", "invalid"):
        told = [sorted(map(repr, one.read(part).select("row", "reason").rows())) for one in (feed, other)]
        assert told[0] == told[1]
        assert told[0]
    assert set(feed.read("late")["reason"]) == {"behind"}


def test_rows_are_sent_by_timers(feed: Feed) -> None:
    """The micro-batch without data that follows emits, in every shard, the rows that have passed."""
    feed.put(*((1 + n / 100, f"key {n % 10}", n) for n in range(40)), (30, "key 0", 1))
    run(feed, ours(feed).withColumn("before", F.lag("v").over(Window.partitionBy("k").orderBy("ts"))))
    assert feed.read("rows")["before"].to_list().count(None) == 10
    assert feed.read("rows").height == 40
    state = read_state(feed.spark, feed.sink("checkpoint")).operators[0]
    assert state.total.windows == 1
    assert isinstance(state.spec, pw.OverOperator)


@pytest.mark.nightly
def test_rows_that_are_taken_as_they_arrive_are_sent_at_once(feed: Feed) -> None:
    """Without a watermark rows pass as they arrive, those of one micro-batch in the order of event time."""
    feed.put((5, "a", 1), (3, "a", 2), (4, "b", 4))
    feed.put((1, "a", 8), (9, "b", 16))
    w = Window.partitionBy("k").rowsBetween(-1, Window.currentRow)
    result = over(feed.stream(), "ts").withColumn("total", F.sum("v").over(w))
    result.rows.writeStream.format("memory").queryName("frames").trigger(
        availableNow=True
    ).start().awaitTermination()
    found = sorted((row.k, row.v, row.total) for row in feed.spark.table("frames").collect())
    assert found == [("a", 1, 3), ("a", 2, 2), ("a", 8, 9), ("b", 4, 4), ("b", 16, 20)]


def test_rows_go_through_a_window_after_it(feed: Feed) -> None:
    """On a batch DataFrame the rows of one operator can be the input of another."""
    feed.put(*((n, "a", n) for n in range(10)))
    rows = (
        ours(feed, batch=True).withColumn("step", F.lag("v").over(Window.partitionBy("k").orderBy("ts"))).rows
    )
    panes = (
        windowed(rows, "ts")
        .groupBy("k")
        .window(pw.Tumbling("1 minute"))
        .agg(F.count("step").alias("steps"))
        .panes
    )
    assert [row.steps for row in panes.collect()] == [9]


def test_the_result_has_what_an_over_operator_has(feed: Feed) -> None:
    """Its first output is called rows; there are no panes, and no stage follows it (semantics 29)."""
    result = ours(feed).withColumn("total", F.sum("v").over(Window.partitionBy("k").orderBy("ts")))
    assert not hasattr(result, "panes")
    assert not hasattr(result, "then")
    with pytest.raises(SpecError, match=r"^write\(\) without a sink \| .* \| give rows=ParquetSink\(path\),"):
        result.write(checkpoint=feed.sink("checkpoint"))
    with pytest.raises(SpecError, match=r"^rows=7 \| .* \| give rows=ParquetSink\('a/path'\)"):
        result.write(rows=7, checkpoint=feed.sink("checkpoint"))  # type: ignore[arg-type]
    ended = over(feed.batch()).finish("at_end").withColumn("total", F.sum("v").over(Window.orderBy("ts")))
    assert ended.rows.columns == ["ts", "k", "v", "total"]


def test_a_specification_and_more_columns(feed: Feed) -> None:
    """`apply` returns the outputs of the family of the specification, with the methods of the family."""
    feed.put((0, "a", 1), (1, "a", 2), (2, "a", 4))
    w = Window.partitionBy("k").orderBy("ts", "v")
    wanted = over(feed.batch()).withColumns(
        {"total": F.sum("v").over(w.rowsBetween(-1, 0)), "before": F.lag("v").over(w)}
    )
    column = pw.OverColumn(F.sum("v").alias("total"), pw.Frame("rows", -1, 0))
    given = apply(feed.batch(), pw.OverOperator(columns=[column], keys=["k"], event_time="ts", order=["v"]))
    more = given.withColumn("before", F.lag("v").over(w))
    assert more.spec == wanted.spec
    found = more.rows.orderBy("ts").select("total", "before").collect()
    assert [tuple(row) for row in found] == [(1, None), (3, 1), (6, 2)]
    with pytest.raises(SpecError, match="have the same keys and order"):
        given.withColumn("before", F.lag("v").over(Window.partitionBy("k").orderBy("ts")))
    arrival = Window.partitionBy("k").rowsBetween(-1, 0)
    column = pw.OverColumn(F.sum("v").alias("total"), pw.Frame("rows", -1, 0))
    given = apply(feed.batch(), pw.OverOperator(columns=[column], keys=["k"], event_time=None, order=["ts"]))
    more = given.withColumn("most", F.max("v").over(arrival))
    found = more.rows.orderBy("ts").select("total", "most").collect()
    assert [tuple(row) for row in found] == [(1, 1), (3, 2), (6, 4)]


def test_what_is_refused(feed: Feed) -> None:
    feed.put((0, "a", 1))
    w = Window.partitionBy("k").orderBy("ts")
    total = F.sum("v").over(w)
    with pytest.raises(
        SpecError, match=r"'v' twice \| new columns have different names, which no input column has"
    ):
        ours(feed).withColumn("v", total)
    with pytest.raises(
        SpecError, match=r"'k' twice \| new columns have different names, which no input column has"
    ):
        ours(feed).withColumn("k", total)
    with pytest.raises(SpecError, match=r"total=.* \| a new column is a function over a window"):
        ours(feed).withColumn("total", F.sum("v"))
    with pytest.raises(
        SpecError, match=r"'V' twice \| new columns have different names, which no input column has"
    ):
        ours(feed).withColumn("V", total)
    with pytest.raises(
        SpecError,
        match=r"'more' reads 'total', a new column \| the new columns of an operator are computed "
        r"from those of its",
    ):
        ours(feed).withColumn("total", total).withColumn("more", F.lag("total").over(w))
    with pytest.raises(SpecError, match=r"new column 'total' twice \| .* so that none is lost"):
        ours(feed).withColumn("total", total).withColumn("total", F.count().over(w))
    late = Window.partitionBy("k").orderBy("loaded")
    with pytest.raises(
        SetupError,
        match=r"a watermark of ts for the event time loaded \| .* \| call df.withWatermark\('loaded', ...\)",
    ):
        over(
            feed.stream()
            .withWatermark("ts", "1 second")
            .withColumn("loaded", SF.col("ts").cast("string").cast("timestamp"))
        ).withColumn("total", F.sum("v").over(late))
    with pytest.raises(SetupError, match=r"a stream without a watermark"):
        over(feed.stream()).withColumn("total", total)
    with pytest.raises(SpecError, match=r"'total' over k: string \| sum takes numbers"):
        _ = ours(feed).withColumn("total", F.sum("k").over(w)).rows
    with pytest.raises(
        SpecError, match=r"lag\(v, 1, x\).*default='x' \| the default has the type of the column"
    ):
        _ = ours(feed).withColumn("lag(v, 1, x)", F.lag("v", 1, "x").over(w)).rows
    with pytest.raises(SpecError, match=r"option 'lateness' \| the options of the operator are"):
        ours(feed).options(lateness=1)
