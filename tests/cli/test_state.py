"""Tests of the command `panewise state`, on checkpoints of real queries and on paths that have none."""

import json
import os
import pty
import shutil
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.checkpoints import partition
from panewise.checkpoints.shard import shard_figures
from panewise.cli import main, progress
from panewise.engine.checkpoint import StoredOperator
from panewise.engine.run_library import Cache, RunLibrary
from panewise.errors import StateError
from panewise.spark import ParquetSink, WindowBuilder, WindowResult, checkpoint_reader, windowed
from panewise.state import MemoryRunStore
from tests.house.sources import ROOT
from tests.nightly import first_here
from tests.spark.conftest import START, Feed, read_state

pytestmark = pytest.mark.usefixtures("two_partitions")

START_US = int(START.timestamp()) * 1_000_000
FED = [
    [(1, f"key {n}", n) for n in range(20)] + [(5, "key 0", 1), (61, "key 1", 1)],
    [(130, "a", 5), (3, "key 0", 7), (3, "b", 7)],
    [(400, "d", 9)],
]
# Of each micro-batch, in seconds: 10 seconds behind the rows before it. The last micro-batch has no rows.
WATERMARKS = [None, 51, 120, 390]


def over(feed: Feed) -> WindowBuilder:
    return windowed(feed.stream().withWatermark("ts", "10 seconds"), event_time="ts").groupBy("k")


def run(feed: Feed, result: WindowResult) -> str:
    checkpoint = feed.sink("checkpoint")
    result.write(
        panes=ParquetSink(feed.sink("panes")), checkpoint=checkpoint, available_now=True
    ).awaitTermination()
    return checkpoint


