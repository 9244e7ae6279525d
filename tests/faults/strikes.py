"""Strikes against a process of a job: kill -9, a stop for some seconds, or no more memory."""

import os
import random
import resource
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from tests.faults.processes import kill, wait_until

Means = Literal["kill", "stop", "starve"]

STOPPED = (4.0, 25.0)  # seconds
_STARVING = 60  # seconds to wait for a process without more memory to end


def strike(means: Means, pid: int, draw: random.Random, ended: Callable[[], bool]) -> str:
    """Strikes a process; returns what happened. A stop ends early if the job has `ended`."""
    try:
        if means == "stop":
            return _stop(pid, draw.uniform(*STOPPED), ended)
        if means == "starve":
            return _starve(pid, ended)
    except ProcessLookupError:
        return "had ended"
    return "killed" if kill(pid) else "had ended"


def _stop(pid: int, seconds: float, ended: Callable[[], bool]) -> str:
    os.kill(pid, signal.SIGSTOP)
    wait_until(ended, seconds)
    os.kill(pid, signal.SIGCONT)
    return f"stopped for {seconds:.0f} s"


def _starve(pid: int, ended: Callable[[], bool]) -> str:
    """Limits the address space to its present size, so that the next thread or large allocation fails."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize()
    resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))
    wait_until(lambda: _ended(pid) or ended(), _STARVING)
    return "died without memory" if _ended(pid) and not ended() else "went on without more memory"


def _ended(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] in "ZX"  # pid (name) state ...
