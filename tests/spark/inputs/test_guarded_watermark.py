"""Tests of a watermark that rows far in the future do not move."""

import warnings

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.errors import SpecError, UnguardedWatermarkWarning
from panewise.spark import WindowResult, sql, windowed, with_watermark
from panewise.spark.inputs.checks import delay_of
from panewise.spark.inputs.guarded_watermark import GUARDED, watermarked_by, with_limit
from panewise.spark.inputs.plan_text import plan_of
from panewise.spark.streaming_sql.table_sources import source_of
from panewise.sql.script.application import compile_script
from panewise.sql.script.steps import SourceStep
from tests.spark.conftest import Feed, emitted, write

FAR = 100 * 365 * 86_400.0  # seconds, a hundred years ahead
ROWS = (((0, "a", 1), (FAR, "a", 2)), ((30, "a", 3),), ((90, "a", 4),))


def guarded(feed: Feed) -> DataFrame:
    return with_watermark(feed.stream(), "ts", "10 seconds", max_future_skew="1 hour")


def minutes(df: DataFrame) -> WindowResult:
    builder = windowed(df, "ts").groupBy("k").window(pw.Tumbling("1 minute"))
    return builder.options(max_future_skew="1 hour").agg(F.sum("v").alias("s"))


def test_a_row_far_ahead_is_invalid_and_makes_no_row_late(feed: Feed) -> None:
    """The watermark is that of the other rows (semantics 15.10). The query goes on after a restart."""
    for rows in ROWS[:2]:
        feed.put(*rows)
    write(feed, minutes(guarded(feed)), outputs=["panes", "invalid", "late"])
    feed.put(*ROWS[2])
    write(feed, minutes(guarded(feed)), outputs=["panes", "invalid", "late"])
    assert feed.read("panes").select("k", "s").rows() == [("a", 4)]
    invalid = feed.read("invalid")
    assert [(row["v"], reason) for row, reason in invalid.select("row", "reason").rows()] == [
        (2, "event time is too far ahead")
    ]
    assert feed.read("late").height == 0


def test_sparks_own_operators_use_it(feed: Feed) -> None:
    """To Spark it is a watermark of the event time (semantics 15.10)."""
    for rows in ROWS:
        feed.put(*rows)
    counted = guarded(feed).groupBy(SF.window("ts", "1 minute")).count().select("count")
    assert emitted(feed, counted)["count"].to_list() == [2]  # the first minute is complete, and no row late


def test_max_future_skew_behind_withwatermark_warns(feed: Feed) -> None:
    """Invalid rows move the watermark of `withWatermark` (semantics 15.3)."""
    with pytest.warns(
        UnguardedWatermarkWarning, match=r"max_future_skew='1 hour' behind .*\.with_watermark\("
    ):
        minutes(feed.stream().withWatermark("ts", "10 seconds"))
    with warnings.catch_warnings(action="error"):
        minutes(guarded(feed))
        minutes(guarded(feed).where("v > 0").select("ts", "k", "v"))
        own = windowed(feed.stream(), "ts").groupBy("k").window(pw.Tumbling("1 minute"))
        own.watermark(pw.StreamTime("10 seconds")).options(max_future_skew="1 hour").agg(F.count())


def test_extreme_event_times_do_not_overflow(feed: Feed) -> None:
    """semantics 15.10"""
    feed.put((0, "a", -1), (0, "a", 0), (0, "a", 1))
    feed.put((30, "a", 2))
    ends = f"CASE v WHEN -1 THEN {-(1 << 63)} WHEN 1 THEN {(1 << 63) - 1} ELSE unix_micros(ts) END"
    stream = feed.stream().selectExpr(f"timestamp_micros({ends}) AS ts", "v")
    for skew in ("1 hour", pw.Duration(1 << 62)):
        marked = with_watermark(stream, "ts", "10 seconds", max_future_skew=skew)
        name = f"skew{len(str(skew))}"
        assert sorted(emitted(feed, marked.select("v"), name)["v"].to_list()) == [-1, 0, 1, 2]


def test_tables_of_sql_have_it(feed: Feed) -> None:
    """semantics 46.112, 46.113"""
    mark = "WITH (max_future_skew = '1 hour') WATERMARK TS DELAY OF INTERVAL '10' SECONDS"
    text = f"SELECT k, count(*) AS n FROM TUMBLE(t {mark}, ts, INTERVAL '1' MINUTE) GROUP BY k, window_start"
    with warnings.catch_warnings(action="error"):
        result = sql(text, t=feed.stream())
    assert GUARDED in plan_of(result.dataflow.df)
    view = f"""CREATE TEMPORARY VIEW s (ts TIMESTAMP, WATERMARK ts DELAY OF INTERVAL '1' MINUTE)
    USING json OPTIONS (path '{feed.folder}', max_future_skew '1 hour')"""
    (step,) = compile_script(view).steps
    assert isinstance(step, SourceStep)
    assert GUARDED in plan_of(source_of(feed.spark, step))
    assert ", but for event times more than 1 hour ahead" in compile_script(view).explain()


