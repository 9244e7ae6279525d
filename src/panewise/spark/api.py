"""The fluent API: reads like PySpark, builds a specification, and gives its outputs as DataFrames."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import TimestampType

from panewise.chrono import Duration, DurationLike
from panewise.errors import SetupError, SpecError
from panewise.spark.ancestry import check_ancestry
from panewise.spark.checks import check_asked, check_column_types, check_columns, check_stream, warn_of_partitions
from panewise.spark.names import input_of
from panewise.spark.plumbing import Plumbing, unpacked
from panewise.spark.progress import check_batch, check_inputs, makes_own, with_watermark
from panewise.spark.sinks import Sink, check_sinks
from panewise.spark.types import polars_schema
from panewise.spark.writer import WindowQuery, start
from panewise.spec import (
    Aggregate,
    Evictor,
    FrameOperator,
    Position,
    Specification,
    StreamWindow,
    Trigger,
    Watermark,
    Window,
    WindowOperator,
    first_of,
)
from panewise.spec.counted import with_event_time
from panewise.spec.expressions import name_of
from panewise.spec.windows import positive
from panewise.spec.words import describe

ColumnLike: TypeAlias = str | Column


def windowed(df: DataFrame, event_time: str | None = None) -> "Windowed":
    """Begins a window operator over a DataFrame, streaming or batch.

    Args:
        df: the input; a streaming one with a watermark (`withWatermark`), unless the operator makes its own: windows of rows,
            .options(time="processing"), or .watermark(...) with FixedLag, StreamTime or Inputs.
        event_time: column of the event time, a TIMESTAMP. Default: "event_time". Not read with .options(time="processing"); with windows
            of rows it tells the order of the rows of a micro-batch, and need not be there.

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
    return Windowed(df, {} if event_time is None else {"event_time": name_of(event_time)})


@dataclass(frozen=True)
class Windowed:
    """An operator that is being described. Every method gives a new one; :meth:`agg` ends the description."""

    df: DataFrame
    fields: Mapping[str, Any]
    finishing: Literal["never", "at_end"] | None = None
    shard_count: int | None = None
    clock_every: Duration | None = None

    def _with(self, **fields: Any) -> "Windowed":
        return replace(self, fields={**self.fields, **fields})

    def groupBy(self, *columns: ColumnLike | Sequence[ColumnLike]) -> "Windowed":  # noqa: N802 - PySpark's name
        """Windows are kept apart by the values of these columns.

        Args:
            columns: as in PySpark names or Columns, one by one or as a list. An expression is a column of panes under its
                alias, or the name that Spark gives it.
        """
        given = columns[0] if len(columns) == 1 and isinstance(columns[0], (list, tuple)) else columns
        return self._with(keys=tuple(map(name_of, given)))

    def window(self, window: Window) -> "Windowed":
        """Which rows belong together: Tumbling, Hopping, Cumulating, Calendar, Session, Sliding, Custom or Global."""
        return self._with(window=window)

    def trigger(self, trigger: Trigger) -> "Windowed":
        """When panes are sent. Default: at the watermark, then once for each micro-batch of late rows."""
        return self._with(trigger=trigger)

    def accumulation(self, mode: Literal["discarding", "accumulating", "retracting"]) -> "Windowed":
        """What a pane holds. Default: "accumulating", all rows of the window so far."""
        return self._with(accumulation=mode)

    def evictor(self, evictor: Evictor) -> "Windowed":
        """Which rows go from a window for good when it fires: CountEvictor, TimeEvictor or DeltaEvictor."""
        return self._with(evictor=evictor)

    def delta(self, *columns: str) -> "Windowed":
        """Panes list the rows that are new since the pane before, with these columns. Without any: with all."""
        return self._with(delta=columns or True)

    def allowed_lateness(self, lateness: DurationLike | Literal["unlimited"], drop_by: Literal["window", "row"] = "window") -> "Windowed":
        """How long after its end a window still takes rows. Default 0."""
        return self._with(allowed_lateness=lateness, drop_by=drop_by)

    def watermark(self, watermark: Watermark) -> "Windowed":
        """Where the watermark comes from, if not from `withWatermark` alone: FixedLag, Inputs with a column, StreamTime."""
        return self._with(watermark=watermark)

    def order_by(self, *columns: str) -> "Windowed":
        """Columns that give the arrival order of the rows of one micro-batch. Default: the event time."""
        return self._with(order=columns)

    def position(
        self,
        partition: str = "partition",
        offset: str = "offset",
        source: str | None = None,
        *,
        ordered: bool = True,
        remember: int | None = None,
    ) -> "Windowed":
        """Columns of the source position: rows that come again are recognised, and rows are taken in its order."""
        return self._with(position=Position(partition, offset, source, ordered, remember))

    def options(self, **fields: Any) -> "Windowed":
        """The other fields of WindowOperator.

        They are time, null_keys, max_future_skew, on_time, closing, only_updated, timestamp, evaluate and strict.
        """
        known = {"time", "null_keys", "max_future_skew", "on_time", "closing", "only_updated", "timestamp", "evaluate", "strict"}
        for name in fields:
            if name not in known:
                raise SpecError(f"option {name!r}", f"the options are {sorted(known)}", "use the method of that name, or one of these")
        return self._with(**fields)

    def finish(self, when: Literal["never", "at_end"]) -> "Windowed":
        """Whether the end of the input completes all windows. Default: of a batch yes, of a stream no."""
        return replace(self, finishing=when)

    def clock(self, every: DurationLike) -> "Windowed":
        """Adds a clock stream: a micro-batch at least this often, so that what waits for processing time fires while the stream is silent.

        Its rows carry no key and are not counted. It is a source of the query like any other: a checkpoint keeps to having it or
        not, and with `available_now` the query ends as it does without.

        Example::

            windowed(df).window(pw.Tumbling("1 hour")).trigger(pw.AfterWatermark(early=pw.Every("1 minute"))).clock("10 seconds")

        Source: semantics 12.7.
        """
        return replace(self, clock_every=positive(every, "every"))

    def shards(self, count: int) -> "Windowed":
        """Number of parts that the state is kept in, fixed for the life of a checkpoint. Default: as many as shuffle partitions.

        There can be one only where rows of all keys meet: with `Session(rows(n))`, in a chain that keeps no key, and with
        evaluate="record" and Inputs or StreamTime(per="all").
        """
        return replace(self, shard_count=count)

    def agg(self, *aggregates: Aggregate) -> "Result":
        """Ends the description with what a pane holds.

        Raises:
            SpecError: if the description breaks a rule, or does not fit the columns.
            SetupError: if the stream has no watermark where it needs one, or the state store is not RocksDB.
        """
        if "window" not in self.fields:
            raise SpecError("no window", "an operator has a window", "call .window(pw.Tumbling('1 minute')) before .agg(...)")
        return apply(
            self.df,
            WindowOperator(aggregates=aggregates, **self.fields),
            finish=self.finishing,
            shards=self.shard_count,
            clock=self.clock_every,
        )


