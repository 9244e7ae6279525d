"""Stores runs and manifest in Spark's state store, which commits them with the micro-batch."""

from typing import Any

from pyspark.sql.streaming.stateful_processor import MapState, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from panewise.state.run_store import missing

_MANIFEST = "manifest"  # not the name of a run: those begin with a number
# Types instead of DDL text: the JVM would have to parse the text, in four round trips in each micro-batch.
_NAME = StructType([StructField("name", StringType())])
_DATA = StructType([StructField("data", BinaryType())])


class SparkRunStore:
    """The run store of the shard that Spark is processing.

    Every call is a round trip to the JVM, and every state variable costs time in each micro-batch. So there
    are few of both.

    Attributes:
        lengths: the stored lengths of the runs, by name. Whoever loads a shard sets it.
    """

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._state: MapState = handle.getMapState("panewise", _NAME, _DATA)
        self.lengths: dict[str, int] = {}

    def manifest(self) -> str | None:
        """Returns the manifest, or None in a new store."""
        row: Any = self._state.getValue((_MANIFEST,))
        return None if row is None else bytes(row[0]).decode()

    def put_manifest(self, text: str) -> None:
        """Replaces the manifest."""
        self._state.updateValue((_MANIFEST,), (text.encode(),))

    def run(self, name: str) -> bytes:
        """Returns a run.

        Raises:
            StateError: if the run is missing.
        """
        row: Any = self._state.getValue((name,))
        if row is None:
            raise missing(name)
        return bytes(row[0])

    def put_run(self, name: str, data: bytes) -> None:
        """Adds a run."""
        self._state.updateValue((name,), (data,))
        self.lengths[name] = len(data)

    def drop_run(self, name: str) -> None:
        """Deletes a run."""
        self._state.removeKey((name,))
        self.lengths.pop(name, None)
