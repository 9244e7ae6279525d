"""Lists the processes of a job from /proc, and kills them."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

PACE = 0.02  # seconds between two checks


@dataclass(frozen=True)
class Found:
    """One living process."""

    pid: int
    parent: int
    session: int
    command: str


def living(sessions: Iterable[int]) -> list[Found]:
    """Returns the living processes of these sessions.

    A job has a session of its own. Its process group would miss PySpark's daemon, which makes one for itself.
    """
    wanted, found = set(sessions), []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # pid (name) state parent group session ...; the name may contain anything, even parentheses.
            state, parent, _, session = (entry / "stat").read_text().rpartition(")")[2].split()[:4]
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended meanwhile
            continue
        if int(session) in wanted and state not in "ZX":
            found.append(Found(int(entry.name), int(parent), int(session), command))
    return found


def python_workers(sessions: Iterable[int]) -> list[Found]:
    """Returns the Python workers, which PySpark's daemons fork."""
    of_pyspark = {one.pid: one for one in living(sessions) if "pyspark.daemon" in one.command}
    return sorted((one for one in of_pyspark.values() if one.parent in of_pyspark), key=lambda one: one.pid)


def executors(sessions: Iterable[int]) -> list[Found]:
    """Returns the JVMs of executors."""
    return sorted(
        (one for one in living(sessions) if "CoarseGrainedExecutorBackend" in one.command),
        key=lambda one: one.pid,
    )


def kill(pid: int) -> bool:
    """Kills a process with SIGKILL; returns whether it still existed."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def kill_job(job: subprocess.Popen[bytes]) -> None:
    """Kills the driver and its JVM at once.

    The rest of the session has five seconds to end by itself, as PySpark's daemons do without a JVM. What is
    left then is killed.
    """
    os.killpg(job.pid, signal.SIGKILL)
    job.wait()
    if not wait_until(lambda: not living([job.pid]), 5):
        for one in living([job.pid]):
            kill(one.pid)
        assert wait_until(lambda: not living([job.pid]), 5)


def wait_until(happened: Callable[[], bool], seconds: float) -> bool:
    """Checks a condition repeatedly; returns whether it became true in time."""
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            return False
        pause(PACE)
    return True


def pause(seconds: float) -> None:
    """Waits for some seconds."""
    threading.Event().wait(seconds)
