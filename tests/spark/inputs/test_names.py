"""Tests of what PySpark accepts for a column's name: Columns, lists, expressions, another case, dots."""

from functools import partial
from typing import Any

import polars as pl
import pyspark.sql.functions as SF
import pytest
from pyspark.sql import DataFrame

import panewise as pw
import panewise.functions as F
from panewise import StreamWindow, WindowListener
from panewise.errors import SetupError, SpecError
from panewise.spark import (
    WindowBuilder,
    apply,
    deduplicate,
    over,
    policy_windows,
    windowed,
    with_watermark,
)
from panewise.spark.inputs.names import column_named
from panewise.streamwindow import count
from tests.spark.conftest import Feed, best, emitted, write

ROWS = ((0, "a", 1), (1, "A", 2), (2, "b", None), (3, "b", 4), (4, None, 4), (5, None, 5))


def whole(df: DataFrame) -> WindowBuilder:
    return windowed(df, event_time="ts").window(pw.Global())


def rows_of(df: DataFrame, *names: str) -> list[tuple[Any, ...]]:
    columns = [SF.col(f"`{name}`") for name in names or df.columns]
    return sorted((tuple(row) for row in df.select(*columns).collect()), key=repr)


written = partial(write, outputs=("panes", "late", "invalid"))


def test_keys_and_aggregates_are_columns_and_expressions(feed: Feed) -> None:
    """The results are those of Spark's own groupBy, also for null keys (semantics 15.4, 24.17, 24.18)."""
    feed.put(*ROWS)
    df = feed.batch()
    upper, twice, odd = SF.upper("k").alias("shop"), SF.col("v") * 2.5, SF.col("v") % 2 == 1
    ours = whole(df).groupBy(upper).agg(
        F.sum(twice).alias("twice"), F.count(SF.col("v")).alias("n"), F.sum("v").filter(odd).alias("odd"),
        F.count().filter(odd).alias("odds"), F.max_by("ts", SF.col("v")).filter(~odd).alias("at"),
        F.count_distinct("k", SF.col("v")).alias("pairs"),
        F.top_n_by(SF.struct("k", "v"), "v", 2).alias("best"),
    )  # fmt: skip
    native = df.groupBy(upper).agg(
        SF.sum(twice).alias("twice"), SF.count("v").alias("n"),
        SF.expr("sum(v) FILTER (WHERE v % 2 = 1)").alias("odd"),
        SF.expr("count(*) FILTER (WHERE v % 2 = 1)").alias("odds"),
        SF.expr("max_by(ts, v) FILTER (WHERE NOT v % 2 = 1)").alias("at"),
        SF.count_distinct("k", "v").alias("pairs"), best("struct(k, v)", "v", 2).alias("best"),
    )  # fmt: skip
    assert rows_of(ours.panes, *native.columns) == rows_of(native)
    assert ours.panes.select(native.columns).schema.simpleString() == native.schema.simpleString()
    assert rows_of(ours.invalid) == rows_of(ours.late) == []


@pytest.mark.parametrize("keys", [("k", "v"), (["k", "v"],), ("k", "`v`")])
def test_names_one_by_one_in_a_list_and_in_backticks(feed: Feed, keys: Any) -> None:
    assert whole(feed.batch()).groupBy(*keys).agg(F.count().alias("n")).spec.keys == ("k", "v")


def test_a_column_by_its_name_is_that_column(feed: Feed) -> None:
    result = whole(feed.batch()).groupBy([SF.col("k"), SF.col("`v`")]).agg(F.sum(SF.col("v")))
    assert result.spec.keys == ("k", "v")
    assert result.spec.aggregates == (F.sum("v"),)


