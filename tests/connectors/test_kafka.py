"""Windows over a real Kafka topic: no kill -9 of driver or broker loses a message or counts one twice.

The source position is Kafka's own partition and offset (semantics 4). The topic is read twice, so that every
message comes twice.
"""

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from tests.connectors.broker import Broker
from tests.connectors.jars import KAFKA_CONNECTOR, jars
from tests.connectors.jobs import ConnectorJob
from tests.connectors.kafka_job import INVALID, LATE, PARTITIONS, PHASE
from tests.faults.clusters import spark_home
from tests.faults.processes import executors, kill, kill_job
from tests.faults.rounds import PATIENCE

PHASES = 4


@pytest.mark.soak
def test_driver_and_broker_are_killed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    commits = out / "checkpoint" / "commits"
    with Broker(tmp_path / "broker", PARTITIONS).running() as broker:
        given, setting = (broker.address, str(out)), f"spark.jars={classes()}"
        first = ConnectorJob(tmp_path, "kafka_job", (*given, "0", str(PHASES), setting))
        with first.started() as process:
            (out / "go-1").touch()
            first.wait_for(process, out / "produced-1")
            first.wait_for(process, commits / "2")
            kill_job(process)
        second = ConnectorJob(tmp_path, "kafka_job", (*given, "2", str(PHASES), setting))
        with second.started() as process:
            second.wait_for(process, commits / "4")
            broker.kill()
            broker.start()
            (out / "go-3").touch()
            assert process.wait(PATIENCE) == 0, second.log
    check(out, PHASES * PHASE)


@pytest.mark.nightly
def test_partitions_are_added_while_executors_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The topic gets more partitions while the query runs, and an executor that reads them is replaced.

    semantics 4, 33
    """
    monkeypatch.setenv("SPARK_HOME", str(spark_home(tmp_path)))
    out = tmp_path / "out"
    out.mkdir()
    commits, more = out / "checkpoint" / "commits", "3,5,5,8"
    settings = {"spark.jars": classes(), "spark.master": "local-cluster[2,1,1024]"}
    options = [f"{name}={value}" for name, value in ({"job.partitions": more} | settings).items()]
    with Broker(tmp_path / "broker", PARTITIONS).running() as broker:
        job = ConnectorJob(tmp_path, "kafka_job", (broker.address, str(out), "0", str(PHASES), *options))
        with job.started() as process:
            job.wait_for(process, commits / "1")
            (out / "go-1").touch()
            job.wait_for(process, out / "produced-1")
            assert kill(executors([process.pid])[0].pid)
            for phase in range(2, PHASES):
                (out / f"go-{phase}").touch()
            assert process.wait(PATIENCE) == 0, job.log
    check(out, PHASES * PHASE)


def check(out: Path, produced: int) -> None:
    """Checks that every message is once in a pane, late or invalid, and that the counts add up."""
    panes, late, invalid, counts = (rows(out, kind) for kind in ("panes", "late", "invalid", "counts"))
    in_panes = Counter(panes["ids"].explode(empty_as_null=False).to_list())
    assert in_panes == Counter(set(range(produced)) - LATE - INVALID)
    # The on-time pane is emitted even if all rows are in earlier panes (semantics 21.4). Its sum is then
    # null.
    assert [sum(id_ * 10 for id_ in ids) or None for ids in panes["ids"]] == panes["s"].to_list()
    assert sorted(row["id"] for row in late["row"]) == sorted(LATE)
    assert {row["id"] for row in invalid["row"]} == INVALID
    totals = counts.select("rows_in", "applied", "replays", "late", "invalid").sum().row(0, named=True)
    assert totals["rows_in"] == 2 * produced
    assert totals["applied"] == produced - len(LATE) - len(INVALID)
    assert totals["late"] == len(LATE)
    assert totals["rows_in"] == totals["applied"] + totals["replays"] + totals["late"] + totals["invalid"]
    assert set(panes["timing"]) >= {"EARLY", "ON_TIME"}


def classes() -> str:
    return ",".join(map(str, jars(KAFKA_CONNECTOR)))


def rows(out: Path, kind: str) -> pl.DataFrame:
    """Returns the rows of a sink."""
    found = sorted((out / kind).glob("batch_id=*/part-*.parquet"))
    return pl.concat([pl.read_parquet(path, hive_partitioning=False) for path in found])
