"""Tests of the reader without Spark, on checkpoints of real queries. Spark's reader is the check."""

import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as SF

import panewise as pw
from panewise import functions as F
from panewise.checkpoints import UnknownFormatError
from panewise.checkpoints.layout import directory_of
from panewise.checkpoints.reader import read_files
from panewise.cli import main
from panewise.errors import StateError
from panewise.spark import ParquetSink, windowed
from tests.nightly import first_here
from tests.spark.conftest import Feed, read_state

STORE = "spark.sql.streaming.stateStore."
ENABLED = f"{STORE}rocksdb.changelogCheckpointing.enabled"
CHANGELOGS = {ENABLED: "true"}
NEW = {
    **CHANGELOGS,
    f"{STORE}checkpointFormatVersion": "2",
    f"{STORE}rowChecksum.enabled": "true",
    f"{STORE}compression.codec": "zstd",
}
CONFS = {"snapshots": {ENABLED: "false"}, "changelogs": CHANGELOGS, "unique ids, checksums and zstd": NEW}
FED = [[(60 * n + i, f"key {i}", i) for i in range(30)] for n in range(3)]


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Feed:
    return Feed(spark, tmp_path)


@contextmanager
def conf(spark: SparkSession, values: dict[str, str]) -> Iterator[None]:
    before = {name: spark.conf.get(name, None) for name in values}
    for name, value in values.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            if old is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, old)


def run(spark: SparkSession, folder: Path, values: dict[str, str]) -> str:
    """Returns the checkpoint of a query of two operators after four micro-batches."""
    folder.mkdir(exist_ok=True)
    feed = Feed(spark, folder)
    for rows in FED:
        feed.put(*rows)
    stream = feed.stream().withWatermark("ts", "10 seconds")
    panes = windowed(stream, event_time="ts").groupBy("k").window(pw.Tumbling("20 seconds"))
    panes = panes.options(timestamp="window_time")
    sums = panes.allowed_lateness("1 hour").agg(F.sum("v").alias("s"))
    total = windowed(sums, event_time="timestamp").window(pw.Tumbling("1 hour")).agg(F.sum("s").alias("s"))
    with conf(spark, values):
        total.write(
            panes=ParquetSink(feed.sink("panes")), checkpoint=feed.sink("checkpoint"), available_now=True
        ).awaitTermination()
    return feed.sink("checkpoint")


