"""Binds sinks to their outputs: what a sink knows of the rows that it gets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from panewise.errors import SpecError
from panewise.spark.dataflow.dataflow import Dataflow
from panewise.spark.inputs.checks import same_name
from panewise.spark.queries.dispatch import Dispatch
from panewise.spark.queries.selection import Selection
from panewise.spark.queries.write_arguments import EarlierOutput, WriteOptions
from panewise.spark.shuffle.envelope import kind_of
from panewise.spark.sinks.base import BoundSink, OutputSink, SinkOutput
from panewise.spark.sinks.sequence import unused_name
from panewise.spec import Specification, parts
from panewise.spec.fields import is_name
from panewise.spec.operators.panes import BOUNDS, OP


def bound(
    dispatch: Dispatch,
    dataflow: Dataflow,
    names: Mapping[str, str],
    earlier: Sequence[EarlierOutput],
    options: WriteOptions,
) -> Dispatch:
    """Returns the dispatch with the sequence, and with sinks bound to their outputs, after checking both."""
    dispatch = _with_sequence(dispatch, dataflow.df, options.sequence)
    specs = {output.label: output.dataflow.spec for output in earlier}
    session, sinks = dataflow.df.sparkSession, dict(dispatch.sinks)
    for kind, sink in dispatch.sinks.items():
        if isinstance(sink, OutputSink):
            output = _output(dispatch, kind, names[kind], specs.get(kind, dataflow.spec), session, options)
            sink.check(output)
            sinks[kind] = BoundSink(sink, output)
    return replace(dispatch, sinks=sinks)


def _output(
    dispatch: Dispatch,
    kind: str,
    name: str,
    spec: Specification,
    session: SparkSession,
    options: WriteOptions,
) -> SinkOutput:
    """Returns an output of an operator, as its sink sees it."""
    schema, emitted = dispatch.schema(kind, session), kind_of(kind) == "panes"
    has_op = emitted and parts(spec).has_op(spec)
    return SinkOutput(
        name=name,
        kind=kind_of(kind),
        schema=schema,
        spec=spec,
        key=_key(dispatch, kind, spec, schema) if emitted else (),
        sequence=_sequence_of(dispatch, kind, options.sequence, schema),
        op=OP if has_op and _unchanged(dispatch, kind, schema, [OP]) else None,
        session=session,
        checkpoint=options.checkpoint,
        computed=_computed(dispatch, kind),
        keys=_keys(dispatch, kind, spec) if emitted else (),
    )


def check_sequence(name: str | None, kinds: Iterable[str]) -> None:
    """Checks that a sequence has a name, and that emitted rows are among the outputs that are written."""
    if name is not None and not (is_name(name) and "panes" in map(kind_of, kinds)):
        rule = "the sequence is a new column of emitted rows (semantics 49.1)"
        raise SpecError(f"sequence={name!r}", rule, "give its name, and a sink for emitted rows")


def _sequence_of(dispatch: Dispatch, kind: str, name: str | None, schema: StructType) -> str | None:
    """Returns the name of the sequence for a sink that knows its output."""
    if kind_of(kind) != "panes" or (kind == "panes" and dispatch.sorts):
        return None
    return unused_name(schema.names) if name is None else name


def _key(dispatch: Dispatch, kind: str, spec: Specification, schema: StructType) -> tuple[str, ...]:
    """Returns the columns that identify an emitted row; none if some of them are left out or computed."""
    names = dispatch.unpackers[kind].output_names
    key = tuple(names.get(name, name) for name in parts(spec).row_key(spec))
    return key if not _computed(dispatch, kind) and _unchanged(dispatch, kind, schema, key) else ()


def _keys(dispatch: Dispatch, kind: str, spec: Specification) -> tuple[frozenset[str], ...]:
    """Returns, for each key of the operator, the columns of emitted rows that have it."""
    names = dispatch.unpackers[kind].output_names
    keys = [frozenset([names.get(key, key)]) for key in parts(spec).row_key(spec) if key not in BOUNDS]
    selections = [step for step in dispatch.steps if isinstance(step, Selection) and kind == "panes"]
    return tuple(reduce(lambda columns, step: step.names_of(columns), selections, key) for key in keys)


def _computed(dispatch: Dispatch, kind: str) -> bool:
    """Returns whether more is done to the rows of an output than selecting columns."""
    return kind == "panes" and not all(isinstance(step, Selection) for step in dispatch.steps)


def _unchanged(dispatch: Dispatch, kind: str, schema: StructType, names: Sequence[str]) -> bool:
    """Returns whether rows with this schema have these columns, and no selection computes them."""
    selections = [step for step in dispatch.steps if isinstance(step, Selection) and kind == "panes"]
    return {*names} <= {*schema.names} and all(step.passes(name) for step in selections for name in names)


def _with_sequence(dispatch: Dispatch, df: DataFrame, name: str | None) -> Dispatch:
    """Returns the dispatch with the sequence that the user has requested, after checking its name."""
    if name is None:
        return dispatch
    if dispatch.sorts:
        rule = "sorted rows are not in the order in which they were emitted (semantics 49.1)"
        raise SpecError(f"sequence={name!r} and ORDER BY or LIMIT", rule, "leave one of the two out")
    same = same_name(df)
    for kind in (kind for kind in dispatch.sinks if kind_of(kind) == "panes"):
        columns = dispatch.schema(kind, df.sparkSession).names
        if same(name) in map(same, columns):
            rule = f"the emitted rows have the columns {columns}"
            raise SpecError(f"sequence={name!r}", rule, "give another name")
    return replace(dispatch, sequence=name)
