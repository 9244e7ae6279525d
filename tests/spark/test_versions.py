"""A state is exported on one version of Spark and imported on another one (semantics 48).

The other versions are in the environments that `make matrix` makes. The test runs on the locked version.
"""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from panewise.checkpoints.export import export_checkpoint
from tests.house.sources import ROOT
from tests.spark.conftest import Feed, beside
from tests.spark.versions_job import run
from tools.matrix import LOCK, VERSIONS, locked

ROWS = [
    [(1, "a", 1), (5, "b", 2), (12, "c", 3)],
    [(30, "a", 4), (2, "a", 5), (31, "d", 6)],
    [(35, "b", 7), (29, "a", 8), (64, "e", 9), (12, "c", 10)],
    [(70, "a", 11), (33, "b", 12), (200, "f", 13)],
]
LOCKED = locked(LOCK.read_text(encoding="utf-8"))
OTHERS = [version for version in VERSIONS if version != LOCKED]


def python_of(spark: SparkSession, version: str) -> str:
    """Returns the interpreter of the environment of another version."""
    if spark.version != LOCKED:
        pytest.skip(f"it runs on {LOCKED}, beside the other versions")
    python = ROOT / f".venv-matrix-{version}" / "bin" / "python"
    if not python.exists():
        pytest.skip(f"no {python}: `make matrix SPARK={version}` makes it")
    return str(python)


def run_on(python: str, version: str, *arguments: object) -> None:
    """Runs the query on another version."""
    variables = {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    variables |= dict.fromkeys(("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"), python)
    command = [python, "-m", "tests.spark.versions_job", *map(str, arguments)]
    done = subprocess.run(
        command, env=os.environ | variables, capture_output=True, text=True, timeout=600, check=False
    )
    assert done.stdout.splitlines()[-1:] == [version], done.stderr[-3000:]


def panes(feed: Feed, *names: str) -> list[Any]:
    frames = [feed.read(f"{name}-panes").drop("processing_time", "batch_id") for name in names]
    return sorted((row for frame in frames for row in frame.rows()), key=repr)


@pytest.mark.nightly
@pytest.mark.parametrize("version", OTHERS)
def test_a_state_moves_between_versions(spark: SparkSession, tmp_path: Path, version: str) -> None:
    """semantics 48.1, 48.6, 48.9: to the locked version, and from it, row for row as in one query."""
    python, feed = python_of(spark, version), Feed(spark, tmp_path)
    rest, whole = beside(feed, "rest"), beside(feed, "whole")
    source, later, all_rows = (str(one.path) for one in (feed, rest, whole))
    for rows in ROWS[:2]:
        feed.put(*rows)
        whole.put(*rows)
    run_on(python, version, source, feed.sink("other"), 2, f"exports={feed.sink('of-other')}")
    run(spark, source, feed.sink("here"), 2)
    export_checkpoint(feed.sink("here"), feed.sink("of-here"))
    run(spark, all_rows, feed.sink("one"), 4)
    for rows in ROWS[2:]:
        rest.put(*rows)
        whole.put(*rows)
    run(spark, all_rows, feed.sink("one"), 4)
    run(spark, later, feed.sink("to-here"), 3, feed.sink("of-other"))
    run_on(python, version, later, feed.sink("to-other"), 3, f"begins={feed.sink('of-here')}")
    assert panes(feed, "other", "to-here") == panes(feed, "one")
    assert panes(feed, "here", "to-other") == panes(feed, "one")
