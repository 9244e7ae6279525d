"""Tests of joins in real queries (semantics 27, 28, 36 to 41).

Spark's own join of two streams gives the expected rows. Names, restarts, shards and refusals are covered.
"""

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import polars as pl
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.errors import SetupError, SpecError, StateError
from panewise.spark import JoinBuilder, JoinResult, apply, joined, policy_windows, windowed
from panewise.streamwindow import count
from tests.nightly import first_here
from tests.spark.conftest import Feed, at, beside, emitted, read_state, write

OUTPUTS = (
    "rows",
    *(f"{side}_{kind}" for side in ("left", "right") for kind in ("late", "invalid", "counts")),
)
DELAY = "10 seconds"


def streams(feed: Feed, other: Feed) -> JoinBuilder:
    left, right = (one.stream().withWatermark("ts", DELAY) for one in (feed, other))
    return described(joined(left, right))


def batches(feed: Feed, other: Feed) -> JoinBuilder:
    return described(joined(feed.batch(), other.batch(), "ts"))


def described(builder: JoinBuilder) -> JoinBuilder:
    return builder.on("k").within("-2 seconds", "5 seconds").prefix(right="r_")


run = partial(write, outputs=OUTPUTS)


def table(df: DataFrame) -> pl.DataFrame:
    found = pl.DataFrame(df.toArrow())
    return found.sort(found.columns)


def values(spark: SparkSession, columns: str, *rows: str) -> DataFrame:
    """Returns a batch DataFrame; `ts` is given in seconds."""
    df = spark.sql(f"SELECT * FROM VALUES {', '.join(rows)} AS rows({columns})")
    return df.withColumns({name: SF.timestamp_seconds(name) for name in df.columns if name.lower() == "ts"})


def put_some(feed: Feed, other: Feed, keys: Sequence[str | None]) -> None:
    """Adds files of unordered rows to both sides; none is late."""
    chosen = random.Random(11)
    for n in range(3):
        for side in (feed, other):
            times = [n * 9 + chosen.randrange(18) for _ in range(30)]
            side.put(*((time, chosen.choice(keys), chosen.randrange(9)) for time in times))


def test_an_interval_without_a_bound_retains_rows(feed: Feed) -> None:
    """Semantics 37.1: the last right row of each key, and the one before, of those that arrived earlier."""
    left = values(feed.spark, "k, ts", "('a', 5), ('b', 5)")
    right = values(feed.spark, "k, ts", "('a', 1), ('a', 2), ('a', 3), ('a', 9), ('b', 6)")
    builder = joined(left, right, "ts").on("k").within(None, 0, retain_rows=2).prefix(right="r_")
    result = builder.how("full")
    rows = table(result.rows.select("k", SF.unix_seconds("ts"), SF.unix_seconds("r_ts").alias("r")))
    assert rows.rows() == [
        ("a", None, 1), ("a", None, 9), ("a", 5, 2), ("a", 5, 3), ("b", None, 6), ("b", 5, None),
    ]  # fmt: skip
    assert result.spec.match == pw.Interval(None, 0, retain_rows=2)
    assert "the last 2 right rows of each key" in " ".join(result.explain().split())


@pytest.mark.nightly
def test_processing_time_is_a_column_and_the_clock(feed: Feed, other: Feed) -> None:
    """semantics 36.12: whatever the times of the rows are, none is late; each is paired as it arrives."""
    for row in ((50, "a", 1), (3, "a", 2), (4, "b", 3)):
        feed.put(row)
    for row in ((9, "a", 10), (1, "a", 20), (2, "b", 30)):
        other.put(row)
    sides = [one.stream().withColumn("at", SF.current_timestamp()) for one in (feed, other)]
    now = pw.FixedLag("0 seconds")
    described = joined(*sides, event_time="at").on("k").watermark(left=now, right=now).prefix(right="r_")
    result = described.within("-1 hour", "1 hour").how("inner")
    run(feed, result)
    assert feed.read("left_late").height == feed.read("right_late").height == 0
    found = feed.read("rows").select("v", "r_v").rows()
    assert sorted(found) == [(1, 10), (1, 20), (2, 10), (2, 20), (3, 30)]


