"""Writes the outputs of an operator to their sinks from one query, exactly once.

The state operator emits one stream of envelopes. In ``foreachBatch`` the envelopes of each kind are unpacked
and passed to the sink of that kind, with the number of the micro-batch.

Spark repeats a micro-batch with the same input, clocks and state, so it emits the same rows. If the sink
writes a repeated micro-batch to the same place, each row is written exactly once.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from panewise.engine.checkpoint import check_same
from panewise.errors import SpecError
from panewise.spark.dataflow.dataflow import Dataflow, note, unpacked
from panewise.spark.queries.query import Done, WindowQuery
from panewise.spark.queries.query_record import check_fed, check_place, prepare_record, record_of, write_note
from panewise.spark.session.settings import envelopes_in_small_batches
from panewise.spark.shuffle.envelope import kind_of, numbered
from panewise.spark.sinks import PathSink, Sink, empty, prepare
from panewise.spark.workers.unpack import Unpack


@dataclass(frozen=True)
class Dispatch:
    """The function that ``foreachBatch`` calls: passes each kind of output to its sink.

    Attributes:
        shape: what is done to the rows of the first output before its sink gets them, if anything is.
        from_start: the kinds whose sinks get an empty DataFrame in the first micro-batch if it has no such
            rows. So a table that a sink writes exists, with its columns.
    """

    sinks: Mapping[str, Sink]
    unpackers: Mapping[str, Unpack]
    from_start: frozenset[str] = frozenset()
    shape: Callable[[DataFrame], DataFrame] | None = None

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
                    if kind in present:
                        sink(self.shaped(kind, unpacked(persisted, self.unpackers[kind])), batch_id)
                    elif batch_id == 0 and kind in self.from_start:
                        sink(self.empty(kind, persisted.sparkSession), batch_id)
        finally:
            persisted.unpersist()

    def empty(self, kind: str, session: SparkSession) -> DataFrame:
        """Returns an empty DataFrame as the sink of this kind gets it."""
        return self.shaped(kind, empty(session, self.unpackers[kind].target))

    def schema(self, kind: str, session: SparkSession) -> StructType:
        """Returns the columns of the rows that the sink of this kind gets."""
        plain = self.shape is None or kind != "panes"
        return self.unpackers[kind].target if plain else self.empty(kind, session).schema

    def shaped(self, kind: str, rows: DataFrame) -> DataFrame:
        """Returns rows of this kind as its sink gets them."""
        return rows if self.shape is None or kind != "panes" else self.shape(rows)


@dataclass(frozen=True)
class WriteOptions:
    """The arguments of `write` besides the sinks, as in :meth:`panewise.spark.WindowResult.write`."""

    checkpoint: str | None
    available_now: bool
    processing_time: str | None
    name: str | None

    def __post_init__(self) -> None:
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

    `kind` is that of its envelopes there. The first operator has the number 0. `alone` returns the output as
    a query of its own.
    """

    dataflow: Dataflow
    kind: str
    number: int
    sink: Sink
    alone: Callable[[], DataFrame]

    @property
    def label(self) -> str:
        """The kind of the envelopes in the output of the query."""
        return numbered(self.kind, self.number)


def start(
    dataflow: Dataflow,
    sinks: Mapping[str, Sink],
    options: WriteOptions,
    earlier: Sequence[EarlierOutput] = (),
    *,
    at_end: bool,
    shape: Callable[[DataFrame], DataFrame] | None = None,
) -> WindowQuery:
    """Starts the query. On a batch DataFrame it writes the outputs before it returns.

    Raises:
        SpecError: if a stream has no checkpoint.
        StateError: if the checkpoint was made with another specification or number of shards.
    """
    dispatch = replace(_dispatch(dataflow, sinks, earlier), shape=shape)
    if not dataflow.df.isStreaming:
        dispatch(_stepped(dataflow, sinks), 0)
        return WindowQuery(Done(dataflow.df), None)  # type: ignore[arg-type]
    if options.checkpoint is None:
        raise SpecError(
            "write() on a stream without a checkpoint",
            "a checkpoint stores the state and the progress of the query",
            "give checkpoint='/a/directory'",
        )
    session, controls = dataflow.df.sparkSession, f"{options.checkpoint}/panewise/control"
    dataflow = _prepared(dataflow, dispatch, options.checkpoint, controls, at_end=at_end)
    # The last operator always has the notes: Spark refuses a checkpoint whose sources have changed, and a
    # later run may end the input.
    written = dataflow.writing(_by_dataflow(earlier), controls if at_end else None)
    planned = replace(written, controls=controls)

    def begin() -> StreamingQuery:
        tagged = _stepped(planned, sinks)
        writer = tagged.writeStream.foreachBatch(dispatch)
        writer = writer.option("checkpointLocation", str(options.checkpoint))
        writer = writer if options.name is None else writer.queryName(options.name)
        return (writer.trigger(**options.trigger) if options.trigger else writer).start()

    def finish() -> StreamingQuery:
        write_note(session, controls, note(finish=1))
        return begin()

    return WindowQuery(begin(), finish if at_end else None)


def _prepared(
    dataflow: Dataflow, dispatch: Dispatch, checkpoint: str, controls: str, *, at_end: bool
) -> Dataflow:
    """Returns the dataflow with the shards of its checkpoint, after checking that and preparing the sinks.

    The record of a new checkpoint is made last.
    """
    session = dataflow.df.sparkSession
    known = record_of(session, checkpoint)
    if known is not None:
        dataflow = dataflow.known_as(known.shards)
        check_same(known, dataflow.spec, len(dataflow.shards))
        check_fed(known.header, dataflow, at_end=at_end)
        check_place(session, known.header, checkpoint)
    schemas = {kind: dispatch.schema(kind, session) for kind in dispatch.unpackers}
    prepare(session, dispatch.sinks, schemas, new=known is None)
    if known is None:
        prepare_record(session, dataflow, checkpoint, controls, at_end=at_end)
    return dataflow


def _dispatch(dataflow: Dataflow, sinks: Mapping[str, Sink], earlier: Sequence[EarlierOutput]) -> Dispatch:
    """Returns the function that passes outputs to their sinks."""
    unpackers = {kind: dataflow.unpacker(kind, all_columns=whole_rows(sinks)) for kind in sinks}
    kinds_of = _by_dataflow(earlier)
    for output in earlier:
        all_columns = whole_rows(kinds_of[id(output.dataflow)])
        unpack = output.dataflow.unpacker(output.kind, all_columns=all_columns)
        unpackers[output.label] = replace(unpack, kind=output.label)
    every = {**sinks, **{output.label: output.sink for output in earlier}}
    # On a stream the paths of sinks are prepared.
    streaming = dataflow.df.isStreaming
    from_start = (output for output, sink in every.items() if not (streaming and isinstance(sink, PathSink)))
    return Dispatch(every, unpackers, frozenset(from_start))


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
