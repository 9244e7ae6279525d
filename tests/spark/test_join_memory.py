"""The memory of Spark's Python workers does not grow with the number of pairs that one row makes."""

import subprocess
import sys

import pytest

LIMIT_MB = 256
PAIRS = 10_000_000


@pytest.mark.soak
@pytest.mark.parametrize("way", ["rows", "write"])
def test_one_row_with_ten_million_partners(way: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.join_memory_job", way, str(PAIRS)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert int(done.stdout.splitlines()[-1]) < LIMIT_MB
