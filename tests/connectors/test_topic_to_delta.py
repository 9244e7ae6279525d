"""From a Kafka topic into Delta tables, with a repeated micro-batch (semantics 4, 33 and 35).

`make test` plays one phase of the topic, on a local cluster whose executor gets panewise as a zip. The
repeated micro-batch is in `make nightly`. `make soak` also runs test_kafka.py and test_delta.py, which kill
processes.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pyspark
import pytest

from tests.connectors import kafka_sink_job, test_kafka_sink
from tests.connectors.broker import Broker
from tests.connectors.jars import DELTA, KAFKA_CONNECTOR, jars
from tests.connectors.jobs import ConnectorJob
from tests.connectors.kafka_job import INVALID, LATE, PARTITIONS, PHASE
from tests.connectors.topic_to_delta import FAILS_AT, PHASES
from tests.faults.clusters import check_shipped, shipped, spark_home
from tests.faults.rounds import PATIENCE

APPLIED = set(range(PHASES * PHASE)) - LATE - INVALID


def run(tmp_path: Path, phases: int, settings: Mapping[str, str]) -> Path:
    """Runs the job over some phases of the topic, with settings of Spark; returns its directory."""
    out = tmp_path / "out"
    out.mkdir()
    with Broker(tmp_path / "broker", PARTITIONS).running() as broker:
        classes = ",".join(map(str, [*jars(KAFKA_CONNECTOR), *jars(DELTA)]))
        options = [f"{name}={value}" for name, value in settings.items()]
        job = ConnectorJob(
            tmp_path, "topic_to_delta", (broker.address, str(out), classes, str(phases), *options)
        )
        with job.started() as process:
            assert process.wait(PATIENCE) == 0, job.log
    return out


def test_one_phase_of_a_topic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Messages that come twice count once, and topics have the answer (semantics 49.11, 49.40, 49.41)."""
    monkeypatch.setenv("SPARK_HOME", str(spark_home(tmp_path)))
    once = {"spark.task.maxFailures": "1"}  # a task that is repeated produces messages again
    small = {"spark.master": "local-cluster[1,1,1024]", "spark.sql.shuffle.partitions": "1"}
    out = run(tmp_path, 1, {**small, **once, **shipped(tmp_path)})
    check_shipped((tmp_path / "printed").read_text(encoding="utf-8", errors="replace"))
    table = pl.read_parquet(out / "merged-copy" / "part-*.parquet")
    ids = table["ids"].explode(empty_as_null=False).to_list()
    assert Counter(ids) == Counter(APPLIED & set(range(PHASE)))
    test_kafka_sink.check(out / "kafka", kafka_sink_job.PHASE)


@pytest.mark.nightly
@pytest.mark.skipif(
    pyspark.__version__ < "4.2", reason="its source of Kafka fails after a repeated micro-batch (SPARK-55271)"
)
def test_a_topic_into_delta_tables(tmp_path: Path) -> None:
    """Panes of a repeated micro-batch are in the table once (semantics 49.40, 49.41)."""
    out = run(tmp_path, PHASES, {})
    assert "the sink fails when both tables are written" in (out / "failed").read_text(encoding="utf-8")
    appended = pl.read_parquet(out / "appended-copy" / "part-*.parquet")
    batches = len(list((out / "checkpoint" / "commits").glob("[0-9]*")))
    assert batches > FAILS_AT
    panes = Counter(appended.select("k", "window_start", "index", "op").rows())
    assert set(panes.values()) == {1}
    newest = (
        appended.sort("index")
        .group_by("k", "window_start", maintain_order=True)
        .last()
        .select(appended.columns)
    )
    ids = Counter(newest["ids"].explode(empty_as_null=False).to_list())
    assert ids == Counter(APPLIED)
    assert [sum(id_ * 10 for id_ in ids) for ids in newest["ids"]] == newest["s"].to_list()
    assert set(appended["timing"]) == {"EARLY", "ON_TIME"}
    merged = pl.read_parquet(out / "merged-copy" / "part-*.parquet")
    assert Counter(map(str, merged.rows())) == Counter(map(str, newest.drop("op").rows()))
