"""A query of the release before goes on with this one, and its state is exported (semantics 48.1, 48.13).

The sources of that release come from the history of the repository.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from panewise.cli import main
from tests.house.sources import ROOT
from tests.spark.conftest import Feed

LANDINGS = (
    "7f2fb3c4836f",  # the last state of the main branch before queries could be exported
    "f0155542",  # its checkpoints have records of paths, types and conditions
)
ROWS = [
    [(1, "a", 1), (5, "b", 2), (12, "c", 3)],
    [(30, "a", 4), (2, "a", 5), (31, "d", 6)],
    [(35, "b", 7), (29, "a", 8), (64, "e", 9)],
]


def sources(folder: Path, landing: str) -> str:
    """Writes the sources of a landing, and returns their directory."""
    archive = subprocess.run(["git", "archive", landing, "src"], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        pytest.skip(f"no commit {landing} in the history")
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    # Spark waits ten seconds for a worker, which otherwise compiles what it imports.
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(folder / "src")], check=True)
    return str(folder / "src")


def run(feed: Feed, name: str, source: str) -> None:
    """Runs the query with the sources of a release."""
    command = [sys.executable, "-m", "tests.spark.earlier_release_job", str(feed.path)]
    paths = os.pathsep.join([source, str(ROOT)])
    environment = os.environ | {"PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable}
    subprocess.run([*command, feed.sink(name), feed.sink(f"{name}-panes")], env=environment, check=True)


@pytest.mark.nightly
@pytest.mark.parametrize("landing", LANDINGS)
def test_a_query_goes_on(feed: Feed, landing: str) -> None:
    """semantics 48.1, 48.13"""
    before, now = sources(feed.folder, landing), str(ROOT / "src")
    for number, rows in enumerate(ROWS):
        feed.put(*rows)
        run(feed, "whole", now)
        run(feed, "moved", now if number else before)
        if not number:
            assert main(["state", "export", feed.sink("moved"), feed.sink("exported")]) == 0
    panes = [feed.read(f"{name}-panes").drop("processing_time") for name in ("whole", "moved")]
    assert sorted(panes[0].rows(), key=repr) == sorted(panes[1].rows(), key=repr)