@pytest.mark.nightly
def test_names_in_another_case(feed: Feed) -> None:
    """A key has the spelling of groupBy, late and invalid rows have that of the input (semantics 35.2)."""
    feed.put((0, "a", 1), (5, "a", 2), (None, "b", 3))
    feed.put((200, "a", 1))
    feed.put()  # the watermark moves before the next rows (semantics 18.3)
    feed.put((1, "a", 9), (400, "a", 0))
    described = (
        windowed(feed.stream().withWatermark("ts", "1 second"), event_time="TS")
        .groupBy("K")
        .window(pw.Tumbling("1 minute"))
    )
    result = described.finish("at_end").agg(F.sum("V").alias("s"))
    written(feed, result)
    assert feed.read("panes").select("K", "s").sort("s").rows() == [("a", 0), ("a", 1), ("a", 3)]
    assert feed.read("late")["row"].to_list() == [feed.read("late")["row"][0]]
    assert list(feed.read("late")["row"][0]) == list(feed.read("invalid")["row"][0]) == ["ts", "k", "v"]


def test_names_that_are_not_clear_are_refused(feed: Feed) -> None:
    df = feed.batch()
    cases = [
        (lambda: whole(df).groupBy("k").agg(F.count("K").alias("n")),
        "column 'k' as 'k' and 'K' | an operator uses one spelling of a column's name"),
        (lambda: whole(df).groupBy(SF.upper("k").alias("K")).agg(F.count()),
        "the expression 'K' has the name of a column |"),
        (lambda: whole(df).groupBy("s.x").agg(F.count()),
        "column 's.x' | the columns that an operator reads are in its input |"),
        (lambda: F.first("v").filter(SF.col("v") > 1).filter("v"),
        "first(v) FILTER (WHERE >(v, 1)).filter(v) | an aggregate has one filter |"),
    ]  # fmt: skip
    for call, message in cases:
        with pytest.raises(SpecError) as caught:
            call()  # type: ignore[no-untyped-call]
        assert str(caught.value).startswith(message)


def test_names_are_case_sensitive_if_spark_says_so(feed: Feed) -> None:
    feed.put(*ROWS)
    feed.spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        both = feed.batch().withColumn("K", SF.lit("x"))
        assert rows_of(whole(both).groupBy("K").agg(F.count("k").alias("n")).panes, "K", "n") == [("x", 4)]
        with pytest.raises(
            SpecError, match=r"^column 'V' \| the columns that an operator reads are in its input"
        ):
            whole(both).agg(F.sum("V"))
    finally:
        feed.spark.conf.unset("spark.sql.caseSensitive")


DOTTED = {"ts": "event.ts", "k": "the.key", "v": "a.v"}


def dotted(df: DataFrame) -> DataFrame:
    return (
        df.withColumnsRenamed(DOTTED)
        .withColumn("not.used", SF.lit(1))
        .withColumn("m", SF.create_map(SF.lit("x"), SF.col("`a.v`")))
    )


def test_dotted_names_and_maps_on_a_batch(feed: Feed) -> None:
    """Names may contain dots, and values of rows keep their maps (semantics 35.2, 35.3)."""
    feed.put(*ROWS, (None, "c", 6))
    df = dotted(feed.batch())
    described = windowed(df, event_time="event.ts").window(pw.Global()).groupBy("the.key")
    result = described.agg(
        F.sum("a.v").alias("s"), F.collect_list("m").alias("maps"), F.max_by("m", "a.v").alias("best")
    )
    native = df.where("`event.ts` is not null").groupBy("`the.key`").agg(
        SF.sum("`a.v`").alias("s"), SF.collect_list("m").alias("maps"),
        SF.max_by("m", SF.col("`a.v`")).alias("best")
    )  # fmt: skip
    assert rows_of(result.panes, *native.columns) == rows_of(native)
    assert (
        result.panes.select(*map(column_named, native.columns)).schema.simpleString()
        == native.schema.simpleString()
    )
    (invalid,) = result.invalid.collect()
    assert invalid["row"].asDict() == {
        "event.ts": None,
        "the.key": "c",
        "a.v": 6,
        "not.used": 1,
        "m": {"x": 6},
    }


