"""The memory for collecting long strings is a bounded multiple of their size."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.nightly import first_here

MEGABYTES = 64
TIMES = 4  # times the collected bytes: the state, its stored form and the emitted panes are in memory at once


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="resident memory is read from /proc")
@pytest.mark.parametrize(
    ("case", "keys"),
    first_here([("restart", 1), ("early", 1000), ("early", 1), ("complete", 1), ("complete", 1000)]),
)
def test_collected_strings_need_at_most_four_times_their_bytes(tmp_path: Path, case: str, keys: int) -> None:
    """Peak resident memory, mapped files included, stays in bounds while ten batches add all strings."""
    command = [
        sys.executable,
        "-m",
        "tests.engine.collect_memory_job",
        str(tmp_path),
        case,
        str(keys),
        str(MEGABYTES),
    ]
    done = subprocess.run(
        command, check=True, capture_output=True, text=True, env=os.environ | {"POLARS_MAX_THREADS": "1"}
    )
    told = json.loads(done.stdout)
    assert told["most"] <= TIMES * told["data"], told
