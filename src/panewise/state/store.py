"""Where runs and the manifest are kept: a small protocol, and its implementation in memory."""

from typing import Protocol

from panewise.errors import StateError


class RunStore(Protocol):
    """Keeps one manifest and any number of runs. Writes become durable together, or not at all; the runtime sees to that."""

    def manifest(self) -> str | None:
        """The manifest, or None in a new store."""
        ...

    def put_manifest(self, text: str) -> None:
        """Replaces the manifest."""
        ...

    def run(self, name: str) -> bytes:
        """One run. Costs a read of its whole length.

        Raises:
            StateError: if it is not there.
        """
        ...

    def put_run(self, name: str, data: bytes) -> None:
        """Adds a run; names are never used twice."""
        ...

    def drop_run(self, name: str) -> None:
        """Removes a run that no manifest names any more."""
        ...


def missing(name: str) -> StateError:
    """The error of a run that a manifest names and nobody has."""
    remedy = "restore the checkpoint from a copy, or start from a new one"
    return StateError(f"run {name} is missing", "every run that a manifest names is there", remedy)


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
        """The manifest, or None in a new store."""
        return self._manifest

    def put_manifest(self, text: str) -> None:
        """Replaces the manifest."""
        self._manifest = text

    def run(self, name: str) -> bytes:
        """One run."""
        if name not in self._runs:
            raise missing(name)
        return self._runs[name]

    def put_run(self, name: str, data: bytes) -> None:
        """Adds a run."""
        self._runs[name] = data

    def drop_run(self, name: str) -> None:
        """Removes a run."""
        del self._runs[name]

    @property
    def names(self) -> list[str]:
        """The runs that are kept."""
        return sorted(self._runs)