def test_a_description_is_a_specification(feed: Feed, other: Feed) -> None:
    """Each method sets its fields of the join or of its sides."""
    position = pw.Position(partition="k", offset="v")
    result = (
        joined(feed.stream(), other.stream(), event_time=("ts", SF.col("ts")))
        .on("k", ("v", "v"))
        .within("-5 minutes", "1 hour", closed="left")
        .select("k", ("left", "v"), ("right", "v", "w"), pw.Selected("either", "v", "x"))
        .order_by(left="v", right=["v", "k"])
        .position(right=None)
        .allowed_lateness("1 minute", right="2 minutes")
        .watermark(left=pw.FixedLag("1 second"), right=pw.StreamTime("3 seconds", per="all"))
        .options(unmatched="early", timestamp="left", null_keys=(False, True), max_future_skew="1 day")
        .shards(1)
        .clock("1 minute")
        .how("full")
    )
    left = pw.Side(
        keys=["k", "v"],
        event_time="ts",
        order=["v"],
        null_keys=False,
        max_future_skew="1 day",
        watermark=pw.FixedLag("1 second"),
        allowed_lateness="1 minute",
    )
    right = pw.Side(
        keys=["k", "v"],
        event_time="ts",
        order=["v", "k"],
        max_future_skew="1 day",
        watermark=pw.StreamTime("3 seconds", per="all"),
        allowed_lateness="2 minutes",
    )
    columns = [("either", "k", "k"), ("left", "v", "v"), ("right", "v", "w"), ("either", "v", "x")]
    assert result.spec == pw.JoinOperator(
        left=left,
        right=right,
        match=pw.Interval("-5 minutes", "1 hour", "left"),
        how="full",
        select=[pw.Selected(*one) for one in columns],
        unmatched="early",
        timestamp="left",
    )
    assert result.explain().startswith("Join: emits each pair of partners, and each row of both sides")
    both = pw.StreamTime("1 second", per="all")
    spec = described(joined(feed.stream(), other.stream(), "ts")).watermark(both).how("inner").spec
    assert (spec.watermark, spec.left.watermark) == (both, None)
    placed = described(joined(feed.batch(), other.batch(), "ts")).position(left=position)
    spec = placed.prefix().how("anti").spec
    assert (spec.left.position, spec.right.position) == (position, None)
    spec = streams(feed, other).idle_after("1 minute").how("inner").spec
    assert spec.idle_after == pw.Duration.of("1 minute", "")


def test_the_event_time_is_the_column_with_the_watermark(feed: Feed, other: Feed) -> None:
    """The rows of each side drive its watermark, with the delay of withWatermark (semantics 36.1)."""
    left = feed.stream().withColumnRenamed("ts", "sent").withWatermark("sent", "1 second")
    spec = joined(left, other.stream().withWatermark("ts", "2 seconds")).on("k").within(0, 1).select("k")
    sides = spec.how("inner").spec.sides
    assert {name: (side.event_time, side.watermark) for name, side in sides.items()} == {
        "left": ("sent", pw.StreamTime("1 second", per="all")),
        "right": ("ts", pw.StreamTime("2 seconds", per="all")),
    }


