"""The clock stream: its rows make micro-batches while the input is silent (semantics 12.7).

Offsets are instants, so they mean the same after a start with another interval (semantics 47.20). Earlier
releases counted intervals.
"""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from panewise.chrono import Duration

try:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
except ImportError:  # PySpark 4.1 has it for sources in Java only, and takes all rows as one micro-batch

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        """Takes the place of what PySpark 4.1 does not have."""


_FORMAT = "panewise_clock"
_AT, _COUNT = "at", "tick"  # the field of an offset, and that of earlier releases
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


class _ClockReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the clock.

    If one source of a query cannot stop at what is available, Spark takes the rows of all sources as one
    micro-batch, and no micro-batch follows in which the last windows fire.
    """

    def __init__(self, every: int) -> None:
        self._every = every
        self._until: int | None = None  # with the trigger "available now", the last multiple at the start

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - PySpark's name
        """Ends the source with the current multiple."""
        self._until = self._now()

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - PySpark's name
        """Returns the multiple before the current one, so that the first micro-batch has a row."""
        return {_AT: self._now() - self._every}

    def latestOffset(self, start: Mapping[str, int] | None = None, limit: Any = None) -> dict[str, int]:  # noqa: N802 - PySpark's name
        """Returns the current multiple. It never decreases, even if the clock of the machine does."""
        now = self._now() if self._until is None else self._until
        return {_AT: now if start is None else max(now, self._at(start))}

    def partitions(self, start: Mapping[str, int], end: Mapping[str, int]) -> list[InputPartition]:
        """Returns one partition if a multiple has passed, else none."""
        return [InputPartition(self._at(end))] if self._at(end) > self._at(start) else []

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        """Yields the row."""
        yield (_NOTHING,)

    def _now(self) -> int:
        """Returns the last multiple, in microseconds since 1970."""
        return time.time_ns() // 1000 // self._every * self._every

    def _at(self, offset: Mapping[str, int]) -> int:
        """Returns the instant of an offset. One of an earlier release may count shorter intervals."""
        return offset[_AT] if _AT in offset else min(offset[_COUNT] * self._every, self._now())


def clock_stream(session: SparkSession, every: Duration) -> DataFrame:
    """Returns the clock stream, as control notes."""
    session.dataSource.register(ClockSource)
    return session.readStream.format(_FORMAT).option("every", str(every.us)).load()
