"""Policy windows over a DataFrame."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pyspark.sql import DataFrame

from panewise.chrono import DurationLike
from panewise.errors import SpecError
from panewise.spark.api import Result, apply
from panewise.spec import StreamWindow


def stream_window(
    df: DataFrame,
    spec: StreamWindow,
    *,
    finish: Literal["never", "at_end"] | None = None,
    shards: int | None = None,
    clock: DurationLike | None = None,
) -> "EventResult":
    """Applies policy windows to a DataFrame, streaming or batch, and returns the outputs.

    Args:
        df: the input. A stream needs no watermark.
        spec: the policy windows.
        finish: whether the end of input raises FINAL: on a batch always, on a stream with "at_end". Default
            on a stream: "never".
        shards: number of shards, as in :meth:`Windowed.shards`. It is 1 if a policy concerns all partitions.
        clock: adds a clock stream, as :meth:`Windowed.clock` does. Policies of time then take effect while
            the stream is silent.

    Raises:
        SpecError: if the specification does not fit the DataFrame or its columns.
        SetupError: if the state store is not RocksDB.

    Example::

        from panewise.streamwindow import StreamWindow, count, time

        mean = F.avg("v").alias("mean")
        ten, minute = count(10), time("1 minute")
        last_ten = StreamWindow.sliding(ten, minute, partition_by=["sensor"], aggregates=[mean])
        result = stream_window(readings, last_ten, clock="10 seconds")
        result.write(panes=ParquetSink("out/events"), checkpoint="out/checkpoint")

    Source: semantics 10.
    """
    given: object = spec
    if not isinstance(given, StreamWindow):
        rule = "stream_window takes policy windows"
        raise SpecError(f"spec={given!r}", rule, "give a StreamWindow, or call panewise.spark.apply")
    made = apply(df, spec, finish=finish, shards=shards, clock=clock)
    return EventResult(made.plumbing, made.at_end)


@dataclass(frozen=True)
class EventResult(Result):
    """The outputs of policy windows: those of :class:`Result`.

    The panes are events, and the late rows are those after the end of input.
    """

    @cached_property
    def events(self) -> DataFrame:
        """The events (semantics 10.16).

        They have the columns of partition_by, event, tuples and processing_time. Aggregates, or the outputs
        of a listener, take the place of tuples.
        """
        return self.panes
