"""The outputs of each operator family, and `apply`, which returns them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, overload

from pyspark.sql import DataFrame
from pyspark.sql.types import TimestampType

from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.families import INPUT, Family
from panewise.spark.ancestry import check_ancestry
from panewise.spark.checks import (
    check_column_types,
    check_columns,
    check_options,
    check_ports,
    check_stream,
    warn_of_partitions,
)
from panewise.spark.dataflow import Dataflow
from panewise.spark.envelope import labelled
from panewise.spark.names import input_of
from panewise.spark.operator_result import Given, OperatorResult
from panewise.spark.sinks import Sink
from panewise.spark.watermarks import check_batch, check_inputs, makes_own, with_watermark
from panewise.spark.writer import WindowQuery
from panewise.spec import (
    Aggregate,
    Chain,
    Over,
    OverOperator,
    Specification,
    StreamWindow,
    WindowOperator,
    WindowSpec,
    over_operator,
    parts,
)
from panewise.spec.reserved_names import inner_names, renamed
from panewise.spec.windows.kinds import positive


@dataclass(frozen=True)
class WindowResult(OperatorResult):
    """The outputs of a window operator or a chain.

    Each of the DataFrames is a query of its own. :meth:`write` writes several outputs from one query.
    """

    spec: WindowOperator | Chain

    @cached_property
    def panes(self) -> DataFrame:
        """The panes: keys, window_start, window_end, aggregates, timing, index and others (semantics 20).

        This query only counts late rows. :attr:`late` and :meth:`write` return them.
        """
        return self._alone("panes", whole_rows=False)

    def then(self, *, aggregates: Iterable[Aggregate], keys: Iterable[str] = ()) -> "WindowResult":
        """Returns the outputs of a chain with one more stage, whose rows are these panes (semantics 30).

        Example::

            hourly = windowed(df, "ts").groupBy("origin", "carrier").window(pw.Tumbling("1 hour"))
            by_carrier = hourly.agg(F.count().alias("flights"))
            sums = [F.sum("flights").alias("flights"), F.max("flights").alias("most")]
            by_origin = by_carrier.then(keys=["origin"], aggregates=sums)

        Raises:
            SpecError: if the stage breaks a rule.
        """
        flow = self.dataflow
        dfs, output_names = _with_own_names(flow)
        chain = self.spec.then(keys=keys, aggregates=aggregates)
        check_column_types(dfs, chain)
        shards = None if flow.default_shards else len(flow.shards)
        made = _dataflow(dfs, chain, shards, flow.clock, output_names)
        return replace(self, spec=chain, dataflow=made)

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
        return self._write(
            panes,
            late=late,
            invalid=invalid,
            counts=counts,
            checkpoint=checkpoint,
            available_now=available_now,
            processing_time=processing_time,
            name=name,
        )


@dataclass(frozen=True)
class OverResult(OperatorResult):
    """The outputs of an OVER operator.

    Each of the DataFrames is a query of its own. :meth:`write` writes several outputs from one query.

    Attributes:
        made: the new columns, where :class:`panewise.spark.OverBuilder` made the specification.
        fields: the other arguments of `over_operator` that it was made with.
    """

    OUTPUT: ClassVar[str] = "rows"

    spec: OverOperator
    made: Mapping[str, Over] | None = None
    fields: Mapping[str, Any] | None = None

    @cached_property
    def rows(self) -> DataFrame:
        """The OVER rows: each row with its columns and the new ones. This query only counts late rows."""
        return self._alone("panes", whole_rows=False)

    def withColumn(self, name: str, column: Over) -> "OverResult":  # noqa: N802 - PySpark's name
        """As :meth:`withColumns`, with one new column."""
        return self.withColumns({name: column})

    def withColumns(self, columns: Mapping[str, Over]) -> "OverResult":  # noqa: N802 - PySpark's name
        """Returns the outputs with more new columns. One operator computes all of them.

        Raises:
            SpecError: if a column reads one of the new columns, or as
                :meth:`panewise.spark.OverBuilder.withColumns` does.
        """
        made, fields = self._description()
        for name, column in columns.items():
            read = column.what.columns if isinstance(column, Over) else ()
            of = [one for one in read if one in made]
            if of:
                raise SpecError(
                    f"{name!r} reads {of[0]!r}, a new column",
                    "the new columns of an operator are computed from those of its input",
                    "write the rows, and compute it in another query",
                )
        together = {**made, **columns}
        result: OverResult = apply(self.given.df, over_operator(together, **fields), **self.given.options)
        return replace(result, made=together, fields=fields)

    def _description(self) -> tuple[Mapping[str, Over], Mapping[str, Any]]:
        """Returns the arguments of `over_operator` that make the specification."""
        spec = self.given.spec
        if self.made is not None and self.fields is not None:
            return self.made, self.fields
        assert isinstance(spec, OverOperator)
        timed = spec.event_time is not None
        window = WindowSpec(spec.keys, (spec.event_time, *spec.order) if spec.event_time is not None else ())
        made = {one.name: Over(one.what, replace(window, frame=one.frame)) for one in spec.columns}
        names = ("position", "null_keys", "max_future_skew", "watermark", *(() if timed else ("order",)))
        return made, {name: getattr(spec, name) for name in names}

    def write(
        self,
        *,
        checkpoint: str | None = None,
        rows: Sink | None = None,
        late: Sink | None = None,
        invalid: Sink | None = None,
        counts: Sink | None = None,
        available_now: bool = False,
        processing_time: str | None = None,
        name: str | None = None,
    ) -> WindowQuery:
        """Writes the outputs to their sinks from one query, exactly once.

        Args:
            checkpoint: directory of the query's checkpoint. Required on a stream.
            rows: sink of the OVER rows.
            late: sink of the late rows.
            invalid: sink of the invalid rows.
            counts: sink of the counts.
            available_now: as in :meth:`panewise.spark.WindowResult.write`.
            processing_time: as in :meth:`panewise.spark.WindowResult.write`.
            name: as in :meth:`panewise.spark.WindowResult.write`.

        Raises:
            SpecError: if a sink cannot take rows, two sinks have one path, or two triggers are given.
            StateError: if the checkpoint was made by another specification or number of shards.
        """
        return self._write(
            rows,
            late=late,
            invalid=invalid,
            counts=counts,
            checkpoint=checkpoint,
            available_now=available_now,
            processing_time=processing_time,
            name=name,
        )


@dataclass(frozen=True)
class PolicyResult(OperatorResult):
    """The outputs of policy windows. The late rows are those after the end of input.

    Each of the DataFrames is a query of its own. :meth:`write` writes several outputs from one query.
    """

    OUTPUT: ClassVar[str] = "events"

    spec: StreamWindow

    @cached_property
    def events(self) -> DataFrame:
        """The events (semantics 10.16).

        They have the columns of partition_by, event, tuples and processing_time. Aggregates, or the outputs
        of a listener, take the place of tuples.
        """
        return self._alone("panes", whole_rows=False)

    def write(
        self,
        *,
        checkpoint: str | None = None,
        events: Sink | None = None,
        late: Sink | None = None,
        invalid: Sink | None = None,
        counts: Sink | None = None,
        available_now: bool = False,
        processing_time: str | None = None,
        name: str | None = None,
    ) -> WindowQuery:
        """Writes the outputs to their sinks from one query, exactly once.

        Args:
            checkpoint: directory of the query's checkpoint. Required on a stream.
            events: sink of the events.
            late: sink of the late rows.
            invalid: sink of the invalid rows.
            counts: sink of the counts.
            available_now: as in :meth:`panewise.spark.WindowResult.write`.
            processing_time: as in :meth:`panewise.spark.WindowResult.write`.
            name: as in :meth:`panewise.spark.WindowResult.write`.

        Raises:
            SpecError: if a sink cannot take rows, two sinks have one path, or two triggers are given.
            StateError: if the checkpoint was made by another specification or number of shards.
        """
        return self._write(
            events,
            late=late,
            invalid=invalid,
            counts=counts,
            checkpoint=checkpoint,
            available_now=available_now,
            processing_time=processing_time,
            name=name,
        )


_REJECTED: Final = ("late", "invalid", "counts")


@dataclass(frozen=True)
class FamilyResult(OperatorResult):
    """The outputs of an operator of another package's family, which may have several inputs."""

    def output(self, kind: Literal["panes", "late", "invalid", "counts"], port: str = INPUT) -> DataFrame:
        """Returns one output: the emitted rows, or what the operator says of one of its inputs.

        Args:
            kind: the output.
            port: the input of "late", "invalid" and "counts".

        Raises:
            SpecError: if the operator has no such input.
        """
        if kind != "panes" and port not in self.spec.ports:
            rule = f"the inputs of the operator are {list(self.spec.ports)}"
            raise SpecError(f"port={port!r}", rule, "name one of these")
        return self._alone(labelled(kind, port), whole_rows=kind in ("late", "invalid"))

    def write(
        self,
        sinks: Mapping[str, Sink],
        *,
        checkpoint: str | None = None,
        available_now: bool = False,
        processing_time: str | None = None,
        name: str | None = None,
    ) -> WindowQuery:
        """Writes the outputs to their sinks from one query, exactly once.

        Args:
            sinks: a sink for each output: "panes", and "late", "invalid" and "counts". In an operator with
                several inputs the last three end in "@" and the name of the input: "late@left".
            checkpoint: directory of the query's checkpoint. Required on a stream.
            available_now: as in :meth:`panewise.spark.WindowResult.write`.
            processing_time: as in :meth:`panewise.spark.WindowResult.write`.
            name: as in :meth:`panewise.spark.WindowResult.write`.

        Raises:
            SpecError: if there is no such output, a sink cannot take rows, two sinks have one path, or two
                triggers are given.
            StateError: if the checkpoint was made by another specification or number of shards.
        """
        known = ["panes", *(labelled(kind, port) for port in self.spec.ports for kind in _REJECTED)]
        for kind in sinks:
            if kind not in known:
                raise SpecError(f"a sink for {kind!r}", f"the outputs are {known}", "give one of these")
        return self._start(
            sinks,
            checkpoint=checkpoint,
            available_now=available_now,
            processing_time=processing_time,
            name=name,
        )


