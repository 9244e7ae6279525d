"""Windows by policies over a DataFrame."""

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
    """Windows by policies over a DataFrame, streaming or batch.

    Args:
        df: the input; a streaming one needs no watermark.
        spec: the windows.
        finish: whether the end of the input raises FINAL: of a batch always, of a stream with "at_end". Default: "never" for a stream.
        shards: number of parts that the state is kept in, as :meth:`Windowed.shards`; where partitions are looked at together it is one.
        clock: adds a clock stream, as :meth:`Windowed.clock`: policies of time act while the stream is silent.

    Raises:
        SpecError: if the specification does not fit the DataFrame or its columns.
        SetupError: if the state store is not RocksDB.

    Example::

        from panewise.streamwindow import StreamWindow, count, time

        last_ten = StreamWindow.sliding(count(10), time("1 minute"), partition_by=["sensor"], aggregates=[F.avg("v").alias("mean")])
        result = stream_window(readings, last_ten, clock="10 seconds")
        result.write(panes=ParquetSink("out/events"), checkpoint="out/checkpoint")

    Source: semantics 10.
    """
    given: object = spec
    if not isinstance(given, StreamWindow):
        rule = "it is windows by policies that are applied here"
        raise SpecError(f"spec={given!r}", rule, "give a StreamWindow, or call panewise.spark.apply")
    made = apply(df, spec, finish=finish, shards=shards, clock=clock)
    return EventResult(made.plumbing, made.at_end)


@dataclass(frozen=True)
class EventResult(Result):
    """The outputs of windows by policies: those of :class:`Result`, where panes are events, and the late rows those after the end."""

    @cached_property
    def events(self) -> DataFrame:
        """The events (semantics 10.16): the columns of partition_by, event, tuples or what is made of them, processing_time."""
        return self.panes
