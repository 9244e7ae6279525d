"""The time and the memory that a command takes, from its start to its end."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, Final

# Linux counts the memory of the process that starts another one as if the latter had taken it. So a small
# process starts the command, and writes how many KB it had at most.
_START: Final = """
import os, sys
taken, *command = sys.argv[1:]
_, status, used = os.wait4(os.posix_spawn(command[0], command, os.environ), 0)
with open(taken, "w") as file:
    file.write(str(used.ru_maxrss))
sys.exit(os.waitstatus_to_exitcode(status))
"""


@dataclass(frozen=True, slots=True)
class Taken:
    """What a process took.

    Attributes:
        seconds: its time.
        resident_mb: the most memory that it had.
    """

    seconds: float
    resident_mb: float


def measured(arguments: Sequence[str], printed: IO[bytes] | None = None) -> Taken:
    """Runs Python with arguments, and waits for its end. Its output goes to `printed`, if that is given.

    Raises:
        CalledProcessError: if it fails.
    """
    with tempfile.NamedTemporaryFile() as taken:
        command = [sys.executable, "-S", "-c", _START, taken.name, sys.executable, *arguments]
        started = time.perf_counter()
        subprocess.run(command, stdout=printed, check=True)
        return Taken(time.perf_counter() - started, int(taken.read()) / 1024)
