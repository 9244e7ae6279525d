"""A query that runs for long keeps neither memory nor files for completed micro-batches."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faults.rounds import ROOT, bury

pytestmark = pytest.mark.soak

FROM, EVERY, TO = 100, 50, 300
GROWTH = 50  # MB
HOUR = 3600
# Old versions of the state are deleted in the background; by default once a minute.
SETTINGS = {"spark.sql.streaming.stateStore.maintenanceInterval": "5s"}


def looks(folder: Path, operator: str) -> list[dict[str, Any]]:
    """Returns what a job reported, one entry for each micro-batch with a report."""
    settings = [f"{name}={value}" for name, value in SETTINGS.items()]
    command = [
        sys.executable,
        "-m",
        "tests.faults.long_job",
        str(folder),
        str(TO + 5),
        str(EVERY),
        operator,
        *settings,
    ]
    with (folder / "printed").open("wb") as printed:
        process = subprocess.Popen(
            command, cwd=ROOT, env=os.environ, stdout=printed, stderr=printed, start_new_session=True
        )
        try:
            code = process.wait(HOUR)
        finally:
            bury(process)
    text = (folder / "printed").read_text(encoding="utf-8", errors="replace")
    assert code == 0, text[-4000:]
    return [json.loads(line) for line in text.splitlines() if line.startswith('{"batch"')]


def test_three_hundred_batches_of_one_row(tmp_path: Path) -> None:
    """Live objects and non-heap memory grow by less than 50 MB together from micro-batch 100 to 300.

    From 200 to 300 the number of files of the state, and that in the local directory, grow by less than a
    quarter. Resident memory is only reported, because it depends on when the JVM collects garbage.
    """
    seen = looks(tmp_path, "ours")
    assert [one["batch"] for one in seen] == list(range(0, TO + 1, EVERY))
    (tmp_path / "seen.json").write_text(json.dumps(seen), encoding="utf-8")
    by_batch = {one["batch"]: one for one in seen}
    first, middle, last = by_batch[FROM], by_batch[(FROM + TO) // 2], by_batch[TO]
    assert last["live"] + last["beside"] - first["live"] - first["beside"] < GROWTH, seen
    # Spark keeps what a restart from the last 100 micro-batches needs
    # (spark.sql.streaming.minBatchesToRetain).
    for kind in ("state", "local"):
        assert last[kind] < middle[kind] * 1.25, seen