RESULTS: Final[Mapping[type[Any], type[Any]]] = {
    WindowOperator: WindowResult,
    Chain: WindowResult,
    OverOperator: OverResult,
    StreamWindow: PolicyResult,
}


@overload
def apply(
    df: DataFrame,
    spec: WindowOperator | Chain,
    *,
    finish: Literal["never", "at_end"] | None = None,
    shards: int | None = None,
    clock: DurationLike | None = None,
) -> WindowResult: ...


@overload
def apply(
    df: DataFrame,
    spec: OverOperator,
    *,
    finish: Literal["never", "at_end"] | None = None,
    shards: int | None = None,
    clock: DurationLike | None = None,
) -> OverResult: ...


@overload
def apply(
    df: DataFrame,
    spec: StreamWindow,
    *,
    finish: Literal["never", "at_end"] | None = None,
    shards: int | None = None,
    clock: DurationLike | None = None,
) -> PolicyResult: ...


@overload
def apply(
    df: DataFrame | Mapping[str, DataFrame],
    spec: Specification,
    *,
    finish: Literal["never", "at_end"] | None = None,
    shards: int | None = None,
    clock: DurationLike | None = None,
) -> Any: ...


def apply(
    df: DataFrame | Mapping[str, DataFrame],
    spec: Specification,
    *,
    finish: Literal["never", "at_end"] | None = None,
    shards: int | None = None,
    clock: DurationLike | None = None,
) -> OperatorResult:
    """Applies a specification to a DataFrame, and returns the outputs of its family.

    Args:
        df: the input, streaming or batch; of an operator with several inputs a DataFrame for each port.
        spec: a WindowOperator, a Chain, an OverOperator, a StreamWindow, or a specification of another
            package's family.
        finish: as in :meth:`panewise.spark.WindowBuilder.finish`.
        shards: as in :meth:`panewise.spark.WindowBuilder.shards`.
        clock: as in :meth:`panewise.spark.WindowBuilder.clock`.

    Returns:
        A WindowResult, OverResult, PolicyResult or FamilyResult.

    Raises:
        SpecError: if the specification does not fit the DataFrame, or an option is not allowed.
        SetupError: if the stream has no watermark where it needs one, or the state store is not RocksDB.
    """
    every = None if clock is None else positive(clock, "clock")
    check_options(finish, shards)
    if not isinstance(getattr(spec, "family", None), Family):
        rule = f"a specification is one of {sorted(kind.__name__ for kind in RESULTS)}"
        raise SpecError(f"spec={spec!r}", rule, "give one such as WindowOperator(window=..., aggregates=...)")
    given: Mapping[str, DataFrame] = df if isinstance(df, Mapping) else {INPUT: df}
    check_ports(given, spec)
    # Spark numbers the sources of a query by their order, so it must not depend on the caller's mapping.
    given = {port: given[port] for port in spec.ports}
    made = parts(spec).for_columns(spec, {port: _instants(one) for port, one in given.items()})
    dfs, output_names = dict[str, DataFrame](), dict[str, Mapping[str, str]]()
    for port, one in given.items():
        seen = input_of(one, made, port)
        dfs[port], made, output_names[port] = seen.df, seen.spec, seen.output_names
    for port, one in dfs.items():
        check_columns(one, made, port)
    check_column_types(dfs, made)
    for port in dfs:
        dfs[port] = _checked(dfs[port], made, port, finish, every)
    dataflow = _dataflow(dfs, made, shards, every, output_names)
    result: OperatorResult = RESULTS.get(type(spec), FamilyResult)(
        made, dataflow, finish == "at_end", Given(df, spec, finish, shards, clock)
    )
    return result


