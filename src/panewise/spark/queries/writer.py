"""Writes the outputs of an operator to their sinks from one query, exactly once.

The state operator emits one stream of envelopes. In ``foreachBatch`` the envelopes of each kind are unpacked
and passed to the sink of that kind, with the number of the micro-batch.

Spark repeats a micro-batch with the same input, clocks and state, so it emits the same rows. If the sink
writes a repeated micro-batch to the same place, each row is written exactly once.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from panewise.engine.protocol import Schemas
from panewise.errors import SpecError
from panewise.spark.dataflow.dataflow import Dataflow, note, unpacked
from panewise.spark.dataflow.initial_state import check_alone, check_streaming, imported_state, known_state
from panewise.spark.inputs.checks import same_name
from panewise.spark.queries.query import Done, WindowQuery
from panewise.spark.queries.query_record import (
    added_clock,
    check_fed,
    check_place,
    check_reads,
    continue_record,
    prepare_record,
    record_of,
    with_clock,
    write_note,
)
from panewise.spark.queries.selection import Selection, Sorted
from panewise.spark.queries.taken_over import taken_over
from panewise.spark.session.settings import envelopes_in_small_batches
from panewise.spark.shuffle.envelope import kind_of, numbered
from panewise.spark.sinks.base import AnySink, BoundSink, OutputSink, PathSink, SinkOutput
from panewise.spark.sinks.preparation import empty, prepare, prepare_batch
from panewise.spark.sinks.sequence import sequenced, unused_name
from panewise.spark.workers.unpack import Unpack
from panewise.spec import Specification, parts
from panewise.spec.codec.same_aggregates import ADDED_AGGREGATES, AddedAggregates
from panewise.spec.fields import check_choice, is_name
from panewise.spec.operators.panes import BOUNDS, OP


@dataclass(frozen=True)
class Dispatch:
    """The function that ``foreachBatch`` calls: passes each kind of output to its sink.

    Attributes:
        steps: what is done to the rows of the first output before its sink gets them.
        sequence: the column that emitted rows get (semantics 49.1), None if they get none.
        from_start: the kinds whose sinks get an empty DataFrame in the first micro-batch if it has no such
            rows. So a table that a sink writes exists, with its columns.
    """

    sinks: Mapping[str, AnySink]
    unpackers: Mapping[str, Unpack]
    from_start: frozenset[str] = frozenset()
    steps: tuple[Callable[[DataFrame], DataFrame], ...] = ()
    sequence: str | None = None

    def __call__(self, tagged: DataFrame, batch_id: int) -> None:
        """Passes one micro-batch to the sinks.

        It is computed once. A second time would run the state operator again.
        """
        persisted = tagged.persist()
        try:
            # These are few rows: a few envelopes of each shard, of about 4 MB at most.
            present = Counter(row.kind for row in persisted.select("kind").collect())
            with envelopes_in_small_batches(persisted.sparkSession, max(present.values(), default=0)):
                for kind, sink in self.sinks.items():
                    assert not isinstance(sink, OutputSink), "it is bound to its output"
                    if kind in present:
                        rows = unpacked(persisted, self.unpackers[kind])
                        sink(self.shaped(kind, rows, batch_id), batch_id)
                    elif batch_id == 0 and kind in self.from_start:
                        sink(self.empty(kind, persisted.sparkSession), batch_id)
        finally:
            persisted.unpersist()

    def empty(self, kind: str, session: SparkSession) -> DataFrame:
        """Returns an empty DataFrame as the sink of this kind gets it."""
        return self.shaped(kind, empty(session, self.unpackers[kind].target), 0)

    def schema(self, kind: str, session: SparkSession) -> StructType:
        """Returns the columns of the rows that the sink of this kind gets."""
        plain = (kind != "panes" or not self.steps) and self._sequence(kind) is None
        return self.unpackers[kind].target if plain else self.empty(kind, session).schema

    def shaped(self, kind: str, rows: DataFrame, batch_id: int) -> DataFrame:
        """Returns rows of this kind as its sink gets them."""
        steps, sequence = self.steps if kind == "panes" else (), self._sequence(kind)
        rows = reduce(lambda shaped, step: step(shaped), steps, rows)
        return rows if sequence is None else sequenced(rows, batch_id, sequence)

    @property
    def sorts(self) -> bool:
        """Whether the rows of the first output are sorted or limited."""
        return any(isinstance(step, Sorted) for step in self.steps)

    def _sequence(self, kind: str) -> str | None:
        """Returns the name of the sequence in rows of this kind, None if they have none."""
        sink = self.sinks[kind]
        if kind_of(kind) != "panes":
            return None
        return sink.output.sequence if isinstance(sink, BoundSink) else self.sequence


@dataclass(frozen=True)
class WriteOptions:
    """The arguments of `write` besides the sinks, as in :meth:`panewise.spark.WindowResult.write`."""

    checkpoint: str | None
    available_now: bool
    processing_time: str | None
    name: str | None
    sequence: str | None = None
    initial_state: str | None = None
    added_aggregates: AddedAggregates = "null"

    def __post_init__(self) -> None:
        check_choice("added_aggregates", self.added_aggregates, ADDED_AGGREGATES)
        if self.available_now and self.processing_time is not None:
            rule = "a run that stops when everything is processed has no interval between micro-batches"
            fault = f"available_now=True with processing_time={self.processing_time!r}"
            raise SpecError(fault, rule, "leave out one of the two")

    @property
    def trigger(self) -> dict[str, Any]:
        """The arguments of Spark's trigger, none for its default."""
        if self.available_now:
            return {"availableNow": True}
        return {} if self.processing_time is None else {"processingTime": self.processing_time}


