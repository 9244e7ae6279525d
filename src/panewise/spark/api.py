"""The fluent API in the style of PySpark: builds a specification and returns its outputs as DataFrames."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import TimestampType

from panewise.chrono import Duration, DurationLike
from panewise.errors import SetupError, SpecError
from panewise.families import INPUT
from panewise.spark.ancestry import check_ancestry
from panewise.spark.checks import (
    check_asked,
    check_column_types,
    check_columns,
    check_ports,
    check_stream,
    warn_of_partitions,
)
from panewise.spark.dataflow import Dataflow, unpacked
from panewise.spark.envelope import kind_of, labelled
from panewise.spark.names import input_of
from panewise.spark.sinks import Sink, check_sinks
from panewise.spark.watermarks import check_batch, check_inputs, makes_own, with_watermark
from panewise.spark.writer import WindowQuery, start
from panewise.spec import (
    Aggregate,
    Chain,
    Evictor,
    Position,
    Specification,
    Trigger,
    Watermark,
    Window,
    WindowOperator,
    parts,
)
from panewise.spec.aggregates.expressions import name_of
from panewise.spec.describe import describe
from panewise.spec.windows.kinds import positive

ColumnLike: TypeAlias = str | Column


def windowed(df: DataFrame, event_time: str | None = None) -> "Windowed":
    """Begins a window operator over a DataFrame, streaming or batch.

    Args:
        df: the input. A stream needs a watermark (`withWatermark`), unless the operator makes its own: with
            windows of rows, .options(time="processing"), or .watermark(...) with FixedLag, StreamTime or
            Inputs.
        event_time: column of the event time, a TIMESTAMP. Default: "event_time". It is not read with
            .options(time="processing"). With windows of rows it orders the rows of a micro-batch, and the
            default column need not exist (semantics 8.5).

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
    """The description of a window operator. Every method returns a new description; :meth:`agg` ends it."""

    df: DataFrame
    fields: Mapping[str, Any]
    finishing: Literal["never", "at_end"] | None = None
    shard_count: int | None = None
    clock_every: Duration | None = None

    def _with(self, **fields: Any) -> "Windowed":
        return replace(self, fields={**self.fields, **fields})

    def groupBy(self, *columns: ColumnLike | Sequence[ColumnLike]) -> "Windowed":  # noqa: N802 - PySpark's name
        """Sets the key columns. Each key has windows of its own.

        Args:
            columns: names or Columns, one by one or as a list, as in PySpark. An expression becomes a column
                of the panes, under its alias or the name that Spark gives it.
        """
        given = columns[0] if len(columns) == 1 and isinstance(columns[0], (list, tuple)) else columns
        return self._with(keys=tuple(map(name_of, given)))

    def window(self, window: Window) -> "Windowed":
        """Sets the windows: Tumbling, Hopping, Cumulating, Calendar, Session, Sliding, Custom or Global."""
        return self._with(window=window)

    def trigger(self, trigger: Trigger) -> "Windowed":
        """Sets when panes are emitted.

        Default: when the watermark reaches the end of the window, and then once for each micro-batch that
        adds rows to it.
        """
        return self._with(trigger=trigger)

    def accumulation(self, mode: Literal["discarding", "accumulating", "retracting"]) -> "Windowed":
        """Sets what a pane contains.

        Default: "accumulating", all rows of the window so far. In a chain that needs retractions
        (semantics 30.4, 30.5) it is "retracting".
        """
        return self._with(accumulation=mode)

    def evictor(self, evictor: Evictor) -> "Windowed":
        """Sets the evictor, which permanently removes rows from a window whenever it fires.

        It is a CountEvictor, TimeEvictor or DeltaEvictor.
        """
        return self._with(evictor=evictor)

    def delta(self, *columns: str) -> "Windowed":
        """Adds to panes the list of the rows that are new since the last firing.

        Args:
            columns: the columns of these rows. Default: all.
        """
        return self._with(delta=columns or True)

    def allowed_lateness(
        self, lateness: DurationLike | Literal["unlimited"], drop_by: Literal["window", "row"] = "window"
    ) -> "Windowed":
        """Sets how far the watermark may pass the end of a window before the window expires. Default: 0.

        With `drop_by="row"` a row is late, for all its windows, if its event time is below
        watermark - lateness.
        """
        return self._with(allowed_lateness=lateness, drop_by=drop_by)

    def watermark(self, watermark: Watermark) -> "Windowed":
        """Sets the source of the watermark, if that is not `withWatermark` alone.

        It is FixedLag, Inputs with a column, or StreamTime.
        """
        return self._with(watermark=watermark)

    def order_by(self, *columns: str) -> "Windowed":
        """Sets the columns that define the arrival order within a micro-batch. Default: the event time."""
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
        """Sets the columns of the source position, which identifies replays and defines the arrival order.

        `ordered` and `remember` are those of semantics 4.4.
        """
        return self._with(position=Position(partition, offset, source, ordered, remember))

    def options(self, **fields: Any) -> "Windowed":
        """Sets other fields of WindowOperator.

        They are time, null_keys, max_future_skew, on_time, closing, only_updated, timestamp, evaluate and
        strict.
        """
        known = {
            "time",
            "null_keys",
            "max_future_skew",
            "on_time",
            "closing",
            "only_updated",
            "timestamp",
            "evaluate",
            "strict",
        }
        for name in fields:
            if name not in known:
                raise SpecError(
                    f"option {name!r}",
                    f"the options are {sorted(known)}",
                    "use the method of that name, or one of these",
                )
        return self._with(**fields)

    def finish(self, when: Literal["never", "at_end"]) -> "Windowed":
        """Sets whether the end of input completes all windows. Default: on a batch yes, on a stream no."""
        return replace(self, finishing=when)

    def clock(self, every: DurationLike) -> "Windowed":
        """Adds a clock stream, which makes a micro-batch at least this often.

        So what waits for processing time takes effect while the input is silent. The rows of the clock stream
        have no key and are not counted. It is a source of the query like any other, so it cannot be added to
        an existing checkpoint or removed from one. With `available_now` the query ends as it does without it.

        Example::

            early = pw.AfterWatermark(early=pw.Every("1 minute"))
            windowed(df).window(pw.Tumbling("1 hour")).trigger(early).clock("10 seconds")

        Source: semantics 12.7.
        """
        return replace(self, clock_every=positive(every, "every"))

    def shards(self, count: int) -> "Windowed":
        """Sets the number of shards. It is fixed for the life of a checkpoint.

        Default: the number of shuffle partitions. Only one shard is possible where rows or panes of all keys
        meet: with `Session(rows(n))`, in a chain without a key that all stages keep, and with
        evaluate="record" together with Inputs or StreamTime(per="all").
        """
        return replace(self, shard_count=count)

    def agg(self, *aggregates: Aggregate) -> "Result":
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
        return apply(
            self.df,
            WindowOperator(aggregates=aggregates, **self.fields),
            finish=self.finishing,
            shards=self.shard_count,
            clock=self.clock_every,
        )


