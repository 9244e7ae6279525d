"""Functions over windows of rows, on streams: reads like pyspark.sql.Window, and gives each row back with new columns (semantics 29)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from pyspark.sql import DataFrame

from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spark.api import Result, apply
from panewise.spec import Over, Position, Watermark, frame_operator
from panewise.spec.windows import positive

_OPTIONS = ("null_keys", "max_future_skew")


def over(df: DataFrame, event_time: str | None = None) -> "Overs":
    """Begins functions over windows of rows of a DataFrame, streaming or batch.

    Args:
        df: the input. A stream whose windows have an order has a watermark (`withWatermark`), or .watermark(...) is called.
        event_time: column of the event time, a TIMESTAMP. Default: the first column of the windows' order. Where windows have no order,
            rows are taken as they arrive, those of one micro-batch in the order of this column.

    Example::

        from panewise import Window, functions as F

        w = Window.partitionBy("k").orderBy("ts").rowsBetween(-2, Window.currentRow)
        result = over(df.withWatermark("ts", "10 seconds")).withColumns({"total": F.sum("v").over(w), "before": F.lag("v", 1).over(w)})
        result.rows  # a row for each row of df

    Source: semantics 29; pyspark.sql.Window.
    """
    return Overs(df, event_time, {})


@dataclass(frozen=True)
class Overs:
    """An operator that is being described. Every method gives a new one; :meth:`withColumns` ends the description."""

    df: DataFrame
    event_time: str | None
    fields: Mapping[str, Any]
    finishing: Literal["never", "at_end"] | None = None
    shard_count: int | None = None
    clock_every: Duration | None = None

    def order_by(self, *columns: str) -> "Overs":
        """Columns that order the rows of one micro-batch where windows have no order, and those of equal time where they have one."""
        return replace(self, fields={**self.fields, "order": columns})

    def position(
        self,
        partition: str = "partition",
        offset: str = "offset",
        source: str | None = None,
        *,
        ordered: bool = True,
        remember: int | None = None,
    ) -> "Overs":
        """Columns of the source position: rows that come again are recognised, and rows arrive in its order."""
        return replace(self, fields={**self.fields, "position": Position(partition, offset, source, ordered, remember)})

    def watermark(self, watermark: Watermark) -> "Overs":
        """Where the watermark comes from, if not from `withWatermark` alone: FixedLag, Inputs with a column, StreamTime(per="all")."""
        return replace(self, fields={**self.fields, "watermark": watermark})

    def options(self, **fields: Any) -> "Overs":
        """The other fields of FrameOperator: null_keys and max_future_skew."""
        for name in fields:
            if name not in _OPTIONS:
                raise SpecError(f"option {name!r}", f"the options are {sorted(_OPTIONS)}", "use the method of that name, or one of these")
        return replace(self, fields={**self.fields, **fields})

    def finish(self, when: Literal["never", "at_end"]) -> "Overs":
        """Whether the end of the input sends the rows that still wait. Default: of a batch yes, of a stream no."""
        return replace(self, finishing=when)

    def clock(self, every: DurationLike) -> "Overs":
        """Adds a clock stream, for a FixedLag or idle Inputs while the stream is silent: as :meth:`panewise.spark.Windowed.clock`."""
        return replace(self, clock_every=positive(every, "every"))

    def shards(self, count: int) -> "Overs":
        """Number of parts that the state is kept in, fixed for the life of a checkpoint. Default: as many as shuffle partitions."""
        return replace(self, shard_count=count)

    def withColumn(self, name: str, column: Over) -> "FrameResult":  # noqa: N802 - PySpark's name
        """As :meth:`withColumns`, with one new column."""
        return self.withColumns({name: column})

    def withColumns(self, columns: Mapping[str, Over]) -> "FrameResult":  # noqa: N802 - PySpark's name
        """Ends the description with the new columns: functions over windows that have the same keys and order.

        Raises:
            SpecError: if the description breaks a rule, or does not fit the input's columns.
            SetupError: if the stream has no watermark where it needs one, or the state store is not RocksDB.
        """
        spec = frame_operator(columns, self.event_time, **self.fields)
        result = apply(self.df, spec, finish=self.finishing, shards=self.shard_count, clock=self.clock_every)
        return FrameResult(result.plumbing, result.at_end, self, columns)


@dataclass(frozen=True)
class FrameResult(Result):
    """The outputs of an operator of frames; the rows take the place of panes, in :meth:`write`, too."""

    described: Overs
    made: Mapping[str, Over]

    def withColumn(self, name: str, column: Over) -> "FrameResult":  # noqa: N802 - PySpark's name
        """As :meth:`withColumns`, with one new column."""
        return self.withColumns({name: column})

    def withColumns(self, columns: Mapping[str, Over]) -> "FrameResult":  # noqa: N802 - PySpark's name
        """The same with more new columns, all made by one operator.

        Raises:
            SpecError: for a column that is made of a new one; and as :meth:`Overs.withColumns` does.
        """
        for name, column in columns.items():
            of = [read for read in column.what.columns if read in self.made] if isinstance(column, Over) else []
            if of:
                rule = "the new columns of an operator are made from those of its input"
                raise SpecError(f"{name!r} reads {of[0]!r}, a new column", rule, "write the rows, and make it in another query")
        return self.described.withColumns({**self.made, **columns})

    @cached_property
    def rows(self) -> DataFrame:
        """The rows, with their columns and the new ones. Late rows are counted, not kept."""
        return self.panes

    def then(self, *, aggregates: Iterable[Any], keys: Iterable[str] = ()) -> Result:
        """Refused: stages follow windows.

        Raises:
            SpecError: always.
        """
        rule = "a stage takes panes and inherits their windows, and rows of frames have none (semantics 29)"
        raise SpecError(f"then(keys={list(keys)!r}) after frames", rule, "write the rows, and window them in another query")
