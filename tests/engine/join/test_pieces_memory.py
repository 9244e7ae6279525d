"""The memory of a step does not grow with the number of pairs that one row makes."""

import os
import subprocess
import sys

import pytest

from tests.nightly import first_here

LIMIT_MB = 128  # of the 256 MB that a worker may need more, with what Spark needs for the frames
ENVIRONMENT = {"_RJEM_MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0", "POLARS_MAX_THREADS": "1"}


def raised_mb(how: str, pairs: int) -> int:
    """Returns by how much the step of the one row raises the memory of a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.engine.join.pieces_memory_job", how, str(pairs)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **ENVIRONMENT},
    )
    return int(done.stdout)


@pytest.mark.parametrize("how", first_here(["left", "anti"]))
def test_two_million_pairs(how: str) -> None:
    """All at once, the pairs of `left` raise it by 360 MB."""
    assert raised_mb(how, 2_000_000) < LIMIT_MB


@pytest.mark.soak
@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
def test_ten_million_pairs(how: str) -> None:
    assert raised_mb(how, 10_000_000) < LIMIT_MB