def test_names(spark: SparkSession) -> None:
    """Columns in another case, with dots, with names as operators have them; maps; keys that are computed."""
    columns = "`__k`, ts, `__at`, `a.b`, m"
    left = values(
        spark, columns, "('X', 1, 1, 2, map('p', 1))", "('Y', 2, 3, 4, map('q', 2))", "(null, 3, 5, 6, null)"
    )
    right = values(spark, "`K 2`, TS, `__at`, `a.b`, m", "('x', 1, 7, 8, map('r', 3))")
    began = joined(left, right, "ts").within("-1 second", "1 second")
    made = began.on(("__K", SF.upper("`k 2`").alias("upper"))).prefix("__l_", "__r_").how("full").rows
    lefts = ["__l___K", "__l_ts", "__l___at", "__l_a.b", "__l_m"]
    rights = ["__r_K 2", "__r_ts", "__r___at", "__r_a.b", "__r_m", "__r_upper"]
    assert made.columns == [*lefts, *rights, "op", "missing", "join_time"]
    assert made.schema["__l_m"].dataType.simpleString() == "map<string,int>"
    found = [tuple(row) for row in made.drop("__l_ts", "__r_ts", "join_time").collect()]
    assert sorted(found, key=repr) == [
        ("X", 1, 2, {"p": 1}, "x", 7, 8, {"r": 3}, "X", "+", None),
        ("Y", 3, 4, {"q": 2}, None, None, None, None, None, "+", "right"),
        (None, 5, 6, None, None, None, None, None, None, "+", "right"),
    ]
    picked = began.on(("__k", SF.upper("`K 2`").alias("upper")))
    chosen = picked.select("upper", "`__K`", ("right", "__at"), ("left", "`a.b`"), ("right", "M", "__op"))
    rows = chosen.how("inner").rows
    assert rows.columns[:5] == ["upper", "__K", "__at", "a.b", "__op"]
    assert [tuple(row)[:5] for row in rows.collect()] == [("X", "X", 7, 2, {"r": 3})]
    both = joined(left, left, "ts").on(SF.lower("__k").alias("low")).within(0, 0)
    rows = both.select("low", ("right", "__at", "other")).how("inner").rows
    assert sorted(tuple(row)[:2] for row in rows.collect()) == [("x", 1), ("y", 3)]
    invalid = (
        began.on(("__k", "K 2")).select("__k").options(null_keys=(False, True)).how("inner").left.invalid
    )
    assert [(row.row["__at"], row.reason) for row in invalid.collect()] == [
        (5, "key __k is null (null_keys=False)")
    ]


def test_shared_keys_and_columns_of_one_side_need_no_side(feed: Feed, other: Feed) -> None:
    feed.put((0, "a", 1), (50, "b", 2))
    other.put((1, "a", 3), (90, "c", 4))
    right = other.batch().withColumnRenamed("v", "w")
    builder = joined(feed.batch(), right, "ts").on("K").within("-2 seconds", "5 seconds")
    rows = builder.select("k", "V", "w").how("full").rows
    assert rows.columns == ["k", "V", "w", "op", "missing", "join_time"]
    assert [tuple(row)[:3] for row in rows.orderBy("join_time").collect()] == [
        ("a", 1, 3),
        ("b", 2, None),
        ("c", None, 4),
    ]
    crossed = joined(feed.batch(), right, "ts").within("-1 hour", "1 hour").select("v", "w")
    assert len(crossed.how("inner").rows.collect()) == 4  # without keys, in one shard
    semi = builder.select("k", "ts").how("semi").rows  # ts is that of the left side, the only one
    assert table(semi).rows() == [("a", at(0), "+", at(0))]


NEAR = "l.k = r.k AND r.ts >= l.ts - INTERVAL 2 SECONDS AND r.ts <= l.ts + INTERVAL 5 SECONDS"


def native(left: DataFrame, right: DataFrame, how: str) -> DataFrame:
    """Returns Spark's own join."""
    one_sided = how in ("semi", "anti")
    made = left.alias("l").join(right.alias("r"), SF.expr(NEAR), f"left_{how}" if one_sided else how)
    return made.select(*(SF.col(f"{name[0]}.{name[2:]}").alias(name) for name in names(how)))


def names(how: str) -> list[str]:
    return ["l_k", "l_ts", "l_v", *([] if how in ("semi", "anti") else ["r_k", "r_ts", "r_v"])]


def chosen_as(builder: JoinBuilder, how: Any) -> JoinResult:
    """Returns the join with the columns of Spark's own."""
    sides = {"l": "left", "r": "right"}
    return builder.prefix().select(*((sides[name[0]], name[2:], name) for name in names(how))).how(how)


def test_a_stream_emits_what_spark_emits_of_a_batch(feed: Feed, other: Feed) -> None:
    """Rows of which none is late, closed by a far-ahead row of each side. Two null keys are not equal."""
    put_some(feed, other, keys=[*"abcd", None])
    for side in (feed, other):
        side.put((2000, "z", 0))
    wanted = table(native(feed.batch(), other.batch(), "full"))
    assert wanted.height > 30
    run(feed, chosen_as(streams(feed, other), "full"))
    found = feed.read("rows").select(names("full"))
    assert found.sort(wanted.columns).equals(wanted.sort(wanted.columns))


