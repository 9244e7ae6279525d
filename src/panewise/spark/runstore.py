"""Runs and manifest in Spark's state store, which commits them with the micro-batch."""

from typing import Any

from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle, ValueState

from panewise.errors import StateError


class SparkRunStore:
    """The run store of the shard whose turn it is. Every call is a round trip to the JVM, so they are few."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._manifest: ValueState = handle.getValueState("manifest", "json STRING")
        self._runs: MapState = handle.getMapState("runs", "name STRING", "data BINARY")

    def manifest(self) -> str | None:
        """The manifest, or None in a new store."""
        row: Any = self._manifest.get()
        return None if row is None else str(row[0])

    def put_manifest(self, text: str) -> None:
        """Replaces the manifest."""
        self._manifest.update((text,))

    def run(self, name: str) -> bytes:
        """One run.

        Raises:
            StateError: if the manifest names a run that is not there.
        """
        row: Any = self._runs.getValue((name,))
        if row is None:
            remedy = "restore the checkpoint from a copy, or start from a new one"
            raise StateError(f"run {name} is missing", "every run that a manifest names is there", remedy)
        return bytes(row[0])

    def put_run(self, name: str, data: bytes) -> None:
        """Adds a run."""
        self._runs.updateValue((name,), (data,))

    def drop_run(self, name: str) -> None:
        """Removes a run."""
        self._runs.removeKey((name,))
