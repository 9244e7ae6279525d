"""The demo's query on Spark, for some hours of the storm."""

import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

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
