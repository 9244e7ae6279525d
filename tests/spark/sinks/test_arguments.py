"""Tests of the checks of sinks before a query starts, and of sinks that are added later."""

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import panewise as pw
from panewise import functions as F
from panewise.errors import SpecError, StateError
from panewise.spark import KafkaSink, ParquetSink, WindowQuery, WindowResult, windowed
from panewise.spark.sinks.arguments import check_sinks, resolved_sink
from panewise.spark.sinks.base import PathSink
from tests.spark.conftest import Feed

SAME = "two outputs of a query have one place, and would overwrite or mix their rows | give each a place of"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/out/x", "/out/x"),
        ("/out/x", "/out/x/"),
        ("/out/x", "/out//y/../x"),
        ("/out/x", "file:/out/x"),
        ("file:///out/x/", "/out/./x"),
        ("out/x", str(Path("out/x").resolve())),
        ("s3a://bucket/out/x", "S3A://bucket//out/x/"),
        ("hdfs://host:9000/", "hdfs://host:9000"),
        ("hdfs:///out", "hdfs:/out"),
    ],
)
def test_two_sinks_with_one_path(one: str, other: str) -> None:
    with pytest.raises(SpecError, match=re.escape(f"panes and late with the path {other!r} | {SAME}")):
        check_sinks({"panes": ParquetSink(one), "late": ParquetSink(other)})


BROKER = {"kafka.bootstrap.servers": "a:1, b:2"}
AGAIN = {"kafka.bootstrap.servers": "b:2,a:1"}


def test_a_topic_with_upserts_has_one_output() -> None:
    """Others may append to a topic together (semantics 49.11)."""
    kinds = {"rows": "panes", "second_panes": "panes", "late": "late", "invalid": "invalid"}
    for others in ({"late": KafkaSink("t", AGAIN)}, {"second_panes": KafkaSink("t", AGAIN, mode="append")}):
        with pytest.raises(SpecError, match=r"^rows and .* with the topic 't' \| a topic with upserts"):
            check_sinks({"rows": KafkaSink("t", BROKER), **others}, "rows", kinds)
    dead = {"late": KafkaSink("t", AGAIN), "invalid": KafkaSink("t", BROKER)}
    check_sinks({"rows": KafkaSink("other", BROKER), **dead}, "rows", kinds)
    check_sinks({"rows": KafkaSink("t", BROKER, mode="append"), **dead}, "rows", kinds)


class TextSink(PathSink):
    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, rows: DataFrame, batch_id: int) -> None: ...

    def prepare(self, empty: DataFrame) -> None: ...

    def prepared(self, session: SparkSession) -> bool:
        return True


def test_a_sink_of_another_format_has_a_path_of_its_own() -> None:
    with pytest.raises(SpecError, match=re.escape(f"panes and late with the path '/out' | {SAME}")):
        check_sinks({"panes": ParquetSink("/out"), "late": TextSink("/out")})


def test_a_link_to_another_sink(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "out")
    with pytest.raises(SpecError, match="have one place"):
        check_sinks({"panes": ParquetSink(f"{tmp_path}/out"), "counts": ParquetSink(f"{tmp_path}/link")})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/out/x", "/out/y"),
        ("/out", "/out/late"),
        ("s3a://bucket/out", "s3a://other/out"),
        ("s3a://bucket/out", "hdfs://bucket/out"),
        ("/out/a?b", "/out/a?c"),
        ("/out/X", "/out/x"),
    ],
)
def test_sinks_with_paths_of_their_own(one: str, other: str) -> None:
    check_sinks({"panes": ParquetSink(one), "late": ParquetSink(other), "counts": lambda rows, batch: None})


