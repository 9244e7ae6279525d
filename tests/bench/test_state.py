"""The benchmark of `panewise state`: the command reads a window for each key."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bench import flat, session, state


@pytest.mark.nightly
def test_the_command_reads_a_window_for_each_key(spark: SparkSession, tmp_path: Path) -> None:
    given = flat.events(1000, tmp_path / "cache")
    checkpoint = state.fill(session.beside(spark), given, tmp_path)
    found = state.read(checkpoint)
    assert "1,000" in next(line for line in found.text.splitlines() if line.strip().startswith("total"))
    assert found.seconds > 0
    assert found.resident_mb > 10