def apply(
    df: DataFrame | Mapping[str, DataFrame],
    spec: Specification,
    *,
    finish: Literal["never", "at_end"] | None = None,
    shards: int | None = None,
    clock: DurationLike | None = None,
) -> "Result":
    """Applies a specification of any family to a DataFrame, and returns the outputs.

    An operator with several inputs takes a mapping with a DataFrame for each of its ports.

    `finish`, `shards` and `clock` are those of :class:`Windowed`. It raises what :meth:`Windowed.agg` raises.
    """
    every = None if clock is None else positive(clock, "clock")
    check_asked(finish, shards)
    given = df if isinstance(df, Mapping) else {INPUT: df}
    check_ports(given, spec)
    spec = parts(spec).for_columns(spec, {port: _instants(one) for port, one in given.items()})
    dfs, shown = dict[str, DataFrame](), dict[str, Mapping[str, str]]()
    for port, one in given.items():
        seen = input_of(one, spec, port)
        dfs[port], spec, shown[port] = seen.df, seen.spec, seen.shown
    for port, one in dfs.items():
        dfs[port] = _checked(one, spec, port, finish, every)
    check_column_types(dfs, spec)
    return Result(Dataflow.of(dfs, spec, shards, every, shown), finish == "at_end")


def _checked(
    df: DataFrame, spec: Specification, port: str, finish: str | None, clock: Duration | None
) -> DataFrame:
    """Returns the input of a port, with a watermark, after checking it."""
    entry = spec.ports[port]
    check_columns(df, spec, port)
    check_inputs(entry)
    if df.isStreaming:
        check_ancestry(df, entry)
        check_stream(df, entry.time_columns, own_watermark=makes_own(entry))
        warn_of_partitions(df)
        return with_watermark(df, entry)
    if finish == "never":
        raise SpecError(
            "finish='never' on a batch DataFrame",
            "the input of a batch query always ends",
            "leave finish out",
        )
    check_batch(spec, clock)
    return df


def _instants(df: DataFrame) -> set[str]:
    """Returns the columns that can be an event time (semantics 8.5)."""
    return {field.name for field in df.schema.fields if isinstance(field.dataType, TimestampType)}