@pytest.fixture(scope="module")
def checkpoint(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns the checkpoint of a retracting query that has read FED, one list in each micro-batch."""
    feed = Feed(spark, tmp_path_factory.mktemp("state"))
    for batch in FED:
        feed.put(*batch)
    described = (
        over(feed).window(pw.Tumbling("1 minute")).accumulation("retracting").allowed_lateness("2 minutes")
    )
    return run(
        feed,
        described.trigger(pw.AfterWatermark(early=pw.Always(), late=pw.Always())).agg(F.sum("v").alias("s")),
    )


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Feed:
    return Feed(spark, tmp_path)


def live_after(batch: int) -> set[tuple[str, int]]:
    """Returns key and end, in seconds, of each live window after a micro-batch, computed from FED."""
    fed = [(k, (s // 60 + 1) * 60) for rows in FED[: batch + 1] for s, k, _ in rows]
    watermark = WATERMARKS[batch]
    return {(k, end) for k, end in fed if watermark is None or end + 120 > watermark}


@pytest.mark.parametrize("batch", first_here([2, None, 0, 1, 3]))
def test_counts_are_those_of_what_was_fed(spark: SparkSession, checkpoint: str, batch: int | None) -> None:
    state = read_state(spark, checkpoint, batch)
    assert state.batch == (3 if batch is None else batch)
    held, (operator,) = live_after(state.batch), state.operators
    total = operator.total
    assert (total.windows, total.keys) == (len(held), len({k for k, _ in held}))
    assert (total.oldest_end, total.newest_end) == tuple(
        START_US + end * 1_000_000 for end in (min(e for _, e in held), max(e for _, e in held))
    )
    watermark = WATERMARKS[state.batch]
    assert total.watermark == (None if watermark is None else START_US + watermark * 1_000_000)
    assert (operator.operator, operator.shard_count, [shard.shard for shard in operator.shards]) == (
        0,
        2,
        [0, 2],
    )
    assert total.bytes > 500 * total.runs > 0
    assert not total.finished


@pytest.mark.nightly
def test_sessions_that_merge_and_the_end_of_input(spark: SparkSession, feed: Feed) -> None:
    feed.put((0, "a", 1), (40, "a", 2), (7, "b", 1))
    feed.put((20, "a", 3))
    checkpoint = run(
        feed, over(feed).window(pw.Session("30 seconds")).finish("at_end").agg(F.count().alias("n"))
    )
    totals = {batch: read_state(spark, checkpoint, batch).operators[0].total for batch in (0, 1, None)}
    assert [(total.windows, total.keys, total.finished) for total in totals.values()] == [
        (3, 2, False),
        (2, 2, False),
        (0, 0, True),
    ]
    assert totals[1].newest_end == START_US + 70_000_000


def test_a_query_that_has_had_nothing_to_keep(feed: Feed, capsys: pytest.CaptureFixture[str]) -> None:
    feed.put()
    assert main(["state", run(feed, over(feed).window(pw.Global()).agg(F.count().alias("n")))]) == 0
    told = capsys.readouterr().out
    assert told.startswith(
        "Windows: one window without start or end, complete at the end of input; windows are "
        "separate for each k.\n"
    )
    assert "0 of 2 shards contain state" in told


def test_the_text(spark: SparkSession, checkpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["state", checkpoint]) == 0
    words, _, table = capsys.readouterr().out.partition("\n\n")
    assert words.startswith("Windows: each row belongs to one window of 1 minute;")
    assert words.endswith(
        "State: a window is purged when the watermark is 2 minutes past its end; at the end "
        "of input all windows are purged."
    )
    caption, header, *lines = table.splitlines()
    assert caption == "Operator 0 after micro-batch 3: 2 of 2 shards contain state"
    assert header.split()[:6] == ["shard", "windows", "keys", "runs", "bytes", "watermark"]
    assert [line.split()[0] for line in lines] == ["0", "2", "total"]
    assert lines[-1].split()[:4] == ["total", "1", "1", "1"]
    assert "2024-01-01 00:06:30Z" in lines[-1]
    assert lines[-1].endswith("open   2024-01-01 00:07:00Z  2024-01-01 00:07:00Z")


def test_the_command_in_a_process_of_its_own(
    spark: SparkSession, checkpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["state", checkpoint, "--json", "--batch", "2"]) == 0
    here = json.loads(capsys.readouterr().out)
    done = command("state", checkpoint, "--json", "--batch", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == here
    (operator,) = here["operators"]
    assert operator["spec"]["allowed_lateness"] == 120_000_000
    assert (
        operator["total"]["windows"]
        == sum(shard["windows"] for shard in operator["shards"])
        == len(live_after(2))
    )


def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "panewise", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Returns the message of a command that must fail, without its prefix."""
    assert main(["state", *arguments]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("panewise: ")
    assert told.err.count(" | ") == 2
    assert told.err.count("\n") == 1
    assert " [PW-" in told.err
    return told.err.removeprefix("panewise: ").rpartition(" [PW-")[0] + "\n"


@pytest.mark.parametrize("path", ["nowhere", "other"])
def test_no_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str], path: str) -> None:
    (tmp_path / "other" / "folder=1").mkdir(parents=True)
    given = str(tmp_path / path)
    assert refused(capsys, given) == (
        f"checkpoint {given!r} (No such file or directory: {given}/commits) | a query's checkpoint is a "
        "directory that can be read | give the checkpoint= of write()\n"
    )


def test_a_directory_of_checkpoints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("orders", "bills"):
        (tmp_path / name / "commits").mkdir(parents=True)
    inner = f"{tmp_path}/bills, {tmp_path}/orders"
    assert refused(capsys, str(tmp_path)).endswith(f" | give one of those in it: {inner}\n")


def test_a_file_system_that_spark_does_not_know(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["state", "nofs://there"]) == 2
    first, second = capsys.readouterr().err.splitlines()
    assert first == "panewise: Spark reads the state, as only Spark knows the file system of nofs://there"
    assert second.startswith("panewise: checkpoint 'nofs://there' (")
    assert (
        ") | a query's checkpoint is a directory that can be read | give the checkpoint= of write()" in second
    )


def test_a_checkpoint_that_nothing_was_committed_to(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "commits").mkdir()
    assert (
        "without a committed micro-batch | a checkpoint contains no state before a "
        "micro-batch has been committed"
    ) in refused(capsys, str(tmp_path))


def test_the_checkpoint_of_another_query(feed: Feed, capsys: pytest.CaptureFixture[str]) -> None:
    feed.put((0, "a", 1))
    counted = feed.stream().groupBy("k").agg(SF.count("*")).writeStream.outputMode("update").format("noop")
    counted.option("checkpointLocation", feed.sink("theirs")).trigger(
        availableNow=True
    ).start().awaitTermination()
    message = refused(capsys, feed.sink("theirs"))
    assert (
        "without state of panewise | a query with an operator of panewise stores its state in its "
        "checkpoint | give the checkpoint="
    ) in message