@pytest.mark.nightly
def test_dotted_names_and_maps_on_a_stream(feed: Feed) -> None:
    """Late and invalid rows, deltas and aggregates contain the maps of the input (semantics 35.3)."""
    feed.put((0, "a", 1), (5, "a", 2), (None, "b", 3))
    feed.put((200, "a", 1))
    feed.put()  # the watermark moves before the next rows (semantics 18.3)
    feed.put((1, "a", 9), (400, "a", 0))
    df = dotted(feed.stream()).withWatermark("`event.ts`", "1 second")
    described = (
        windowed(df, event_time="event.ts")
        .groupBy("the.key")
        .window(pw.Tumbling("1 minute"))
        .delta("m", "a.v")
        .finish("at_end")
    )
    written(feed, described.agg(F.sum("a.v").alias("s"), F.last("m").alias("last")))
    panes = feed.spark.read.parquet(feed.sink("panes"))
    found = [
        (row["s"], row["last"], [(one["m"], one["a.v"]) for one in row["delta"]])
        for row in panes.orderBy("s").collect()
    ]
    assert found == [
        (0, {"x": 0}, [({"x": 0}, 0)]),
        (1, {"x": 1}, [({"x": 1}, 1)]),
        (3, {"x": 2}, [({"x": 1}, 1), ({"x": 2}, 2)]),
    ]
    (late,) = feed.spark.read.parquet(feed.sink("late")).collect()
    assert (late["row"]["the.key"], late["row"]["a.v"], late["row"]["not.used"], late["row"]["m"]) == (
        "a",
        9,
        1,
        {"x": 9},
    )
    (invalid,) = feed.spark.read.parquet(feed.sink("invalid")).collect()
    assert invalid["row"]["m"] == {"x": 3}


@pytest.mark.nightly
def test_panes_of_maps_alone_leave_the_step_as_columns(feed: Feed) -> None:
    feed.put((0, "a", 1), (5, "a", 2))
    feed.put((200, "a", 1))
    feed.put((300, "a", 1))
    df = dotted(feed.stream()).withWatermark("`event.ts`", "1 second")
    panes = (
        windowed(df, event_time="event.ts")
        .groupBy("the.key")
        .window(pw.Tumbling("1 minute"))
        .agg(F.first("m").alias("m"))
        .panes
    )
    emitted(feed, panes, "panes")
    assert [
        row["m"] for row in feed.spark.read.parquet(feed.sink("panes")).orderBy("window_end").collect()
    ] == [{"x": 1}, {"x": 1}]


def test_functions_return_maps_unchanged(feed: Feed) -> None:
    """Aggregates and OVER functions that return values of a row return its map (semantics 35.3)."""
    feed.put((0, "a", 1), (1, "a", 2), (2, "a", 3))
    df = dotted(feed.batch())
    grouped = windowed(df, event_time="event.ts").window(pw.Global())
    panes = grouped.agg(
        F.first("m").alias("first"), F.last("m").alias("last"), F.min_by("m", "a.v").alias("least"),
        F.top_n_by("m", "a.v", 2).alias("best"),
    ).panes  # fmt: skip
    assert rows_of(panes, "first", "last", "least", "best") == [
        ({"x": 1}, {"x": 3}, {"x": 1}, [{"x": 3}, {"x": 2}])
    ]
    w = pw.Window.orderBy("event.ts")
    columns = {"next": F.lead("m").over(w), "second": F.nth_value("m", 2).over(w.rowsBetween(-1, 0))}
    assert rows_of(over(df).withColumns(columns).rows, "a.v", *columns) == [
        (1, {"x": 2}, None),
        (2, {"x": 3}, {"x": 2}),
        (3, None, {"x": 3}),
    ]


def test_functions_of_the_user_get_maps_as_lists(feed: Feed) -> None:
    """User-defined aggregates and listeners receive a list of keys and values (semantics 35.3)."""
    feed.put((0, "a", 1), (1, "a", 2))
    df = dotted(feed.batch()).coalesce(1)
    seen = pw.UserAggregate.fold(
        "seen",
        "",
        lambda s, m: s + "".join(f"{pair['key']}={pair['value']};" for pair in m),
        combine=lambda a, b: a + b,
    )
    grouped = windowed(df, event_time="event.ts").window(pw.Global())
    assert rows_of(grouped.agg(seen("m").alias("seen")).panes, "seen") == [("x=1;x=2;",)]

    def handle(_self: object, event: Any) -> list[dict[str, Any]]:
        pairs = [pair for row in event.tuples for pair in row["m"]]
        return [{"seen": "".join(f"{pair['key']}={pair['value']};" for pair in pairs)}]

    listener = WindowListener(type("Seen", (), {"handle": handle}), name="seen", outputs={"seen": "string"})
    spec = StreamWindow.tumbling(count(2), events=["EVICTION"], listener=listener, columns=["m"])
    assert rows_of(apply(df, spec).events, "seen") == [("x=1;x=2;",)]