@pytest.mark.nightly
@pytest.mark.parametrize("how", ["full", "left", "inner", "semi"])
def test_spark_emits_the_same(feed: Feed, other: Feed, how: Any) -> None:
    """Spark's join of two streams, on rows none of which is late, closed by a far-ahead row of each side.

    Spark takes null keys for equal in a full join of two streams, and only there. So that has none.
    """
    put_some(feed, other, keys="abcd" if how == "full" else [*"abcd", None])
    for side in (feed, other):
        side.put((2000, "z", 0))
    theirs = native(*(one.stream().withWatermark("ts", DELAY) for one in (feed, other)), how)
    wanted = emitted(feed, theirs, "native").select(names(how))
    run(feed, chosen_as(streams(feed, other), how))
    found = feed.read("rows").select(names(how))
    assert wanted.height > 30
    assert found.sort(wanted.columns).equals(wanted.sort(wanted.columns))


@pytest.mark.parametrize("how", first_here(["full", "semi", "left", "right", "anti"], 2))
def test_spark_emits_the_same_of_batches(feed: Feed, other: Feed, how: Any) -> None:
    """Null keys included: they have no partner, and outer joins emit them (semantics 28)."""
    put_some(feed, other, keys=[*"abcd", None])
    wanted = table(native(feed.batch(), other.batch(), how))
    assert wanted.height > 10
    assert table(chosen_as(batches(feed, other), how).rows.select(names(how))).equals(wanted)


@pytest.mark.nightly
def test_restarts_shards_and_batches_change_nothing(feed: Feed, other: Feed) -> None:
    """A run for each file emits what one batch does (semantics 33). Counts are by side."""
    chosen, all_rows = random.Random(3), {feed: list[Any](), other: list[Any]()}
    for n in range(3):
        for side in (feed, other):
            rows = [
                (n * 9 + chosen.randrange(9), chosen.choice(["a", "b", None]), n * 10 + m) for m in range(9)
            ]
            all_rows[side] += rows
            side.put(*rows, *([(-50, "a", -1)] if n == 2 and side is feed else []), (None, "b", -2))
        run(feed, streams(feed, other).shards(3).how("full"))
    run(feed, streams(feed, other).shards(3).finish("at_end").how("full"))
    rows = feed.read("rows")
    twins = [beside(one, "once") for one in (feed, other)]
    for twin, rows_of in zip(twins, all_rows.values(), strict=True):
        twin.put(*rows_of)
    wanted = table(batches(*twins).how("full").rows)
    assert rows.select(wanted.columns).sort(wanted.columns).equals(wanted)
    assert [(row["v"], of["reason"]) for of in feed.read("left_late").to_dicts() for row in [of["row"]]] == [
        (-1, "behind")
    ]
    assert feed.read("right_late").is_empty()
    for name in ("left", "right"):
        assert feed.read(f"{name}_invalid")["reason"].to_list() == ["event time is null"] * 3
        sums = feed.read(f"{name}_counts").sum().to_dicts()[0]
        assert sums["rows_in"] == sums["applied"] + sums["late"] + sums["invalid"] == 30 + (name == "left")
    state = read_state(feed.spark, feed.sink("checkpoint")).operators[0]
    assert state.spec == streams(feed, other).how("full").spec


@pytest.mark.nightly
def test_the_watermark_of_the_query_is_that_of_no_side(feed: Feed, other: Feed) -> None:
    """Watermarks that follow the clock are not raised by withWatermark (semantics 36.1)."""
    for side in (feed, other):
        side.put((1000, "a", 1))
        side.put((0, "a", 2))
        side.put((1, "a", 3))
    lag = pw.FixedLag("100000 days")
    run(feed, streams(feed, other).watermark(left=lag, right=lag).how("inner"))
    assert sorted(zip(*feed.read("rows").select("v", "r_v"), strict=True)) == [
        (1, 1),
        (2, 2),
        (2, 3),
        (3, 2),
        (3, 3),
    ]
    assert feed.read("left_late").is_empty()


