"""The fluent API of OVER operators, which emit each row with new columns (semantics 29).

It reads like pyspark.sql.Window.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

from pyspark.sql import DataFrame

from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.spark.api import Result, apply
from panewise.spec import Over, Position, Watermark, frame_operator
from panewise.spec.windows.kinds import positive

_OPTIONS = ("null_keys", "max_future_skew")


def over(df: DataFrame, event_time: str | None = None) -> "Overs":
    """Begins an OVER operator over a DataFrame, streaming or batch.

    Args:
        df: the input. A stream whose windows have an order needs a watermark: call `withWatermark`, or
            .watermark(...).
        event_time: column of the event time, a TIMESTAMP. Default: the first column of the windows' order. If
            the windows have no order, rows are taken as they arrive, and those of one micro-batch in the
            order of this column.

    Example::

        from panewise import Window, functions as F

        w = Window.partitionBy("k").orderBy("ts").rowsBetween(-2, Window.currentRow)
        columns = {"total": F.sum("v").over(w), "before": F.lag("v", 1).over(w)}
        result = over(df.withWatermark("ts", "10 seconds")).withColumns(columns)
        result.rows  # a row for each row of df

    Source: semantics 29; pyspark.sql.Window.
    """
    return Overs(df, event_time, {})


@dataclass(frozen=True)
class Overs:
    """The description of an OVER operator.

    Every method returns a new description. :meth:`withColumns` ends it.
    """

    df: DataFrame
    event_time: str | None
    fields: Mapping[str, Any]
    finishing: Literal["never", "at_end"] | None = None
    shard_count: int | None = None
    clock_every: Duration | None = None

    def order_by(self, *columns: str) -> "Overs":
        """Sets the order columns.

        They order the rows of equal event time, or all rows of a micro-batch if the windows have no order.
        """
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
        """Sets the columns of the source position, which identifies replays and defines the arrival order.

        `ordered` and `remember` are those of semantics 4.4.
        """
        return replace(
            self, fields={**self.fields, "position": Position(partition, offset, source, ordered, remember)}
        )

    def watermark(self, watermark: Watermark) -> "Overs":
        """Sets the source of the watermark, if that is not `withWatermark` alone.

        It is FixedLag, Inputs with a column, or StreamTime(per="all").
        """
        return replace(self, fields={**self.fields, "watermark": watermark})

    def options(self, **fields: Any) -> "Overs":
        """Sets other fields of FrameOperator: null_keys and max_future_skew."""
        for name in fields:
            if name not in _OPTIONS:
                raise SpecError(
                    f"option {name!r}",
                    f"the options are {sorted(_OPTIONS)}",
                    "use the method of that name, or one of these",
                )
        return replace(self, fields={**self.fields, **fields})

    def finish(self, when: Literal["never", "at_end"]) -> "Overs":
        """Sets whether the end of input emits the rows that still wait.

        Default: on a batch yes, on a stream no.
        """
        return replace(self, finishing=when)

    def clock(self, every: DurationLike) -> "Overs":
        """Adds a clock stream, as :meth:`panewise.spark.Windowed.clock` does.

        With it a FixedLag or idle Inputs move the watermark while the stream is silent.
        """
        return replace(self, clock_every=positive(every, "every"))

    def shards(self, count: int) -> "Overs":
        """Sets the number of shards. It is fixed for the life of a checkpoint.

        Default: the number of shuffle partitions.
        """
        return replace(self, shard_count=count)

    def withColumn(self, name: str, column: Over) -> "FrameResult":  # noqa: N802 - PySpark's name
        """As :meth:`withColumns`, with one new column."""
        return self.withColumns({name: column})

    def withColumns(self, columns: Mapping[str, Over]) -> "FrameResult":  # noqa: N802 - PySpark's name
        """Ends the description with the new columns, and returns the outputs.

        The columns are functions over windows that have the same keys and order.

        Raises:
            SpecError: if the description breaks a rule, or does not fit the input's columns.
            SetupError: if the stream has no watermark where it needs one, or the state store is not RocksDB.
        """
        spec = frame_operator(columns, self.event_time, **self.fields)
        result = apply(self.df, spec, finish=self.finishing, shards=self.shard_count, clock=self.clock_every)
        return FrameResult(result.plumbing, result.at_end, self, columns)


@dataclass(frozen=True)
class FrameResult(Result):
    """The outputs of an OVER operator. Its rows take the place of panes, in :meth:`write`, too."""

    described: Overs
    made: Mapping[str, Over]

    def withColumn(self, name: str, column: Over) -> "FrameResult":  # noqa: N802 - PySpark's name
        """As :meth:`withColumns`, with one new column."""
        return self.withColumns({name: column})

    def withColumns(self, columns: Mapping[str, Over]) -> "FrameResult":  # noqa: N802 - PySpark's name
        """Returns the outputs with more new columns. One operator computes all of them.

        Raises:
            SpecError: if a column reads one of the new columns, or as :meth:`Overs.withColumns` does.
        """
        for name, column in columns.items():
            of = (
                [read for read in column.what.columns if read in self.made]
                if isinstance(column, Over)
                else []
            )
            if of:
                rule = "the new columns of an operator are computed from those of its input"
                raise SpecError(
                    f"{name!r} reads {of[0]!r}, a new column",
                    rule,
                    "write the rows, and compute it in another query",
                )
        return self.described.withColumns({**self.made, **columns})

    @cached_property
    def rows(self) -> DataFrame:
        """The OVER rows: each row with its columns and the new ones. This query only counts late rows."""
        return self.panes

    def then(self, *, aggregates: Iterable[Any], keys: Iterable[str] = ()) -> Result:
        """Refuses a stage, because stages follow windows only.

        Raises:
            SpecError: always.
        """
        rule = "a stage inherits the windows of panes, and OVER rows have none (semantics 29)"
        raise SpecError(
            f"then(keys={list(keys)!r}) after an OVER operator",
            rule,
            "write the rows, and window them in another query",
        )