def test_maps_are_not_compared(feed: Feed) -> None:
    """They are neither keys nor order, and no function compares them (semantics 35.3)."""
    df = dotted(feed.batch())
    grouped = windowed(df, event_time="event.ts").window(pw.Global())
    for call, message in (
        (
            lambda: grouped.groupBy("m").agg(F.count()),
            "column m: map<string,bigint> | maps cannot be compared, so they cannot be keys",
        ),
        (
            lambda: grouped.agg(F.count_distinct("m")),
            "'count_distinct(m)' over m: map<string,bigint> | count_distinct compares values",
        ),
        (
            lambda: grouped.agg(F.top_n_by("m", "a.v", 2, distinct=True)),
            "'top_n_by(m, a.v, 2)' over m: map<string,bigint> | top_n_by compares values",
        ),
        (
            lambda: grouped.order_by("m").agg(F.count()),
            (
                "column m: map<string,bigint> | maps cannot be compared, so they cannot be keys or define "
                "an order"
            ),
        ),
    ):
        with pytest.raises(SpecError) as caught:
            call()  # type: ignore[no-untyped-call]
        assert str(caught.value).startswith(message)


def test_functions_over_windows_of_expressions_and_dotted_names(feed: Feed) -> None:
    """A column that is computed for the operator is not in its rows (semantics 35.1)."""
    feed.put((0, "a", 1), (1, "a", 2), (2, "b", 4))
    df = dotted(feed.batch())
    w = pw.Window.partitionBy("THE.KEY").orderBy("event.ts")
    rows = (
        over(df).withColumns({"twice": F.sum(SF.col("`a.v`") * 2).over(w), "before": F.lag("m").over(w)}).rows
    )
    assert rows.columns == ["event.ts", "the.key", "a.v", "not.used", "m", "twice", "before"]
    assert rows_of(rows, "the.key", "a.v", "twice", "before") == [
        ("a", 1, 2, None),
        ("a", 2, 6, {"x": 1}),
        ("b", 4, 8, None),
    ]


@pytest.mark.nightly
def test_null_and_nan_keys_on_a_stream(feed: Feed) -> None:
    """Such keys are grouped as in Spark, over several micro-batches (semantics 15.2, 15.4)."""
    for rows in (((0, None, 0), (1, "a", 1)), ((2, None, 0), (3, "a", 2)), ((200, "z", 9), (201, "z", 9))):
        feed.put(*rows)
    feed.put((300, "z", 9))
    nan = SF.when(SF.col("v") == 0, SF.lit(float("nan"))).otherwise(SF.lit(-0.0))
    df = feed.stream().withColumn("x", nan).withWatermark("ts", "1 second")
    result = (
        windowed(df, event_time="ts")
        .groupBy("x", "k")
        .window(pw.Tumbling("1 minute"))
        .trigger(pw.AfterWatermark(early=pw.Always()))
    )
    single = (
        windowed(df, event_time="ts").groupBy("x").window(pw.Tumbling("1 minute")).agg(F.count().alias("n"))
    )
    written(feed, result.accumulation("accumulating").options(on_time="if_pending").agg(F.count().alias("n")))
    found = feed.read("panes").filter(pl.col("window_start") == pl.col("window_start").min())
    assert sorted(found.filter(pl.col("n") == 2).select("x", "k").rows(), key=str) == [
        (0.0, "a"),
        (pytest.approx(float("nan"), nan_ok=True), None),
    ]
    assert feed.read("invalid").is_empty()
    assert sorted(emitted(feed, single.panes, "single")["n"]) == [2, 2, 2]


