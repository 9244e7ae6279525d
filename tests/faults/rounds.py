"""A round: a job is started, something of it is killed at a random moment, it is started again until it ends well."""

import os
import random
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Literal

from tests.faults.processes import executors, kill, kill_job, living, pause, python_workers, wait_until
from tests.faults.strikes import Means, strike

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 600  # seconds for a job, or a step of one, on a busy machine

Victim = Literal["driver", "worker", "executor"]


@dataclass
class Job:
    """How a job is started, as often as need be. What it leaves is under `folder`."""

    folder: Path
    source: Path
    spec: str
    master: str = "local[2]"
    settings: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    also: tuple[int, ...] = ()  # sessions of a standing cluster, whose processes can be killed too
    through: tuple[str, ...] = ()  # a command that runs the job

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def start(self) -> subprocess.Popen[bytes]:
        """A new process in a session of its own."""
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = {"spark.local.dir": str(self.folder / "local"), **self.settings}
        command = [*self.through, sys.executable, "-m", "tests.faults.job", str(self.source), str(self.out), self.master, self.spec]
        command += [f"{name}={value}" for name, value in settings.items()]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                command, cwd=ROOT, env={**os.environ, **self.environment}, stdout=log, stderr=log, start_new_session=True
            )

    def run(self) -> None:
        """Once, undisturbed."""
        process = self.start()
        try:
            code = process.wait(PATIENCE)
        finally:
            if process.poll() is None or living([process.pid]):
                bury(process)
        assert code == 0, self.log[-4000:]

    def cuts(self) -> tuple[int, ...]:
        """How many files each micro-batch with data had.

        One, unless the driver died between the file source's own log and that of the query: Spark gives the file that
        was noted then to the next micro-batch, which has two.
        """
        batches = sorted((self.out / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
        ends = [int(re.findall(r'"logOffset":(-?\d+)', path.read_text(encoding="utf-8"))[0]) for path in batches]
        return tuple(end - before for before, end in pairwise([-1, *ends]) if end > before)

    def commits(self) -> int:
        """Micro-batches that are committed."""
        return len(list((self.out / "checkpoint" / "commits").glob("[0-9]*")))


@dataclass(frozen=True)
class Plan:
    """What is killed, how often, and when: `seed` decides. `files` is the number of micro-batches that have data.

    With other `means` a worker or an executor is stopped for some seconds, or gets no more memory. The `delay` is the longest from the
    commit of a micro-batch to the strike, in seconds.
    """

    seed: int
    victim: Victim
    files: int
    kills: int = 1
    means: Means = "kill"
    delay: float = 0.5


def play(job: Job, plan: Plan) -> list[str]:
    """Plays a round to its good end; what happened, for the message of a test that fails."""
    draw = random.Random(plan.seed)
    # From 0 (the checkpoint is being prepared) to the last panes, which come after the data.
    moments = sorted((draw.randrange(plan.files + 2), draw.uniform(0, plan.delay)) for _ in range(plan.kills))
    story: list[str] = []
    for restarts in range(plan.kills + 1):
        process = job.start()
        try:
            while moments and _reached(job, process, *moments[0]):
                batches, delay = moments.pop(0)
                done = job.commits()
                story.append(f"{batches} batches + {delay:.2f} s, {done} committed: {_strike(draw, job, process, plan)}")
            code = process.wait(PATIENCE)
        finally:
            bury(process)
        story.append(f"ended with {code}")
        (job.folder / "story").write_text("\n".join(story), encoding="utf-8")
        if code == 0:
            return story
        assert restarts < plan.kills - len(moments), f"a job died by itself: {story}\n{job.log[-6000:]}"
    raise AssertionError(f"no good end: {story}\n{job.log[-6000:]}")


def _reached(job: Job, process: subprocess.Popen[bytes], batches: int, delay: float) -> bool:
    """Waits for a moment; False if the job ended before it."""

    def now() -> bool:
        there = job.commits() >= batches if batches else job.out.exists()
        return there or process.poll() is not None

    assert wait_until(now, PATIENCE), f"waited too long for batch {batches}\n{job.log[-4000:]}"
    pause(delay)
    return process.poll() is None


def _strike(draw: random.Random, job: Job, process: subprocess.Popen[bytes], plan: Plan) -> str:
    """Kills; a job whose driver was killed has ended then."""
    if plan.victim == "driver":
        kill_job(process)
        return "driver killed"
    sessions = (process.pid, *job.also)
    choose = python_workers if plan.victim == "worker" else executors
    wait_until(lambda: bool(choose(sessions)) or process.poll() is not None, 20)
    there = choose(sessions)
    if not there:
        return f"no {plan.victim} to kill"
    one = draw.choice(there)
    return f"{plan.victim} {one.pid} of {len(there)} {strike(plan.means, one.pid, draw, lambda: process.poll() is not None)}"


def bury(process: subprocess.Popen[bytes]) -> None:
    """Nothing of a job may outlive it."""
    if process.poll() is None:
        kill_job(process)
    elif not wait_until(lambda: not living([process.pid]), 5):
        for one in living([process.pid]):
            kill(one.pid)
        wait_until(lambda: not living([process.pid]), 5)
