"""Collecting long strings needs a bounded multiple of their bytes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MEGABYTES = 64
TIMES = 4  # of the bytes collected: state, its stored form, the emitted panes, all that is in memory at once


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="resident memory is read from /proc")
@pytest.mark.parametrize(("case", "keys"), [("complete", 1), ("complete", 1000), ("restart", 1), ("early", 1), ("early", 1000)])
def test_collected_strings_need_at_most_four_times_their_bytes(tmp_path: Path, case: str, keys: int) -> None:
    """The most that is resident, files that are mapped included, while one window gets all strings in ten batches."""
    command = [sys.executable, "-m", "tests.engine.collect_memory_job", str(tmp_path), case, str(keys), str(MEGABYTES)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | {"POLARS_MAX_THREADS": "1"})
    told = json.loads(done.stdout)
    assert told["most"] <= TIMES * told["data"], told
