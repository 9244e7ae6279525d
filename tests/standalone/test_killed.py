"""An operator whose process is killed (SIGKILL) at any instant loses nothing.

Every number in the sink has one content, and together they are what an operator without faults emits.
"""

import json
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from panewise.standalone import Emission
from tests.standalone import killed_job
from tests.standalone.killed_job import SPECS, lines, made, play

MESSAGES = 200
PATIENCE = 120  # seconds


def wanted(kind: str) -> dict[tuple[str, int], str]:
    """Returns what an operator in memory emits, by kind and number."""
    found: list[Emission] = []
    operator = made(kind, found.append, None)
    play(operator, 0, MESSAGES)
    operator.finish()
    return {(what, number): row for one in found for what, number, row in lines(one)}


def in_sink(sink: Path) -> dict[tuple[str, int], str]:
    """Returns the content of a sink by kind and number. The last line of a killed process may be torn."""
    found: dict[tuple[str, int], str] = {}
    for text in sink.read_bytes().split(b"\n"):
        try:
            kind, number, row = json.loads(text)
        except ValueError:
            continue
        assert found.setdefault((kind, number), row) == row
    return found


def strike(tmp_path: Path, kind: str, delay: float) -> bool:
    """Runs the job, and kills it after a number of seconds. Returns whether it was done before."""
    arguments: list[Any] = [tmp_path / "store", tmp_path / "sink", kind, MESSAGES]
    command = [sys.executable, "-m", killed_job.__name__, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            process.wait(delay)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        process.wait(PATIENCE)
        return process.returncode == 0


def rounds(tmp_path: Path, kind: str, count: int, seed: int) -> None:
    """Kills the job so many times, then lets it end, and compares the sink."""
    times = random.Random(seed)
    for _ in range(count):
        if strike(tmp_path, kind, times.uniform(0, 1.5)):
            break
    assert strike(tmp_path, kind, PATIENCE)
    assert in_sink(tmp_path / "sink") == wanted(kind)


@pytest.mark.parametrize("kind", SPECS)
def test_a_killed_operator_continues(kind: str, tmp_path: Path) -> None:
    """semantics 31.2 to 31.4: state exactly once, outputs at least once, with the same numbers."""
    rounds(tmp_path, kind, 2, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("kind", SPECS)
@pytest.mark.parametrize("seed", range(10))
def test_a_killed_operator_continues_at_length(kind: str, seed: int, tmp_path: Path) -> None:
    rounds(tmp_path, kind, 7, seed)
