"""Copies of runs in a directory of this machine, shared by its processes.

One that is not compressed is mapped, which costs nothing until used. A copy is no more than that: one that is lost or damaged is read
again from the durable state.
"""

import mmap
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import polars as pl

from panewise.errors import StateError
from panewise.state import blob


class Mirror:
    """The copies in one directory, which is made when the first is written."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._checked: set[str] = set()

    def read(self, name: str) -> pl.DataFrame | None:
        """The run's copy, mapped if it is not compressed; None if there is none, or none that can be trusted.

        Its checksum is looked at once in a process.
        """
        path = self._path(name)
        try:
            with path.open("rb") as file:
                mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            frame = blob.decode(memoryview(mapped), check=name not in self._checked)
            self._checked.add(name)
            return frame
        except (OSError, ValueError, StateError):  # not there, empty, or damaged
            self.drop([name])
            return None

    def write(self, name: str, run: bytes) -> None:
        """Takes a run as :func:`panewise.state.blob.encode` gave it; other processes see all of it or nothing.

        A full or read-only disk only means that there is no copy.
        """
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=self._directory, delete=False) as file:
                file.write(run)
            Path(file.name).replace(self._path(name))
        except OSError:
            return

    def drop(self, names: Iterable[str]) -> None:
        """Removes copies; a process that has mapped one keeps it."""
        for name in names:
            self._checked.discard(name)
            with suppress(OSError):
                self._path(name).unlink()

    def _path(self, name: str) -> Path:
        return self._directory / f"{name}.run"
