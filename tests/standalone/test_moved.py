"""Imports and exports whose process is killed (SIGKILL) can be repeated (semantics 48.1, 48.8)."""

import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import export
from panewise.state.export_file import ExportFile

WINDOWS = 300_000


def killed_after(lines: int, *arguments: Any) -> list[str]:
    """Runs the job until it has written so many lines, and kills it; returns what it wrote."""
    command = [sys.executable, "-m", "tests.standalone.moved_job", *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None
        written = [job.stdout.readline().strip() for _ in range(lines)]
        job.send_signal(signal.SIGKILL)
        return [*written, *job.stdout.read().split()]


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(3))
def test_kills_while_importing_and_exporting(tmp_path: Path, seed: int) -> None:
    """semantics 48.1, 48.8: the store has all windows or none, and so has the file."""
    draw, source, out = random.Random(seed), tmp_path / "state", tmp_path / "out"
    export.write(source, WINDOWS)
    written: list[str] = []
    for _ in range(8):
        written += killed_after(draw.randrange(1, 30), source, tmp_path / "store", out)
        if out.exists():
            assert windows(out) == WINDOWS
    killed_after(10_000, source, tmp_path / "store", out)
    assert windows(out) == WINDOWS
    assert {"state", "position"} <= {*written}


def windows(file: Path) -> int:
    """Returns the number of windows in a complete file."""
    assert ExportFile.open(file).origin.batch is None
    return export.into_store(str(file), str(file.parent / f"of {ExportFile.open(file).origin.id}"))
