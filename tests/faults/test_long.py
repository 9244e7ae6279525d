"""A query that runs for long keeps neither memory nor files for the micro-batches that are done."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.rounds import ROOT, bury

pytestmark = pytest.mark.soak

FROM, TO = 100, 300
GROWTH = 50  # MB
HOURS = 3600


def test_three_hundred_batches_of_one_row(tmp_path: Path) -> None:
    """Between the hundredth and the last micro-batch the JVM grows by less than 50 MB, and the number of files does not grow."""
    looks = (FROM, 200, TO)
    command = [sys.executable, "-m", "tests.faults.long_job", str(tmp_path), str(TO + 5), *map(str, looks)]
    with (tmp_path / "printed").open("wb") as printed:
        process = subprocess.Popen(command, cwd=ROOT, env=os.environ, stdout=printed, stderr=printed, start_new_session=True)
        try:
            code = process.wait(HOURS)
        finally:
            bury(process)
    text = (tmp_path / "printed").read_text(encoding="utf-8", errors="replace")
    assert code == 0, text[-4000:]
    seen = [json.loads(line) for line in text.splitlines() if line.startswith('{"batch"')]
    assert [one["batch"] for one in seen] == list(looks)
    first, middle, last = seen
    for kind in ("live", "beside", "resident"):
        assert last[kind] - first[kind] < GROWTH, seen
    # Spark keeps what a restart from the last 100 micro-batches needs (spark.sql.streaming.minBatchesToRetain).
    for kind in ("files", "local"):
        assert last[kind] < middle[kind] * 1.25, seen
