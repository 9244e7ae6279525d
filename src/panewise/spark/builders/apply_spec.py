"""`apply`, which checks an input, and returns the outputs of a specification over it."""

from collections.abc import Mapping
from typing import Any, Final, Literal, TypedDict, Unpack, overload

from pyspark.sql import DataFrame

from panewise.chrono import Duration, DurationLike
from panewise.errors import SpecError
from panewise.families import INPUT
from panewise.spark.builders.upstream_inputs import Source, as_result, check_feeds, feeds_of, frame_of
from panewise.spark.columns.schemas import instants_of
from panewise.spark.dataflow.dataflow import Dataflow
from panewise.spark.dataflow.static_side import static_ports
from panewise.spark.inputs.ancestry import (
    check_ancestry,
    delayed,
    of_several_streams,
    warn_of_late_rows,
    warn_of_unguarded_watermark,
)
from panewise.spark.inputs.checks import (
    check_column_types,
    check_columns,
    check_named,
    check_options,
    check_stream,
    delay_of,
    warn_of_partitions,
)
from panewise.spark.inputs.guarded_watermark import limit_of
from panewise.spark.inputs.names import Input, input_of
from panewise.spark.inputs.watermarks import (
    check_batch,
    check_inputs,
    check_sides,
    follows_query,
    makes_own,
    with_constant_watermark,
)
from panewise.spark.results.by_family import result_class
from panewise.spark.results.operator_result import Given, OperatorResult
from panewise.spark.results.over import OverResult
from panewise.spark.results.sides import CogroupResult, JoinResult, WindowedJoinResult
from panewise.spark.results.single_input import DeduplicateResult, PolicyResult, WindowResult
from panewise.spec import (
    Chain,
    CogroupOperator,
    DeduplicateOperator,
    JoinOperator,
    OverOperator,
    Specification,
    StreamWindow,
    WindowedJoin,
    WindowOperator,
    parts,
)
from panewise.spec.protocol import is_specification
from panewise.spec.windows.kinds import positive

SPECIFICATIONS: Final = (
    WindowOperator,
    Chain,
    OverOperator,
    DeduplicateOperator,
    StreamWindow,
    JoinOperator,
    WindowedJoin,
    CogroupOperator,
)


class ApplyOptions(TypedDict, total=False):
    """The arguments of :func:`apply` besides the input and the specification."""

    finish: Literal["never", "at_end"] | None
    shards: int | None
    clock: DurationLike | None


@overload
def apply(df: Source, spec: WindowOperator | Chain, **options: Unpack[ApplyOptions]) -> WindowResult: ...


@overload
def apply(df: Source, spec: OverOperator, **options: Unpack[ApplyOptions]) -> OverResult: ...


@overload
def apply(df: Source, spec: DeduplicateOperator, **options: Unpack[ApplyOptions]) -> DeduplicateResult: ...


@overload
def apply(df: Source, spec: StreamWindow, **options: Unpack[ApplyOptions]) -> PolicyResult: ...


@overload
def apply(df: Mapping[str, Source], spec: JoinOperator, **options: Unpack[ApplyOptions]) -> JoinResult: ...


@overload
def apply(
    df: Mapping[str, Source], spec: WindowedJoin, **options: Unpack[ApplyOptions]
) -> WindowedJoinResult: ...


@overload
def apply(
    df: Mapping[str, Source], spec: CogroupOperator, **options: Unpack[ApplyOptions]
) -> CogroupResult: ...


@overload
def apply(df: Source | Mapping[str, Source], spec: Specification, **options: Unpack[ApplyOptions]) -> Any: ...


