"""Tests of batch code with one import changed: a stream gives what a batch does (semantics 29.12)."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import polars as pl
import pyspark.sql
import pyspark.sql.classic.dataframe
import pytest
from pyspark.errors import PySparkTypeError
from pyspark.sql import DataFrame, SparkSession

import panewise.spark.compat
from panewise.errors import SpecError
from panewise.spark.compat import Window, disable, enable, enabled, result_of
from panewise.spark.compat import functions as F
from tests.spark.builders.test_over import assert_equal, made, native, put_some, windows
from tests.spark.conftest import Feed, emitted

W = Window.partitionBy("k").orderBy("ts")
METHODS = ("withColumn", "withColumns", "select")


@pytest.fixture(autouse=True)
def _enabled() -> Iterator[None]:
    with enabled():
        yield


def methods() -> list[Any]:
    return [vars(pyspark.sql.classic.dataframe.DataFrame)[name] for name in METHODS]


def job(sql: Any, df: DataFrame) -> DataFrame:
    """Returns what somebody's batch code may make of a DataFrame; `sql` is the module that it imports."""
    F, Window = sql.functions, sql.Window  # noqa: N806 - PySpark's names
    w = Window.partitionBy("k").orderBy("ts")
    last = w.rowsBetween(-2, Window.currentRow)
    return (
        df.withColumn("rise", F.col("v") - F.lag("v").over(w))
        .withColumn("shop", F.upper("k"))
        .withColumn("total", F.sum(F.col("v") * 2).over(last))
        .withColumns(
            {
                "big": F.when(F.max("v").over(last) > 6, "big").otherwise(
                    F.concat(F.lit("small "), F.min("v").over(last).cast("string"))
                ),
                "share": F.round(F.col("v") / F.nullif(F.sum("v").over(last), F.lit(0)), 3),
                "known": ~F.isnull(F.coalesce(F.lead("v", 2).over(w), F.lit(None))) & F.col("v").isNotNull(),
                "number": (F.row_number().over(w) + 0).cast("bigint"),
            }
        )
        .withColumn("twice", F.col("rise") * 2)
        .withColumn("rows", F.count("*").over(w))
        .select(
            "*",
            F.avg(F.col("v")).over(last.orderBy(F.col("ts").asc())).alias("mean"),
            F.last("v", True).over(last).alias("new"),
        )
    )


def stream(feed: Feed) -> DataFrame:
    return feed.stream().withWatermark("ts", "10 seconds")


@pytest.mark.nightly
def test_the_same_code_on_a_stream_and_on_a_batch(feed: Feed) -> None:
    put_some(feed)
    wanted = pl.DataFrame(job(pyspark.sql, feed.batch()).toArrow())
    assert_equal(pl.DataFrame(job(panewise.spark.compat, feed.batch()).toArrow()), wanted.sort("k", "ts"))
    feed.put((10_000, "z", 1), (20_000, "z", 1))
    found = emitted(feed, job(panewise.spark.compat, stream(feed)))
    told = found.filter(pl.col("k") != "z").select(wanted.columns).sort("k", "ts")
    assert told.height == feed.batch().count() - 2 - 2 * 3, (
        "the last two rows of a key wait for what lead looks at"
    )
    assert_equal(told, wanted.join(told, on=["k", "ts"], how="semi").sort("k", "ts"))


@pytest.mark.nightly
def test_every_function_of_a_frame(feed: Feed) -> None:
    put_some(feed)
    rows = feed.batch().count()
    feed.put(*((10_000 + n, k, 1) for n in range(3) for k in "abc"), (20_000, "z", 1))
    wanted = native(feed)
    columns = made(F, windows(Window, W, spark=False))
    found = emitted(feed, stream(feed).withColumns(columns))
    assert found.height >= rows
    assert_equal(found, wanted.join(found, on=["k", "ts"], how="semi").sort("k", "ts"))


def test_keys_may_be_null_and_expressions(feed: Feed) -> None:
    feed.put((0, None, 1), (1, "ab", 2), (2, "ac", 3), (3, None, 4), (100, "z", 0), (200, "z", 0))

    def asked(sql: Any, df: DataFrame) -> DataFrame:
        F = sql.functions  # noqa: N806 - PySpark's name
        w = sql.Window.partitionBy(F.substring("k", 1, 1)).orderBy("ts").rowsBetween(-1, 0)
        return df.withColumn("total", F.sum("v").over(w)).withColumn("key", F.first(F.upper("k")).over(w))

    wanted = pl.DataFrame(asked(pyspark.sql, feed.batch()).toArrow()).filter(pl.col("v") > 0).sort("ts")
    assert (
        emitted(feed, asked(panewise.spark.compat, stream(feed)))
        .filter(pl.col("v") > 0)
        .sort("ts")
        .equals(wanted)
    )


