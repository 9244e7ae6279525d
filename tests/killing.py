"""Runs a job in a process of its own, and kills it (SIGKILL).

A job writes "ready" when it begins, "commit" before each commit, and whatever it likes after it.
"""

import json
import random
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PATIENCE = 300  # seconds that a job may take to its end


@dataclass
class Kills:
    """Kills a job, and counts how often, and how often in the middle of a commit."""

    module: str
    seed: int
    longest: float = 0.6  # seconds until a kill
    count: int = 0
    in_commits: int = 0
    draw: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)

    def strike(self, *arguments: Any) -> list[str]:
        """Runs the job, kills it, and returns the lines that it has written.

        Each second time it is killed within two milliseconds after a commit has begun, otherwise at any time.
        """
        with self._started(arguments) as job:
            lines: list[str] = []
            aimed = self.count % 2
            if aimed:
                self._read_until(job, lines, commits=self.draw.randrange(1, 40))
            alive = _waited(job, self.draw.uniform(0, 0.002 if aimed else self.longest)) is None
            job.send_signal(signal.SIGKILL)
            assert job.stdout is not None
            lines += job.stdout.read().splitlines()
        assert alive, f"the job ended with {job.returncode}"
        self.count += 1
        self.in_commits += lines[-1:] == ["commit"]
        return lines

    def finish(self, *arguments: Any) -> None:
        """Runs the job to its end."""
        with self._started(arguments) as job:
            job.communicate(timeout=PATIENCE)
        assert job.returncode == 0

    def _started(self, arguments: tuple[Any, ...]) -> "subprocess.Popen[str]":
        command = [sys.executable, "-m", self.module, *map(str, arguments)]
        job = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert job.stdout is not None
        assert job.stdout.readline() == "ready\n"
        return job

    def _read_until(self, job: "subprocess.Popen[str]", lines: list[str], commits: int) -> None:
        assert job.stdout is not None
        while lines.count("commit") < commits:
            line = job.stdout.readline()
            assert line, f"the job ended with {job.wait()} before so many commits: {commits}"
            lines.append(line.strip())

    def report(self, record_property: Any) -> None:
        """Adds the counts to the report of pytest (`--junitxml`)."""
        record_property("kills", self.count)
        record_property("kills in commits", self.in_commits)


def _waited(job: "subprocess.Popen[str]", seconds: float) -> int | None:
    """Returns the exit code of a job, or None if it still runs after a time."""
    with suppress(subprocess.TimeoutExpired):
        return job.wait(seconds)
    return None


def in_sink(sink: Path) -> dict[tuple[Any, ...], str]:
    """Returns the rows of a sink by what precedes them. The last line of a killed process may be torn."""
    found: dict[tuple[Any, ...], str] = {}
    for text in sink.read_bytes().split(b"\n"):
        try:
            *key, row = json.loads(text)
        except ValueError:
            continue
        assert found.setdefault(tuple(key), row) == row
    return found


def tell(line: str) -> None:
    """Writes a line at once, so that it survives the process."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