@dataclass(frozen=True)
class EarlierOutput:
    """An output of an earlier operator of a query (semantics 42.9).

    `name` is that of the output in `write`, and `kind` that of its envelopes at its operator. The first
    operator has the number 0. `write` writes the output of a batch DataFrame.
    """

    dataflow: Dataflow
    name: str
    kind: str
    number: int
    sink: AnySink
    write: Callable[[], object]

    @property
    def label(self) -> str:
        """The kind of the envelopes in the output of the query."""
        return numbered(self.kind, self.number)


def start(
    dataflow: Dataflow,
    sinks: Mapping[str, AnySink],
    names: Mapping[str, str],
    options: WriteOptions,
    earlier: Sequence[EarlierOutput] = (),
    *,
    at_end: bool,
    steps: tuple[Callable[[DataFrame], DataFrame], ...] = (),
) -> WindowQuery:
    """Starts the query. On a batch DataFrame it writes the outputs before it returns.

    `names` are those of the outputs in `write`, by their kinds.

    Raises:
        SpecError: if a stream has no checkpoint, or a sink cannot write its output.
        StateError: if the checkpoint was made with a specification that this one cannot continue, or with
            another number of shards.
    """
    check_streaming(dataflow.df, options.initial_state)
    check_alone(dataflow.fed, dataflow.dfs, options.initial_state)
    if dataflow.df.isStreaming and options.checkpoint is None:
        raise SpecError(
            "write() on a stream without a checkpoint",
            "a checkpoint stores the state and the progress of the query",
            "give checkpoint='/a/directory'",
        )
    dispatch = replace(_dispatch(dataflow, sinks, earlier), steps=steps)
    dispatch = _bound(dispatch, dataflow, names, earlier, options)
    if not dataflow.df.isStreaming:
        prepare_batch(dataflow.df.sparkSession, dispatch.sinks)
        dispatch(_stepped(dataflow, sinks), 0)
        return WindowQuery(Done(dataflow.df), None)  # type: ignore[arg-type]
    session, controls = dataflow.df.sparkSession, f"{options.checkpoint}/panewise/control"
    columns = dataflow.schemas(all_columns=whole_rows(sinks))
    dataflow = _prepared(dataflow, dispatch, options, columns, at_end=at_end)
    # The last operator always has the notes: Spark refuses a checkpoint whose sources have changed, and a
    # later run may end the input.
    written = dataflow.writing(_by_dataflow(earlier), controls if at_end else None)
    planned = replace(written, controls=controls)

    def begin() -> StreamingQuery:
        tagged = _stepped(planned, sinks)
        writer = tagged.writeStream.foreachBatch(dispatch)
        writer = writer.option("checkpointLocation", str(options.checkpoint))
        writer = writer if options.name is None else writer.queryName(options.name)
        initial = dataflow.initial_state
        bounded = (
            nullcontext() if initial is None else initial.while_starting(session, str(options.checkpoint))
        )
        with bounded:
            return (writer.trigger(**options.trigger) if options.trigger else writer).start()

    def finish() -> StreamingQuery:
        write_note(session, controls, note(finish=1))
        return begin()

    return WindowQuery(begin(), finish if at_end else None)