@dataclass(frozen=True)
class Result:
    """The outputs of an operator.

    Each of the DataFrames is a query of its own. :meth:`write` writes several outputs from one query.
    """

    plumbing: Dataflow
    at_end: bool

    @property
    def spec(self) -> Specification:
        """The specification."""
        return self.plumbing.spec

    def then(self, *, aggregates: Iterable[Aggregate], keys: Iterable[str] = ()) -> "Result":
        """Returns the outputs of a chain with one more stage, whose rows are these panes (semantics 30).

        Example::

            hourly = windowed(df, "ts").groupBy("origin", "carrier").window(pw.Tumbling("1 hour"))
            by_carrier = hourly.agg(F.count().alias("flights"))
            sums = [F.sum("flights").alias("flights"), F.max("flights").alias("most")]
            by_origin = by_carrier.then(keys=["origin"], aggregates=sums)

        Raises:
            SpecError: if the stage breaks a rule.
        """
        plumbing, spec = self.plumbing, self.plumbing.spec
        if not isinstance(spec, WindowOperator | Chain):
            rule = "a stage inherits the windows and the timing of panes, which only window operators have"
            raise SpecError(
                f"then after a {type(spec).__name__}",
                rule,
                "write the output, and window it in another query",
            )
        shards = None if plumbing.default_shards else len(plumbing.shards)
        chain = spec.then(keys=keys, aggregates=aggregates)
        check_column_types(plumbing.dfs, chain)
        flow = Dataflow.of(plumbing.dfs, chain, shards, plumbing.clock, plumbing.shown)
        return replace(self, plumbing=flow)

    def output(self, kind: Literal["panes", "late", "invalid", "counts"], port: str = INPUT) -> DataFrame:
        """Returns one output: the emitted rows, or what an operator with several inputs says of one of them.

        Args:
            kind: the output.
            port: the input of "late", "invalid" and "counts".

        Raises:
            SpecError: if the operator has no such input.
        """
        if kind != "panes" and port not in self.spec.ports:
            rule = f"the inputs of the operator are {list(self.spec.ports)}"
            raise SpecError(f"port={port!r}", rule, "name one of these")
        label = kind if kind == "panes" else labelled(kind, port)
        return self._alone(label, whole_rows=kind in ("late", "invalid"))

    @cached_property
    def panes(self) -> DataFrame:
        """The panes: keys, window_start, window_end, aggregates, timing, index and others (semantics 20).

        This query only counts late rows. :attr:`late` and :meth:`write` return them.
        """
        return self._alone("panes", whole_rows=False)

    @cached_property
    def late(self) -> DataFrame:
        """The late rows: row STRUCT, reason, windows ARRAY, late_by (microseconds), partial.

        Source: semantics 13.4.
        """
        return self._alone("late", whole_rows=True)

    @cached_property
    def invalid(self) -> DataFrame:
        """The invalid rows, which no window can take: row STRUCT, reason (semantics 15)."""
        return self._alone("invalid", whole_rows=True)

    @cached_property
    def counts(self) -> DataFrame:
        """The numbers of rows in, applied, replayed, late and invalid (semantics 15.1).

        There is one row for each shard and micro-batch.
        """
        return self._alone("counts", whole_rows=False)

    def explain(self) -> str:
        """Returns a description in words of what is emitted and when."""
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
        """Writes the outputs to their sinks from one query, exactly once.

        A sink is a ParquetSink, or a function of (DataFrame, batch_id) that may be called again with the same
        batch. No two ParquetSinks may have the same path.

        Args:
            checkpoint: directory of the query's checkpoint. Required on a stream.
            panes: sink of the panes.
            late: sink of the late rows.
            invalid: sink of the invalid rows.
            counts: sink of the counts.
            available_now: whether the query stops once it has processed all input that is available.
            processing_time: interval between micro-batches, such as "10 seconds". Not with `available_now`.
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
        trigger = (
            {"availableNow": True}
            if available_now
            else {}
            if processing_time is None
            else {"processingTime": processing_time}
        )
        if self.at_end and self.plumbing.df.isStreaming and not available_now:
            raise SpecError(
                "finish='at_end' without available_now",
                "only a run that ends can end its input",
                "give available_now=True",
            )
        return start(self.plumbing, sinks, checkpoint, trigger, at_end=self.at_end, name=name)

    def _alone(self, kind: str, *, whole_rows: bool) -> DataFrame:
        plumbing = self.plumbing
        if plumbing.df.isStreaming and self.at_end:
            rule = "only write() reports the end of a stream to the operator"
            raise SetupError(
                "finish='at_end' without write()",
                rule,
                f"use result.write({kind}=..., checkpoint=..., available_now=True)",
            )
        packed = plumbing.packed(late_wanted=kind_of(kind) == "late", all_columns=whole_rows)
        schema = plumbing.schemas(all_columns=whole_rows)
        unpack = plumbing.unpacker(kind, all_columns=whole_rows)
        if plumbing.df.isStreaming and unpack.flat:
            return plumbing.stepped(packed, schema, direct=unpack)
        return unpacked(plumbing.stepped(packed, schema), unpack)
