"""Spark queries that begin with the state of another query (semantics 48)."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.checkpoints.layout import record_in
from panewise.cli import main
from panewise.errors import SpecError, StateError
from panewise.spark import JoinResult, ParquetSink, WindowResult, apply, windowed
from panewise.spark.queries import writer as writers
from panewise.standalone import StandaloneOperator
from panewise.state import Manifest
from tests.spark import connect_moved_job
from tests.spark.conftest import Feed, at, beside

pytestmark = pytest.mark.usefixtures("two_partitions")

ROWS = [
    [(1, "a", 1), (5, "b", 2), (12, "c", 3)],
    [(30, "a", 4), (2, "a", 5), (31, "d", 6)],
    [(35, "b", 7), (29, "a", 8), (64, "e", 9), (12, "c", 10)],
    [(70, "a", 11), (33, "b", 12), (200, "f", 13)],
]


def result(feed: Feed, shards: int, *more: pw.Aggregate) -> WindowResult:
    described = windowed(feed.stream().withWatermark("ts", "10 seconds"), event_time="ts").groupBy("k")
    described = described.window(pw.Session("15 seconds")).accumulation("retracting").shards(shards)
    described = described.allowed_lateness("20 seconds").trigger(
        pw.AfterWatermark(early=pw.Always(), late=pw.Always())
    )
    return described.agg(F.sum("v").alias("s"), F.collect_list("v").alias("all"), *more)


def panes(feed: Feed, *names: str) -> list[Any]:
    return sorted(
        (row for name in names for row in feed.read(name).drop("processing_time", "batch_id").rows()),
        key=repr,
    )


def export(feed: Feed, checkpoint: str, name: str) -> str:
    file = str(feed.folder / name)
    assert main(["state", "export", feed.sink(checkpoint), file]) == 0
    return file


def started(feed: Feed, of: WindowResult, name: str, file: str | None) -> None:
    sinks = {"panes": ParquetSink(feed.sink(f"{name}-panes"))}
    checkpoint = feed.sink(name)
    of.write(sinks, checkpoint=checkpoint, available_now=True, initial_state=file).awaitTermination()


@pytest.fixture(scope="module")
def first(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Feed:
    """A query "first" in two shards that has run, and the file "exported" with its state."""
    feed = Feed(spark, tmp_path_factory.mktemp("first"))
    feed.put((1, "a", 1), (5, "b", 2), (600, "h", 3))
    started(feed, result(feed, 2), "first", None)
    export(feed, "first", "exported")
    return feed


@pytest.mark.nightly
def test_a_query_continues_another_one(feed: Feed) -> None:
    """semantics 48.6, 48.9, 48.10: with other shards, and row for row what one query emits.

    Once a micro-batch was committed, neither the file nor its pieces in the checkpoint are needed.
    """
    rest, whole = beside(feed, "rest"), beside(feed, "whole")
    parts = [ROWS[:2], ROWS[2:], [[(201, "f", 14), (400, "g", 1), (600, "h", 1)]]]
    for number, part in enumerate(parts):
        for rows in part:
            whole.put(*rows)
            (rest if number else feed).put(*rows)
        started(feed, result(whole, 4), "one", None)
        if not number:
            started(feed, result(feed, 2), "first", None)
            file = export(feed, "first", "exported")
            continue
        started(feed, result(rest, 3), "second", file)  # goes on if it has begun with this file
        Path(file).unlink(missing_ok=True)
        shutil.rmtree(Path(feed.sink("second"), "panewise", "import"), ignore_errors=True)
    assert panes(feed, "first-panes", "second-panes") == panes(feed, "one-panes")


@pytest.mark.filterwarnings("ignore::panewise.errors.DroppedLateRowsWarning")
def test_states_that_are_refused(first: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 48.5, 48.7, 48.9, 48.17: states that are there already, other specifications, batches."""
    feed, file = first, first.sink("exported")
    with pytest.raises(StateError, match="where a state exists"):
        started(feed, result(feed, 2), "first", file)
    stream = feed.stream().withWatermark("ts", "10 seconds")
    described = windowed(stream, event_time="ts").groupBy("k").options(timestamp="end")
    changed = described.window(pw.Tumbling(5)).agg(F.count().alias("n"))
    with pytest.raises(
        StateError, match=r"a changed specification .* \| begin with the specification of the"
    ):
        started(feed, changed, "new", file)
    assert not Path(feed.sink("new-panes")).exists(), "no sink was prepared"
    both = windowed(changed, "timestamp").window(pw.Tumbling(50)).agg(F.count())
    with pytest.raises(
        StateError,
        match=r"with the operators \[0\] \| .* as many operators as the file: here 2 \(semantics 48.7\)",
    ):
        started(feed, both, "of two", file)
    own = windowed(feed.stream(), event_time="ts").watermark(pw.StreamTime()).window(pw.Tumbling(5))
    rows = own.options(timestamp="end").agg(F.count().alias("n")).panes.select("timestamp", "n")
    of_rows = windowed(rows, "timestamp").watermark(pw.StreamTime()).window(pw.Tumbling(50))
    both = of_rows.agg(F.count())
    with pytest.raises(SpecError, match=r"an operator behind a DataFrame \| .* \| give the result itself"):
        started(feed, both, "of two", file)
    once = apply(stream.dropDuplicates(["k", "ts"]), result(feed, 2).spec, shards=2)
    with pytest.raises(
        SpecError, match=r"behind Spark's own Deduplicate \| .* begin without one \(sem.* 48.17"
    ):
        started(feed, once, "behind Spark", file)
    with pytest.raises(SpecError, match="added_aggregates='zero'"):
        changed.write(panes=ParquetSink(feed.sink("zero")), added_aggregates="zero")  # type: ignore[arg-type]
    with monkeypatch.context() as patched:
        patched.setattr(writers, "_stepped", lambda *_: pytest.fail("it begins"))
        with pytest.raises(pytest.fail.Exception):
            started(feed, result(feed, 2), "interrupted", file)
        more = replace(result(feed, 2).spec, allowed_lateness=0)
        with pytest.raises(StateError, match=r"runs with the specification of the file"):
            started(
                feed,
                apply(feed.stream().withWatermark("ts", "10 seconds"), more, shards=2),
                "interrupted",
                file,
            )
    with pytest.raises(SpecError, match="the history of an operator are batch DataFrames"):
        changed.export_state(feed.folder / "of stream")
    batch = windowed(feed.batch(), event_time="ts").groupBy("k").window(pw.Tumbling(5)).agg(F.count())
    with pytest.raises(SpecError, match="a batch is processed as a whole"):
        batch.write(panes=ParquetSink(feed.sink("of batch")), initial_state=file)