def _checked(
    df: DataFrame, spec: Specification, port: str, finish: str | None, clock: Duration | None
) -> DataFrame:
    """Returns the input of a port, with a watermark, after checking it."""
    entry = spec.ports[port]
    check_inputs(entry)
    if df.isStreaming:
        check_ancestry(df, entry)
        check_stream(df, entry.time_columns, own_watermark=makes_own(entry))
        warn_of_partitions(df)
        return with_watermark(df, entry)
    if finish == "never":
        rule = "the input of a batch query always ends"
        raise SpecError("finish='never' on a batch DataFrame", rule, "leave finish out")
    check_batch(spec, clock)
    return df


def _dataflow(
    dfs: Mapping[str, DataFrame],
    spec: Specification,
    shards: int | None,
    clock: Duration | None,
    output_names: Mapping[str, Mapping[str, str]],
) -> Dataflow:
    """Returns the dataflow, in which no column of the user has a name that begins with `__`."""
    inner = inner_names([name for df in dfs.values() for name in df.columns], spec)
    if inner:
        dfs = {port: df.withColumnsRenamed(inner) for port, df in dfs.items()}
    seen = {
        port: {inner.get(own, own): name for own, name in of.items()} for port, of in output_names.items()
    }
    return replace(Dataflow.of(dfs, renamed(spec, inner), shards, clock, seen), inner=inner)


def _with_own_names(flow: Dataflow) -> tuple[dict[str, DataFrame], dict[str, dict[str, str]]]:
    """Returns the inputs of a dataflow with the user's names, and the output names of these."""
    restored = {own: name for name, own in flow.inner.items()}
    dfs = {port: df.withColumnsRenamed(restored) if restored else df for port, df in flow.dfs.items()}
    output_names = flow.output_names or {}
    return dfs, {
        port: {restored.get(own, own): name for own, name in of.items()} for port, of in output_names.items()
    }


def _instants(df: DataFrame) -> set[str]:
    """Returns the columns that can be an event time (semantics 8.5)."""
    return {field.name for field in df.schema.fields if isinstance(field.dataType, TimestampType)}