def apply(
    df: Source | Mapping[str, Source],
    spec: Specification,
    *,
    finish: Literal["never", "at_end"] | None = None,
    shards: int | None = None,
    clock: DurationLike | None = None,
) -> OperatorResult:
    """Applies a specification to a DataFrame, and returns the outputs of its family.

    Args:
        df: the input, streaming or batch: a DataFrame, or the result of another operator (semantics 42.5). Of
            an operator with several inputs one for each port, such as {"left": orders, "right": shipments}.
        spec: a WindowOperator, a Chain, an OverOperator, a DeduplicateOperator, a StreamWindow, a
            JoinOperator, a WindowedJoin, a CogroupOperator, or a specification of another package's family.
        finish: as in :meth:`panewise.spark.WindowBuilder.finish`.
        shards: as in :meth:`panewise.spark.WindowBuilder.shards`.
        clock: as in :meth:`panewise.spark.WindowBuilder.clock`.

    Returns:
        A WindowResult, OverResult, DeduplicateResult, PolicyResult, JoinResult, WindowedJoinResult,
        CogroupResult or, for another package's family, a FamilyResult.

    Raises:
        SpecError: if the specification does not fit the DataFrame, or an option is not allowed.
        SetupError: if the stream has no watermark where it needs one, or the state store is not RocksDB.
    """
    every = None if clock is None else positive(clock, "clock")
    check_options(finish, shards)
    sources = _by_port(df, spec)
    feeds = feeds_of(sources, spec)
    dfs = {port: feeds[port].df if port in feeds else frame_of(source) for port, source in sources.items()}
    static = static_ports(dfs, spec)
    inputs, fitted = _inputs(dfs, spec)
    dfs = {port: seen.df for port, seen in inputs.items()}
    output_names = {port: seen.output_names for port, seen in inputs.items()}
    fitted = parts(fitted).for_delays(fitted, _delays(dfs, fitted))
    check_sides(dfs, {*feeds, *static}, fitted)
    for port, frame in dfs.items():
        check_columns(frame, fitted, port)
    check_column_types(dfs, fitted)
    fitted = _limited({port: dfs[port] for port in dfs if port not in feeds and port not in static}, fitted)
    check_feeds({port: frame for port, frame in dfs.items() if port not in static}, feeds, fitted)
    for port, frame in dfs.items():
        if port not in feeds and port not in static:
            dfs[port] = _checked(frame, fitted, port, finish, every)
    first = next(iter(dfs.values()))
    if first.isStreaming:
        warn_of_partitions(first)
    fed = {port: source.feed.then(inputs[port].shape) for port, source in feeds.items()}
    dataflow = Dataflow.from_inputs(dfs, fitted, shards, every, output_names, fed)
    again = Given(spec, lambda other: apply(df, other, finish=finish, shards=shards, clock=clock))
    before = {
        port: as_result(source) for port, source in sources.items() if not isinstance(source, DataFrame)
    }
    at_end = finish == "at_end" or any(result.at_end for result in before.values())
    return result_class(spec)(fitted, dataflow, at_end, again, before)


def _inputs(dfs: Mapping[str, DataFrame], spec: Specification) -> tuple[dict[str, Input], Specification]:
    """Returns the inputs with the names that their columns have in the operator, and its specification."""
    fitted = parts(spec).for_columns(spec, {port: {*instants_of(frame)} for port, frame in dfs.items()})
    inputs = dict[str, Input]()
    for port, frame in dfs.items():
        inputs[port] = input_of(frame, fitted, port)
        fitted = inputs[port].spec
    return inputs, fitted


def _by_port(df: Source | Mapping[str, Source], spec: Specification) -> dict[str, Source]:
    """Returns the input of each port, in the order of the specification.

    Spark numbers the sources of a query by their order, so it must not depend on the caller's mapping.
    """
    if not is_specification(spec):
        rule = f"a specification is one of {sorted(kind.__name__ for kind in SPECIFICATIONS)}"
        raise SpecError(f"spec={spec!r}", rule, "give one such as WindowOperator(window=..., aggregates=...)")
    sources = df if isinstance(df, Mapping) else {INPUT: df}
    check_named(sources, spec)
    return {port: sources[port] for port in spec.ports}


def _checked(
    df: DataFrame, spec: Specification, port: str, finish: str | None, clock: Duration | None
) -> DataFrame:
    """Returns the input of a port, with a watermark, after checking it."""
    entry = spec.ports[port]
    check_inputs(entry)
    if df.isStreaming:
        check_ancestry(df, entry)
        lateness = parts(spec).allowed_lateness(spec, port)
        if lateness != Duration(0):
            warn_of_late_rows(df, f"allowed_lateness={str(lateness)!r}")
        check_stream(df, entry.time_columns, own_watermark=makes_own(entry), port=port)
        if entry.max_future_skew is not None and follows_query(spec, port):
            warn_of_unguarded_watermark(df, entry.max_future_skew)
        return with_constant_watermark(df, entry)
    if finish == "never":
        rule = "the input of a batch query always ends"
        raise SpecError("finish='never' on a batch DataFrame", rule, "leave finish out")
    check_batch(spec, clock)
    return df


def _limited(dfs: Mapping[str, DataFrame], spec: Specification) -> Specification:
    """Returns the specification with the limits of event times that the views of a script have (46.113)."""
    open_ports = {port: spec.ports[port] for port in dfs if spec.ports[port].max_future_skew is None}
    limits = {port: limit_of(dfs[port], entry.time_columns) for port, entry in open_ports.items()}
    skews = {port: limit for port, limit in limits.items() if limit is not None}
    return parts(spec).with_skews(spec, skews) if skews else spec


def _delays(dfs: Mapping[str, DataFrame], spec: Specification) -> dict[str, Duration | None]:
    """Returns the delay of the watermark of each stream that has one of its event time.

    It is None where one of Spark's own operators delays rows, and in a union of streams (semantics 36.9,
    36.10).
    """
    times = {port: entry.time_columns for port, entry in spec.ports.items()}
    delays = {port: delay_of(df, times[port]) for port, df in dfs.items() if df.isStreaming}
    several = len(dfs) > 1
    return {
        port: None if several and (delayed(dfs[port]) or of_several_streams(dfs[port])) else delay
        for port, delay in delays.items()
        if delay is not None
    }
