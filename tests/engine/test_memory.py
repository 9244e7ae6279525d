"""A worker's memory stays within its bound, however long the state is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MB = 1 << 20
WORKING = 160 * MB  # what a step of 20,000 rows and merges need besides the cache; it was 115 for a state of 50 MB, too


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
def test_resident_memory_keeps_to_the_bound_with_a_state_of_ten_times_as_much(tmp_path: Path) -> None:
    limit = 16 * MB
    command = [sys.executable, str(Path(__file__).with_name("memory_job.py")), str(tmp_path), "3000000", str(limit)]
    told = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | {"POLARS_MAX_THREADS": "1"}).stdout
    )
    assert told["state"] > 10 * limit
    assert told["cached"] <= limit
    assert told["grown"] <= limit + WORKING, told