@pytest.fixture(scope="module")
def checkpoints(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Returns a function that makes the checkpoint of a configuration once."""
    made: dict[str, str] = {}

    def checkpoint(name: str) -> str:
        if name not in made:
            made[name] = run(spark, tmp_path_factory.mktemp("state"), CONFS[name])
        return made[name]

    return checkpoint


@pytest.mark.versions
@pytest.mark.parametrize("name", first_here(sorted(CONFS)))
def test_states_are_those_that_spark_reads(
    spark: SparkSession, checkpoints: Callable[[str], str], name: str
) -> None:
    checkpoint, (one, *_) = checkpoints(name), FED
    for batch in (1, None) if name == "snapshots" else (None,):
        with conf(spark, CONFS[name]):  # Spark reads unique ids only with this setting
            state = read_state(spark, checkpoint, batch)
        windows = len({(k, s // 20) for rows in FED[: state.batch + 1] for s, k, _ in rows})
        assert [operator.operator for operator in state.operators] == [0, 1]
        assert state.operators[-1].total.windows == windows
        assert state.operators[-1].total.keys == len(one)
    names = [path.name for path in Path(checkpoint, "state", "1", "0").iterdir()]
    assert any(one.endswith(".changelog") for one in names) == (CONFS[name][ENABLED] == "true")
    assert any("_" in one for one in names if one.endswith(".zip")) == (CONFS[name] is NEW)


def test_progress_is_told_after_each_run(spark: SparkSession, checkpoints: Callable[[str], str]) -> None:
    last = spark.conf.get("spark.sql.shuffle.partitions")
    calls: list[tuple[str, float]] = []
    read_files(checkpoints("changelogs"), progress=lambda words, share: calls.append((words, share)))
    assert re.fullmatch(rf"operator 0, partition [12] of {last}: 1 runs", calls[0][0])
    assert calls[-1][0].startswith(f"operator 1, partition {last} of {last}: ")
    shares = [share for _, share in calls]
    assert shares == sorted(shares)
    assert 0 <= shares[0] < 0.5
    assert 1 - 0.5 / int(last) <= shares[-1] < 1


def test_live_windows_are_listed(
    checkpoints: Callable[[str], str], capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = checkpoints("changelogs")
    assert main(["state", checkpoint, "--windows"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    state = read_files(checkpoint)
    for operator in state.operators:
        listed = [line for line in lines if line["operator"] == operator.operator]
        assert len(listed) == operator.total.windows
        assert max(line["end"] for line in listed) == operator.total.newest_end
    assert {line["key"]["k"] for line in lines if line["operator"] == 1} == {k for _, k, _ in FED[0]}
    assert all(line["start"] < line["end"] for line in lines)


def test_the_url_of_a_directory(checkpoints: Callable[[str], str]) -> None:
    checkpoint = checkpoints("changelogs")
    assert read_files(f"file://{checkpoint}").operators == read_files(checkpoint).operators


def test_paths_that_only_spark_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert directory_of("here/there") == Path("here/there")
    for path in ("s3a://bucket/checkpoint", "hdfs://host:9000/checkpoint"):
        with pytest.raises(UnknownFormatError, match=f"the file system of {path}"):
            directory_of(path)
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    with pytest.raises(UnknownFormatError, match="which HADOOP_CONF_DIR may name"):
        directory_of("here/there")


@pytest.mark.nightly
def test_an_encoding_that_only_spark_knows(
    spark: SparkSession, feed: Feed, capsys: pytest.CaptureFixture[str]
) -> None:
    feed.put((1, "a", 1), (1, "b", 2))
    panes = windowed(feed.stream().withWatermark("ts", "1 second"), "ts").groupBy("k")
    counted = panes.window(pw.Tumbling("1 minute")).agg(F.count().alias("n"))
    with conf(spark, {f"{STORE}encodingFormat": "avro"}):
        sink = ParquetSink(feed.sink("panes"))
        counted.write(panes=sink, checkpoint=feed.sink("avro"), available_now=True).awaitTermination()
    assert main(["state", feed.sink("avro")]) == 0
    told = capsys.readouterr()
    assert main(["state", feed.sink("avro"), "--windows"]) == 2
    assert capsys.readouterr().err.startswith(
        "panewise: --windows with the encoding avro of the state store, "
    )
    assert told.err == (
        "panewise: Spark reads the state, as only Spark knows the encoding avro of the state store\n"
    )
    assert told.out.splitlines()[-1].split()[:3] == ["total", "2", "2"]


@pytest.mark.nightly
def test_beside_an_operator_of_spark(spark: SparkSession, feed: Feed) -> None:
    feed.put((1, "a", 1), (1, "b", 2))
    stream = feed.stream().withWatermark("ts", "1 second").dropDuplicatesWithinWatermark(["k"])
    panes = windowed(stream.withColumn("more", SF.lit(1)), "ts").groupBy("k").window(pw.Tumbling("1 minute"))
    sink = ParquetSink(feed.sink("panes"))
    panes.agg(F.count().alias("n")).write(
        panes=sink, checkpoint=feed.sink("checkpoint"), available_now=True
    ).awaitTermination()
    (operator,) = read_state(spark, feed.sink("checkpoint"), 0).operators
    assert (operator.operator, operator.total.windows) == (0, 2)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def changed(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:300] + bytes([data[300] ^ 1]) + data[301:])


UNIQUE = "unique ids, checksums and zstd"
DAMAGES = {
    "lost changelog": ("changelogs", "3.changelog", Path.unlink, r"/3\.changelog does not exist \| the"),
    "cut changelog": ("changelogs", "3.changelog", cut, r"^changelog .*/3\.changelog \(.*\) \| the"),
    "lost snapshot": ("snapshots", "4.zip", Path.unlink, r"/4\.changelog does not exist"),
    "cut snapshot": ("snapshots", "4.zip", cut, r"^snapshot .*4\.zip \(File is not a zip file\) \| the"),
    "lost table": ("snapshots", "SSTs/*", Path.unlink, r"\.sst does not exist \| the state of a micro"),
    "cut table": ("snapshots", "SSTs/*", cut, r"^snapshot .*4\.zip \(.*orruption.*\) \| the files"),
    "changed table": ("snapshots", "SSTs/*", changed, r"^s(napshot|hard) .*\(.*(orruption|orrupt).*\) \| "),
    "lost ids": (UNIQUE, "4_*.changelog", Path.unlink, r"/4_.*\.changelog does not exist \| the state"),
    "lost snapshot of ids": (UNIQUE, "1_*.zip", Path.unlink, r"/1_.*\.zip does not exist \| the state"),
}


@pytest.mark.parametrize("name", first_here(DAMAGES, 2))
def test_damaged_files_are_named(checkpoints: Callable[[str], str], tmp_path: Path, name: str) -> None:
    made, pattern, damage, message = DAMAGES[name]
    shutil.copytree(checkpoints(made), tmp_path / "copy")
    damaged = list((tmp_path / "copy" / "state" / "1" / "0").glob(pattern))
    damaged = [path for path in damaged if path.suffix != ".crc"]  # of Hadoop
    assert damaged
    for path in damaged:
        damage(path)
    with pytest.raises(StateError, match=message):
        read_files(str(tmp_path / "copy"), 3)


def test_a_lost_offset(checkpoints: Callable[[str], str], tmp_path: Path) -> None:
    shutil.copytree(checkpoints("changelogs"), tmp_path / "copy")
    (tmp_path / "copy" / "offsets" / "1").unlink()
    with pytest.raises(StateError, match=r"offsets/1 .*\| a checkpoint has the files that Spark wrote \| "):
        read_files(str(tmp_path / "copy"), 1)
