"""Rounds: a round starts a job, kills parts of it at random moments and restarts it until it ends well."""

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
# Spark gives a Python process ten seconds to start, and no setting changes that. On a busy machine it may
# take longer. The query then fails, and is started again as after a kill.
SLOW = "Python worker failed to connect back"
_SLOW_STARTS = 5
PATIENCE = 600  # seconds for a job, or a step of one, on a busy machine

Victim = Literal["driver", "worker", "executor"]


@dataclass
class Job:
    """A job that can be started repeatedly. Its files are under `folder`."""

    folder: Path
    source: Path
    spec: str
    master: str = "local[2]"
    settings: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    also: tuple[int, ...] = ()  # sessions of a standalone cluster, whose processes can be killed too
    through: tuple[str, ...] = ()  # a command that runs the job
    module: str = "tests.faults.job"

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def start(self) -> subprocess.Popen[bytes]:
        """Returns a new process, in a session of its own."""
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = {"spark.local.dir": str(self.folder / "local"), **self.settings}
        command = [
            *self.through,
            sys.executable,
            "-m",
            self.module,
            str(self.source),
            str(self.out),
            self.master,
            self.spec,
        ]
        command += [f"{name}={value}" for name, value in settings.items()]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, **self.environment},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def run(self) -> None:
        """Runs the job once without faults, and asserts that it exits with 0."""
        process = self.start()
        try:
            code = process.wait(PATIENCE)
        finally:
            if process.poll() is None or living([process.pid]):
                bury(process)
        assert code == 0, self.log[-4000:]

    def cuts(self) -> tuple[int, ...]:
        """Returns the number of files of each micro-batch with data.

        It is one, unless the driver died after the file source wrote its log and before the query wrote its
        own. Spark then gives the logged file to the next micro-batch, which has two files.
        """
        return cuts_of(self.out / "checkpoint")

    def commits(self) -> int:
        """Returns the number of committed micro-batches."""
        return len(list((self.out / "checkpoint" / "commits").glob("[0-9]*")))


def cuts_of(checkpoint: Path) -> tuple[int, ...]:
    """Returns the number of files of each micro-batch with data in a checkpoint."""
    batches = sorted((checkpoint / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))
    ends = [int(re.findall(r'"logOffset":(-?\d+)', path.read_text(encoding="utf-8"))[0]) for path in batches]
    return tuple(end - before for before, end in pairwise([-1, *ends]) if end > before)


@dataclass(frozen=True)
class Plan:
    """What is killed, and how often; `seed` decides when. `files` is the number of micro-batches with data.

    With other `means` a worker or an executor is stopped for some seconds, or gets no more memory. `delay` is
    the maximum time from the commit of a micro-batch to the strike, in seconds.
    """

    seed: int
    victim: Victim
    files: int
    kills: int = 1
    means: Means = "kill"
    delay: float = 0.5


def play(job: Job, plan: Plan) -> list[str]:
    """Plays a round until the job ends well; returns what happened, for the message of a failing test."""
    draw = random.Random(plan.seed)
    # Batches from 0 (the checkpoint is being prepared) to that of the last panes, which comes after the data.
    moments = sorted((draw.randrange(plan.files + 2), draw.uniform(0, plan.delay)) for _ in range(plan.kills))
    story: list[str] = []
    slow = 0  # starts that Spark ended
    for starts in range(plan.kills + 1 + _SLOW_STARTS):
        before, process = len(job.log) if job.folder.exists() and starts else 0, job.start()
        try:
            while moments and _reached(job, process, *moments[0]):
                batches, delay = moments.pop(0)
                done = job.commits()
                story.append(
                    f"{batches} batches + {delay:.2f} s, {done} committed: "
                    f"{_strike(draw, job, process, plan)}"
                )
            code = process.wait(PATIENCE)
        finally:
            bury(process)
        story.append(f"ended with {code}")
        (job.folder / "story").write_text("\n".join(story), encoding="utf-8")
        if code == 0:
            return story
        if SLOW in job.log[before:] and slow < _SLOW_STARTS:
            slow += 1
            story.append("Spark did not wait for a Python worker")
            continue
        assert starts - slow < plan.kills - len(moments), f"a job died by itself: {story}\n{job.log[-6000:]}"
    raise AssertionError(f"no good end: {story}\n{job.log[-6000:]}")


def _reached(job: Job, process: subprocess.Popen[bytes], batches: int, delay: float) -> bool:
    """Waits for the moment of a strike; returns False if the job ended before it."""

    def now() -> bool:
        there = job.commits() >= batches if batches else job.out.exists()
        return there or process.poll() is not None

    assert wait_until(now, PATIENCE), f"waited too long for batch {batches}\n{job.log[-4000:]}"
    pause(delay)
    return process.poll() is None


def _strike(draw: random.Random, job: Job, process: subprocess.Popen[bytes], plan: Plan) -> str:
    """Strikes one process of the plan's kind; returns what happened. Killing the driver ends the job."""
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
    return (
        f"{plan.victim} {one.pid} of {len(there)} "
        f"{strike(plan.means, one.pid, draw, lambda: process.poll() is not None)}"
    )


def bury(process: subprocess.Popen[bytes]) -> None:
    """Kills what is left of a job, so that no process of it outlives it."""
    if process.poll() is None:
        kill_job(process)
    elif not wait_until(lambda: not living([process.pid]), 5):
        for one in living([process.pid]):
            kill(one.pid)
        wait_until(lambda: not living([process.pid]), 5)