def apply(
    df: DataFrame,
    spec: Specification,
    *,
    finish: Literal["never", "at_end"] | None = None,
    shards: int | None = None,
    clock: DurationLike | None = None,
) -> "Result":
    """A ready specification of any kind over a DataFrame. Raises what :meth:`Windowed.agg` raises."""
    every = None if clock is None else positive(clock, "clock")
    check_asked(finish, shards)
    seen = input_of(df, _over(df, spec))
    df, spec = seen.df, seen.spec
    first = first_of(spec)
    check_columns(df, spec)
    check_inputs(first)
    if df.isStreaming:
        check_ancestry(df, first)
        check_stream(df, first.time_columns, own_watermark=makes_own(first))
        warn_of_partitions(df)
        df = with_watermark(df, first)
    elif finish == "never":
        raise SpecError("finish='never' on a batch DataFrame", "a batch ends", "leave finish out")
    else:
        check_batch(spec, every)
    return Result(Plumbing.of(df, spec, shards, every, seen.shown), finish == "at_end")


def _over(df: DataFrame, spec: Specification) -> Specification:
    """The specification over the columns of its input (semantics 8.5)."""
    instants = {field.name for field in df.schema.fields if isinstance(field.dataType, TimestampType)}
    return with_event_time(spec, instants) if isinstance(spec, WindowOperator) else spec


