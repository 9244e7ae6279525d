"""A driver that dies between a write to Delta tables and the commit leaves them right (semantics 49.40)."""

import signal
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from tests.connectors.delta_job import SPEC
from tests.connectors.jars import DELTA, jars
from tests.connectors.jobs import ConnectorJob
from tests.faults.conftest import Expected
from tests.faults.rounds import PATIENCE

pytestmark = pytest.mark.soak

FILES, DIES_AT = 4, 2


def test_a_repeated_batch_changes_no_table(tmp_path: Path, undisturbed: Expected) -> None:
    source = undisturbed.source((1,) * FILES)
    out = tmp_path / "out"
    arguments = (str(source), str(out), ",".join(map(str, jars(DELTA))))
    with ConnectorJob(tmp_path, "delta_job", (*arguments, str(DIES_AT))).started() as process:
        assert process.wait(PATIENCE) == -signal.SIGKILL
    assert not (out / "checkpoint" / "commits" / str(DIES_AT)).exists()
    assert _versions(out / "appended") == 1 + DIES_AT + 1  # the first one makes the table
    job = ConnectorJob(tmp_path, "delta_job", arguments)
    with job.started() as process:
        assert process.wait(PATIENCE) == 0, job.log
    expected = _panes(undisturbed, source)
    assert _lines(_read(out / "appended-copy")) == _lines(expected)
    newest = (
        expected.sort("index")
        .group_by("k", "window_start", maintain_order=True)
        .last()
        .select(expected.columns)
    )
    assert _lines(_read(out / "merged-copy")) == _lines(newest.drop("op"))


def _versions(table: Path) -> int:
    return len(list((table / "_delta_log").glob("*.json")))


def _panes(undisturbed: Expected, source: Path) -> pl.DataFrame:
    """Returns all panes of a run without faults."""
    out = undisturbed.folder(SPEC, (1,) * FILES)
    paths = sorted(out.glob("panes/batch_id=*/part-*.parquet"))
    return pl.concat([pl.read_parquet(path, hive_partitioning=False) for path in paths])


def _read(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "part-*.parquet")


def _lines(panes: pl.DataFrame) -> Counter[str]:
    """Returns the panes without the column that differs from run to run."""
    return Counter(str(row) for row in panes.drop("processing_time").iter_rows(named=True))


def test_only_delta_tables_are_written(tmp_path: Path) -> None:
    """Other tables are refused (semantics 49.42, 49.54, 49.60, 49.64), and two names of one table (49.50)."""
    job = ConnectorJob(tmp_path, "delta_places_job", (str(tmp_path), ",".join(map(str, jars(DELTA)))))
    with job.started() as process:
        assert process.wait(PATIENCE) == 0, job.log
