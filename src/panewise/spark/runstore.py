"""Runs and manifest in Spark's state store, which commits them with the micro-batch."""

from typing import Any

from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle

from panewise.errors import StateError

_MANIFEST = "manifest"  # runs are named by 32 hexadecimal digits


class SparkRunStore:
    """The run store of the shard whose turn it is.

    Every call is a round trip to the JVM, and every state variable costs time in each micro-batch, so there are few of both.
    """

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._state: MapState = handle.getMapState("panewise", "name STRING", "data BINARY")

    def manifest(self) -> str | None:
        """The manifest, or None in a new store."""
        row: Any = self._state.getValue((_MANIFEST,))
        return None if row is None else bytes(row[0]).decode()

    def put_manifest(self, text: str) -> None:
        """Replaces the manifest."""
        self._state.updateValue((_MANIFEST,), (text.encode(),))

    def run(self, name: str) -> bytes:
        """One run.

        Raises:
            StateError: if the manifest names a run that is not there.
        """
        row: Any = self._state.getValue((name,))
        if row is None:
            remedy = "restore the checkpoint from a copy, or start from a new one"
            raise StateError(f"run {name} is missing", "every run that a manifest names is there", remedy)
        return bytes(row[0])

    def put_run(self, name: str, data: bytes) -> None:
        """Adds a run."""
        self._state.updateValue((name,), (data,))

    def drop_run(self, name: str) -> None:
        """Removes a run."""
        self._state.removeKey((name,))
