"""The clock stream: rows that say only that time has passed, so that micro-batches go on while the input is silent."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from panewise.chrono import Duration

_FORMAT = "panewise_clock"
_NOTHING = "{}"  # a control note without a word: it wakes every shard, and each reads the micro-batch's own time


class ClockSource(DataSource):
    """A row whenever a multiple of `every` (microseconds) since 1970 has passed; one row, however many have."""

    @classmethod
    def name(cls) -> str:
        """How Spark knows the source."""
        return _FORMAT

    def schema(self) -> str:
        """That of control notes."""
        return "value STRING"

    def streamReader(self, schema: Any) -> DataSourceStreamReader:  # noqa: N802 - PySpark's name
        """The stream."""
        return _ClockReader(int(self.options["every"]))


class _ClockReader(DataSourceStreamReader):
    def __init__(self, every: int) -> None:
        self._every = every

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - PySpark's name
        """Before the present multiple: the first micro-batch has a row."""
        return {"tick": self._now() - 1}

    def latestOffset(self, start: Mapping[str, int] | None = None, limit: Any = None) -> dict[str, int]:  # noqa: N802 - PySpark's name
        """The present multiple; the clock of the machine may go back, the offset must not."""
        return {"tick": max(self._now(), (start or {"tick": 0})["tick"])}

    def partitions(self, start: Mapping[str, int], end: Mapping[str, int]) -> list[InputPartition]:
        """One, if time has passed."""
        return [InputPartition(end["tick"])] if end["tick"] > start["tick"] else []

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        """The row."""
        yield (_NOTHING,)

    def _now(self) -> int:
        return time.time_ns() // 1000 // self._every


def clock_stream(session: SparkSession, every: Duration) -> DataFrame:
    """The stream of such rows, as control notes."""
    session.dataSource.register(ClockSource)
    return session.readStream.format(_FORMAT).option("every", str(every.us)).load()