@pytest.mark.parametrize(
    ("sinks", "message"),
    [
        (
            {},
            (
                "write() without a sink | write() needs a sink for at least one output | give "
                "panes=ParquetSink(path), or a sink for another output"
            ),
        ),
        (
            {"panes": "out"},
            (
                "panes='out' | a sink is a path, a table, a sink object, or a function of (DataFrame, "
                "batch_id) | give panes=ParquetSink('out') for"
            ),
        ),
        (
            {"late": 7},
            (
                "late=7 | a sink is a path, a table, a sink object, or a function of (DataFrame, "
                "batch_id) | give late=ParquetSink('a/path')"
            ),
        ),
    ],
)
def test_objects_that_are_no_sinks(sinks: Mapping[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=re.escape(message)):
        check_sinks(sinks)


def test_a_path_is_a_sink() -> None:
    """semantics 49.5"""
    assert resolved_sink("out/x") == ParquetSink("out/x")
    with pytest.raises(SpecError, match=re.escape(SAME)):
        check_sinks({"panes": resolved_sink("/out/x"), "late": ParquetSink("/out/./x")})


def described(df: DataFrame) -> WindowResult:
    watched = df.withWatermark("ts", "10 seconds")
    return (
        windowed(watched, event_time="ts")
        .groupBy("k")
        .window(pw.Tumbling("1 minute"))
        .agg(F.sum("v").alias("s"))
    )


def test_write_checks_its_sinks_and_triggers(feed: Feed) -> None:
    result, checkpoint = described(feed.stream()), feed.sink("checkpoint")
    with pytest.raises(SpecError, match=r"^panes=7 \| a sink is a path, a table"):
        result.write(panes=7, checkpoint=checkpoint)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match=r"^write\('out/x'\) \| a sink is given by the name of its output"):
        result.write("out/x", checkpoint=checkpoint)  # type: ignore[arg-type]
    with pytest.raises(SpecError, match=r"^two sinks for panes \| an output has one sink \| give one"):
        result.write({"panes": ParquetSink("/a")}, panes=ParquetSink("/b"), checkpoint=checkpoint)
    with pytest.raises(SpecError, match="have one place"):
        result.write(panes=ParquetSink("/out"), late=ParquetSink("/out/"), checkpoint=checkpoint)
    with pytest.raises(
        SpecError,
        match=r"^available_now=True with processing_time='1 second' \| a run that stops when everything "
        r"is processed has no interval "
        r"between micro-batches \| leave out one of the two \[PW-",
    ):
        result.write(
            panes=ParquetSink("/out"), checkpoint=checkpoint, available_now=True, processing_time="1 second"
        )
    assert not Path(checkpoint).exists()


class Seen:
    """A sink that records the columns and the number of rows of each call."""

    def __init__(self) -> None:
        self.calls = list[tuple[int, list[str], int]]()

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        self.calls.append((batch_id, rows.columns[:2], rows.count()))


def test_an_output_without_rows_has_a_table(feed: Feed) -> None:
    """A function is called with an empty DataFrame once (semantics 35.9).

    A sink that is added to a checkpoint is readable at once, too. A moved checkpoint is refused, until there
    is a link at its first place (semantics 35.10).
    """
    feed.put((0, "a", 1))
    feed.put((1, "a", 1))
    late, panes = Seen(), Seen()
    sinks = {"late": late, "panes": panes, "invalid": ParquetSink(feed.sink("invalid"))}
    described(feed.batch()).write(**sinks)
    assert feed.read("invalid").is_empty()
    assert late.calls == [(0, ["row", "reason"], 0)]
    assert panes.calls == [(0, ["k", "window_start"], 1)]
    late.calls.clear()
    query = described(feed.stream()).write(late=late, checkpoint=feed.sink("checkpoint"), available_now=True)
    query.awaitTermination()
    assert late.calls == [(0, ["row", "reason"], 0)]
    moved, made = feed.sink("moved"), feed.sink("checkpoint")
    Path(made).rename(moved)
    message = (
        rf"^the checkpoint {moved}, which was made at {made} \| a checkpoint cannot be moved, .* \| move it"
    )
    with pytest.raises(StateError, match=message):
        described(feed.stream()).write(late=late, checkpoint=moved, available_now=True)
    Path(made).symlink_to(moved)
    feed.put((2, "a", 1))
    added = ParquetSink(feed.sink("added"))
    query = described(feed.stream()).write(
        late=late, invalid=added, checkpoint=moved, available_now=True, name="minutes"
    )
    assert query.name == "minutes"
    query.awaitTermination()
    assert len(late.calls) == 1
    assert feed.read("added").columns[:2] == ["row", "reason"]
    assert feed.read("added").is_empty()


@pytest.mark.nightly
def test_a_copied_checkpoint_continues_beside_the_first_one(feed: Feed) -> None:
    """It is accepted while the first one is at its path (semantics 35.10). Both have its state."""

    def run(checkpoint: str, panes: str) -> None:
        query = described(feed.stream()).write(
            panes=ParquetSink(feed.sink(panes)), checkpoint=feed.sink(checkpoint), available_now=True
        )
        query.awaitTermination()

    feed.put((0, "a", 1))
    run("checkpoint", "before")
    shutil.copytree(feed.sink("checkpoint"), feed.sink("copied"))
    feed.put((1, "a", 2))
    feed.put((600, "b", 4))
    for checkpoint, panes in (("copied", "copy"), ("checkpoint", "first")):
        run(checkpoint, panes)
    assert (
        feed.read("copy").select("k", "s").rows() == feed.read("first").select("k", "s").rows() == [("a", 3)]
    )


