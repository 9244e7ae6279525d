"""A script of SQL from a Kafka topic into Delta and Kafka, with a driver that is killed."""

import signal
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from tests.connectors.broker import Broker
from tests.connectors.jars import DELTA, KAFKA_CONNECTOR, jars
from tests.connectors.jobs import ConnectorJob
from tests.connectors.kafka_job import INVALID, PARTITIONS, PHASE
from tests.faults.rounds import PATIENCE

pytestmark = pytest.mark.nightly

DIES_AT = 1


def test_a_script_with_kafka_and_delta(tmp_path: Path) -> None:
    """semantics 46.42, 46.44, 46.45, 46.95"""
    out = tmp_path / "out"
    out.mkdir()
    classes = ",".join(map(str, [*jars(KAFKA_CONNECTOR), *jars(DELTA)]))
    with Broker(tmp_path / "broker", PARTITIONS).running() as broker:
        first = ConnectorJob(tmp_path, "script_job", (broker.address, str(out), classes, "0", str(DIES_AT)))
        with first.started() as process:
            assert process.wait(PATIENCE) == -signal.SIGKILL, first.log
        assert not (out / "checkpoints" / "panes" / "commits" / str(DIES_AT)).exists()
        second = ConnectorJob(tmp_path, "script_job", (broker.address, str(out), classes, "1"))
        with second.started() as process:
            assert process.wait(PATIENCE) == 0, second.log
    check_panes(out / "panes-of-one-checkpoint", 2 * PHASE, times=1)
    check_panes(out / "panes-copy", 2 * PHASE, times=2)  # those of the new checkpoint are added
    check_counts(out / "counts-copy", 2 * PHASE)


def check_panes(copy: Path, produced: int, times: int) -> None:
    """Checks that each message with a time is in so many panes.

    A message whose `id` is malformed has its other columns.
    """
    panes = pl.read_parquet(copy / "part-*.parquet")
    ids = Counter(panes.filter(pl.col("k") != "bad")["ids"].explode(empty_as_null=False).to_list())
    assert ids == dict.fromkeys(set(range(produced)) - INVALID, times)
    assert set(panes["k"]) == {"a", "b", "c", "bad"}


def check_counts(copy: Path, produced: int) -> None:
    """Checks the last count of each key, and that the key of a message is that of its row."""
    counts = pl.read_parquet(copy / "part-*.parquet").unnest("v")
    assert counts["key"].to_list() == counts["k"].to_list()
    last = counts.filter(pl.col("k") != "bad").group_by("k").agg(pl.col("n").max())
    assert last["n"].sum() == produced
    assert set(counts["p"]) <= set(range(PARTITIONS))