def test_a_micro_batch_that_is_not_there(
    spark: SparkSession, checkpoint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = (
        "batch=4 | the micro-batches in this checkpoint are 0 to 3 | give one of them, or leave "
        "it out for the last one\n"
    )
    assert refused(capsys, checkpoint, "--batch", "4") == expected


def test_a_state_that_is_not_there(
    spark: SparkSession, checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(checkpoint, tmp_path / "copy")
    for path in (tmp_path / "copy" / "state" / "0" / "1").glob("*.*"):
        path.unlink()
    message = refused(capsys, str(tmp_path / "copy"))
    assert "does not exist | the state of a micro-batch can be read until Spark removes it" in message
    spark_says = r"does not exist\) \| Spark can read the state of a micro-batch until it removes it"
    with pytest.raises(StateError, match=spark_says):
        checkpoint_reader.read_state(spark, str(tmp_path / "copy"))


def test_a_corrupt_run(
    spark: SparkSession, checkpoint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A corrupt run is an error of the command. tests/checkpoints test every kind of damage."""
    sound = partition.data_of

    def damaged(value: bytes, *, checked: bool) -> bytes:
        data = bytes(sound(value, checked=checked))
        return data if data.startswith(b"{") else data[:-1] + b"?"

    monkeypatch.setattr(partition, "data_of", damaged)
    assert "a run whose checksum does not match (" in refused(capsys, checkpoint)


def test_pyspark_is_not_installed() -> None:
    program = (
        "import sys; sys.modules['pyspark'] = None; from panewise.cli import main; "
        "sys.exit(main(['state', 's3a://x']))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    message = (
        "panewise: no package pyspark | this state is read with PySpark | pip install 'panewise[spark]' [PW-"
    )
    assert done.stderr.splitlines()[1].startswith(message)


def test_spark_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    done = command("state", "s3a://x")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[1].startswith("panewise: Spark does not start (")
    assert ") | Spark 4 runs on Java 17 or 21 | set JAVA_HOME or PATH to one of them [PW-" in done.stderr


def test_local_state_is_read_without_spark(checkpoint: str) -> None:
    program = (
        "import sys; sys.modules['pyspark'] = None; from panewise.cli import main; "
        f"sys.exit(main(['state', {checkpoint!r}]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Operator 0 after micro-batch 3: 2 of 2 shards contain state" in done.stdout


def test_progress_is_shown_on_a_terminal(checkpoint: str) -> None:
    """tests/cli/test_progress.py says when."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal, pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "AFTER_SECONDS", 0)
        patch.setattr(sys, "stderr", terminal)
        assert main(["state", checkpoint]) == 0
        shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "operator 0, partition 2 of 2: " in shown


def test_the_command_has_a_name() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    module, _, function = scripts["panewise"].partition(":")
    assert getattr(import_module(module), function) is main


@pytest.mark.parametrize("watermark", [None, pw.StreamTime()])
@pytest.mark.parametrize("trigger", [pw.AfterWatermark(late=pw.Always()), pw.Always()])
@pytest.mark.parametrize("anchor", ["end", "start", "both"])
def test_sliding_windows_are_counted_made_or_not(anchor: Any, trigger: Any, watermark: Any) -> None:
    window = pw.Sliding(10, anchor)
    fields = {"keys": ["k"], "event_time": "t", "aggregates": [F.count().alias("n")], "allowed_lateness": 5}
    spec = pw.WindowOperator(window=window, trigger=trigger, watermark=watermark, **fields)
    store, schema = MemoryRunStore(), {"k": pl.String(), "t": pl.Int64()}
    for at in (0, 5):
        stored = StoredOperator.load(spec, schema, RunLibrary(store, Cache()))
        times = [at + t for t in (0, 3, 4, 20)]
        stored.operator.add(pl.DataFrame({"k": ["a", "b", "a", "a"], "t": times}, schema=schema))
        if watermark is None:
            stored.operator.advance(watermark=at + 9)
        stored.commit()
    held = stored.operator.live()
    kept = {run.name: store.run(run.name) for run in stored.manifest.runs} | {
        "manifest": stored.manifest.encode().encode()
    }
    state = shard_figures(0, kept)
    assert (state.windows, state.keys) == (held.height, held["k"].n_unique())
    assert held.height > 1
