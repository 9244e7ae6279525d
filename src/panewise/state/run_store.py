"""Stores of runs and a manifest: the protocol, and an implementation in memory."""

from typing import Protocol

from panewise.errors import StateError
from panewise.state.manifest import REMEDY


class RunStore(Protocol):
    """A store of one manifest and any number of runs.

    The runtime ensures that all writes of a step become durable together, or none.
    """

    def manifest(self) -> str | None:
        """Returns the manifest, None in a new store."""

    def put_manifest(self, text: str) -> None:
        """Replaces the manifest."""

    def run(self, name: str) -> bytes:
        """Returns a run. This reads the whole run.

        Raises:
            StateError: if the run is missing.
        """

    def put_run(self, name: str, data: bytes) -> None:
        """Adds a run. Only a repeated step uses a name again."""

    def drop_run(self, name: str) -> None:
        """Deletes a run that the next manifest does not name."""


def missing(name: str) -> StateError:
    """Returns the error for a run that a manifest names and that is missing."""
    return StateError(f"run {name} is missing", "every run that a manifest names exists", REMEDY)


def other_windows(name: str) -> StateError:
    """Returns the error for a run with other windows than its manifest lists."""
    rule = "a run contains the windows that the manifest lists"
    return StateError(f"another run is stored as run {name}", rule, REMEDY)


class MemoryRunStore:
    """A run store in this process.

    >>> store = MemoryRunStore()
    >>> store.put_run("a", b"...")
    >>> store.run("a")
    b'...'
    """

    def __init__(self) -> None:
        self._manifest: str | None = None
        self._runs: dict[str, bytes] = {}

    def manifest(self) -> str | None:
        """Returns the manifest, None in a new store."""
        return self._manifest

    def put_manifest(self, text: str) -> None:
        """Replaces the manifest."""
        self._manifest = text

    def run(self, name: str) -> bytes:
        """Returns a run."""
        if name not in self._runs:
            raise missing(name)
        return self._runs[name]

    def put_run(self, name: str, data: bytes) -> None:
        """Adds a run."""
        self._runs[name] = data

    def drop_run(self, name: str) -> None:
        """Deletes a run."""
        del self._runs[name]

    @property
    def names(self) -> list[str]:
        """The names of the stored runs, sorted."""
        return sorted(self._runs)