def test_two_expressions_of_one_name_are_refused(feed: Feed) -> None:
    """Also fields of two structs, and two aliases that differ only in case (semantics 35.1)."""
    df = feed.batch().select(
        "ts",
        "k",
        "v",
        SF.struct(SF.col("v").alias("f")).alias("s"),
        SF.struct((-SF.col("v")).alias("f")).alias("t"),
    )
    fields = (SF.col("s.f"), SF.col("t.f"))
    aliases = ((SF.col("v") + 1).alias("x"), (SF.col("v") + 2).alias("X"))
    for one, other in (fields, aliases):
        with pytest.raises(
            SpecError,
            match=r"both '\w+' \| each expression becomes a column .* \| give one of them an \.alias",
        ):
            whole(df).agg(F.sum(one).alias("a"), F.sum(other).alias("b"))


def test_two_functions_without_a_name_are_two_expressions(feed: Feed) -> None:
    up, down = SF.udf(lambda value: value + 1, "bigint"), SF.udf(lambda value: value - 1, "bigint")
    with pytest.raises(SpecError, match=r"each expression becomes a column of the operator's input"):
        whole(feed.batch()).agg(F.sum(up("v")).alias("a"), F.sum(down("v")).alias("b"))
    named = whole(feed.batch()).agg(
        F.sum(up("v").alias("up")).alias("a"), F.sum(down("v").alias("down")).alias("b")
    )
    assert {"up", "down"} <= set(named.spec.columns_read)


def test_an_expression_may_be_written_twice(feed: Feed) -> None:
    feed.put((0, "a", 1), (1, "a", 2))
    result = whole(feed.batch()).agg(
        F.sum(SF.col("v") * 2).alias("s"), F.max(SF.col("v") * 2).alias("m"), F.sum(SF.lit(3)).alias("n")
    )
    assert rows_of(result.panes, "s", "m", "n") == [(6, 4, 6)]


def test_an_alias_stays(feed: Feed) -> None:
    """A filter keeps an alias, and so does an expression whose text the alias contains."""
    assert F.sum("v").alias("total").filter("flag").name == "total"
    df = feed.batch().withColumn("s", SF.struct(SF.col("v").alias("f")))
    result = whole(df).agg(F.sum(SF.col("s.f")).alias("s.f_total"))
    assert "s.f_total" in result.panes.columns


def reserved(df: DataFrame) -> DataFrame:
    """Returns the rows with names that operators use, and a column that no operator reads."""
    return df.withColumnsRenamed({"ts": "__time", "k": "__end", "v": "__row"}).withColumn("__now", SF.lit(7))


@pytest.mark.nightly
def test_names_that_begin_with_underscores_on_a_stream(feed: Feed) -> None:
    """Such names are in all outputs, and collide with none of the operator's (semantics 35.4)."""
    feed.put((0, "a", 1), (5, "a", 2), (None, "b", 3), (6, None, 4))
    feed.put((200, "a", 1))
    feed.put()  # the watermark moves before the next rows (semantics 18.3)
    feed.put((1, "a", 9), (400, "a", 0))
    described = (
        windowed(
            with_watermark(reserved(feed.stream()), "__time", "1 second", max_future_skew="36500 days"),
            event_time="__time",
        )
        .groupBy("__end")
        .window(pw.Tumbling("1 minute"))
        .options(null_keys=False, max_future_skew="36500 days")
        .delta()
        .finish("at_end")
    )
    result = described.agg(F.sum("__row").alias("__metrics"), F.max(SF.col("__row") + 1).alias("__hash"))
    assert result.spec.keys == ("__end",)
    assert "__metrics" in result.explain()
    written(feed, result)
    panes = feed.spark.read.parquet(feed.sink("panes"))
    assert set(panes.columns) >= {"__end", "__metrics", "__hash", "delta"}
    found = [
        (row["__end"], row["__metrics"], row["__hash"], [one.asDict() for one in row["delta"]])
        for row in panes.orderBy("__metrics").collect()
    ]
    assert [row[:3] for row in found] == [("a", 0, 1), ("a", 1, 2), ("a", 3, 3)]
    assert [list(one) for one in found[2][3]] == [["__time", "__end", "__row", "__now"]] * 2
    assert [(one["__row"], one["__now"]) for one in found[2][3]] == [(1, 7), (2, 7)]
    (late,) = feed.spark.read.parquet(feed.sink("late")).collect()
    assert (late["row"]["__end"], late["row"]["__row"], late["row"]["__now"]) == ("a", 9, 7)
    invalid = feed.spark.read.parquet(feed.sink("invalid")).orderBy("reason").collect()
    assert [(one["reason"], one["row"]["__row"]) for one in invalid] == [
        ("event time is null", 3),
        ("key __end is null (null_keys=False)", 4),
    ]


