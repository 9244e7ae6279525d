"""The fluent API of window operators, in the style of PySpark."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pyspark.sql import DataFrame

from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spark.builders.apply_spec import apply
from panewise.spark.builders.builder import ColumnLike, EventTimeBuilder, WindowsBuilder
from panewise.spark.builders.upstream_inputs import Source, check_source, default_time, watermarked_column
from panewise.spark.results.single_input import WindowResult
from panewise.spec import Aggregate, Evictor, WindowOperator
from panewise.spec.column_expressions import name_of, names_of
from panewise.spec.operators.windows import default_event_time


def windowed(df: Source, event_time: ColumnLike | None = None) -> "WindowBuilder":
    """Begins a window operator over a DataFrame, streaming or batch, or over the result of another operator.

    Args:
        df: the input. A stream needs a watermark (`withWatermark`), unless the operator makes its own: with
            windows of rows, .options(time="processing"), or .watermark(...) with FixedLag, StreamTime or
            Inputs. A result is that of a join, or of windows whose panes have a `timestamp`. Its output
            watermark is then the watermark (semantics 42.5).
        event_time: column of the event time, a TIMESTAMP. Default: "event_time"; of a stream without such a
            column the one that has the watermark; of a result "join_time" or "timestamp". It is not read with
            .options(time="processing"). With windows of rows it orders the rows of a micro-batch, and the
            default column need not exist (semantics 8.5, 12.13).

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
    check_source("windowed", df)
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
        return self._once(keys=names_of(columns))

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
        spec = WindowOperator(aggregates=aggregates, **self._timed_fields())
        return apply(self.df, spec, **self._apply_options)

    def _timed_fields(self) -> Mapping[str, Any]:
        """Returns the fields, with the event time of a stream for which none was named."""
        fields = self.fields
        reads_time = fields.get("time", "event") == "event" and default_event_time(fields["window"])
        time = watermarked_column(self.df) if reads_time and "event_time" not in fields else None
        return fields if time is None else {**fields, "event_time": time}
