"""Sessions of a Kafka topic in a compacted topic: its contents are the answer of a batch.

test_topic_to_delta.py plays one phase of this. Here driver and executors are killed, and the number of
partitions changes.
"""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.connectors.broker import Broker
from tests.connectors.jars import AVRO, KAFKA_CONNECTOR, jars
from tests.connectors.jobs import ConnectorJob
from tests.connectors.kafka_sink_job import (
    DEAD,
    INVALID,
    LATE,
    PHASE,
    RESULTS,
    START,
    answer,
)
from tests.faults.clusters import shipped, spark_home
from tests.faults.processes import executors, kill, kill_job, wait_until
from tests.faults.rounds import PATIENCE

PHASES = 3


def check(out: Path, produced: int) -> None:
    """Checks what a reader of the topics sees."""
    records = pl.read_parquet(out / RESULTS / "part-*.parquet").sort("partition", "offset")
    table: dict[bytes, Any] = {}
    sequences: dict[bytes, int] = {}
    for row in records.iter_rows(named=True):
        headers = texts(row)
        deleted = row["value"] is None
        assert headers["operation"] == ("delete" if deleted else "upsert")
        if int(headers["sequence"]) > sequences.get(row["key"], -1):
            sequences[row["key"]] = int(headers["sequence"])
        table[row["key"]] = None if deleted else json.loads(row["value"])
    results = {
        (value["k"], seconds(value["window_start"]), seconds(value["window_end"])): (value["n"], value["s"])
        for value in table.values()
        if value is not None
    }
    assert results == answer(produced)
    assert None in table.values(), "no session was merged away"
    # Each record of a key is the first one with its sequence, or repeats one.
    assert all(int(texts(row)["sequence"]) <= sequences[row["key"]] for row in records.iter_rows(named=True))
    check_dead_letters(out, produced)


def check_dead_letters(out: Path, produced: int) -> None:
    """Checks the dead letters, of which Kafka may have each more than once (semantics 49.13, 49.16)."""
    dead = pl.read_parquet(out / DEAD / "part-*.parquet")
    reasons = {"late": set[int](), "invalid": set[int]()}
    for row in dead.iter_rows(named=True):
        headers, value = texts(row), json.loads(row["value"])
        assert json.loads(row["key"]) == {"id": value["id"]}
        assert headers["reason"]
        assert ("late_by" in headers) == (headers["output"] == "late")
        reasons[headers["output"]].add(value["id"])
    assert reasons == {
        "late": {id_ for id_ in LATE if id_ < produced},
        "invalid": {id_ for id_ in INVALID if id_ < produced},
    }


def check_avro(out: Path, produced: int) -> None:
    """Checks the sessions of a batch, in which no row is late (semantics 49.15)."""
    bounds = pl.col("window_start", "window_end").cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    panes = pl.read_parquet(out / "avro" / "part-*.parquet").with_columns(bounds)
    panes = panes.filter(pl.col("window_start") >= START)
    starts, ends = ((panes[name] - START).dt.total_seconds() for name in ("window_start", "window_end"))
    keys = zip(panes["k"], starts, ends, strict=True)
    values = zip(panes["n"], panes["s"], strict=True)
    assert dict(zip(keys, values, strict=True)) == answer(produced)


def texts(row: dict[str, Any]) -> dict[str, str]:
    return {header["key"]: header["value"].decode() for header in row["headers"]}


def seconds(instant: str) -> int:
    return int((datetime.fromisoformat(instant) - START).total_seconds())


def played(tmp_path: Path, settings: dict[str, str], *, executor: bool) -> Path:
    """Plays all phases. The driver is killed once, before it an executor if there are any."""
    out = tmp_path / "out"
    out.mkdir()
    classes = [*jars(KAFKA_CONNECTOR), *jars(AVRO)]
    settings = {"spark.jars": ",".join(map(str, classes)), **settings}
    options = [f"{name}={value}" for name, value in settings.items()]
    with Broker(tmp_path / "broker", 2).running() as broker:
        first = ConnectorJob(tmp_path, "kafka_sink_job", (broker.address, str(out), "0", "3", *options))
        with first.started() as process:
            first.wait_for(process, out / "checkpoint" / "commits" / "1")
            (out / "go-1").touch()
            first.wait_for(process, out / "produced-1")
            if executor:
                assert wait_until(lambda: bool(executors([process.pid])), PATIENCE), first.log
                assert kill(executors([process.pid])[0].pid)
            first.wait_for(process, out / "checkpoint" / "commits" / "2")
            kill_job(process)
        second = ConnectorJob(tmp_path, "kafka_sink_job", (broker.address, str(out), "2", "3", *options))
        with second.started() as process:
            assert process.wait(PATIENCE) == 0, second.log
    return out


@pytest.mark.nightly
def test_a_driver_that_is_killed(tmp_path: Path) -> None:
    """The topic gets more partitions, in the running query and after the restart.

    semantics 33, 49.10, 49.11, 49.16, 49.17
    """
    out = played(tmp_path, {"spark.master": "local[2]"}, executor=False)
    check(out, PHASES * PHASE)
    check_avro(out, PHASES * PHASE)


@pytest.mark.soak
def test_an_executor_and_a_driver_that_are_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """semantics 33, 49.16"""
    monkeypatch.setenv("SPARK_HOME", str(spark_home(tmp_path)))
    settings = {"spark.master": "local-cluster[2,1,1024]", **shipped(tmp_path)}
    check(played(tmp_path, settings, executor=True), PHASES * PHASE)