@pytest.mark.nightly
def test_panes_of_such_names_leave_the_step_as_columns(feed: Feed) -> None:
    """Also an aggregate with the name of the column of metrics (semantics 15.5, 35.4)."""
    feed.put((0, "a", 1), (5, "a", 2))
    feed.put((200, "a", 1))
    feed.put((300, "a", 1))
    df = reserved(feed.stream()).withWatermark("__time", "1 second")
    described = windowed(df, event_time="__time").groupBy("__end").window(pw.Tumbling("1 minute"))
    for name in ("__sum", "__metrics"):
        panes = described.agg(F.sum("__row").alias(name)).panes
        emitted(feed, panes, name)
        found = feed.spark.read.parquet(feed.sink(name)).orderBy("window_end").collect()
        assert [(row["__end"], row[name]) for row in found] == [("a", 3), ("a", 1)]


def test_such_names_in_every_family_on_a_batch(feed: Feed) -> None:
    """Chains, OVER operators and policy windows have the user's names in their outputs (semantics 35.4)."""
    feed.put((0, "a", 1), (1, "a", 2), (2, "b", 4))
    df = reserved(feed.batch())
    first = whole(df.withColumnRenamed("__time", "ts")).groupBy("__end").agg(F.sum("__row").alias("__s"))
    stage = first.then(keys=[], aggregates=[F.max("__s").alias("__m")])
    assert rows_of(stage.panes, "__m") == [(4,)]
    w = pw.Window.partitionBy("__end").orderBy("__time")
    rows = over(df).withColumns({"__s": F.sum("__row").over(w), "before": F.lag("__row").over(w)}).rows
    assert rows.columns == ["__time", "__end", "__row", "__now", "__s", "before"]
    assert rows_of(rows, "__end", "__row", "__s", "before") == [
        ("a", 1, 1, None),
        ("a", 2, 3, 1),
        ("b", 4, 4, None),
    ]
    events = policy_windows(df).partition_by("__end").tumbling(count(2)).order_by("__time").events("EVICTION")
    (event,) = events.tuples("__row", "__now").events.collect()
    assert (event["__end"], [one.asDict() for one in event["tuples"]]) == (
        "a",
        [{"__row": 1, "__now": 7}, {"__row": 2, "__now": 7}],
    )
    (event,) = events.agg(F.sum("__row").alias("__tuples")).events.collect()
    assert (event["__end"], event["__tuples"]) == ("a", 3)


def test_such_names_in_errors_are_the_users(feed: Feed) -> None:
    df = reserved(feed.batch())
    described = windowed(df, event_time="__time").window(pw.Global())
    cases = [
        (lambda: described.agg(F.sum("__end")), "'sum(__end)' over __end: string |"),
        (lambda: described.groupBy("__none").agg(F.count()), "column '__none' |"),
        (
            lambda: described.groupBy("__end").agg(F.sum("__row").alias("__s")).then(
                keys=["__end"], aggregates=[F.sum("__end").alias("t")]
            ),
            "'t' over __end: string |",
        ),
    ]  # fmt: skip
    for call, message in cases:
        with pytest.raises(SpecError) as caught:
            call()  # type: ignore[no-untyped-call]
        assert str(caught.value).startswith(message)