@dataclass(frozen=True)
class Result:
    """The outputs of a window operator. Each of the DataFrames below is a query of its own; :meth:`write` sends several from one."""

    plumbing: Plumbing
    at_end: bool

    @property
    def spec(self) -> Specification:
        """The specification."""
        return self.plumbing.spec

    def then(self, *, aggregates: Iterable[Aggregate], keys: Iterable[str] = ()) -> "Result":
        """The outputs of the chain that has one more stage, which takes these panes as its rows (semantics 30).

        Example::

            by_carrier = windowed(df, "ts").groupBy("origin", "carrier").window(pw.Tumbling("1 hour")).agg(F.count().alias("flights"))
            by_origin = by_carrier.then(keys=["origin"], aggregates=[F.sum("flights").alias("flights"), F.max("flights").alias("most")])

        Raises:
            SpecError: if the stage breaks a rule.
        """
        plumbing, spec = self.plumbing, self.plumbing.spec
        assert not isinstance(spec, FrameOperator), "FrameResult refuses"
        if isinstance(spec, StreamWindow):
            rule = "a stage inherits the windows and the timing of panes, which events of a StreamWindow have not"
            raise SpecError("then after a StreamWindow", rule, "write the events, and window them in another query")
        shards = None if plumbing.default_shards else len(plumbing.shards)
        chain = spec.then(keys=keys, aggregates=aggregates)
        check_column_types(plumbing.df, chain)
        return replace(self, plumbing=Plumbing.of(plumbing.df, chain, shards, plumbing.clock, plumbing.shown))

    @cached_property
    def panes(self) -> DataFrame:
        """The panes (semantics 20): keys, window_start, window_end, aggregates, timing, index, ... Late rows are counted, not kept."""
        return self._alone("panes", whole_rows=False)

    @cached_property
    def late(self) -> DataFrame:
        """Late rows (semantics 13.4): row STRUCT, reason, windows ARRAY, late_by (microseconds), partial."""
        return self._alone("late", whole_rows=True)

    @cached_property
    def invalid(self) -> DataFrame:
        """Rows that no window can take (semantics 15): row STRUCT, reason."""
        return self._alone("invalid", whole_rows=True)

    @cached_property
    def counts(self) -> DataFrame:
        """What became of the rows, for each shard and micro-batch (semantics 15.1)."""
        return self._alone("counts", whole_rows=False)

    def explain(self) -> str:
        """In words: what is emitted when."""
        return describe(self.spec)

    def write(
        self,
        *,
        checkpoint: str | None = None,
        panes: Sink | None = None,
        late: Sink | None = None,
        invalid: Sink | None = None,
        counts: Sink | None = None,
        available_now: bool = False,
        processing_time: str | None = None,
        name: str | None = None,
    ) -> WindowQuery:
        """Sends the outputs to their sinks from one query, exactly once.

        Args:
            checkpoint: directory of the query's checkpoint. Required on a stream. panes, late, invalid, counts: a
            ParquetSink, or a function of (DataFrame, batch_id) that may be called again with the same batch. No two
            ParquetSinks have the same path.
            available_now: stop when everything that is there has been processed. processing_time: interval between
            micro-batches, such as "10 seconds"; not together with `available_now`.
            name: name of the query in Spark's UI, listeners and `spark.streams.active`. Default: none.

        Raises:
            SpecError: if a sink cannot take rows, two sinks have one path, or two triggers are given.
            StateError: if the checkpoint was made by another specification or number of shards.
        """
        outputs = {"panes": panes, "late": late, "invalid": invalid, "counts": counts}
        sinks = {kind: sink for kind, sink in outputs.items() if sink is not None}
        check_sinks(sinks)
        if available_now and processing_time is not None:
            rule = "a run that stops when everything is processed has no interval between micro-batches"
            given = f"available_now=True with processing_time={processing_time!r}"
            raise SpecError(given, rule, "leave out one of the two")
        trigger = {"availableNow": True} if available_now else {} if processing_time is None else {"processingTime": processing_time}
        if self.at_end and self.plumbing.df.isStreaming and not available_now:
            raise SpecError("finish='at_end' without available_now", "only a run that ends can end its input", "give available_now=True")
        return start(self.plumbing, sinks, checkpoint, trigger, at_end=self.at_end, name=name)

    def _alone(self, kind: str, *, whole_rows: bool) -> DataFrame:
        plumbing = self.plumbing
        if plumbing.df.isStreaming and self.at_end:
            rule = "the end of a stream is told to the operator by write()"
            raise SetupError("finish='at_end' without write()", rule, f"use result.write({kind}=..., checkpoint=..., available_now=True)")
        packed = plumbing.packed(late_wanted=kind == "late", all_columns=whole_rows)
        schema = polars_schema(plumbing.inputs(all_columns=whole_rows))
        unpack = plumbing.unpacker(kind, all_columns=whole_rows)
        if plumbing.df.isStreaming and unpack.flat:
            return plumbing.stepped(packed, schema, direct=unpack)
        return unpacked(plumbing.stepped(packed, schema), unpack)
