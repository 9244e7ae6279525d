"""The processes of a job, as the kernel lists them, and how they are killed."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

PACE = 0.02  # seconds between two looks


@dataclass(frozen=True)
class Found:
    """One living process."""

    pid: int
    parent: int
    session: int
    command: str


def living(sessions: Iterable[int]) -> list[Found]:
    """The processes of these sessions. A job is a session of its own; not a process group, as PySpark's daemon makes one for itself."""
    wanted, found = set(sessions), []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # pid (name) state parent group session ...; the name may hold anything, parentheses too.
            state, parent, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended meanwhile
            continue
        if int(session) in wanted and state not in "ZX":
            found.append(Found(int(entry.name), int(parent), int(session), command))
    return found


def python_workers(sessions: Iterable[int]) -> list[Found]:
    """The workers, which PySpark's daemons fork."""
    of_pyspark = {one.pid: one for one in living(sessions) if "pyspark.daemon" in one.command}
    return sorted((one for one in of_pyspark.values() if one.parent in of_pyspark), key=lambda one: one.pid)


def executors(sessions: Iterable[int]) -> list[Found]:
    """The JVMs of executors."""
    return sorted((one for one in living(sessions) if "CoarseGrainedExecutorBackend" in one.command), key=lambda one: one.pid)


def kill(pid: int) -> bool:
    """kill -9; whether there was still something to kill."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def kill_job(job: subprocess.Popen[bytes]) -> None:
    """The driver and its JVM at once. What is left of its session (PySpark's daemons see that they are alone) gets a moment to end."""
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    if not wait_until(lambda: not living([job.pid]), 5):
        for one in living([job.pid]):
            kill(one.pid)
        assert wait_until(lambda: not living([job.pid]), 5)


def wait_until(happened: Callable[[], bool], seconds: float) -> bool:
    """Looks again and again; whether it happened in time."""
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            return False
        pause(PACE)
    return True


def pause(seconds: float) -> None:
    """Lets time pass."""
    threading.Event().wait(seconds)
