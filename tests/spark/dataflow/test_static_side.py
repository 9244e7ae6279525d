"""As-of joins of a stream with a batch DataFrame (semantics 36.8)."""

from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession

import panewise as pw
from panewise import functions as F
from panewise.checkpoints.export import export_checkpoint
from panewise.errors import InputError, SpecError
from panewise.spark import ParquetSink, joined
from tests.spark.conftest import Feed, at, beside, write


@pytest.fixture
def table(feed: Feed) -> Feed:
    """The static side. It has a row without a partner's key, and one with a null key."""
    made = beside(feed, "table")
    made.put((0, "a", 1), (10, "a", 2), (5, "b", 3), (7, None, 4), (1, "c", 5))
    return made


def test_a_static_side_is_that_of_the_first_start(feed: Feed, table: Feed) -> None:
    """semantics 36.8: rows are decided at once; a restart does not read the table again; late rows stay."""
    left = feed.stream().withWatermark("ts", "5 seconds")
    result = joined(left, table.batch(), "ts").on("k").as_of().prefix(right="r_").how("left")

    feed.put((12, "a", 0), (4, "b", 1))
    write(feed, result, outputs=("rows", "left_late"))
    assert sorted(feed.read("rows").select("k", "v", "r_v").rows()) == [("a", 0, 2), ("b", 1, None)]
    table.put((11, "a", 9))
    feed.put((13, "a", 2), (9, "b", 3), (8, None, 4), (30, "c", 5), (3, "a", 6))
    write(feed, result, outputs=("rows", "left_late"))
    found = sorted(feed.read("rows").select("v", "k", "r_v").rows())
    assert found == [(0, "a", 2), (1, "b", None), (2, "a", 2), (3, "b", 3), (4, None, None), (5, "c", 5)]
    assert [row["v"] for row in feed.read("left_late")["row"]] == [6]


@pytest.mark.nightly
def test_a_static_side_moves_with_the_state(feed: Feed, table: Feed) -> None:
    """semantics 48.18: a query that begins with a file does not read the table."""
    rest = beside(feed, "rest")

    def run(of: Feed, name: str, file: str | None) -> list[tuple[str, int, int | None]]:
        left = of.stream().withWatermark("ts", "5 seconds")
        result = joined(left, table.batch(), "ts").on("k").as_of().prefix(right="r_").shards(2 + (of is rest))
        sinks = {"rows": ParquetSink(feed.sink(f"{name}-rows"))}
        options: Any = {"available_now": True, "initial_state": file}
        result.how("left").write(sinks, checkpoint=feed.sink(name), **options).awaitTermination()
        return sorted(feed.read(f"{name}-rows").select("k", "v", "r_v").rows())

    feed.put((12, "a", 0))
    assert run(feed, "first", None) == [("a", 0, 2)]
    export_checkpoint(feed.sink("first"), feed.sink("file"))
    table.put((11, "a", 9), (11, "d", 9))
    rest.put((13, "a", 2), (14, "d", 3), (15, "b", 4))
    assert run(rest, "second", feed.sink("file")) == [("a", 2, 2), ("b", 4, 3), ("d", 3, None)]


@pytest.fixture
def one_envelope_each(spark: SparkSession) -> Iterator[None]:
    """Spark gives Python one envelope at a time."""
    name = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before = spark.conf.get(name)
    spark.conf.set(name, 1)
    yield
    spark.conf.set(name, before)


@pytest.mark.nightly
@pytest.mark.usefixtures("one_envelope_each")
def test_a_static_side_is_one_batch_even_if_spark_cuts_it(feed: Feed, table: Feed) -> None:
    """semantics 36.8: the files arrive in any order, and with each order one key ends with the wrong row.

    No left row arrives in the first micro-batch.
    """
    table.put((5, "d", 2), (5, "e", 1))
    table.put((5, "d", 1), (5, "e", 2))
    left = feed.stream().withWatermark("ts", "5 seconds").where("v > 0")
    began = joined(left, table.batch(), "ts").on("k").order_by(right="v").as_of().prefix(right="r_")
    feed.put((9, "d", 0))
    feed.put((9, "d", 1), (9, "e", 1))
    write(feed, began.how("left"), outputs=["rows"])
    assert dict(feed.read("rows").select("k", "r_v").iter_rows()) == {"d": 2, "e": 2}


@pytest.mark.nightly
def test_windows_follow_the_watermark_of_the_stream(feed: Feed, table: Feed) -> None:
    """semantics 36.8, 42: the static side holds nothing back."""
    left = feed.stream().withWatermark("ts", "1 second")
    pairs = (
        joined(left, table.batch(), "ts")
        .on("k")
        .as_of("nearest", "20 seconds")
        .prefix(right="r_")
        .how("inner")
    )
    daily = pairs.then(keys=["k"], window=pw.Tumbling("10 seconds"), aggregates=[F.sum("r_v").alias("s")])
    feed.put((1, "a", 0), (6, "a", 1), (6, "b", 2))
    feed.put((45, "x", 0))
    write(feed, daily, outputs=["panes"])
    found = feed.read("panes").select("k", "window_start", "s").sort("k", "window_start").rows()
    assert [(k, (start - at(0)).total_seconds(), s) for k, start, s in found] == [
        ("a", 0.0, 1),
        ("a", 10.0, 2),
        ("b", 0.0, 3),
    ]


def test_what_a_static_side_cannot_have(feed: Feed, table: Feed) -> None:
    """semantics 36.8"""
    left = feed.stream().withWatermark("ts", "5 seconds")
    began = joined(left, table.batch(), "ts").on("k").prefix(right="r_")
    refused = [
        (lambda: began.within(0, 5).how("inner"), r"right: a batch \| .* AsOf may be a batch \| read all"),
        (
            lambda: joined(table.batch(), left, "ts").on("k").as_of().how("inner"),
            r"left: a batch.*\| .* \| read",
        ),
        (
            lambda: began.as_of().allowed_lateness(right="1 second").how("inner"),
            r"allowed_lateness of a static right side \| the rows of a static side arrive before .* \| leave",
        ),
        (
            lambda: began.as_of().idle_after("1 second").how("inner"),
            r"idle_after with a static right side \| .* \| leave it out",
        ),
        (lambda: began.as_of().how("inner").right.late, r"right.late of a static side \| .* \| leave it out"),
        (
            lambda: began.as_of().how("inner").write(right_counts=ParquetSink("x"), checkpoint="y"),
            r"right.counts of a static side \| .* \| leave it out",
        ),
    ]
    for make, message in refused:
        with pytest.raises(SpecError, match=message):
            make()


def test_an_invalid_row_of_a_static_side_is_an_error() -> None:
    """semantics 36.8: it is found where the table is read."""
    from panewise.spark.workers.pack import Pack
    from panewise.spec import AsOf, JoinOperator, Side, StreamTime

    sides = {
        "left": Side(keys=["k"], watermark=StreamTime(per="all")),
        "right": Side(keys=["k"], prefix="r_"),
    }
    schema = {"k": pl.String(), "event_time": pl.Datetime("us", "UTC")}
    spec = JoinOperator(**sides, match=AsOf())  # type: ignore[arg-type]
    pack = Pack(spec, dict.fromkeys(sides, schema), [0], late_wanted=True, port="right", strict=True)
    rows = pl.DataFrame({"k": ["a", "a"], "event_time": [at(0), None]}, schema=schema).to_arrow()
    with pytest.raises(
        InputError, match=r"1 invalid rows of the static right side.*null \| .* \| filter them"
    ):
        list(pack(iter(rows.to_batches())))
