"""Runs and manifest in Spark's state store, which commits them with the micro-batch."""

from typing import Any

from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from panewise.state.store import missing

_MANIFEST = "manifest"  # runs are named by numbers
# Types, not their text: Spark would ask the JVM to parse it, four round trips in each micro-batch.
_NAME = StructType([StructField("name", StringType())])
_DATA = StructType([StructField("data", BinaryType())])


class SparkRunStore:
    """The run store of the shard whose turn it is.

    Every call is a round trip to the JVM, and every state variable costs time in each micro-batch, so there are few of both.
    """

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._state: MapState = handle.getMapState("panewise", _NAME, _DATA)

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
            raise missing(name)
        return bytes(row[0])

    def put_run(self, name: str, data: bytes) -> None:
        """Adds a run."""
        self._state.updateValue((name,), (data,))

    def drop_run(self, name: str) -> None:
        """Removes a run."""
        self._state.removeKey((name,))