def test_every_builder_takes_names_lists_and_columns(feed: Feed) -> None:
    """Names may stand in backticks, and columns be given as a list, in all families (semantics 35.1)."""
    feed.put(*ROWS[:4])
    df = feed.batch().withColumnRenamed("k", "a.`b")
    quoted, wanted = "`a.``b`", [("A",), ("a",), ("b",)]
    for key in (quoted, ["a.`b"], [df[quoted]]):
        panes = windowed(df, "`ts`").groupBy(key).window(pw.Global()).agg(F.count()).panes
        assert rows_of(panes, "a.``b") == wanted
        rows = deduplicate(df, SF.col("ts")).on(key).within("1 hour").rows
        assert rows_of(rows, "a.``b") == wanted
        w = pw.Window.partitionBy(key).orderBy(SF.col("ts"))
        rows = over(df, "`ts`").withColumn("n", F.row_number().over(w)).rows
        assert rows_of(rows.where("n = 1"), "a.``b") == wanted
        events = policy_windows(df).partition_by(key).tumbling(count(2)).agg(F.count().alias("n")).events
        assert rows_of(events, "a.``b", "n") == [("b", 2)]


def test_keys_that_would_be_no_column_are_refused(feed: Feed) -> None:
    """The rows of a deduplication and of OVER are those of the input."""
    df = feed.batch()
    with pytest.raises(SpecError, match=r"on\('.*upper.*'\) \| keys and event time of a deduplication"):
        deduplicate(df, "ts").on(SF.upper("k"))
    with pytest.raises(SpecError, match=r"event_time=\('.*ts.*'\) \| keys and event time of a deduplication"):
        deduplicate(df, SF.col("ts") + SF.expr("INTERVAL 1 HOUR"))
    with pytest.raises(SpecError, match=r"keys and order columns are given by name"):
        pw.Window.partitionBy(SF.upper("k"))


def test_the_event_time_of_windows_may_be_an_expression_on_a_batch(feed: Feed) -> None:
    """On a stream an expression has no watermark."""
    feed.put((0, "a", 1), (59, "a", 2))
    later = SF.col("ts") + SF.expr("INTERVAL 1 SECOND")
    minutes = windowed(feed.batch(), later).window(pw.Tumbling("1 minute")).agg(F.sum("v").alias("s"))
    assert rows_of(minutes.panes, "s") == [(1,), (2,)]
    marked = feed.stream().withWatermark("ts", "1 minute")
    with pytest.raises(SetupError, match="a watermark of ts for the event time"):
        windowed(marked, later).window(pw.Tumbling("1 minute")).agg(F.count())


def test_the_event_time_of_a_stream_is_the_column_with_the_watermark(feed: Feed) -> None:
    """It is if it is not named, and the stream has no column `event_time` (semantics 12.13)."""
    df, minute = feed.stream().withWatermark("ts", "1 minute"), pw.Tumbling("1 minute")
    assert windowed(df).window(minute).agg(F.count()).spec.event_time == "ts"
    assert deduplicate(df).on("k").within("1 hour").spec.event_time == "ts"
    assert over(df).ordered("k").spec.event_time == "ts"
    assert windowed(df).window(pw.Tumbling(pw.rows(2))).agg(F.count()).spec.event_time is None
    by_clock = windowed(df).window(minute).options(time="processing").agg(F.count())
    assert by_clock.spec.time == "processing"
    own = df.withColumn("event_time", SF.col("v").cast("timestamp"))
    lagging = windowed(own).window(minute).watermark(pw.FixedLag("1 minute"))
    assert lagging.agg(F.count()).spec.event_time == "event_time"
    for begin in (windowed(feed.batch()).window(minute).agg, deduplicate(feed.batch()).on("k").within):
        with pytest.raises(SpecError, match=r"column 'event_time' .*, and name the event time: event_time="):
            begin(F.count() if begin.__name__ == "agg" else "1 hour")  # type: ignore[arg-type]


@pytest.mark.parametrize("begin", [windowed, over, deduplicate, policy_windows])
def test_an_input_is_a_dataframe(begin: Any) -> None:
    """The name of a table is an error with a remedy."""
    with pytest.raises(
        SpecError, match=r"\('orders'\) \| the input .* \| give a DataFrame, such as spark\.readStr"
    ):
        begin("orders")
