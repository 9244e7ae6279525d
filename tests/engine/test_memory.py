"""The memory of a worker stays within its bound, however large the state is."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.nightly import first_here

MB = 1 << 20
WORKING = 96 * MB  # for a step of 20,000 rows and for merges, besides the cache; 72 MB were measured
FREED = 64 * MB  # freed memory that the allocator of Polars keeps for some time
KEPT = 64 * MB  # memory that a Spark worker keeps for its next micro-batch (panewise.spark.workers.worker)
# Settings with which allocators return freed memory at once. By default they return it after some time, so
# the memory that they keep depends on the speed of the machine.
GIVING_BACK = {
    "_RJEM_MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(64 << 10),
    "MALLOC_TRIM_THRESHOLD_": "0",
}
AS_IN_A_WORKER = {
    "_RJEM_MALLOC_CONF": "dirty_decay_ms:10000,muzzy_decay_ms:10000",
    "MALLOC_MMAP_THRESHOLD_": str(32 * MB),
    "MALLOC_TRIM_THRESHOLD_": str(KEPT),
}


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc")
@pytest.mark.parametrize(
    ("environment", "kept"),
    first_here([(AS_IN_A_WORKER, FREED + KEPT), (GIVING_BACK, 0)]),
    ids=["in a worker", "in use"],
)
def test_resident_memory_keeps_to_the_bound_with_a_state_of_ten_times_as_much(
    tmp_path: Path, environment: dict[str, str], kept: int
) -> None:
    limit = 16 * MB
    command = [
        sys.executable,
        str(Path(__file__).with_name("memory_job.py")),
        str(tmp_path),
        "3000000",
        str(limit),
    ]
    settings = os.environ | {"POLARS_MAX_THREADS": "1"} | environment
    told = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True, env=settings).stdout
    )
    assert told["state"] > 10 * limit
    assert told["cached"] <= limit
    assert told["grown"] <= limit + WORKING + kept, told