def test_each_output_is_a_query(feed: Feed, other: Feed) -> None:
    feed.put((0, "a", 1), (None, "a", 2))
    other.put((1, "a", 3))
    result = batches(feed, other).how("left")
    assert [row.r_v for row in result.rows.collect()] == [3]
    assert [row.reason for row in result.left.invalid.collect()] == ["event time is null"]
    assert result.right.invalid.collect() == result.right.late.collect() == []
    assert [(row.rows_in, row.applied) for row in result.left.counts.collect()] == [(2, 1)]
    assert [row.applied for row in result.right.counts.collect()] == [1]
    assert result.left.late.columns == ["row", "reason", "windows", "late_by", "partial"]
    assert type(apply({"left": feed.batch(), "right": other.batch()}, result.given.spec)) is JoinResult


@pytest.mark.nightly
def test_a_self_join_and_two_operators_in_one_query(feed: Feed) -> None:
    """Each operator has metrics of its own, counted once however many inputs it has."""
    feed.put((0, "a", 1), (3, "a", 2), (100, "b", 4))
    df = feed.stream().withWatermark("ts", DELAY)
    rows = described(joined(df, df)).within("1 second", "5 seconds").how("inner").rows
    events = policy_windows(rows).tumbling(count(1)).agg(F.sum("r_v").alias("s")).events
    writer = events.writeStream.format("parquet").option("checkpointLocation", feed.sink("checkpoint"))
    query = writer.trigger(availableNow=True).start(feed.sink("events"))
    query.awaitTermination()
    assert feed.read("events")["s"].to_list() == [2]
    observed = {name for progress in query.recentProgress for name in progress.observedMetrics or {}}
    assert observed == {"panewise", "panewise_2"}


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda x, y: joined(x, y, "ts").on("k").how("inner"), r"no match \| .* \| call \.within"),
        (lambda x, y: described(joined(x, y, "ts")).within(5, 1), r"lower bound is not above .*exchange"),
        (lambda x, y: joined(x, y, "ts").on(("k", "v")).within(0, 1).prefix(right="r_").how("inner"),
         r"keys k: string \(left\) and v: bigint \(right\) \| .* \| cast one of them"),
        (lambda x, y: described(joined(x, y, "ts")).prefix().how("inner"),
         r"'ts' of left and of right \| .* \| give one side a prefix, or select"),
        (lambda x, y: described(joined(x.withColumnRenamed("v", "R_V"), y, "ts")).how("inner").rows,
         r"emitted columns 'R_V' and 'r_v' \| Spark ignores the case .* \| give one of them another name"),
        (lambda x, y: described(joined(x, y)).how("inner"), r"column 'event_time' \(left\) \| "),
        (lambda x, y: described(joined(x, y, ("ts", "k"))).how("inner"), r"event time k: string \(right\)"),
        (lambda x, y: joined(x, described(joined(x, y, "ts"))),
         r"joined\(right=\.\.\.\), of JoinBuilder \| the sides of a join are DataFrames, or results of op"),
        (lambda x, y: described(joined(x, y, ("ts", "ts", "ts"))), r"event_time=.* \| a tuple has a"),
        (lambda x, y: described(joined(x, y, "ts")).on(("k", "k", "k")), r"on=.* \| .* or a pair \[PW-"),
        (lambda x, y: described(joined(x, y, "ts")).on("v"), r"on=.* after on=.* \| a description names"),
        (lambda x, y: described(joined(x, y, "ts")).how("outer"), r"how='outer' \| how is one of"),
        (lambda x, y: described(joined(x, y, "ts")).options(late=1), r"option 'late' \| the options of"),
        (lambda x, y: joined(x, y, "ts").on("k").within(0, 1).select("v").how("inner"),
         r"select\('v'\), a column of both sides \| .* \| give a name such as"),
        (lambda x, y: joined(x, y, "ts").on("k").within(0, 1).select("x").how("inner"),
         r"select\('x'\) \| the columns are .* \| name one of these"),
        (lambda x, y: joined(x, y, "ts").on("k").within(0, 1).select(y["v"]).how("inner"),
         r"a column is selected by its name, or by its side and its name \| select it from the rows"),
        (lambda x, y: joined(x, y, "ts").on("k").within(0, 1).select(("right", "v")).how("semi"),
         r"a join with how='semi' emits left rows only"),
        (lambda x, y: described(joined(x, y, "ts")).select("k").how("inner"), r"leave the prefix out"),
        (lambda x, y: described(joined(x, y, "ts")).clock("1 second").how("inner"), r"on a batch DataFrame"),
        (lambda x, y: joined(x.select("ts", "k", SF.create_map("k", "v").alias("m")), y, "ts")
         .on(("m", "k")).within(0, 1).prefix(right="r_").how("inner"),
         r"column m: map<string,bigint> \| maps cannot be compared"),
        (lambda x, y: joined(x, y, "ts").shards(2).on().within(0, 1).prefix("l_", "r_").how("inner"),
         r"shards=2 \| without keys all rows have equal keys, .* \| give keys"),
        (lambda x, y: apply({"left": x}, described(joined(x, y, "ts")).how("inner").spec),
         r"DataFrames for \['left'\] \| the inputs of the operator are \['left', 'right'\]"),
    ],
)  # fmt: skip
def test_what_is_refused(feed: Feed, other: Feed, build: Callable[..., Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        build(feed.batch(), other.batch())


def test_what_is_refused_on_streams(feed: Feed, other: Feed) -> None:
    left, right = (one.stream().withWatermark("ts", DELAY) for one in (feed, other))
    for inputs, given_side in (((feed.stream(), right), "left"), ((left, other.stream()), "right")):
        with pytest.raises(
            SetupError, match=rf"a stream without a watermark \({given_side}\) \| .* \| call df\.withW"
        ):
            described(joined(*inputs, "ts")).how("inner")
    late = left.withColumn("loaded", SF.col("ts").cast("string").cast("timestamp"))
    with pytest.raises(SetupError, match=r"a watermark of ts for the event time loaded \(left\) \| "):
        described(joined(late, right, ("loaded", "ts"))).how("inner")
    with pytest.raises(
        SpecError, match=r"left: a stream, right: a batch \| .* Spark's own stream\.join\(batch"
    ):
        described(joined(left, other.batch(), "ts")).how("inner")
    panes = windowed(left, "ts").groupBy("k").window(pw.Tumbling("1 minute")).agg(F.sum("v").alias("v")).panes
    stacked = joined(panes, right, ("window_end", "ts")).on("k").within(0, 1).select("k")
    with pytest.raises(SetupError, match=r"a stream that another operator emits \| .* \| .*write the panes"):
        stacked.watermark(left=pw.StreamTime(per="all")).how("inner")
    result = described(joined(left, right)).how("inner")
    rows = result.rows
    apart = r"a stream that an operator with several inputs emits \| .* \| give the result itself, as in"
    with pytest.raises(SetupError, match=apart):
        windowed(rows, "join_time").window(pw.Tumbling("1 minute")).agg(F.count().alias("n"))
    static = left.join(batches(feed, other).how("inner").rows.select("k", "r_v"), "k")
    assert windowed(static, "ts").window(pw.Tumbling("1 minute")).agg(F.count().alias("n")).panes.isStreaming
    with pytest.raises(SetupError, match=apart):
        joined(rows, left).on("k").within(0, 1).select("r_v").how("inner")
    with pytest.raises(SpecError, match=r"^write\(\) without a sink \| .* \| give rows=ParquetSink\(path\),"):
        result.write(checkpoint=feed.sink("checkpoint"))
    with pytest.raises(SpecError, match=r"^left_late=7 \| .* \| give left_late=ParquetSink\('a/path'\)"):
        result.write(left_late=7, checkpoint=feed.sink("checkpoint"))  # type: ignore[arg-type]
    ended = described(joined(left, right)).finish("at_end").how("inner")
    with pytest.raises(SetupError, match=r"use result\.write\(right_late=\.\.\., checkpoint"):
        _ = ended.right.late
    assert not hasattr(result, "late")


@pytest.mark.nightly
def test_a_checkpoint_of_another_join_is_refused(feed: Feed, other: Feed) -> None:
    feed.put((0, "a", 1))
    other.put((0, "a", 1))
    run(feed, streams(feed, other).how("inner"))
    for changed, name in (
        (streams(feed, other).how("left"), "how"),
        (streams(feed, other).within(0, 1).how("inner"), "match"),
    ):
        with pytest.raises(StateError, match=rf"a changed specification \(.*{name}"):
            run(feed, changed)
