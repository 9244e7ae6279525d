"""The clock stream: its rows make micro-batches while the input is silent (semantics 12.7)."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from panewise.chrono import Duration

_FORMAT = "panewise_clock"
_NOTHING = "{}"  # an empty control note: it wakes every shard, which reads the time of the micro-batch


class ClockSource(DataSource):
    """A source that has a row whenever a multiple of `every` (microseconds) since 1970 has passed.

    If several multiples have passed, it has one row.
    """

    @classmethod
    def name(cls) -> str:
        """Returns the name of the source in Spark."""
        return _FORMAT

    def schema(self) -> str:
        """Returns the schema of control notes."""
        return "value STRING"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802 - PySpark's name
        """Returns the reader of the stream."""
        return _ClockReader(int(self.options["every"]))


class _ClockReader(DataSourceStreamReader):
    def __init__(self, every: int) -> None:
        self._every = every

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - PySpark's name
        """Returns the multiple before the current one, so that the first micro-batch has a row."""
        return {"tick": self._now() - 1}

    def latestOffset(self, start: Mapping[str, int] | None = None, limit: Any = None) -> dict[str, int]:  # noqa: N802 - PySpark's name
        """Returns the current multiple. It never decreases, even if the clock of the machine does."""
        return {"tick": max(self._now(), (start or {"tick": 0})["tick"])}

    def partitions(self, start: Mapping[str, int], end: Mapping[str, int]) -> list[InputPartition]:
        """Returns one partition if a multiple has passed, else none."""
        return [InputPartition(end["tick"])] if end["tick"] > start["tick"] else []

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        """Yields the row."""
        yield (_NOTHING,)

    def _now(self) -> int:
        return time.time_ns() // 1000 // self._every


def clock_stream(session: SparkSession, every: Duration) -> DataFrame:
    """Returns the clock stream, as control notes."""
    session.dataSource.register(ClockSource)
    return session.readStream.format(_FORMAT).option("every", str(every.us)).load()
