"""The fluent API of window operators, in the style of PySpark."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self, TypeAlias

from pyspark.sql import Column, DataFrame

from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spark.builders.apply_spec import apply
from panewise.spark.builders.builder import EventTimeBuilder, WindowsBuilder
from panewise.spark.builders.upstream_inputs import Source, default_time
from panewise.spark.results.single_input import WindowResult
from panewise.spec import Aggregate, Evictor, WindowOperator
from panewise.spec.aggregates.expressions import name_of

ColumnLike: TypeAlias = str | Column


def windowed(df: Source, event_time: str | None = None) -> "WindowBuilder":
    """Begins a window operator over a DataFrame, streaming or batch, or over the result of another operator.

    Args:
        df: the input. A stream needs a watermark (`withWatermark`), unless the operator makes its own: with
            windows of rows, .options(time="processing"), or .watermark(...) with FixedLag, StreamTime or
            Inputs. A result is that of a join, or of windows whose panes have a `timestamp`. Its output
            watermark is then the watermark (semantics 42.5).
        event_time: column of the event time, a TIMESTAMP. Default: "event_time"; of a result "join_time" or
            "timestamp". It is not read with .options(time="processing"). With windows of rows it orders the
            rows of a micro-batch, and the default column need not exist (semantics 8.5).

    Example::

        result = (
            windowed(df.withWatermark("ts", "10 seconds"), event_time="ts")
            .groupBy("origin")
            .window(pw.Tumbling("1 hour"))
            .trigger(pw.AfterWatermark(early=pw.Every("1 minute"), late=pw.Always()))
            .accumulation("retracting")
            .allowed_lateness("6 hours")
            .agg(F.count().alias("flights"), F.avg("delay").alias("mean_delay"))
        )

    Source: docs/semantics.md.
    """
    if event_time is None and not isinstance(df, DataFrame):
        event_time = default_time(df)
    return WindowBuilder({INPUT: df}, {} if event_time is None else {"event_time": name_of(event_time)})


@dataclass(frozen=True)
class WindowBuilder(WindowsBuilder, EventTimeBuilder):
    """The description of a window operator. Every method returns a new description; :meth:`agg` ends it."""

    OPTIONS: ClassVar[frozenset[str]] = frozenset(
        {
            "time",
            "null_keys",
            "max_future_skew",
            "max_windows",
            "on_time",
            "closing",
            "only_updated",
            "timestamp",
            "evaluate",
            "strict",
        }
    )

    def groupBy(self, *columns: ColumnLike | Sequence[ColumnLike]) -> Self:  # noqa: N802 - PySpark's name
        """Sets the key columns. Each key has windows of its own.

        Args:
            columns: names or Columns, one by one or as a list, as in PySpark. An expression becomes a column
                of the panes, under its alias or the name that Spark gives it.
        """
        names = columns[0] if len(columns) == 1 and isinstance(columns[0], (list, tuple)) else columns
        return self._once(keys=tuple(map(name_of, names)))

    def evictor(self, evictor: Evictor) -> Self:
        """Sets the evictor, which permanently removes rows from a window whenever it fires.

        It is a CountEvictor, TimeEvictor or DeltaEvictor.
        """
        return self._with(evictor=evictor)

    def delta(self, *columns: str) -> Self:
        """Adds to panes the list of the rows that are new since the last firing.

        Args:
            columns: the columns of these rows. Default: all.
        """
        return self._once(delta=columns or True)

    def agg(self, *aggregates: Aggregate) -> WindowResult:
        """Ends the description with the aggregates of a pane, and returns the outputs.

        Raises:
            SpecError: if the description breaks a rule, or does not fit the columns.
            SetupError: if the stream has no watermark where it needs one, or the state store is not RocksDB.
        """
        if "window" not in self.fields:
            raise SpecError(
                "no window",
                "an operator has a window",
                "call .window(pw.Tumbling('1 minute')) before .agg(...)",
            )
        spec = WindowOperator(aggregates=aggregates, **self.fields)
        return apply(self.df, spec, **self._apply_options)
