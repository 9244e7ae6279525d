"""The stateful processor, and the run store in Spark's state store.

Spark creates a processor in each task, and one on the driver before the first micro-batch. The query waits
for the latter. So this module imports nothing that only the tasks need.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.serializers import CloudPickleSerializer
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    MapState,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

if TYPE_CHECKING:
    import pandas as pd

    from panewise.spark.workers.microbatch import ShardRunner
    from panewise.spark.workers.processor_settings import Settings

_MANIFEST = "manifest"  # not the name of a run: those begin with a number
# Types instead of DDL text: the JVM would have to parse the text, in four round trips in each micro-batch.
_NAME = StructType([StructField("name", StringType())])
_DATA = StructType([StructField("data", BinaryType())])
_SERIALIZER: Any = CloudPickleSerializer()  # with which Spark writes the processor itself


class SparkRunStore:
    """The run store of the shard that Spark is processing. Spark commits its values with the micro-batch.

    Every call is a round trip to the JVM, and every state variable costs time in each micro-batch. So there
    are few of both.

    Attributes:
        lengths: the stored lengths of the runs, by name.
    """

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._state: MapState = handle.getMapState("panewise", _NAME, _DATA)
        self.lengths: dict[str, int] = {}

    def know_lengths(self, lengths: Mapping[str, int]) -> None:
        """Replaces the lengths by those of the shard that is now processed, which its header has."""
        self.lengths = dict(lengths)

    def manifest(self) -> str | None:
        """Returns the manifest, or None in a new store."""
        row: Any = self._state.getValue((_MANIFEST,))
        return None if row is None else bytes(row[0]).decode()

    def put_manifest(self, text: str) -> None:
        """Replaces the manifest."""
        self._state.updateValue((_MANIFEST,), (text.encode(),))

    def run(self, name: str) -> bytes:
        """Returns a run."""
        row: Any = self._state.getValue((name,))
        if row is None:
            from panewise.state.run_store import missing  # noqa: PLC0415 - only tasks need the package

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


class Processor(StatefulProcessor):
    """The operator as Spark calls it.

    The processor on the driver only declares the state variables. So the engine is imported, and the settings
    are read, by the first call that has work to do. The types of columns in the settings need Polars.
    """

    def __init__(self, settings: "Settings") -> None:
        self._settings = _SERIALIZER.dumps(settings)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Opens the state."""
        self._handle, self._store = handle, SparkRunStore(handle)
        self._opened: ShardRunner | None = None

    def handleInitialState(self, key: Any, initialState: Any, timerValues: TimerValues) -> None:
        """Takes rows of static inputs of a shard, before all other rows. It may be called several times."""
        self._shards.begin(int(key[0]), initialState)

    def handleInputRows(
        self, key: Any, rows: Iterator[Any], timerValues: TimerValues
    ) -> "Iterator[pd.DataFrame]":
        """Runs the step of a shard with its envelopes of one micro-batch."""
        return self._shards.take(int(key[0]), rows, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> "Iterator[pd.DataFrame]":
        """Runs the step of a shard whose timer the watermark has passed, unless it has received envelopes."""
        return self._shards.wake(int(key[0]), timerValues)

    def close(self) -> None:
        """Does nothing, because nothing stays open."""

    @property
    def _shards(self) -> "ShardRunner":
        if self._opened is None:
            # The import takes a quarter of a second, and the driver does not need it.
            from panewise.spark.workers.microbatch import ShardRunner  # noqa: PLC0415

            self._opened = ShardRunner(_SERIALIZER.loads(self._settings), self._handle, self._store)
        return self._opened
