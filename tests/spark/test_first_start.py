"""Tests the first start of a query with the log that Spark writes by default."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.conftest import Feed


@pytest.mark.spark
@pytest.mark.soak
def test_a_new_checkpoint_logs_no_missing_files(feed: Feed) -> None:
    feed.put((0, "a", 1))
    job = Path(__file__).parent / "first_start_job.py"
    done = subprocess.run(
        [sys.executable, str(job), str(feed.path), str(feed.folder)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.stdout.endswith("ended well\n"), done.stderr[-3000:]
    assert " WARN " in done.stderr  # otherwise the log is off, and the next line checks nothing
    assert "FileNotFoundException" not in done.stderr
