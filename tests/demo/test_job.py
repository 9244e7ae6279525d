"""The demo's query on Spark, for some hours of the storm."""

import os
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from panewise.demo import check, flights, job
from panewise.spark.session.standard_error import log_to
from tests.demo.simulated import simulate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PANE = ["origin", "window_start", "window_end", "flights", "timing", "index", "op"]


def test_the_query_writes_what_the_checks_and_the_simulation_expect(
    spark: "SparkSession", year: pl.DataFrame, tmp_path: Path
) -> None:
    hours = pl.col("known").is_between(
        datetime(2013, 3, 8, 15, 40, tzinfo=UTC), datetime(2013, 3, 8, 17, tzinfo=UTC), closed="left"
    )
    arrived = flights.in_batches(year.filter(hours))
    flights.write(arrived, tmp_path / "flights")
    seen: list[int] = []
    job.run(spark, tmp_path / "flights", tmp_path, seen.append)
    outputs = check.read(tmp_path)
    assert [finding for finding in check.verify(arrived, outputs) if not finding.passed] == []
    expected = simulate(arrived).panes.select(PANE).sort(PANE)
    assert outputs.panes.select(PANE).cast(dict(expected.schema)).sort(PANE).equals(expected)  # type: ignore[arg-type]
    assert seen == sorted(seen)


def test_the_log_takes_standard_error_and_gives_it_back(tmp_path: Path) -> None:
    before = os.fstat(2)
    with log_to(tmp_path / "log"):
        os.write(2, b"from the JVM\n")
        sys.stderr.flush()
    assert (tmp_path / "log").read_text(encoding="utf-8") == "from the JVM\n"
    assert os.path.samestat(before, os.fstat(2))


def test_a_session_starts_beside_the_caller_and_ends_with_the_block(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It takes no metrics, and what it writes to standard error is in the file."""
    events: list[str] = []
    loaded = threading.Event()

    class Session:
        def stop(self) -> None:
            events.append("stopped")

    def session() -> Session:
        loaded.wait()
        os.write(2, b"from the JVM\n")
        return Session()

    def configured(spark: Session, *, metrics: None) -> Session:
        events.append("configured")
        return spark

    monkeypatch.setattr(job, "session", session)
    monkeypatch.setattr(job, "configure", configured)
    with job.starting(tmp_path / "demo" / "spark.log") as started:
        loaded.set()
        assert isinstance(started(), Session)
        events.append("used")
    assert events == ["configured", "used", "stopped"]
    assert (tmp_path / "demo" / "spark.log").read_text(encoding="utf-8") == "from the JVM\n"


def test_a_session_that_does_not_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def session() -> None:
        raise OSError("no Java")

    monkeypatch.setattr(job, "session", session)
    with pytest.raises(OSError, match="no Java"), job.starting(tmp_path / "spark.log") as started:
        started()