@pytest.mark.nightly
def test_a_column_may_be_made_anew_after_a_function_has_read_it(feed: Feed) -> None:
    feed.put((0, "a", 1), (1, "a", 2), (100, "z", 0), (200, "z", 0))

    def asked(sql: Any, df: DataFrame) -> DataFrame:
        F = sql.functions  # noqa: N806 - PySpark's name
        w = sql.Window.partitionBy("k").orderBy("ts")
        anew = df.withColumn("total", F.sum("v").over(w)).withColumn(col=F.col("total") * 10, colName="V")
        return anew.withColumn("first", F.first("k").over(w))

    wanted = pl.DataFrame(asked(pyspark.sql, feed.batch()).toArrow()).filter(pl.col("k") == "a").sort("ts")
    assert wanted["V"].to_list() == [10, 30]
    found = asked(panewise.spark.compat, stream(feed))
    assert emitted(feed, found).filter(pl.col("k") == "a").sort("ts").equals(wanted)
    with pytest.raises(SpecError, match="'V', a new column"):
        found.withColumn("x", F.sum("v").over(W))


def test_fields_have_the_names_that_spark_gives_them(feed: Feed) -> None:
    """Not those of columns inside, which differ in each process and so after a restart (semantics 29.12)."""

    def asked(sql: Any, df: DataFrame) -> DataFrame:
        F = sql.functions  # noqa: N806 - PySpark's name
        w = sql.Window.partitionBy("k").orderBy("ts")
        total, before = F.sum("v").over(w), F.lag("v").over(w)
        made = {
            "both": F.struct("k", total, before),
            "named": F.struct(total.alias("total"), (total + 1).alias("more")),
            "nested": F.struct(F.struct(before)),
            "zipped": F.arrays_zip(F.collect_list("v").over(w), F.array("v")),
            "mapped": F.create_map(F.lit("a"), total),
        }
        return df.select(
            "k", F.struct(total, "v").alias("mixed"), *(column.alias(name) for name, column in made.items())
        )

    wanted = asked(pyspark.sql, feed.batch()).schema
    found = asked(panewise.spark.compat, stream(feed)).schema
    assert found.simpleString() == wanted.simpleString()


def test_a_range_in_words_is_one_in_batch_too(feed: Feed) -> None:
    feed.put((0, "a", 1), (5, "a", 2), (9, "a", 4))
    column = F.sum("v").over(W.rangeBetween("-5 seconds", Window.currentRow))
    assert sorted(row["s"] for row in feed.batch().withColumn("s", column).collect()) == [1, 3, 6]
    with pytest.raises(Exception, match="bounds of a range that are texts"):
        feed.batch().orderBy(column).collect()


def test_directions_of_the_order(feed: Feed) -> None:
    """semantics 29.13"""
    feed.put((0, "a", 1), (1, "a", 2))
    window = Window.partitionBy("k").orderBy(F.desc("ts"), F.col("v").asc_nulls_last())
    column = F.sum("v").over(window.rowsBetween(Window.currentRow, Window.unboundedFollowing))
    spec = result_of(stream(feed).withColumn("s", column)).spec
    assert (spec.event_time, spec.descending, spec.nulls_last) == ("ts", ("ts",), ("v",))
    assert sorted(row["s"] for row in feed.batch().withColumn("s", column).collect()) == [1, 3]


@pytest.mark.nightly
def test_late_and_invalid_rows_are_with_the_operator(feed: Feed) -> None:
    feed.put((0, "a", 1), (None, "a", 2))
    df = stream(feed).withColumn("before", F.lag("v").over(W)).withColumn("plain", F.lit(1))
    assert result_of(df).spec == result_of(stream(feed).withColumn("x", F.lag("v").over(W))).spec, (
        "names are the same at each start"
    )
    assert emitted(feed, result_of(df).invalid, "invalid")["reason"].to_list() == ["event time is null"]
    with pytest.raises(
        SpecError, match=r"^rows of result_of\(df\) \| .* lack the columns that Spark computes"
    ):
        result_of(df).rows  # noqa: B018 - is built
    with pytest.raises(SpecError, match=r"^write\(rows=\.\.\.\) of result_of\(df\) \| "):
        result_of(df).write(rows=lambda rows, batch_id: None, checkpoint=feed.sink("none"))
    with pytest.raises(SpecError, match=r"only withColumn.* create an operator \| give the DataFrame that"):
        result_of(df.filter("v > 0"))


@pytest.mark.parametrize(
    ("columns", "told"),
    [
        (lambda: [F.ntile(4).over(W)], "count a whole partition, which has no end on a stream"),
        (lambda: [F.upper("k").over(W)], "functions over windows are those of panewise.functions"),
        (lambda: [F.count_distinct("v", "k").over(W)], "reads one column"),
        (lambda: [F.percentile("v", 0.5, 2).over(W)], "reads one column, each row once"),
        (
            lambda: [F.sum("v").over(Window.partitionBy("k").orderBy(F.col("ts").desc()))],
            "a stream has no last row",
        ),
        (lambda: [F.sum("v").over(Window.partitionBy("k").orderBy("v"))], "event time"),
        (lambda: [F.sum("v").over(Window.partitionBy("k"))], "whole partition, which has no end"),
        (lambda: [F.sum("v").over(W.rowsBetween(0, Window.unboundedFollowing))], "a stream has no last row"),
        (lambda: [F.lag(F.lag("v").over(W)).over(W)], "contains no such function"),
        (lambda: [F.lag("v").over(W), F.sum("c0").over(W)], "'c0', a new column"),
        (lambda: [F.lag("v").over(W), F.sum(F.col("v") + F.col("C0")).over(W)], "'c0', a new column"),
        (
            lambda: [F.sum("v").over(Window.orderBy(F.col("ts").cast("long")).rangeBetween(-600, 0))],
            "its event time, not an expression",
        ),
        (
            lambda: [F.lag("v").over(W), F.sum("v").over(Window.partitionBy("v").orderBy("ts"))],
            "have the same keys and order",
        ),
    ],
)
def test_what_a_stream_has_not_is_refused(feed: Feed, columns: Callable[[], list[Any]], told: str) -> None:
    def asked() -> DataFrame:
        return reduce(
            lambda df, numbered: df.withColumn(f"c{numbered[0]}", numbered[1]),
            enumerate(columns()),
            stream(feed),
        )

    with pytest.raises(SpecError, match=told):
        asked()