def test_exports_between_two_micro_batches(
    first: Feed, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """semantics 48.14, 48.15: of a micro-batch that has begun, and a change that no shard has."""
    checkpoint = tmp_path / "copy"
    shutil.copytree(first.sink("first"), checkpoint)
    last = max(int(file.name) for file in (checkpoint / "commits").glob("[0-9]*"))
    command = ["state", "export", str(checkpoint)]
    assert main([*command, str(tmp_path / "before")]) == 0
    assert "has begun" not in capsys.readouterr().out
    shutil.copy(checkpoint / "offsets" / str(last), checkpoint / "offsets" / str(last + 1))
    assert main([*command, str(tmp_path / "after")]) == 0
    assert f"micro-batch {last + 1} has begun" in capsys.readouterr().out
    record = Manifest.decode(record_in(checkpoint) or "")
    changed = replace(record, spec={**record.spec, "keys": ["v"]}, version=record.version + 1)
    (checkpoint / "panewise" / "operator" / "part-new").write_text(changed.encode())
    command.append(str(tmp_path / "of batch"))
    assert main(command) == 2
    assert "let the query run a micro-batch with rows first, or give --batch" in capsys.readouterr().err
    assert main([*command, "--batch", str(last)]) == 0


def test_to_a_process_and_back(first: Feed) -> None:
    """semantics 48.8: an operator in process continues a query, and a query continues the operator.

    In process it gets another aggregate, which has not seen the rows before (47.3). The last query has other
    shards, and once it has committed a micro-batch it needs neither the file nor its pieces (48.6, 48.10).
    """
    feed, file = first, first.sink("exported")
    spec, types = result(feed, 2).spec, {"ts": "timestamp", "k": "string", "v": "bigint"}
    back, store, n = str(feed.folder / "back"), feed.folder / "store", F.count().alias("n")
    with StandaloneOperator(spec, types, initial_state=file, store=store) as operator:
        assert operator.live()["k"].to_list() == ["h"]
        operator.add_message({"ts": at(605), "k": "h", "v": 4})
        assert [row["s"] for one in operator.drain() for row in one.rows.to_dicts() if row["op"] == "+"] == [
            7
        ]
        operator.flush()
    with StandaloneOperator(result(feed, 2, n).spec, types, store=store) as operator:
        operator.export_state(back)
    rest = beside(feed, "rest")
    rest.put((607, "h", 5), (900, "i", 1))
    started(feed, result(rest, 3, n), "third", back)
    Path(back).unlink()
    shutil.rmtree(Path(feed.sink("third"), "panewise", "import"), ignore_errors=True)
    rest.put((905, "i", 2), (1200, "j", 1))
    started(feed, result(rest, 3, n), "third", back)
    on_time = (row for row in feed.read("third-panes").to_dicts() if row["timing"] == "ON_TIME")
    assert {(row["k"], row["s"], row["n"]) for row in on_time} == {("h", 12, None), ("i", 3, 2)}


def three(feed: Feed, other: Feed, shards: int) -> JoinResult:
    return connect_moved_job.pairs(feed.stream(), other.stream(), shards, None)


def pairs(feed: Feed, *names: str) -> list[tuple[Any, ...]]:
    frames = [feed.read(f"{name}-rows").select("k", "timestamp", "v", "r_timestamp", "r_v") for name in names]
    return sorted((row for frame in frames for row in frame.rows()), key=repr)


def run_three(feed: Feed, of: JoinResult, name: str, file: str | None = None) -> None:
    sinks = {"rows": ParquetSink(feed.sink(f"{name}-rows"))}
    of.write(sinks, checkpoint=feed.sink(name), available_now=True, initial_state=file).awaitTermination()


@pytest.mark.nightly
def test_a_query_with_several_operators(feed: Feed, other: Feed) -> None:
    """semantics 48.6, 48.7, 48.9: each operator goes on with its own state, in other shards.

    Operators with equal specifications get their states by their places. In process an operator gets the
    state of the only one with its specification.
    """
    whole, rest, whole_right, rest_right = (beside(feed, name) for name in ("w", "r", "wr", "rr"))
    files = [((1, "a", 1), (2, "b", 2)), ((3, "a", 4), (17, "c", 8)), ((18, "a", 16), (40, "b", 32))]
    for number, rows in enumerate(files):
        more = [(seconds + 1, key, 100 * value) for seconds, key, value in rows]
        for left, right in ((whole, whole_right), (rest, rest_right) if number == 2 else (feed, other)):
            left.put(*rows)
            right.put(*more)
        if number:
            run_three(feed, three(whole, whole_right, 2), "one")
        if number == 1:
            run_three(feed, three(feed, other, 2), "first")
            file = export(feed, "first", "exported")
    run_three(feed, three(rest, rest_right, 3), "second", file)
    assert pairs(feed, "first", "second") == pairs(feed, "one")
    assert any(row[-1] == 1600 for row in pairs(feed, "second"))
    last, windows = three(feed, other, 2), windows_of(feed)
    columns = {"k": "string", "timestamp": "timestamp", "v": "bigint"}
    with StandaloneOperator(last.spec, {"left": columns, "right": columns}, initial_state=file) as operator:
        assert operator.live().height
    types = {"ts": "timestamp", "k": "string", "v": "bigint"}
    with pytest.raises(
        StateError,
        match=r"the operators \[0, 1, 2\] \| exactly one of them has the specification, here 2 ",
    ):
        StandaloneOperator(windows, types, initial_state=file)


@pytest.mark.nightly
def test_an_operator_without_a_state_yet(feed: Feed) -> None:
    """semantics 48.7: no window of the first operator has ended when the query is exported."""
    rest = beside(feed, "rest")

    def hours(of: Feed, shards: int) -> WindowResult:
        first = windowed(of.stream().withWatermark("ts", "4 seconds"), event_time="ts").groupBy("k")
        first = first.window(pw.Tumbling("10 seconds")).options(timestamp="window_time").shards(shards)
        second = windowed(first.agg(F.sum("v").alias("v")), "timestamp").window(pw.Tumbling("1 minute"))
        return second.agg(F.sum("v").alias("s"))

    feed.put((1, "a", 1), (2, "b", 2))
    started(feed, hours(feed, 2), "first", None)
    file = export(feed, "first", "exported")
    rest.put((3, "a", 4), (100, "a", 8))
    started(feed, hours(rest, 3), "second", file)
    assert feed.read("second-panes")["s"].to_list() == [7]


def windows_of(feed: Feed) -> pw.WindowOperator:
    described = windowed(feed.stream().withWatermark("ts", "4 seconds"), event_time="ts").groupBy("k")
    described = described.window(pw.Tumbling("10 seconds")).options(timestamp="window_time")
    return described.agg(F.sum("v").alias("v")).spec


def test_history_as_a_batch(feed: Feed) -> None:
    """semantics 48.5: totals of all time, of which the older rows are a batch."""
    feed.put(*((n, "ab"[n % 2], n) for n in range(10)))
    file = str(feed.folder / "history")

    def totals(df: Any) -> WindowResult:
        described = windowed(df, event_time="ts").groupBy("k").window(pw.Global()).trigger(pw.Always())
        return described.agg(F.sum("v").alias("s"))

    totals(feed.batch()).export_state(file)
    rest = beside(feed, "rest")
    rest.put((11, "a", 100), (12, "c", 200))
    started(feed, totals(rest.stream().withWatermark("ts", "10 seconds")), "totals", file)
    assert sorted(feed.read("totals-panes").select("k", "s").rows()) == [("a", 120), ("c", 200)]


@pytest.mark.filterwarnings("ignore::panewise.errors.DroppedLateRowsWarning")
def test_other_sources_are_refused(first: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 48.13"""
    other, stream, spec = beside(first, "right").stream(), first.stream(), result(first, 2).spec

    def go_on(df: DataFrame) -> None:
        started(first, apply(df.withWatermark("ts", "10 seconds"), spec, shards=2), "first", None)

    with pytest.raises(StateError, match=r"a query with 2 sources .* this one has 1 .*initial_state="):
        go_on(stream.union(other))
    with pytest.raises(StateError, match=r"a query with \['Deduplicate'\] stateful operators"):
        go_on(stream.withWatermark("ts", "10 seconds").dropDuplicates(["k", "ts"]))
    monkeypatch.setattr(writers, "_stepped", lambda *_: pytest.fail("it begins"))
    with pytest.raises(pytest.fail.Exception, match="it begins"):
        go_on(stream.where("v < 10").withColumn("w", SF.lit(1)))
