"""Starts jobs with real connectors in processes of their own."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.faults.processes import living, wait_until
from tests.faults.rounds import PATIENCE, ROOT, bury


@dataclass(frozen=True)
class ConnectorJob:
    """A module of this folder with its arguments. Its output goes to `folder`/printed."""

    folder: Path
    module: str
    arguments: tuple[str, ...]

    @property
    def log(self) -> str:
        """The end of what the job has printed."""
        return (self.folder / "printed").read_text(errors="replace")[-6000:]

    @contextmanager
    def started(self) -> Iterator[subprocess.Popen[bytes]]:
        """Yields a new process in a session of its own, and kills what is left of the session at the end."""
        command = [sys.executable, "-m", f"tests.connectors.{self.module}", *self.arguments]
        with (self.folder / "printed").open("ab") as log:
            process = subprocess.Popen(
                command, cwd=ROOT, env=os.environ, stdout=log, stderr=log, start_new_session=True
            )
        try:
            yield process
        finally:
            bury(process)
            assert not living([process.pid])

    def wait_for(self, process: subprocess.Popen[bytes], path: Path) -> None:
        """Waits until the job has created a file."""
        assert wait_until(lambda: path.exists() or process.poll() is not None, PATIENCE), self.log
        assert path.exists(), self.log
