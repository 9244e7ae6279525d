"""What the fluent APIs of all operator families have in common."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, TypeAlias

from pyspark.sql import Column

from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spark.builders.apply_spec import ApplyOptions
from panewise.spark.builders.upstream_inputs import Source
from panewise.spec import AnyWindow, Position, Trigger, Watermark
from panewise.spec.column_expressions import names_of
from panewise.spec.windows.kinds import positive

ColumnLike: TypeAlias = str | Column


@dataclass(frozen=True)
class Builder:
    """The description of an operator over DataFrames. Every method returns a new description.

    A method that is called again replaces the value that it set, and no other. Columns are named once
    (semantics 35.8).
    """

    OPTIONS: ClassVar[frozenset[str]] = frozenset()  # the fields that `options` sets

    inputs: Mapping[str, Source]
    fields: Mapping[str, Any]
    finishing: Literal["never", "at_end"] | None = None
    shard_count: int | None = None
    clock_every: Duration | None = None

    def options(self, **fields: Any) -> Self:
        """Sets other fields of the specification.

        - Windows: time, null_keys, max_future_skew, max_windows, on_time, closing, only_updated,
          timestamp, evaluate and strict of WindowOperator.
        - OVER and deduplication: null_keys and max_future_skew.
        - Policy windows: null_keys, only_when_full, skip_unchanged and flush_on_final of StreamWindow.
        - Joins: those that :meth:`panewise.spark.JoinBuilder.options` lists.
        - Cogroups: those that :class:`panewise.spark.CogroupBuilder` lists.

        Raises:
            SpecError: for any other name.
        """
        for name in fields:
            if name not in self.OPTIONS:
                raise SpecError(
                    f"option {name!r}",
                    f"the options of the operator are {sorted(self.OPTIONS)}",
                    "use the method of that name, or one of these",
                )
        return self._with(**fields)

    def finish(self, when: Literal["never", "at_end"]) -> Self:
        """Sets whether the end of input completes windows, emits rows that wait, and raises FINAL.

        Default: on a batch yes, on a stream no. The input of Spark's own stateful operators before this one
        does not end, so what they still store is never emitted.
        """
        return replace(self, finishing=when)

    def clock(self, every: DurationLike) -> Self:
        """Adds a clock stream, which makes a micro-batch at least this often. An int is in microseconds.

        So what waits for processing time takes effect while the input is silent: triggers and policies of
        time, FixedLag, idle Inputs and idle sides of joins. The rows of the clock stream have no key and are
        not counted. It can be added to an existing checkpoint and removed from one (semantics 47.11). With
        `available_now` the query ends as it does without it.

        Example::

            early = pw.AfterWatermark(early=pw.Every("1 minute"))
            windowed(df).window(pw.Tumbling("1 hour")).trigger(early).clock("10 seconds")

        Source: semantics 12.7.
        """
        return replace(self, clock_every=positive(every, "every"))

    def shards(self, count: int) -> Self:
        """Sets the number of shards. It is fixed for the life of a checkpoint.

        Default: the number of shuffle partitions. Only one shard is possible where rows or panes of all keys
        are combined:

        - with `Session(rows(n))`,
        - in a chain without a key that all stages have,
        - in a join or cogroup without keys,
        - with evaluate="record" where rows drive watermarks (Inputs, StreamTime(per="all"), and in a join or
          cogroup),
        - with policies that concern all partitions.
        """
        return replace(self, shard_count=count)

    def _with(self, **fields: Any) -> Self:
        return replace(self, fields={**self.fields, **fields})

    def _once(self, **fields: Any) -> Self:
        """Returns the description with fields, each of which must not be set yet."""
        for name, value in fields.items():
            check_unset(name, self.fields.get(name), value)
        return self._with(**fields)

    @property
    def _apply_options(self) -> ApplyOptions:
        """The arguments of `apply` besides the specification."""
        return {"finish": self.finishing, "shards": self.shard_count, "clock": self.clock_every}


def check_unset(name: str, before: Any, columns: Any) -> None:
    """Checks that columns are not named a second time; `before` is None or empty if they were not."""
    if before:
        rule = "a description names these columns once, as those before would be lost (semantics 35.8)"
        remedy = "name all of them in one call; for two variants begin with a description without them"
        raise SpecError(f"{name}={columns!r} after {name}={before!r}", rule, remedy)


@dataclass(frozen=True)
class SingleInputBuilder(Builder):
    """The description of an operator over one DataFrame."""

    @property
    def df(self) -> Source:
        """The input."""
        return self.inputs[INPUT]

    def order_by(self, *columns: str) -> Self:
        """Sets the columns that define the arrival order within a micro-batch.

        Default: the event time. In an OVER operator with an event time they order the rows of equal event
        time.
        """
        return self._once(order=names_of(columns))

    def position(
        self,
        partition: str = "partition",
        offset: str = "offset",
        source: str | None = None,
        *,
        ordered: bool = True,
        remember: int | None = None,
    ) -> Self:
        """Sets the columns of the source position, which identifies replays and defines the arrival order.

        `ordered` and `remember` are those of semantics 4.4.
        """
        return self._with(position=Position(partition, offset, source, ordered, remember))


class EventTimeBuilder(SingleInputBuilder):
    """The description of an operator over one DataFrame that may have a watermark of its own."""

    def watermark(self, watermark: Watermark) -> Self:
        """Sets the source of the watermark, if that is not `withWatermark` alone.

        It is FixedLag, Inputs with a column, or StreamTime. An OVER operator and a deduplication take
        StreamTime(per="all") only.
        """
        return self._with(watermark=watermark)


class WindowsBuilder(Builder):
    """The description of an operator whose rows are assigned to windows.

    With two sides the watermark is the lower one of both.
    """

    def window(self, window: AnyWindow) -> Self:
        """Sets the windows: Tumbling, Hopping, Cumulating, Calendar, Session, Sliding, Custom or Global.

        Those of a cogroup are made from the rows of both sides, and are no windows of rows.
        """
        return self._with(window=window)

    def trigger(self, trigger: Trigger) -> Self:
        """Sets when panes are emitted.

        Default: when the watermark reaches the end of the window, and then once for each micro-batch that
        adds rows to it.
        """
        return self._with(trigger=trigger)

    def accumulation(self, mode: Literal["discarding", "accumulating", "retracting"]) -> Self:
        """Sets what a pane contains.

        Default: "accumulating", all rows of the window so far. In a chain that needs retractions
        (semantics 30.4, 30.5) it is "retracting".
        """
        return self._with(accumulation=mode)

    def allowed_lateness(
        self, lateness: DurationLike | Literal["unlimited"], drop_by: Literal["window", "row"] = "window"
    ) -> Self:
        """Sets how far the watermark may pass the end of a window before the window expires. Default: 0.

        With `drop_by="row"` a row is late, for all its windows, if its event time is below
        watermark - lateness. An int is in microseconds.
        """
        return self._with(allowed_lateness=lateness, drop_by=drop_by)
