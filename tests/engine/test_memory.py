"""A worker's memory stays within its bound, however long the state is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MB = 1 << 20
# Besides the cache: what a step of 20,000 rows and merges need, and what is kept for the next one; it was 140 for a state of 50 MB, too.
WORKING = (160 + 64) * MB
AS_IN_A_WORKER = {  # panewise.spark.worker
    "POLARS_MAX_THREADS": "1",
    "_RJEM_MALLOC_CONF": "dirty_decay_ms:10000,muzzy_decay_ms:10000",
    "MALLOC_MMAP_THRESHOLD_": str(32 * MB),
    "MALLOC_TRIM_THRESHOLD_": str(64 * MB),
}


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
def test_resident_memory_keeps_to_the_bound_with_a_state_of_ten_times_as_much(tmp_path: Path) -> None:
    limit = 16 * MB
    command = [sys.executable, str(Path(__file__).with_name("memory_job.py")), str(tmp_path), "3000000", str(limit)]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | AS_IN_A_WORKER).stdout)
    assert told["state"] > 10 * limit
    assert told["cached"] <= limit
    assert told["grown"] <= limit + WORKING, told