PANES = (
    "SELECT window_start, window_end, k, count(*) AS n FROM TUMBLE(s, ts, INTERVAL '1' MINUTE) GROUP BY ALL"
)
TOP = "ROW_NUMBER() OVER (PARTITION BY window_start, window_end ORDER BY v DESC) <= 2"
OVER_VIEWS = (
    "SELECT k, count(*) AS n FROM s GROUP BY k, window(ts, '1 minute')",
    f"SELECT window_start, sum(n) AS m FROM ({PANES}) GROUP BY window_start, window_end",
    f"SELECT window_start, k, v FROM TUMBLE(s, ts, INTERVAL '1' MINUTE) QUALIFY {TOP}",
    "SELECT k, sum(v) OVER (PARTITION BY k ORDER BY ts ROWS 2 PRECEDING) AS t FROM s",
    "SELECT s.k FROM s JOIN o ON s.k = o.k AND o.ts BETWEEN s.ts AND s.ts + INTERVAL '1' MINUTE",
)


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("text", OVER_VIEWS)
def test_operators_over_a_view_have_its_limit(feed: Feed, text: str, streaming: bool) -> None:
    """semantics 46.113: also over a view of a view, and over a batch."""
    feed.put((0, "a", 1))
    options = f"path '{feed.folder}', max_future_skew '{{}}', streaming '{str(streaming).lower()}'"
    view = f"""CREATE TEMPORARY VIEW {{}} (ts TIMESTAMP, k STRING, v BIGINT, WATERMARK TS DELAY OF '1 minute')
    USING parquet OPTIONS ({options})"""
    for name, skew in (("s", "1 hour"), ("o", "2 hours")):
        (step,) = compile_script(view.format(name, skew)).steps
        assert isinstance(step, SourceStep)
        source_of(feed.spark, step).createOrReplaceTempView("first" if name == "s" else name)
    feed.spark.sql("SELECT k, ts, v FROM first WHERE v > 0").createOrReplaceTempView("s")
    with warnings.catch_warnings(action="error"):
        result = sql(text)
    limits = {port: entry.max_future_skew for port, entry in result.dataflow.spec.ports.items()}
    hour, hours = pw.Duration.of("1 hour"), pw.Duration.of("2 hours")
    assert limits == ({"left": hour, "right": hours} if "JOIN" in text else {"input": hour})


def test_a_table_may_have_another_limit_than_its_view(feed: Feed) -> None:
    """semantics 46.113"""
    feed.put((0, "a", 1))
    stream = with_limit(guarded(feed), "TS", pw.Duration.of("1 hour"))
    limited = "s WITH (max_future_skew = '5 minutes')"
    text = f"SELECT k, count(*) AS n FROM {limited} GROUP BY k, window(ts, '1 minute')"
    assert sql(text, s=stream).dataflow.spec.max_future_skew == pw.Duration.of("5 minutes")


def test_a_batch_has_no_watermark(feed: Feed) -> None:
    feed.put(*ROWS[0])
    batch = feed.batch()
    assert with_watermark(batch, "ts", "10 seconds", max_future_skew="1 hour") is batch


def test_metadata_of_the_column_stay(feed: Feed) -> None:
    stream = feed.stream().withMetadata("ts", {"comment": "of the device"})
    (field, *_) = with_watermark(stream, "ts", "1 minute", max_future_skew=0).schema.fields
    assert field.metadata == {"comment": "of the device", "spark.watermarkDelayMs": 60_000}


@pytest.mark.parametrize(
    ("column", "delay", "skew", "message"),
    [
        ("t", "1 minute", "1 hour", "event time 't' | the event time is a column of type TIMESTAMP"),
        ("k", "1 minute", "1 hour", "use one of the columns ['ts']"),
        ("ts", -1, "1 hour", "delay is not negative"),
        ("ts", "1 minute", -1, "max_future_skew is not negative"),
    ],
)
def test_errors(feed: Feed, column: str, delay: str | int, skew: str | int, message: str) -> None:
    with pytest.raises(SpecError) as error:
        with_watermark(feed.stream(), column, delay, max_future_skew=skew)
    assert message in str(error.value)


def test_a_stream_has_one_watermark(feed: Feed) -> None:
    with pytest.raises(SpecError, match="a second watermark"):
        with_watermark(guarded(feed), "ts", "1 minute", max_future_skew="1 hour")


@pytest.mark.parametrize("skew", [None, pw.Duration.of("1 hour")])
def test_a_name_with_spaces_and_dots(feed: Feed, skew: pw.Duration | None) -> None:
    """It is a name, and no expression (semantics 35.1)."""
    df = feed.stream().withColumnRenamed("ts", "at. ts")
    marked = watermarked_by(df, "at. ts", pw.Duration.of("10 seconds"), skew)
    assert marked.columns == df.columns
    assert delay_of(marked, ("at. ts",)) == pw.Duration.of("10 seconds")
