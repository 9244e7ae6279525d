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
from tests.faults.processes import kill_job
from tests.faults.rounds import PATIENCE

pytestmark = pytest.mark.soak

PHASES = 4


def test_driver_and_broker_are_killed(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    commits = out / "checkpoint" / "commits"
    with Broker(tmp_path / "broker", PARTITIONS).running() as broker:
        given = (broker.address, str(out), ",".join(map(str, jars(KAFKA_CONNECTOR))))
        first = ConnectorJob(tmp_path, "kafka_job", (*given, "0", str(PHASES)))
        with first.started() as process:
            (out / "go-1").touch()
            first.wait_for(process, out / "produced-1")
            first.wait_for(process, commits / "2")
            kill_job(process)
        second = ConnectorJob(tmp_path, "kafka_job", (*given, "2", str(PHASES)))
        with second.started() as process:
            second.wait_for(process, commits / "4")
            broker.kill()
            broker.start()
            (out / "go-3").touch()
            assert process.wait(PATIENCE) == 0, second.log
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


def rows(out: Path, kind: str) -> pl.DataFrame:
    """Returns the rows of a sink."""
    found = sorted((out / kind).glob("batch_id=*/part-*.parquet"))
    return pl.concat([pl.read_parquet(path, hive_partitioning=False) for path in found])