def sums_of(rows: DataFrame) -> WindowResult:
    return windowed(rows, "ts").groupBy("k").window(pw.Tumbling("10 seconds")).agg(F.sum("v").alias("s"))


@pytest.mark.spark
def test_what_a_query_writes_is_apart(feed: Feed) -> None:
    """semantics 49.56"""
    feed.put((1, "a", 1))
    result, before = sums_of(feed.stream().withWatermark("ts", "1 second")), sorted(feed.folder.rglob("*"))
    refused = [
        ({"panes": str(feed.path)}, "checkpoint", "panes at .* and a source that reads"),
        ({"panes": f"{feed.path}/out"}, "checkpoint", "panes at .* and a source that reads"),
        ({"panes": feed.sink("panes")}, "in/checkpoint", "checkpoint at .* and a source that reads"),
        ({"panes": feed.sink("panes")}, "panes", "inside"),
        (
            {"panes": feed.sink("p"), "late": f"{feed.folder}/p/late"},
            "checkpoint",
            "late at .*, inside panes",
        ),
    ]
    for sinks, checkpoint, message in refused:
        with pytest.raises(SpecError, match=message):
            result.write(sinks, checkpoint=f"{feed.folder}/{checkpoint}", available_now=True)
    with pytest.raises(SpecError, match=r"late at .*, inside panes at"):
        sums_of(feed.batch()).write(panes=feed.sink("p"), late=f"{feed.folder}/p/late")
    assert sorted(feed.folder.rglob("*")) == before


@pytest.mark.spark
def test_what_cannot_be_written_is_named(feed: Feed) -> None:
    """semantics 49.57"""
    feed.put((1, "a", 1))
    result, file = sums_of(feed.stream().withWatermark("ts", "1 second")), feed.folder / "file"
    file.write_text("no directory")
    with pytest.raises(
        SpecError, match=f"the parquet files at '{file}/x' .* .* before the query .*Exception"
    ):
        result.write(panes=f"{file}/x", checkpoint=feed.sink("checkpoint"), available_now=True)
    old = feed.folder / "panes" / "batch_id=0"
    old.mkdir(parents=True)
    sink = ParquetSink(str(old.parent), overwrite=True)
    with pytest.raises(StateError, match=f"the checkpoint {file}/x .* can make and write: .*Exception"):
        result.write(panes=sink, checkpoint=f"{file}/x", available_now=True)
    with pytest.raises(SpecError, match=r"processing_time='10 secs' \| the interval"):
        result.write(panes=sink, checkpoint=feed.sink("other"), processing_time="10 secs")
    with pytest.raises(SpecError, match=r"checkpoint='' \| a checkpoint is the path"):
        result.write(panes=sink, checkpoint="")
    assert old.exists()  # no rows were deleted


@pytest.mark.spark
def test_two_queries_write_to_different_paths(feed: Feed) -> None:
    """semantics 49.58, 49.59"""
    feed.put((1, "a", 1))
    result = sums_of(feed.stream().withWatermark("ts", "1 second").where("v > 0"))

    def start(checkpoint: str, panes: str, *, overwrite: bool = False, once: bool = True) -> WindowQuery:
        sink = ParquetSink(feed.sink(panes), overwrite=overwrite)
        query = result.write(panes=sink, checkpoint=feed.sink(checkpoint), available_now=once)
        if once:
            query.awaitTermination()
        return query

    active = start("one", "p", once=False)
    with pytest.raises(SpecError, match=rf"the path '{feed.sink('p')}', to which the active query with"):
        start("two", "p")
    active.stop()
    start("two", "q")
    for overwrite in (False, True):
        Path(feed.sink("p"), "batch_id=0").mkdir(exist_ok=True)  # before a pane is written
        with pytest.raises(
            SpecError, match=r"rows of another query at .* \| a continued query has not written"
        ):
            start("two", "p", overwrite=overwrite)
    start("two", "r")
    Path(feed.sink("q"), "batch_id=7").mkdir()
    start("two", "q")  # where it has written before