def _prepared(
    dataflow: Dataflow, dispatch: Dispatch, options: WriteOptions, columns: Schemas, *, at_end: bool
) -> Dataflow:
    """Returns the dataflow as it continues its checkpoint, after checking that and preparing the sinks.

    The record of a new checkpoint, or of a changed specification, is made last.
    """
    session, checkpoint = dataflow.df.sparkSession, str(options.checkpoint)
    known = record_of(session, checkpoint)
    if known is not None:
        dataflow = dataflow.known_as(known.shards)
        taken = taken_over(session, known, dataflow, checkpoint, options.added_aggregates)
        dataflow = with_clock(known.header, replace(dataflow, spec=taken.change.spec))
        check_fed(known.header, dataflow, at_end=at_end)
        check_place(session, known.header, checkpoint)
        check_reads(known.header, dataflow)
        more = added_clock(session, known.header, dataflow, checkpoint)
        initial = known_state(known.header, checkpoint, options.initial_state)
        dataflow = replace(dataflow, initial_state=initial)
    schemas = {kind: dispatch.schema(kind, session) for kind in dispatch.unpackers}
    prepare(session, dispatch.sinks, schemas, new=known is None)
    if known is None:
        if options.initial_state is not None:
            initial, spec = imported_state(
                session, dataflow.spec, columns, dataflow.shards, checkpoint, options.initial_state
            )
            dataflow = replace(dataflow, initial_state=initial, spec=spec)
        prepare_record(session, dataflow, checkpoint, f"{checkpoint}/panewise/control", at_end=at_end)
    else:
        continue_record(session, known, taken.change, dataflow, checkpoint, taken.after, more=more)
    return dataflow


def _dispatch(dataflow: Dataflow, sinks: Mapping[str, AnySink], earlier: Sequence[EarlierOutput]) -> Dispatch:
    """Returns the function that passes outputs to their sinks."""
    unpackers = {kind: dataflow.unpacker(kind, all_columns=whole_rows(sinks)) for kind in sinks}
    kinds_of = _by_dataflow(earlier)
    for output in earlier:
        all_columns = whole_rows(kinds_of[id(output.dataflow)])
        unpack = output.dataflow.unpacker(output.kind, all_columns=all_columns)
        unpackers[output.label] = replace(unpack, kind=output.label)
    every = {**sinks, **{output.label: output.sink for output in earlier}}
    # On a stream the paths of sinks are prepared, and sinks that know their output always are.
    prepared = (PathSink, OutputSink) if dataflow.df.isStreaming else (OutputSink,)
    from_start = (output for output, sink in every.items() if not isinstance(sink, prepared))
    return Dispatch(every, unpackers, frozenset(from_start))


def _bound(
    dispatch: Dispatch,
    dataflow: Dataflow,
    names: Mapping[str, str],
    earlier: Sequence[EarlierOutput],
    options: WriteOptions,
) -> Dispatch:
    """Returns the dispatch with the sequence, and with sinks bound to their outputs, after checking both."""
    dispatch = _with_sequence(dispatch, dataflow.df, options.sequence)
    specs = {output.label: output.dataflow.spec for output in earlier}
    names = {**names, **{output.label: output.name for output in earlier}}
    session, sinks = dataflow.df.sparkSession, dict(dispatch.sinks)
    for kind, sink in dispatch.sinks.items():
        if not isinstance(sink, OutputSink):
            continue
        schema, spec = dispatch.schema(kind, session), specs.get(kind, dataflow.spec)
        emitted = kind_of(kind) == "panes"
        output = SinkOutput(
            names[kind],
            kind_of(kind),
            schema,
            spec,
            _key(dispatch, kind, spec, schema) if emitted else (),
            _sequence_of(dispatch, kind, options.sequence, schema),
            OP if emitted and parts(spec).has_op(spec) and _unchanged(dispatch, kind, schema, [OP]) else None,
            session,
            options.checkpoint,
            _computed(dispatch, kind),
            _keys(dispatch, kind, spec) if emitted else (),
        )
        sink.check(output)
        sinks[kind] = BoundSink(sink, output)
    return replace(dispatch, sinks=sinks)


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
    """Returns the dispatch with the sequence that the user has asked for, after checking its name."""
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


def _by_dataflow(earlier: Sequence[EarlierOutput]) -> dict[int, dict[str, str]]:
    """Returns the outputs of earlier operators as :meth:`Dataflow.writing` takes them."""
    labels: dict[int, dict[str, str]] = {}
    for output in earlier:
        labels.setdefault(id(output.dataflow), {})[output.kind] = output.label
    return labels


def whole_rows(kinds: Iterable[str]) -> bool:
    """Returns whether one of these outputs has whole rows of the input."""
    return not {"late", "invalid"}.isdisjoint(map(kind_of, kinds))


def _stepped(dataflow: Dataflow, sinks: Iterable[str]) -> DataFrame:
    """Returns the outputs of the operator, of which those with a sink are wanted."""
    all_columns = whole_rows(sinks)
    packed = dataflow.packed(late_wanted="late" in map(kind_of, sinks), all_columns=all_columns)
    return dataflow.stepped(packed, dataflow.schemas(all_columns=all_columns))