def test_what_has_no_window_is_as_it_was(spark: SparkSession, feed: Feed) -> None:
    feed.put((0, "a", 1), (1, "a", 2))
    assert F.sum is F.sum
    assert panewise.spark.compat.SparkSession is pyspark.sql.SparkSession
    assert set(F.__all__) == set(dir(F)) == set(pyspark.sql.functions.__all__)
    assert feed.batch().groupBy("k").agg(F.sum("v").alias("s"), F.max(F.col("v") + 1).alias("m")).first() == (
        "a",
        3,
        3,
    )
    assert [row[0] for row in feed.batch().select(F.col("v") * 2).collect()] == [2, 4]
    theirs = pyspark.sql.Window.partitionBy("k").orderBy("ts")
    assert [row[-1] for row in feed.batch().withColumn("n", F.row_number().over(theirs)).collect()] == [1, 2]
    with pytest.raises(PySparkTypeError, match=r"NOT_EXPECTED_TYPE|NOT_COLUMN"):
        feed.batch().withColumn("x", 1)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match="no_such_function"):
        _ = F.no_such_function
    doubled = F.udf(lambda value: value * 2, "bigint")
    # A range, not a Parquet file: PySpark 4.2.0 waits forever on a Python function over a Parquet file.
    assert [row[0] for row in spark.range(1, 3).select(doubled("id")).collect()] == [2, 4]


def test_the_import_changes_nothing() -> None:
    """The methods of both classes of DataFrames are those of before the import (semantics 29.12)."""
    probe = """
from pyspark.sql.classic import dataframe as classic
from pyspark.sql.connect import dataframe as connect
def methods():
    return [vars(kind)[name] for kind in (classic.DataFrame, connect.DataFrame)
            for name in ("withColumn", "withColumns", "select")]
before = methods()
import panewise.spark.compat as compat
assert methods() == before
compat.enable()
assert not set(methods()) & set(before)
compat.disable()
assert methods() == before
"""
    subprocess.run([sys.executable, "-c", probe], check=True)


def test_enable_and_disable_may_be_called_twice_and_nest() -> None:
    """The context manager restores the state that it found (semantics 29.12)."""
    disable()
    theirs = methods()
    enable()
    ours = methods()
    assert not set(ours) & set(theirs)
    enable()
    assert methods() == ours
    with enabled():
        disable()
        assert methods() == theirs
    assert [method.__wrapped__ for method in methods()] == theirs, "it was enabled before"
    disable()
    disable()
    assert methods() == theirs
    with enabled():
        with enabled():
            assert methods() != theirs
        assert methods() != theirs
    assert methods() == theirs
    with pytest.raises(ZeroDivisionError), enabled():
        _ = 1 / 0
    assert methods() == theirs


@pytest.mark.parametrize("batch", [True, False])
def test_without_enable_the_error_says_what_to_call(feed: Feed, batch: bool) -> None:
    """PySpark is not given a column that it would refuse on a stream (semantics 29.12)."""
    feed.put((0, "a", 1), (1, "a", 2))
    df = feed.batch() if batch else stream(feed)
    disable()
    rise = (F.col("v") - F.lag("v").over(W)).alias("rise")
    calls: list[Callable[[], Any]] = [
        lambda: df.withColumn("x", rise),
        lambda: df.withColumns({"x": rise}),
        lambda: df.select("k", rise),
        lambda: df.select(pyspark.sql.functions.abs(rise)),
    ]
    for call in calls:
        with pytest.raises(SpecError) as caught:
            call()
        assert caught.value.given == repr(rise)
        assert "lag(v, 1, NULL, false) OVER (PARTITION BY k" in caught.value.given
        assert (
            caught.value.rule == "PySpark takes columns with functions over such windows only after enable()"
        )
        assert caught.value.remedy == "call panewise.spark.compat.enable() first"
    assert df.withColumn("twice", F.col("v") * 2).columns == ["ts", "k", "v", "twice"]
    with enabled():
        made = df.withColumn("x", rise)
    assert made.columns == ["ts", "k", "v", "x"]
    if batch:
        assert [row["x"] for row in made.orderBy("ts").collect()] == [None, 1]
